import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { FastifyError, FastifyReply } from "fastify";
import { type ErrorCode, ERRORS, type ToolError, toolError } from "../../kernel/base/errors.ts";
import { isHighSurrogate } from "../../kernel/base/json.ts";
import { emptyMetadata, failure, resultParts, type ToolResult } from "../../kernel/base/result.ts";
import { MAX_LIMITS } from "../../kernel/base/limits.ts";
import { problem, type Problem, PROBLEM_TYPE } from "./problem.ts";
import type { Sender, UnreadBudget } from "./unread-budget.ts";

const NAME_SHOWN_MAX = 128;
const JSON_TYPE = "application/json; charset=utf-8";
/** Response size in bytes up to which the kernel's socket buffer takes all, even if the client does not read. */
const WRITTEN_AT_ONCE = 64 * 1024;
/**
 * Length from which a text is written in pieces, and that of a piece, in UTF-16 units: a piece takes less than 5 ms.
 */
export const LONG = 1024 * 1024;
const PIECE = 256 * 1024;
/** Time after which a refused call may be retried, if its waiting time is unknown. */
const RETRY_AFTER_MS = 1_000;
export const CALLS_URL = "/v1/calls";
const NESTED_TOO_DEEPLY = "the output is nested too deeply to be written as JSON";

/** Optional parts of a refusal. */
interface RefusalOptions {
  readonly tool?: string;
  readonly details?: unknown;
}

/** A response that has not been sent. */
export interface Answer {
  readonly status: number;
  /** Headers in addition to those of every response. */
  readonly headers: Readonly<Record<string, string>>;
  /** JSON: together one text. */
  readonly parts: readonly string[];
  /** Media type of the parts. Default: JSON. */
  readonly type?: string;
}

export const NO_HEADERS = Object.freeze({});

/** Sends a value as JSON. */
export function sendJson(reply: FastifyReply, status: number, value: unknown): FastifyReply {
  return sendJsonText(reply, status, JSON.stringify(value));
}

/** Sends a result; the status follows from its error code. */
export function sendResult(reply: FastifyReply, result: ToolResult): FastifyReply {
  return sendAnswer(reply, answerOf(result));
}

/** The response with a result. `basePath`: the path below which the routes are mounted. */
export function answerOf(result: ToolResult, basePath = ""): Answer {
  const { error, parts } = writeResult(result);
  const isRepeated = result.metadata["isRepeated"] === true;
  if (error === null && !isRepeated) return { status: 200, headers: NO_HEADERS, parts };
  const status = error === null ? 200 : ERRORS[error.code].http;
  const retryAfterMs = retryAfter(error?.details) ?? (isTransient(status, error) ? RETRY_AFTER_MS : undefined);
  return {
    status,
    headers: {
      ...(error?.code === "paused" && error.details !== undefined
        ? { location: `${basePath}${CALLS_URL}/${error.details.id}` }
        : {}),
      ...(retryAfterMs === undefined ? {} : { "retry-after": `${Math.ceil(retryAfterMs / 1_000)}` }),
      ...(isRepeated ? { "idempotency-replayed": "true" } : {}),
    },
    parts,
  };
}

/**
 * A result as JSON, with its error. Output nested so deeply that `JSON.stringify` overflows the stack is replaced with an
 * `output_too_large` failure.
 */
export function writeResult(result: ToolResult): WrittenResult {
  try {
    return { parts: resultParts(result), error: result.error };
  } catch {
    const error = toolError("output_too_large", NESTED_TOO_DEEPLY);
    return { parts: [JSON.stringify(failure(error, result.metadata))], error };
  }
}

export interface WrittenResult {
  /** JSON: together one text. */
  readonly parts: readonly string[];
  readonly error: ToolError | null;
}

/** Refuses a request before it becomes a call, in the form of a result. */
export function sendRefusal(
  reply: FastifyReply,
  code: ErrorCode,
  message: string,
  { status, ...more }: RefusalOptions & { readonly status?: number } = {},
): FastifyReply {
  const answer = answerOf(refusal(code, message, more));
  return sendAnswer(reply, status === undefined ? answer : { ...answer, status });
}

