import type { Call } from "./call.ts";

/** What a realm knows of the tool it holds. */
export interface ToolFacts {
  readonly name: string;
  readonly version: string;
  /** The tool's config as JSON text. */
  readonly config: string;
}

/** The second argument of a tool. Its parts are made when they are first asked for. */
export class ToolContext {
  readonly #call: Call;
  readonly #facts: ToolFacts;
  #config: unknown;
  #host: object | undefined;

  constructor(call: Call, facts: ToolFacts) {
    this.#call = call;
    this.#facts = facts;
  }

  get callId(): string {
    return this.#call.id;
  }

  get tool(): { readonly name: string; readonly version: string } {
    return { name: this.#facts.name, version: this.#facts.version };
  }

  /** A copy of its own for each call. */
  get config(): unknown {
    return (this.#config ??= JSON.parse(this.#facts.config) as unknown);
  }

  get signal(): object {
    return this.#call.signal;
  }

  get host(): object {
    return (this.#host ??= createHost(this.#call));
  }
}

/**
 * `host.<capability>.<method>(args)`: a tool may ask for whatever name it likes, the host decides what is granted. So a tool that
 * asks for what it was not given gets an error that names it, not a `TypeError` about `undefined`.
 */
function createHost(call: Call): object {
  return face((capability) => face((method) => (args?: unknown) => call.ask(capability, method, args)));
}

function face(member: (name: string) => unknown): object {
  const members = new Map<string, unknown>();
  return new Proxy(Object.freeze(Object.create(null)) as object, {
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
