import { parseWithBigInts } from "../base/exact-json.ts";
import type { GuestCall } from "./call.ts";
import { type AskHost, openFace } from "./faces/face.ts";
import { customFace } from "./faces/custom.ts";
import { FACES } from "./faces/index.ts";

/** Facts of a realm's tool. */
export interface ToolFacts {
  readonly name: string;
  readonly version: string;
  /** The tool's config as JSON text. */
  readonly config: string;
  /** The tool's contract; `null` if it is still to be detected. */
  readonly contract: string | null;
  /** Whether the tool names `WebSocket` or `EventSource`, and does not request `fetch`. */
  readonly lacksFetch?: true;
  /** Variables that `process.env` gets when a call starts, if they are granted. */
  readonly env?: readonly string[];
}

/** The second argument of a tool. Its parts are created on first access. */
export class ToolContext {
  readonly #call: GuestCall;
  readonly #facts: ToolFacts;
  #config: unknown;
  #host: object | undefined;

  constructor(call: GuestCall, facts: ToolFacts) {
    this.#call = call;
    this.#facts = facts;
  }

  /** Writes a line into the log of a context's call. */
  static log(context: ToolContext, level: string, message: string): void {
    context.#call.log(level, message);
  }

  /** Whether a report of progress may be worth its words. */
  static isHeard(context: ToolContext): boolean {
    return context.#call.isHeard;
  }

  get callId(): string {
    return this.#call.id;
  }

  get tool(): { readonly name: string; readonly version: string } {
    return { name: this.#facts.name, version: this.#facts.version };
  }

  /** Each call gets its own copy. */
  get config(): unknown {
    return (this.#config ??= parseWithBigInts(this.#facts.config));
  }

  get signal(): object {
    return this.#call.signal;
  }

  /**
   * Reports the call's progress to its listeners, with the total, if known, and a message. Costs next to nothing
   * without a listener. Of reports in quick succession, only the last is delivered.
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
 * `host.<capability>.<method>(args)`: a tool may use any name, the host decides about grants. The engine's own
 * capabilities have their own faces.
 */
function createHost(call: GuestCall): object {
  const ask: AskHost = (capability, method, args) => call.ask(capability, method, args);
  return openFace((capability) => FACES.get(capability)?.(ask, call) ?? customFace(capability, ask));
}
