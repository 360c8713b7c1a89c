import { odd } from "../odd-objects.ts";

/** Makes a capability call on behalf of a call. */
export type AskHost = (capability: string, method: string, args: unknown) => Promise<unknown>;

/** Properties of the call that its faces may use. */
export interface FaceCall {
  readonly fetch: object;
}

/** Makes the object under a capability's name in `context.host`, on first access. */
export type FaceMaker = (ask: AskHost, call: FaceCall) => object;

const { create, freeze } = Object;

/** A member of faces alone: they reveal no others. */
const FACE = Symbol("face");

export function isFace(value: object): boolean {
  return Reflect.get(value, FACE) === true;
}

/**
 * A face with a method for every name: the host decides about grants. So a call without a grant gets an error that
 * names it, not a `TypeError` about `undefined`.
 */
export function openFace(member: (name: string) => unknown): object {
  const members = new Map<string, unknown>();
  return new Proxy(freeze(create(null)) as object, {
    get(_target, name) {
      if (name === "toJSON") odd.isMet = true;
      // Resolving a promise with this object reads `then`; inspection reads symbols.
      if (typeof name !== "string" || name === "then" || name === "toJSON") return name === FACE ? true : undefined;
      let found = members.get(name);
      if (found === undefined) {
        found = member(name);
        members.set(name, found);
      }
      return found;
    },
  });
}
