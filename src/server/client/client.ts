/** The client of a server. It imports types and the reader of integers, so that it runs in any runtime with `fetch`. */
import { parseWithDigits } from "../../kernel/base/exact-json.ts";
import type { CapabilityEvent } from "../../kernel/broker/capability-event.ts";
import type { LogLine, Progress, ToolCall, ToolFailure, ToolResult } from "../../kernel/base/result.ts";
import type { EndWait, UndoReport, UndoWait } from "../../kernel/engine/durable/durable-calls.ts";
import type { ExecuteOptions } from "../../kernel/engine/execute-options.ts";
import type { Executes, ToolFunction, ToolsOf } from "../../kernel/engine/typed-engine.ts";
import type { CallReplay } from "../../kernel/engine/replay/call-replays.ts";
import type { CallFilter, CallPage, StoredCall } from "../../kernel/store/calls/call-record.ts";
import type { CallState, Decision, DurableCall } from "../../kernel/store/calls/durable/durable-call.ts";
import type { DurablePage } from "../../kernel/store/calls/durable/durable-step.ts";
import type { ToolRunner } from "../../kernel/tool/contracts/runner.ts";
import type { ToolInfo } from "../../kernel/tool/definition.ts";
import type { AnyTools, InputOf, OutputOf, RegisteredTools, ToolName } from "../../kernel/tool/register.ts";

export type { ToolError } from "../../kernel/base/errors.ts";
export type { LogLine, Progress, ToolCall, ToolFailure, ToolResult, ToolSuccess } from "../../kernel/base/result.ts";
export type { CallState, CallWait, Decision, DurableCall } from "../../kernel/store/calls/durable/durable-call.ts";
export type { DurablePage } from "../../kernel/store/calls/durable/durable-step.ts";
export type { ExecuteOptions } from "../../kernel/engine/execute-options.ts";
export type { ToolsOf } from "../../kernel/engine/typed-engine.ts";
export type { ToolRunner } from "../../kernel/tool/contracts/runner.ts";
export type { ToolInfo } from "../../kernel/tool/definition.ts";

