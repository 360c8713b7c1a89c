import type { ServerResponse } from "node:http";
import { Transform } from "node:stream";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { sendOverBudget } from "./answers.ts";

export const BODIES_BYTES_DEFAULT = 512 * 1024 * 1024;
/** Shorter ones are not counted: their number is limited by other means. */
const COUNTED_FROM_BYTES = 64 * 1024;
const JSON_BODY = /^\s*application\/json\b/i;

/** What all JSON bodies may take together, from when they are read until their requests are answered. */
class BodyBudget {
  #leftBytes: number;
  readonly #shareBytes: number;
  /** What each tenant has of it. */
  readonly #takenBytes = new Map<string, number>();

  /** `shareBytes`: what one tenant may have of it, where there are several. */
  constructor(bytes: number, shareBytes: number) {
    this.#leftBytes = bytes;
    this.#shareBytes = shareBytes;
  }

  /** Takes bytes until a response is through; `false` where there are not as many. */
  take(bytes: number, { caller }: FastifyRequest, response: ServerResponse): boolean {
    if (bytes > this.#leftBytes) return false;
    const owner = caller === null || caller.key === null ? null : JSON.stringify(caller.tenant ?? [caller.key]);
    if (owner !== null && (this.#takenBytes.get(owner) ?? 0) + bytes > this.#shareBytes) return false;
    this.#add(owner, bytes);
    response.once("close", () => this.#add(owner, -bytes));
    return true;
  }

  #add(owner: string | null, bytes: number): void {
    this.#leftBytes -= bytes;
    if (owner === null) return;
    const taken = (this.#takenBytes.get(owner) ?? 0) + bytes;
    if (taken === 0) this.#takenBytes.delete(owner);
    else this.#takenBytes.set(owner, taken);
  }
}

/** Thrown where a body that does not say its length has become too long for what is left. */
export class OverBudgetError extends Error {
  override readonly name = "OverBudgetError";
}

/**
 * Lets an app's requests have no more bytes together than the server has memory for, and those of one tenant half of them:
 * or one body, which has `bodyBytes` at most.
 */
export function limitBodies(app: FastifyInstance, bytes: number, bodyBytes: number): void {
  const budget = new BodyBudget(bytes, Math.max(bytes / 2, bodyBytes));
  app.addHook("preParsing", (request, reply, payload, done) => {
    const { "content-length": said, "content-type": type = "" } = request.headers;
    if (said === undefined) {
      const isChunked = request.headers["transfer-encoding"] !== undefined && JSON_BODY.test(type);
      return done(null, isChunked ? payload.pipe(counter(budget, request, reply.raw)) : payload);
    }
    const length = Number(said);
    if (length < COUNTED_FROM_BYTES || !JSON_BODY.test(type) || budget.take(length, request, reply.raw)) {
      return done(null, payload);
    }
    sendOverBudget(reply);
  });
}

/** Passes a body on, and takes what it needs as it comes. */
function counter(budget: BodyBudget, request: FastifyRequest, response: ServerResponse): Transform {
  let bytes = 0;
  let taken = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, next) {
      bytes += chunk.length;
      if (bytes - taken < COUNTED_FROM_BYTES) return next(null, chunk);
      if (!budget.take(bytes - taken, request, response)) return next(new OverBudgetError("too many bytes at once"));
      taken = bytes;
      next(null, chunk);
    },
  });
}
