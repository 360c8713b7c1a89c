import { McpError } from "./failure.ts";
import type { McpLimits } from "./limits.ts";

/** Bounds the messages and bytes that a server sends, with and without a request: each costs time to read. */
export class Inflow {
  readonly #limits: McpLimits;
  #sinceMs = performance.now();
  #messages = 0;
  #bytes = 0;

  constructor(limits: McpLimits) {
    this.#limits = limits;
  }

  /** Counts; returns the error for too many, and `null` otherwise. */
  take(messages: number, bytes: number): McpError | null {
    const { inflowMs, inflowMessages, inflowBytes } = this.#limits;
    const nowMs = performance.now();
    if (nowMs - this.#sinceMs > inflowMs) {
      this.#sinceMs = nowMs;
      this.#messages = 0;
      this.#bytes = 0;
    }
    this.#messages += messages;
    this.#bytes += bytes;
    if (this.#messages > inflowMessages) {
      return new McpError(`it sent more than ${inflowMessages} messages within ${inflowMs} ms`);
    }
    if (this.#bytes > inflowBytes) return new McpError(`it sent more than ${inflowBytes} bytes within ${inflowMs} ms`);
    return null;
  }
}
