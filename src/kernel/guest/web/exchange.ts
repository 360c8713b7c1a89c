import type { AbortState } from "./abort-state.ts";
import { decodeBase64 } from "./base64-bytes.ts";
import type { Chunk, ChunkSource } from "./byte-stream.ts";
import type { FetchCall } from "./realm-parts.ts";

/** A chunk of a body between guest and host: text if its bytes are valid UTF-8. */
export type Part = { readonly text: string } | { readonly base64: string };

/** The host's response with a body's next chunk, and whether more follows. */
export interface Arrived {
  readonly part: Part | null;
  readonly more: boolean;
}

/** One request of a call, until its response is complete or cancelled. */
export class Exchange {
  readonly #call: FetchCall;
  readonly #id: number;
  readonly #signal: AbortState | null;
  readonly #abort = () => this.cancel();
  #isOver = false;

  constructor(call: FetchCall, signal: AbortState | null) {
    this.#call = call;
    this.#id = call.nextRequest();
    this.#signal = signal;
    signal?.steps.add(this.#abort);
  }

  /** Makes a capability call for this request. Rejects at once if the signal aborts. */
  async ask(method: "request" | "read", args: object, failure: string): Promise<unknown> {
    if (this.#signal?.aborted) throw this.#signal.reason;
    if (this.#call.settled) {
      // At the `shared` level, a later call may still hold this response.
      throw new TypeError(failure, { cause: new TypeError("the call that made the request has ended") });
    }
    const answer = this.#call.ask("fetch", method, { id: this.#id, ...args });
    try {
      return await unlessAborted(this.#signal, answer);
    } catch (error) {
      this.end();
      throw isFailure(error) ? new TypeError(failure, { cause: error }) : error;
    }
  }

  /** Ends the exchange: no more data arrives. */
  end(): void {
    this.#isOver = true;
    this.#signal?.steps.delete(this.#abort);
  }

  /** Cancels the exchange: the host discards the rest of the response. */
  cancel(): void {
    if (this.#isOver) return;
    this.end();
    this.#call.ask("fetch", "cancel", { id: this.#id }).catch(() => undefined);
  }
}

/** The body of a response, read from the host only as fast as the tool reads it. */
export class ArrivingBody implements ChunkSource {
  readonly #exchange: Exchange;
  readonly #signal: AbortState | null;
  #part: Part | null;
  #more: boolean;

  constructor(exchange: Exchange, signal: AbortState | null, { part, more }: Arrived) {
    this.#exchange = exchange;
    this.#signal = signal;
    this.#part = part;
    this.#more = more;
    if (!more) exchange.end();
  }

  async next(): Promise<Chunk | undefined> {
    if (this.#signal?.aborted) throw this.#signal.reason;
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

/** The promise, which rejects with the signal's reason at once if the signal aborts first. */
export function unlessAborted<T>(signal: AbortState | null, promise: Promise<T>): Promise<T> {
  if (signal === null) return promise;
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  signal.steps.add(abort);
  return Promise.race([aborted, promise]).finally(() => signal.steps.delete(abort));
}

/** The content of a part. */
export function chunkOf(part: Part): Chunk {
  return "text" in part ? part.text.toWellFormed() : decodeBase64(part.base64);
}

/** Whether the request itself failed, as opposed to being denied. */
function isFailure(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "capability_failed";
}
