import { readEvents, type StreamEvent } from "./event-stream.ts";
import { readJson } from "./exact-json.ts";
import { key } from "./key.ts";
import { isRecord, type CapabilityCall, type Json, type LogLine, type Progress, type ToolResult } from "./wire.ts";

/** The server refused a request, or could not be reached. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  /** HTTP status; 0 without a response. */
  readonly status: number;
  /** Body of the response; `null` without one. */
  readonly answer: unknown;

  constructor(status: number, message: string, answer: unknown = null) {
    super(message);
    this.status = status;
    this.answer = answer;
  }
}

/** Message of a failed request. */
export function messageOf(error: unknown): string {
  if (!(error instanceof ApiError)) return "The connection was lost before the result arrived.";
  return error.status === 401 ? "The server requires a key." : `${error.message}.`;
}

/** Receives the events of a running call. */
export interface CallListener {
  onLog(line: LogLine): void;
  onProgress(progress: Progress): void;
  onCapability(call: CapabilityCall): void;
}

export interface CallBody {
  readonly name: string;
  readonly arguments: Json;
  readonly options?: Readonly<Record<string, Json>>;
}

const DEADLINE_MS = 15_000;
/** A replay waits for its turn, and runs the tool. */
const LONG_DEADLINE_MS = 120_000;
const EVENT_STREAM = "text/event-stream";

/** Called when the server requires a key or rejects the given one. */
let onUnauthorized: () => void = () => undefined;

export function setOnUnauthorized(listener: () => void): void {
  onUnauthorized = listener;
}

/** A path of the API; its parts are quoted. */
export function pathTo(parts: TemplateStringsArray, ...values: readonly string[]): string {
  return String.raw({ raw: parts }, ...values.map(encodeURIComponent));
}

export async function getText(path: string, given?: AbortSignal): Promise<string> {
  return (await request(path, { signal: within(DEADLINE_MS, given) })).text();
}

/** Long integers of the answer keep their digits. The page's types are assumed for the answer. */
export async function getJson<T>(path: string, given?: AbortSignal): Promise<T> {
  return readJson(await getText(path, given)) as T;
}

export function postJson<T>(path: string, body?: Json, given?: AbortSignal): Promise<T> {
  return sendJson("POST", path, body, given);
}

/** Resolves with `null` if the answer has no content. */
export async function sendJson<T>(
  method: "POST" | "PUT" | "DELETE",
  path: string,
  body?: Json,
  given?: AbortSignal,
): Promise<T> {
  const content = body === undefined ? {} : { headers: JSON_TYPE, body: JSON.stringify(body) };
  const signal = within(LONG_DEADLINE_MS, given);
  return readJson((await (await request(path, { method, signal, ...content })).text()) || "null") as T;
}

function within(ms: number, given?: AbortSignal): AbortSignal {
  const deadline = AbortSignal.timeout(ms);
  return given === undefined ? deadline : AbortSignal.any([deadline, given]);
}

const JSON_TYPE = { "content-type": "application/json" };

/** The events of a stream; `null` if the server has none at this path. */
export async function openStream(path: string, signal: AbortSignal): Promise<AsyncGenerator<StreamEvent> | null> {
  const response = await request(path, { headers: { accept: EVENT_STREAM }, signal });
  if (response.body !== null && isStream(response)) return readEvents(response.body);
  await response.body?.cancel();
  return null;
}

/** Runs a call and reports its events, if the server streams them. Rejects with an `ApiError` if there is no result. */
export async function runCall(body: CallBody, listener: CallListener, signal: AbortSignal): Promise<ToolResult> {
  const response = await send("/v1/execute", {
    method: "POST",
    headers: { accept: `${EVENT_STREAM}, application/json;q=0.5`, ...JSON_TYPE },
    body: JSON.stringify(body),
    signal,
  });
  if (response.body === null || !isStream(response)) {
    const answer = await readAnswer(response);
    if (isResult(answer)) return answer;
    throw new ApiError(response.status, describe(answer, response.status));
  }
  for await (const { event, data } of readEvents(response.body)) {
    const value: unknown = readJson(data);
    if (event === "log") listener.onLog(value as LogLine);
    if (event === "progress") listener.onProgress(value as Progress);
    if (event === "capability") listener.onCapability(value as CapabilityCall);
    if (event === "result") return value as ToolResult;
  }
  throw new ApiError(0, "the server ended the stream without a result");
}

function isStream(response: Response): boolean {
  return response.headers.get("content-type")?.startsWith(EVENT_STREAM) === true;
}

/** Sends a request; rejects with an `ApiError` unless it succeeds. */
async function request(path: string, init: RequestInit): Promise<Response> {
  const response = await send(path, init);
  if (response.ok) return response;
  const answer = await readAnswer(response);
  throw new ApiError(response.status, describe(answer, response.status), answer);
}

function readAnswer(response: Response): Promise<unknown> {
  return response
    .text()
    .then(readJson)
    .catch(() => null);
}

async function send(path: string, init: RequestInit): Promise<Response> {
  const headers = new Headers(init.headers);
  if (key.value !== null) headers.set("authorization", `Bearer ${key.value}`);
  let response: Response;
  try {
    response = await fetch(path, { ...init, headers, cache: "no-store" });
  } catch (error) {
    if (init.signal?.aborted === true && !(error instanceof DOMException && error.name === "TimeoutError")) throw error;
    throw new ApiError(0, "the server does not answer");
  }
  if (response.status === 401) onUnauthorized();
  return response;
}

function describe(answer: unknown, status: number): string {
  if (isRecord(answer)) {
    const { error } = answer;
    if (isRecord(error) && typeof error["message"] === "string") return error["message"];
    if (typeof error === "string") return error;
  }
  return `the server answered ${status}`;
}

function isResult(answer: unknown): answer is ToolResult {
  return isRecord(answer) && typeof answer["success"] === "boolean" && isRecord(answer["metadata"]);
}