export interface ClientOptions {
  /** The server's address, also one below which it is mounted. */
  readonly url: string | URL;
  /** The key, or a function that is called for it before each request. */
  readonly key?: string | (() => string | Promise<string>);
  /** Sends the requests. Default: the runtime's own. */
  readonly fetch?: typeof globalThis.fetch;
  /** Headers of all requests; they go before the client's own. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A capability call of the tool, after its response. */
export type CapabilityUpdate = Pick<CapabilityEvent, "capability" | "method" | "outcome" | "durationMs" | "step">;

/** An update of a running call; the last one has its result. */
export type CallUpdate<Output = unknown> =
  | { readonly type: "log"; readonly line: LogLine }
  | { readonly type: "progress"; readonly progress: Progress }
  | { readonly type: "capability"; readonly event: CapabilityUpdate }
  /** The call waits for a person, and is kept: with the option `pause: "wait"` its result may still come. */
  | { readonly type: "paused"; readonly id: string; readonly message: string }
  /** The server has dropped this many updates, as the client did not read them. */
  | { readonly type: "dropped"; readonly events: number }
  | { readonly type: "result"; readonly result: ToolResult<Output> };

/** Options of all calls of a batch. A call may have its own in addition to its arguments. */
export type BatchOptions = Pick<
  ExecuteOptions,
  "tenant" | "priority" | "limits" | "capabilities" | "retries" | "signal"
>;

export interface BatchCall<Name extends string = string, Input = Record<string, unknown>> extends ToolCall<
  Name,
  Input
> {
  readonly options?: Omit<BatchOptions, "signal"> & Pick<ExecuteOptions, "idempotencyKey">;
}

/** Calls that wait or have waited, to list. */
export type DurableFilter = Pick<CallFilter, "tool" | "tenant" | "limit" | "cursor"> &
  (
    | { readonly state: CallState; readonly stale?: boolean }
    /** Calls whose tool was removed or replaced, or the others. */
    | { readonly state?: CallState; readonly stale: boolean }
  );

/** A call after a signal, or its end. */
export type SignalledCall = Pick<DurableCall, "id" | "state">;

/** The calls that the server has kept, for a key with the role `calls`. Rejects with an `Error` if it refuses. */
export interface ClientCalls {
  /** Calls that wait or have waited, newest first, in pages; also for a key with the role `approve`. */
  list(filter: DurableFilter): Promise<DurablePage>;
  /** Kept calls, newest first, in pages. */
  list(filter?: Omit<CallFilter, "tools">): Promise<CallPage>;
  /**
   * Decides about a waiting call, for a key with the role `approve`; `undefined` if the key may see no such call.
   * Rejects with a `DecisionConflict` if the call differs from what the decision assumes.
   */
  decide(id: string, decisions: Decision | readonly Decision[]): Promise<DurableCall | undefined>;
  /** Sends a call a signal, which is kept until the call waits for it. */
  signal(id: string, name: string, payload?: unknown): Promise<SignalledCall | undefined>;
  /** Ends a call that waits, with `cancelled`. */
  cancel(id: string, reason?: string): Promise<SignalledCall | undefined>;
  /**
   * Undoes the tool calls of a call that has ended, each once, for any number of requests. Resolves with the report so
   * far, after `waitMs`, by default 25,000. `again`: retries failed ones. `undefined` if the key may see no such call.
   */
  undo(id: string, options?: Pick<UndoWait, "waitMs" | "again">): Promise<UndoReport | undefined>;
  /**
   * The result of a call that has paused, for the key that made it: `paused` while it waits. `waitMs`: time to wait for
   * its end, at most 25,000. `undefined` if the key may see no such call.
   */
  result(id: string, options?: EndWait): Promise<ToolResult | undefined>;
  /** The newest call with this id; `undefined` if the key may see none. */
  get(id: string): Promise<StoredCall | undefined>;
  /** Runs a kept call again on the server, with its recorded answers; `undefined` if the key may see none. */
  replay(id: string): Promise<CallReplay | undefined>;
}

/** The error of a decision about an outdated state: `call` is the current state. */
export interface DecisionConflict extends Error {
  readonly name: "DecisionConflict";
  readonly call: DurableCall;
}

/** A client of known tools. */
export interface TypedClient<Tools> extends Executes<Tools> {
  /** Runs a call, and reports its progress. A reader that stops cancels the call. */
  stream<const Name extends ToolName<Tools>>(
    call: ToolCall<Name, InputOf<Tools, Name>>,
    options?: ExecuteOptions,
  ): AsyncIterable<CallUpdate<OutputOf<Tools, Name>>>;
  /** Runs many calls in one request. Their results are in the order of the calls. */
  batch<const Names extends readonly ToolName<Tools>[]>(
    calls: { readonly [At in keyof Names]: BatchCall<Names[At], InputOf<Tools, Names[At]>> },
    options?: BatchOptions,
  ): Promise<{ readonly [At in keyof Names]: ToolResult<OutputOf<Tools, Names[At]>> }>;
  /** The tools that the key may use. Rejects with a `CallError` if the server refuses. */
  list(): Promise<ToolInfo<ToolName<Tools>>[]>;
  /** For adapters: a runner of the tools that the key may use now. Rejects as `list` does. */
  runner(): Promise<ToolRunner<Tools>>;
  readonly calls: ClientCalls;
}

/** A client of unknown tools. */
export interface AnyClient {
  /** Types only. */
  readonly "~tools"?: AnyTools;
  execute(call: ToolCall, options?: ExecuteOptions): Promise<ToolResult>;
  readonly tools: { readonly [name: string]: ToolFunction<Record<string, unknown>, unknown> };
  stream(call: ToolCall, options?: ExecuteOptions): AsyncIterable<CallUpdate>;
  batch(calls: readonly BatchCall[], options?: BatchOptions): Promise<readonly ToolResult[]>;
  list(): Promise<ToolInfo[]>;
  runner(): Promise<ToolRunner>;
  readonly calls: ClientCalls;
}

/** A client, created by `createClient`. Every `Client<Tools>` is a `Client`. */
export type Client<Tools = AnyTools> = string extends keyof Tools ? AnyClient : TypedClient<Tools>;

/** The error of a result, thrown by `unwrap`, and by `list` if the server refuses. */
export interface CallError extends Error {
  readonly code: ToolFailure["error"]["code"];
  readonly result: ToolFailure;
}

/** Options that the client applies itself; the server gets the others. */
type Listeners = Pick<ExecuteOptions, "signal" | "onLog" | "onProgress">;

/**
 * A client of a server: its calls end with results, also if the server refuses them. It rejects if there is no result:
 * with the error of `fetch` if the server cannot be reached or `options.signal` aborts, which cancels the call, and
 * with an `Error` if another program answers.
 */
export function createClient<Tools = RegisteredTools>(options: ClientOptions): Client<ToolsOf<Tools>>;
export function createClient({ url, key, fetch = globalThis.fetch, headers = {} }: ClientOptions): AnyClient {
  const base = String(url).replace(/\/+$/, "");

  const send: Send = async (path, accept, body, signal) => {
    const secret = typeof key === "function" ? await key() : key;
    const response = await fetch(`${base}/v1/${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: {
        accept,
        ...(body === undefined ? {} : { "content-type": JSON_TYPE }),
        ...(secret === undefined ? {} : { authorization: `Bearer ${secret}` }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
    // A handler that replaces `fetch` answers requests that `fetch` would reject.
    signal?.throwIfAborted();
    return response;
  };

  async function* stream(call: ToolCall, options: ExecuteOptions = {}): AsyncGenerator<CallUpdate, void, undefined> {
    const response = await send("execute", "text/event-stream", bodyOf(call, options), options.signal);
    // A call that is refused at once is no stream.
    if (!isStream(response)) return yield { type: "result", result: await readResult(response) };
    for await (const update of readUpdates(response)) {
      yield update;
      if (update.type === "result") return;
    }
    throw new Error("the connection was lost before the call had a result");
  }

  const execute = async (call: ToolCall, options: ExecuteOptions = {}): Promise<ToolResult> => {
    const { onLog, onProgress, signal } = options;
    if (onLog === undefined && onProgress === undefined) {
      return readResult(await send("execute", JSON_TYPE, bodyOf(call, options), signal));
    }
    for await (const update of stream(call, options)) {
      if (update.type === "log") onLog?.(update.line);
      if (update.type === "progress") onProgress?.(update.progress);
      if (update.type === "result") return update.result;
    }
    throw new Error("a stream ends with a result");
  };

  const list = async (): Promise<ToolInfo[]> => {
    const answer = await readJson(await send("tools", JSON_TYPE));
    if (Array.isArray(answer)) return answer as ToolInfo[];
    return unwrap(asResult(answer)) as ToolInfo[];
  };

  return {
    execute,
    stream,
    list,
    calls: callsOf(send),
    tools: new Proxy(Object.freeze({}), {
      // JavaScript itself reads these two of any object: a function there would make it a promise, or other JSON.
      get: (_target, name) =>
        typeof name === "string" && name !== "then" && name !== "toJSON"
          ? (args: ToolCall["arguments"], { id, ...options }: ExecuteOptions & { readonly id?: string } = {}) =>
              execute({ ...(id === undefined ? {} : { id }), name, arguments: args }, options)
          : undefined,
    }),
    async batch(calls, { signal, ...options } = {}) {
      const answer = await readJson(await send("execute/batch", JSON_TYPE, { calls, options }, signal));
      if (isObject(answer) && Array.isArray(answer["results"])) return answer["results"] as ToolResult[];
      const refusal = asResult(answer);
      return calls.map(() => refusal);
    },
    async runner() {
      const tools = await list();
      return {
        list: () => tools,
        get: (name) => tools.find((tool) => tool.name === name),
        execute,
      };
    },
  };
}

type Send = (path: string, accept: string, body?: unknown, signal?: AbortSignal) => Promise<Response>;

function callsOf(send: Send): ClientCalls {
  /** `undefined` if the server has no such resource. */
  const kept = async <Answer>(path: string, body?: unknown, signal?: AbortSignal): Promise<Answer | undefined> => {
    const response = await send(`calls${path}`, JSON_TYPE, body, signal);
    const answer = (await readJson(response)) as Answer & Refusal;
    if (response.ok) return answer;
    if (response.status === 404 && path.startsWith("/")) return undefined;
    const { detail, error, call } = answer;
    const said = detail ?? (isObject(error) ? error.message : undefined);
    const failed = new Error(said ?? `the server answers with ${response.status}`);
    throw call === undefined ? failed : Object.assign(failed, { name: "DecisionConflict", call });
  };
  const at = (id: string, rest = ""): string => `/${encodeURIComponent(id)}${rest}`;
  return {
    list: async <Page>(filter?: object): Promise<Page> => {
      const pairs = Object.entries(filter ?? {}).filter(([, value]) => value !== undefined);
      const texts = pairs.map(([name, value]) => [name, value instanceof Date ? value.toISOString() : String(value)]);
      return (await kept(`?${new URLSearchParams(texts).toString()}`)) as Page;
    },
    get: (id) => kept(at(id)),
    replay: (id) => kept(at(id, "/replay"), {}),
    decide: (id, decisions) => kept(at(id, "/decisions"), decisions),
    signal: (id, name, payload = null) => kept(at(id, `/signals/${encodeURIComponent(name)}`), payload),
    cancel: (id, reason) => kept(at(id, "/cancel"), reason === undefined ? {} : { reason }),
    undo: (id, { waitMs = 25_000, again = false } = {}) =>
      kept(at(id, `/undo?wait=${Math.ceil(waitMs / 1_000)}${again ? "&again=true" : ""}`), {}),
    result: async (id, { waitMs = 0, signal } = {}) => {
      const query = waitMs > 0 ? `?wait=${Math.ceil(waitMs / 1_000)}` : "";
      const call = await kept<DurableCall>(at(id, query), undefined, signal);
      if (call === undefined || !("waits" in call)) return undefined;
      return call.state === "ended" ? (call.result as ToolResult) : pausedResult(call);
    },
  };
}

/** The server's answer to a request that it refuses. */
interface Refusal {
  readonly detail?: string;
  readonly error?: string | { readonly message: string };
  readonly call?: DurableCall;
}

/** The result of a call that has not ended, from the server's description. */
function pausedResult({ id, callId, tool }: DurableCall): ToolResult {
  const message = `the call waits; it is kept as ${id}`;
  const metadata = { callId, tool, queueMs: 0, wallMs: 0, cpuMs: 0, heapBytes: 0, attempts: 0, logs: [] };
  const error = { code: "paused", type: "PausedError", message, retryable: false, details: { id } } as const;
  return { success: false, output: null, error, metadata };
}

/** The output of a call that succeeded. Throws a `CallError` for one that failed. */
export function unwrap<Output>(result: ToolResult<Output>): Output {
  if (result.success) return result.output;
  const { code, message } = result.error;
  throw Object.assign(new Error(message), { name: "ToolCallError", code, result }) satisfies CallError;
}

const JSON_TYPE = "application/json";

/** A call with the options that the server accepts. */
function bodyOf(
  call: ToolCall,
  { signal: _signal, onLog: _onLog, onProgress: _onProgress, ...options }: Listeners,
): object {
  return { ...call, options };
}

function isStream({ ok, headers }: Response): boolean {
  return ok && (headers.get("content-type") ?? "").startsWith("text/event-stream");
}

async function readResult(response: Response): Promise<ToolResult> {
  return asResult(await readJson(response));
}

async function readJson(response: Response): Promise<unknown> {
  const text = await response.text();
  try {
    return parseWithDigits(text);
  } catch {
    throw new Error(
      `the answer is no JSON, and its status ${response.status}: is this the address of a Glovebox server?`,
    );
  }
}

function asResult(value: unknown): ToolResult {
  if (isObject(value) && "success" in value && "metadata" in value) return value as unknown as ToolResult;
  throw new Error("the answer is no result: is this the address of a Glovebox server?");
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

/** The events of a stream. A reader that stops closes the connection. */
async function* readUpdates(response: Response): AsyncGenerator<CallUpdate, void, undefined> {
  let event = "";
  let data: string[] = [];
  for await (const line of readLines(response)) {
    if (line.startsWith("event: ")) event = line.slice(7);
    else if (line.startsWith("data: ")) data.push(line.slice(6));
    else if (line === "" && data.length > 0) {
      const update = updateOf(event, parseWithDigits(data.join("\n")));
      data = [];
      if (update !== null) yield update;
    }
  }
}

/** An update as its event is named; `null` for one of a later version. */
function updateOf(event: string, data: unknown): CallUpdate | null {
  switch (event) {
    case "log":
      return { type: event, line: data as LogLine };
    case "progress":
      return { type: event, progress: data as Progress };
    case "capability":
      return { type: event, event: data as CapabilityUpdate };
    case "paused":
      return { type: event, ...(data as { readonly id: string; readonly message: string }) };
    case "dropped":
      return { type: event, events: (data as { readonly events: number }).events };
    case "result":
      return { type: event, result: data as ToolResult };
    default:
      return null;
  }
}

async function* readLines({ body }: Response): AsyncGenerator<string, void, undefined> {
  if (body === null) return;
  // Not every browser iterates over a stream.
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      // Only the new part is searched: a long result arrives in many pieces.
      const [first = "", ...lines] = decoder.decode(value, { stream: true }).split("\n");
      if (lines.length === 0) {
        rest += first;
        continue;
      }
      yield rest + first;
      rest = lines.pop() ?? "";
      yield* lines;
    }
  } finally {
    // Also after a lost connection, which the reader has already reported.
    await reader.cancel().catch(() => undefined);
  }
}
