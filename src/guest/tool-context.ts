import type { GuestCall } from "./call.ts";
import { type AskHost, openFace } from "./faces/face.ts";
import { customFace } from "./faces/custom.ts";
import { FACES } from "./faces/index.ts";

/** What a realm knows of the tool it holds. */
export interface ToolFacts {
  readonly name: string;
  readonly version: string;
  /** The tool's config as JSON text. */
  readonly config: string;
  /** The contract it is written in; `null` where that has to be found out. */
  readonly contract: string | null;
}

/** The second argument of a tool. Its parts are made when they are first asked for. */
export class ToolContext {
  readonly #call: GuestCall;
  readonly #facts: ToolFacts;
  #config: unknown;
  #host: object | undefined;

  constructor(call: GuestCall, facts: ToolFacts) {
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

  /**
   * Tells whoever waits for the call how far it has come, of how much where that is known, and what it is at. Costs
   * next to nothing where nobody listens. Of what is told in quick succession only the last arrives.
   */
  get progress(): (progress: number, total?: number, message?: string) => void {
    const call = this.#call;
    return (progress, total, message) => call.progress(progress, total, message);
  }

  get host(): object {
    return (this.#host ??= createHost(this.#call));
  }
}

/**
 * `host.<capability>.<method>(args)`: a tool may ask for whatever name it likes, the host decides what is granted. The
 * engine's own capabilities have faces of their own.
 */
function createHost(call: GuestCall): object {
  const ask: AskHost = (capability, method, args) => call.ask(capability, method, args);
  return openFace((capability) => FACES.get(capability)?.(ask, call) ?? customFace(capability, ask));
}
