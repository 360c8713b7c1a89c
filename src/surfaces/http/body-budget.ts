import type { ServerResponse } from "node:http";
import { Transform } from "node:stream";
import type { FastifyInstance } from "fastify";
import { sendOverBudget } from "./answers.ts";

export const BODIES_BYTES_DEFAULT = 512 * 1024 * 1024;
/** Shorter ones are not counted: their number is limited by other means. */
const COUNTED_FROM_BYTES = 64 * 1024;
const JSON_BODY = /^\s*application\/json\b/i;

/** What all JSON bodies may take together, from when they are read until their requests are answered. */
class BodyBudget {
  #leftBytes: number;

  constructor(bytes: number) {
    this.#leftBytes = bytes;
  }

  /** Takes bytes until a response is through; `false` where there are not as many. */
  take(bytes: number, response: ServerResponse): boolean {
    if (bytes > this.#leftBytes) return false;
    this.#leftBytes -= bytes;
    response.once("close", () => (this.#leftBytes += bytes));
    return true;
  }
}

/** Thrown where a body that does not say its length has become too long for what is left. */
export class OverBudgetError extends Error {
  override readonly name = "OverBudgetError";
}

/** Lets an app's requests have no more bytes together than the server has memory for. */
export function limitBodies(app: FastifyInstance, bytes: number): void {
  const budget = new BodyBudget(bytes);
  app.addHook("preParsing", (request, reply, payload, done) => {
    const { "content-length": length, "content-type": type = "" } = request.headers;
    if (length === undefined) {
      const isChunked = request.headers["transfer-encoding"] !== undefined && JSON_BODY.test(type);
      return done(null, isChunked ? payload.pipe(counter(budget, reply.raw)) : payload);
    }
    const bodyBytes = Number(length);
    if (bodyBytes < COUNTED_FROM_BYTES || !JSON_BODY.test(type) || budget.take(bodyBytes, reply.raw)) {
      return done(null, payload);
    }
    sendOverBudget(reply);
  });
}

/** Passes a body on, and takes what it needs as it comes. */
function counter(budget: BodyBudget, response: ServerResponse): Transform {
  let bytes = 0;
  let taken = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, next) {
      bytes += chunk.length;
      if (bytes - taken < COUNTED_FROM_BYTES) return next(null, chunk);
      if (!budget.take(bytes - taken, response)) return next(new OverBudgetError("too many bytes at once"));
      taken = bytes;
      next(null, chunk);
    },
  });
}
