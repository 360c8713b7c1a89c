import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import type { FastifyError, FastifyReply } from "fastify";
import { type ErrorCode, ERRORS, type ToolError, toolError } from "../../base/errors.ts";
import { emptyMetadata, failure, type ToolResult } from "../../base/result.ts";
import { MAX_LIMITS } from "../../base/limits.ts";

const NAME_SHOWN_MAX = 128;
const JSON_TYPE = "application/json; charset=utf-8";
/** The system takes answers up to here, whether their clients read them or not. */
const WRITTEN_AT_ONCE = 64 * 1024;
const NESTED_TOO_DEEPLY = "the output is nested too deeply to be written as JSON";

/** What a refusal says besides its code and message. */
interface RefusalOptions {
  readonly tool?: string;
  readonly details?: unknown;
}

/** Answers with a value as JSON. */
export function sendJson(reply: FastifyReply, status: number, value: unknown): FastifyReply {
  return sendJsonText(reply, status, JSON.stringify(value));
}

/** Answers with a result; the status is its error's, by the table. */
export function sendResult(reply: FastifyReply, result: ToolResult): FastifyReply {
  const { error, text } = writeResult(result);
  const retryAfterMs = retryAfter(error?.details);
  if (retryAfterMs !== undefined) reply.header("retry-after", Math.ceil(retryAfterMs / 1_000));
  if (result.metadata["isRepeated"] === true) reply.header("idempotency-replayed", "true");
  return sendJsonText(reply, error === null ? 200 : ERRORS[error.code].http, text);
}

/**
 * A result as JSON, with its error. A tool may have nested its output so deeply that it can be read, but not be written
 * with what stack there is: then another result takes its place.
 */
export function writeResult(result: ToolResult): { readonly text: string; readonly error: ToolError | null } {
  try {
    return { text: JSON.stringify(result), error: result.error };
  } catch {
    const error = toolError("output_too_large", NESTED_TOO_DEEPLY);
    return { text: JSON.stringify(failure(error, result.metadata)), error };
  }
}

/** Answers a request that never became a call, in the form of a result. */
export function sendRefusal(
  reply: FastifyReply,
  code: ErrorCode,
  message: string,
  { status, ...more }: RefusalOptions & { readonly status?: number } = {},
): FastifyReply {
  const retryAfterMs = retryAfter(more.details);
  if (retryAfterMs !== undefined) reply.header("retry-after", Math.ceil(retryAfterMs / 1_000));
  return sendJson(reply, status ?? ERRORS[code].http, refusal(code, message, more));
}

/** The result of what never became a call. */
export function refusal(code: ErrorCode, message: string, { tool = "", details }: RefusalOptions = {}): ToolResult {
  return failure(toolError(code, message, details), emptyMetadata(randomUUID(), tool.slice(0, NAME_SHOWN_MAX), 0));
}

/** Answers that there is no tool of a name. */
export function sendUnregistered(reply: FastifyReply, name: string): FastifyReply {
  return sendRefusal(reply, "tool_not_found", `there is no tool "${name.slice(0, NAME_SHOWN_MAX)}"`, { tool: name });
}

/** Answers a request for whose body there is no room at the moment. */
export function sendOverBudget(reply: FastifyReply): FastifyReply {
  const message = "the server's memory for request bodies is in use; try again later";
  return sendRefusal(reply.header("retry-after", 1), "queue_full", message, { status: 503 });
}

/** Answers where there is nothing. */
export function sendNotFound(reply: FastifyReply): FastifyReply {
  return sendJson(reply, 404, { error: "no route at this address" });
}

/** Answers a request that expects what no server of this kind does. */
export function sendExpectation(response: ServerResponse): void {
  const body = JSON.stringify(refusal("invalid_arguments", "the only supported Expect header is 100-continue"));
  const headers = { "content-type": JSON_TYPE, "content-length": Buffer.byteLength(body), connection: "close" };
  response.writeHead(417, headers).end(body);
}

/** Answers what the framework found wrong with a request, and whatever else was thrown, without a word about how. */
export function sendError(reply: FastifyReply, { code, statusCode }: FastifyError, bodyBytes: number): FastifyReply {
  switch (code) {
    case "FST_ERR_CTP_BODY_TOO_LARGE":
      return sendRefusal(reply, "input_too_large", `the body has more than ${bodyBytes} bytes`);
    case "FST_ERR_CTP_INVALID_MEDIA_TYPE":
      return sendRefusal(reply, "invalid_arguments", "the body's content-type is not application/json");
    case "FST_ERR_CTP_EMPTY_JSON_BODY":
    case "FST_ERR_CTP_INVALID_JSON_BODY":
      return sendRefusal(reply, "invalid_arguments", "the body is not JSON");
    case "FST_ERR_BAD_URL":
      return sendRefusal(reply, "invalid_arguments", "the request's URL is invalid");
    default:
      if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
        return sendRefusal(reply, "invalid_arguments", "the request could not be read");
      }
      return sendJson(reply, 500, { error: "the request could not be answered" });
  }
}

/** Answers with what is JSON already. */
export function sendJsonText(reply: FastifyReply, status: number, json: string): FastifyReply {
  reply.code(status);
  reply.header("content-type", JSON_TYPE);
  // What tools wrote is in it: no browser shall take it for a page.
  reply.header("x-content-type-options", "nosniff");
  if (json.length > WRITTEN_AT_ONCE) dropUnread(reply.raw, reply.server.unreadMs);
  return reply.send(json);
}

function retryAfter(details: unknown): number | undefined {
  if (typeof details !== "object" || details === null || !("retryAfterMs" in details)) return undefined;
  return typeof details.retryAfterMs === "number" ? details.retryAfterMs : undefined;
}

declare module "fastify" {
  interface FastifyInstance {
    /** How long a client may read nothing of an answer that is complete. */
    unreadMs?: number;
  }
}

/** Longer than a call may wait and run together: a connection on which nothing moves is not a dead one before that. */
export const SILENCE_MS = MAX_LIMITS.queueMs + MAX_LIMITS.wallMs + 60_000;
export const UNREAD_MS = 60_000;

/**
 * Ends the connection of a client that reads nothing of what is written for so long; one that reads slowly keeps it.
 * The system tells of what it could send in pieces of a megabyte or so: who reads less than that in the time is dropped.
 * For answers that are complete: before that, silence is what a long call sounds like, and `SILENCE_MS` holds.
 */
export function dropUnread(response: ServerResponse, unreadMs = UNREAD_MS): void {
  const { socket } = response.req;
  response.setTimeout(unreadMs);
  response.once("finish", () => {
    // Node's own time for idle connections is set by now, unless the next request is here already.
    if (socket.timeout === unreadMs) socket.setTimeout(SILENCE_MS);
  });
}