/** The result of a request refused before it became a call. */
export function refusal(code: ErrorCode, message: string, { tool = "", details }: RefusalOptions = {}): ToolResult {
  return failure(toolError(code, message, details), emptyMetadata(randomUUID(), tool.slice(0, NAME_SHOWN_MAX), 0));
}

/** Responds that no tool has this name. */
export function sendUnregistered(reply: FastifyReply, name: string): FastifyReply {
  return sendRefusal(reply, "tool_not_found", `there is no tool "${name.slice(0, NAME_SHOWN_MAX)}"`, { tool: name });
}

/** Refuses a request because the memory budget for request bodies is exhausted. */
export function sendOverBudget(reply: FastifyReply): FastifyReply {
  const message = "the server's memory for request bodies is in use; try again later";
  return sendRefusal(reply.header("retry-after", 1), "queue_full", message, { status: 503 });
}

/** Responds 404 to an address without a route. */
export function sendNotFound(reply: FastifyReply): FastifyReply {
  return sendAnswer(reply, plainProblem(404, "no route at this address"));
}

/** Responds 417 to an unsupported `Expect` header. */
export function sendExpectation(response: ServerResponse): void {
  const body = JSON.stringify(refusal("invalid_arguments", "the only supported Expect header is 100-continue"));
  const headers = { "content-type": JSON_TYPE, "content-length": Buffer.byteLength(body), connection: "close" };
  response.writeHead(417, headers).end(body);
}

/** Responds to errors of the framework and of handlers. */
export function sendError(reply: FastifyReply, error: FastifyError, bodyBytes: number): FastifyReply {
  return sendAnswer(reply, answerToError(error, bodyBytes));
}

/** The response to an error of the framework or of a handler, without internal details. */
export function answerToError({ code, statusCode }: Partial<FastifyError>, bodyBytes: number): Answer {
  switch (code) {
    case "FST_ERR_CTP_BODY_TOO_LARGE":
      return answerOf(refusal("input_too_large", `the body has more than ${bodyBytes} bytes`));
    case "FST_ERR_CTP_INVALID_MEDIA_TYPE":
      return answerOf(refusal("invalid_arguments", "the body's content-type is not application/json"));
    case "FST_ERR_CTP_EMPTY_JSON_BODY":
    case "FST_ERR_CTP_INVALID_JSON_BODY":
      return answerOf(refusal("invalid_arguments", "the body is not JSON"));
    case "FST_ERR_BAD_URL":
      return answerOf(refusal("invalid_arguments", "the request's URL is invalid"));
    default:
      if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
        return answerOf(refusal("invalid_arguments", "the request could not be read"));
      }
      return plainProblem(500, "the request could not be answered");
  }
}

/** An error that is not a result, with a one-sentence message. */
function plainProblem(status: number, message: string): Answer {
  return problemAnswer(problem(status, message, message));
}

/** The response with a problem. */
export function problemAnswer(told: Problem<unknown>): Answer {
  return { status: told.status, headers: NO_HEADERS, parts: [JSON.stringify(told)], type: PROBLEM_TYPE };
}

/** Sends text that is already JSON. */
export function sendJsonText(reply: FastifyReply, status: number, json: string): FastifyReply {
  return sendAnswer(reply, { status, headers: NO_HEADERS, parts: [json] });
}

/** Sends an answer. */
export function sendAnswer(reply: FastifyReply, { status, headers, parts, type = JSON_TYPE }: Answer): FastifyReply {
  const length = lengthOf(parts);
  reply.code(status).headers(headers);
  reply.header("content-type", type);
  // The body contains tools' output: browsers must not sniff it as HTML.
  reply.header("x-content-type-options", "nosniff");
  reply.header("content-length", bytesOf(parts));
  if (length > WRITTEN_AT_ONCE) dropUnread(reply.raw, reply.server.unreadMs);
  if (length <= LONG) return reply.send(parts.join(""));
  reply.server.unread?.holdUntilSent(reply.raw, reply.request, length);
  return reply.send(Readable.from(piecesOf(parts)));
}

