/** Asks the host on behalf of a call. */
export type AskHost = (capability: string, method: string, args: unknown) => Promise<unknown>;

/** What faces may take from the call that they are made for. */
export interface FaceCall {
  readonly fetch: object;
}

/** What a tool finds under a capability's name in `context.host`: made when it is first asked for. */
export type FaceMaker = (ask: AskHost, call: FaceCall) => object;

const { create, freeze } = Object;

/**
 * A face whose methods are whatever names a tool likes: the host decides what is granted. So a tool that asks for what
 * it was not given gets an error that names it, not a `TypeError` about `undefined`.
 */
export function openFace(member: (name: string) => unknown): object {
  const members = new Map<string, unknown>();
  return new Proxy(freeze(create(null)) as object, {
    get(_target, name) {
      // A promise resolved with this object asks for `then`; symbols are asked for by inspection.
      if (typeof name !== "string" || name === "then" || name === "toJSON") return undefined;
      let found = members.get(name);
      if (found === undefined) {
        found = member(name);
        members.set(name, found);
      }
      return found;
    },
  });
}
