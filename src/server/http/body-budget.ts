import type { ServerResponse } from "node:http";
import { Transform } from "node:stream";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { ByteParts } from "../../kernel/base/byte-parts.ts";
import { MAX_LIMITS } from "../../kernel/base/limits.ts";
import { sendOverBudget } from "./answers.ts";

/** Default of the maximum size of a body: the maximum input of a tool, and the JSON around it. */
export const BODY_BYTES_DEFAULT = MAX_LIMITS.inputBytes + 64 * 1024;
export const BODIES_BYTES_DEFAULT = 512 * 1024 * 1024;
/** Shorter bodies are not counted: connection limits bound their number. */
const COUNTED_FROM_BYTES = 64 * 1024;
/** Length of what is forwarded of a body that comes in pieces. */
const JOINED_BYTES = 16 * 1024;
const JSON_BODY = /^\s*application\/json\b/i;

/** Memory budget of all JSON bodies, from reading until their responses are complete. */
class BodyBudget {
  #leftBytes: number;
  readonly #shareBytes: number;
  /** Bytes reserved by each tenant, or by each key without a tenant. */
  readonly #takenBytes = new Map<string, number>();

  /** `shareBytes`: maximum of one tenant. */
  constructor(bytes: number, shareBytes: number) {
    this.#leftBytes = bytes;
    this.#shareBytes = shareBytes;
  }

  /** Reserves bytes until a response is complete; `false` if the budget does not suffice. */
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

/** Thrown when a body without a `Content-Length` exceeds the remaining budget. */
export class OverBudgetError extends Error {
  override readonly name = "OverBudgetError";
}

/**
 * Limits the request bodies of an app to a memory budget. One tenant may use half of it, or one body of `bodyBytes` if
 * that is more.
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

/** Forwards a body and reserves its bytes as they arrive. Short pieces are joined: hundreds of bytes of memory go with each. */
function counter(budget: BodyBudget, request: FastifyRequest, response: ServerResponse): Transform {
  const parts = new ByteParts();
  let bytes = 0;
  let taken = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, next) {
      bytes += chunk.length;
      parts.push(chunk);
      if (bytes - taken >= COUNTED_FROM_BYTES) {
        if (!budget.take(bytes - taken, request, response)) return next(new OverBudgetError("too many bytes at once"));
        taken = bytes;
      }
      next(null, parts.length < JOINED_BYTES ? null : parts.take());
    },
    flush(next) {
      next(null, parts.length === 0 ? null : parts.take());
    },
  });
}
