import { readEvents } from "./event-stream.ts";
import { readJson } from "./exact-json.ts";
import { loadKey } from "./key-dialog.ts";
import {
  type CapabilityCall,
  type Connector,
  type Declarations,
  type Explanation,
  isRecord,
  type Json,
  type LogLine,
  type ProgramProblem,
  type Progress,
  type RecordPage,
  type RecordSummary,
  type RecordVersion,
  type RegisteredRecord,
  type Schema,
  type Stats,
  type ToolInfo,
  type ToolResult,
} from "./wire.ts";

/** The server refused a request, or could not be reached. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  /** HTTP status; 0 without a response. */
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
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

/** Called when the server requires a key or rejects the one it was sent. */
let onUnauthorized: () => void = () => undefined;

export function setOnUnauthorized(listener: () => void): void {
  onUnauthorized = listener;
}

export function listTools(): Promise<readonly ToolInfo[]> {
  return getJson("/v1/tools") as Promise<readonly ToolInfo[]>;
}

export function explainTool(name: string): Promise<Explanation> {
  return getJson(`/v1/tools/${encodeURIComponent(name)}/explanation`) as Promise<Explanation>;
}

/** The mistakes of a program, which is not run. */
export async function checkProgram(code: string): Promise<readonly ProgramProblem[]> {
  const init = {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code }),
    signal: AbortSignal.timeout(DEADLINE_MS),
  };
  const answer: unknown = await (await request("/v1/code/check", init)).json();
  return (answer as { readonly problems: readonly ProgramProblem[] }).problems;
}

export function getDeclarations(): Promise<Declarations> {
  return getJson("/v1/code/declarations") as Promise<Declarations>;
}

const CONNECTORS = "/v1/connectors";

export function listConnectors(): Promise<readonly Connector[]> {
  return getJson(CONNECTORS) as Promise<readonly Connector[]>;
}

/** Begins the login of a connector. Returns the page on which a person logs in. */
export async function beginLogin(name: string, tenant: string): Promise<string> {
  const query = tenant === "" ? "" : `?tenant=${encodeURIComponent(tenant)}`;
  const init = { method: "POST", signal: AbortSignal.timeout(DEADLINE_MS) };
  const answer: unknown = await (await request(`${CONNECTORS}/${encodeURIComponent(name)}/login${query}`, init)).json();
  return (answer as { readonly url: string }).url;
}

const RECORDS = "/v1/agentspace/tools";

/** Some of the registry's records, after that of an id. */
export function listRecords(after: string): Promise<RecordPage> {
  return getJson(`${RECORDS}?after=${encodeURIComponent(after)}`) as Promise<RecordPage>;
}

export async function searchRecords(words: string): Promise<RecordPage> {
  const found = await getJson(`/v1/agentspace/search?limit=50&q=${encodeURIComponent(words)}`);
  return { tools: (found as { readonly hits: readonly RecordSummary[] }).hits };
}

export function getRecord(id: string): Promise<RegisteredRecord> {
  return getJson(recordPath(id)) as Promise<RegisteredRecord>;
}

export async function getManPage(id: string): Promise<string> {
  return (await request(`${recordPath(id)}/man`, { signal: AbortSignal.timeout(DEADLINE_MS) })).text();
}

export async function getVersions(id: string): Promise<readonly RecordVersion[]> {
  return ((await getJson(`${recordPath(id)}/versions`)) as { readonly versions: readonly RecordVersion[] }).versions;
}

export function getSpec(id: string): Promise<{ readonly input: Schema }> {
  return getJson(`${recordPath(id)}/spec`) as Promise<{ readonly input: Schema }>;
}

function recordPath(id: string): string {
  return `${RECORDS}/${encodeURIComponent(id)}`;
}

/** Passes on each snapshot until the signal aborts or the stream ends. Rejects with an `ApiError`. */
export async function watchStats(onStats: (stats: Stats) => void, signal: AbortSignal): Promise<void> {
  const response = await request("/v1/stats", { headers: { accept: "text/event-stream" }, signal });
  if (response.body === null) throw new ApiError(0, "the server sent no stream");
  for await (const { data } of readEvents(response.body)) onStats(JSON.parse(data) as Stats);
}

/** Runs a call and reports its events, if the server streams them. Rejects with an `ApiError` if there is no result. */
export async function runCall(body: CallBody, listener: CallListener, signal: AbortSignal): Promise<ToolResult> {
  const init = {
    method: "POST",
    headers: { accept: "text/event-stream, application/json;q=0.5", "content-type": "application/json" },
    body: JSON.stringify(body),
    signal,
  };
  const response = await send("/v1/execute", init);
  const type = response.headers.get("content-type") ?? "";
  if (response.body === null || !type.startsWith("text/event-stream")) {
    const answer: unknown = await response
      .text()
      .then(readJson)
      .catch(() => null);
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

async function getJson(path: string): Promise<unknown> {
  const response = await request(path, { signal: AbortSignal.timeout(DEADLINE_MS) });
  return readJson(await response.text());
}

/** Sends a request; rejects with an `ApiError` unless it succeeds. */
async function request(path: string, init: RequestInit): Promise<Response> {
  const response = await send(path, init);
  if (response.ok) return response;
  throw new ApiError(response.status, describe(await response.json().catch(() => null), response.status));
}

async function send(path: string, init: RequestInit): Promise<Response> {
  const headers = new Headers(init.headers);
  const key = loadKey();
  if (key !== null) headers.set("authorization", `Bearer ${key}`);
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