/** Parts of an answer that is sent without the framework. */
interface AnswerOptions {
  readonly sender: Sender;
  /** Names and values of the headers of every response. */
  readonly head: readonly string[];
  /** Headers that come last. */
  readonly rateLimit: Readonly<Record<string, string>>;
  readonly unread: UnreadBudget | undefined;
  readonly unreadMs: number | undefined;
}

/** Sends an answer without the framework, as the bytes that it would have sent. */
export function writeAnswer(
  response: ServerResponse,
  { head, rateLimit, unreadMs, unread, sender }: AnswerOptions,
  { status, headers, parts, type = JSON_TYPE }: Answer,
): void {
  const length = lengthOf(parts);
  // Most answers are short: joining them first makes one text that is measured, and written, once.
  const text = length <= LONG ? parts.join("") : null;
  const bytes = text === null ? bytesOf(parts) : Buffer.byteLength(text);
  const own = [...pairsOf(headers), "content-type", type, "content-length", `${bytes}`];
  response.writeHead(status, [...head, ...own, ...pairsOf(rateLimit)]);
  if (length > WRITTEN_AT_ONCE) dropUnread(response, unreadMs);
  unread?.holdUntilSent(response, sender, length);
  if (text !== null) response.end(text);
  // A disconnected client ends it early.
  else pipeline(Readable.from(piecesOf(parts)), response).catch(() => undefined);
}

/** Names and values of headers, alternating, in the form that Node accepts. */
export function pairsOf(headers: Readonly<Record<string, string>>): readonly string[] {
  return headers === NO_HEADERS ? [] : Object.entries(headers).flat();
}

/** Length of parts together, in UTF-16 units. */
function lengthOf(parts: readonly string[]): number {
  return parts.reduce((sum, part) => sum + part.length, 0);
}

function bytesOf(parts: readonly string[]): number {
  return parts.reduce((sum, part) => sum + Buffer.byteLength(part), 0);
}

/** Texts in pieces, at most one in each turn of the event loop. `write`: changes a piece before it is encoded. */
export async function* piecesOf(
  parts: readonly string[],
  write: (piece: string) => string = (piece) => piece,
): AsyncGenerator<Buffer> {
  for (const text of parts) {
    for (let at = 0; at < text.length;) {
      // No piece ends within a surrogate pair.
      const end = at + PIECE + (isHighSurrogate(text.charCodeAt(at + PIECE - 1)) ? 1 : 0);
      yield Buffer.from(write(text.slice(at, end)));
      at = end;
      await nextTurn();
    }
  }
}

/** Whether a call may be sent again because the server had no room for it. */
function isTransient(status: number, error: ToolError | null): boolean {
  return (status === 429 || status === 503) && error?.retryable === true;
}

function retryAfter(details: unknown): number | undefined {
  if (typeof details !== "object" || details === null || !("retryAfterMs" in details)) return undefined;
  return typeof details.retryAfterMs === "number" ? details.retryAfterMs : undefined;
}

declare module "fastify" {
  interface FastifyInstance {
    /** Maximum time, in milliseconds, without reads of a complete response by its client. */
    unreadMs?: number;
  }
}

/** Idle timeout of connections: longer than a call's maximum queue and run time, during which nothing is sent. */
export const SILENCE_MS = MAX_LIMITS.queueMs + MAX_LIMITS.wallMs + 60_000;
export const UNREAD_MS = 60_000;

/**
 * Closes the connection of a client that reads nothing for `unreadMs`; slow readers keep theirs.
 * The system reports progress in pieces of about a megabyte: a client that reads less within that time is dropped.
 * Only for complete responses: before that, silence may be a long call, and `SILENCE_MS` applies.
 */
export function dropUnread(response: ServerResponse, unreadMs = UNREAD_MS): void {
  const { socket } = response.req;
  // A class of Node's would be an import, which evaluates all that `node:http` exports.
  const { server }: { readonly server?: object | null } = socket;
  const idleMs = server instanceof Object && "timeout" in server ? server.timeout : undefined;
  response.setTimeout(unreadMs, () => socket.destroy());
  response.once("finish", () => {
    // Node has set its own idle timeout by now, unless the next request has already arrived.
    if (socket.timeout === unreadMs) socket.setTimeout(typeof idleMs === "number" ? idleMs : SILENCE_MS);
  });
}
