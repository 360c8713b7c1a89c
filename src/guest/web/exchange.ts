import type { AbortState } from "./abort-state.ts";
import { decodeBase64 } from "./base64-bytes.ts";
import type { Chunk, ChunkSource } from "./byte-stream.ts";
import type { FetchCall } from "./realm-parts.ts";

/** A piece of a body on its way between guest and host: text where its bytes are valid UTF-8 at both ends. */
export type Part = { readonly text: string } | { readonly base64: string };

/** What the host answers for a body's next pieces, and whether there is more. */
export interface Arrived {
  readonly part: Part | null;
  readonly more: boolean;
}

/** One request of a call, until its response has come whole or somebody gives it up. */
export class Exchange {
  readonly #call: FetchCall;
  readonly #id: number;
  readonly #signal: AbortState;
  readonly #abort: () => void;
  /** Rejects with the reason of the signal. */
  readonly #aborted: Promise<never>;
  #isOver = false;

  constructor(call: FetchCall, signal: AbortState) {
    this.#call = call;
    this.#id = call.nextRequest();
    this.#signal = signal;
    const { promise, reject } = Promise.withResolvers<never>();
    promise.catch(() => undefined);
    this.#aborted = promise;
    this.#abort = () => {
      reject(signal.reason);
      this.cancel();
    };
    signal.steps.add(this.#abort);
  }

  /** Asks the host something about this request. Rejects at once where the signal aborts. */
  async ask(method: "request" | "read", args: object, failure: string): Promise<unknown> {
    if (this.#call.settled) {
      // At the `shared` level a later call may have kept the response.
      throw new TypeError(failure, { cause: new TypeError("the call that made the request has ended") });
    }
    const answer = this.#call.ask("fetch", method, { id: this.#id, ...args });
    try {
      return await Promise.race([this.#aborted, answer]);
    } catch (error) {
      this.end();
      throw isFailure(error) ? new TypeError(failure, { cause: error }) : error;
    }
  }

  /** Nothing more is to come. */
  end(): void {
    this.#isOver = true;
    this.#signal.steps.delete(this.#abort);
  }

  /** Tells the host that nobody wants what is still to come. */
  cancel(): void {
    if (this.#isOver) return;
    this.end();
    this.#call.ask("fetch", "cancel", { id: this.#id }).catch(() => undefined);
  }
}

/** The body of a response, which comes from the host as fast as somebody reads it. */
export class ArrivingBody implements ChunkSource {
  readonly #exchange: Exchange;
  readonly #signal: AbortState;
  #part: Part | null;
  #more: boolean;

  constructor(exchange: Exchange, signal: AbortState, { part, more }: Arrived) {
    this.#exchange = exchange;
    this.#signal = signal;
    this.#part = part;
    this.#more = more;
    if (!more) exchange.end();
  }

  async next(): Promise<Chunk | undefined> {
    if (this.#signal.aborted) throw this.#signal.reason;
    while (this.#part === null && this.#more) {
      const arrived = (await this.#exchange.ask("read", {}, "terminated")) as Arrived;
      this.#part = arrived.part;
      this.#more = arrived.more;
      if (!arrived.more) this.#exchange.end();
    }
    const part = this.#part;
    this.#part = null;
    return part === null ? undefined : chunkOf(part);
  }

  cancel(): void {
    this.#part = null;
    this.#more = false;
    this.#exchange.cancel();
  }
}

function chunkOf(part: Part): Chunk {
  return "text" in part ? part.text.toWellFormed() : decodeBase64(part.base64);
}

/** Whether the request itself failed, rather than that the call may not make it. */
function isFailure(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "capability_failed";
}
