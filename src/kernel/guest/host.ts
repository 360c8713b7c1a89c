/** The interface between an isolate and its worker: only numbers and strings cross it. */

/** Maximum length of a capability or method name with its progress suffix, in characters. */
export const NAME_MAX = 80;

/** Kinds of messages that a guest emits to its worker during a turn. */
export const EMIT_DONE = 0;
export const EMIT_LOG = 1;
export const EMIT_ASK = 2;
export const EMIT_TIMER = 3;
export const EMIT_PROGRESS = 4;
/** Bytes that an interpreter holds outside of V8's heap, and the reason if it is unusable. */
export const EMIT_MEMORY = 5;
/** Log lines are in the line memory: the worker reads them before it handles any message. */
export const EMIT_LINES = 6;
/** The isolate retains unneeded memory: it serves no further calls after the current ones. */
export const EMIT_WORN = 7;

/**
 * A realm's line memory, which it shares with its worker: it collects log lines. The worker reads them before it
 * handles any message of the realm, and at the end of each turn, even if the isolate is gone. It contains numbers,
 * first `LINES_AT`, then `LINE_AT` of each line; the characters of all lines follow, one byte each.
 */
export const LINES_AT = { count: 0, isHeard: 1, first: 2 } as const;
/** A line's call, its level by its place in `LEVELS`, and the end of its characters. */
export const LINE_AT = { run: 0, level: 1, end: 2, size: 3 } as const;
export const LEVELS = ["debug", "log", "info", "warn", "error"] as const;
/** Maximum number of lines in a line memory, and maximum length of all together, in characters. */
export const LINES_MAX = 64;
export const LINES_LENGTH_MAX = 8 * 1024;
/** Number of a line memory's numbers, and the start of its characters, in bytes. */
export const LINES_NUMBERS = LINES_AT.first + LINE_AT.size * LINES_MAX;
export const LINES_CHARACTERS_AT = LINES_NUMBERS * Float64Array.BYTES_PER_ELEMENT;

/** Duration after which a turn of several calls starts no further call, in milliseconds. */
export const STARTS_MS = 2;

/** Maximum length of a progress message, in characters. */
export const PROGRESS_MESSAGE_MAX = 1_000;

/**
 * Meaning of `a`, `b` and `c` by kind. Done: outcome. Log: level, message. Capability call: capability, method,
 * arguments. Timer: due time. Progress: progress, total, message, each of which may be empty. Memory: bytes, and the
 * reason if the isolate is unusable. Lines: nothing. `nowMs` is the call's clock. Returns, for a capability call, its
 * number or 0 if it is refused; for progress, 1, or 0 without a listener.
 */
export type Emit = (kind: number, run: number, a: string | number, b: string, c: string, nowMs: number) => number;

/** Pure functions that the worker computes for the guest. */
export type Pure = (operation: string, a: string, b: string, c: string) => string;

/** A call's failure as the guest reports it: the shape of the protocol's `Failure`. The host checks the code. */
export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly type?: string;
  readonly stack?: string;
  readonly details?: object;
}

/** The realm from an engine's side: the current turn, and the means to emit messages to the worker. */
export interface EngineWorld {
  readonly turn: { readonly nowMs: number; readonly call: EngineCall | null };
  readonly emit: Emit;
  /** Sets the code with which an uncaught error ends its call. */
  readonly issue: (error: object, code: string) => void;
}

/** The part of a call that an engine uses. */
export interface EngineCall {
  readonly run: number;
  readonly id: string;
  readonly settled: boolean;
  readonly timers: {
    set(callback: unknown, delayMs: unknown, args: readonly unknown[], repeat: boolean): number;
    clear(timer: unknown): void;
  };
  /** The call's randomness, identical on a replay. */
  readonly entropy: { fill(bytes: Uint8Array): void };
  /** Registers a function to run when the call is cancelled. */
  onCancel(tell: () => void): void;
  /** Start of the call, by its clock. */
  readonly originMs: number;
  /** Maximum size of the call's output, in bytes. */
  readonly outputMax: number;
  log(level: string, message: string): void;
  progress(progress: unknown, total: unknown, message: unknown): void;
  /** Number of the call's next `fetch` request, starting at 1. */
  nextRequest(): number;
  /** Makes a capability call. Rejects with a `CapabilityError`. */
  ask(capability: string, method: string, args: unknown): Promise<unknown>;
}

/** Runs tools of one runtime in a realm. Created before the realm loses the globals that it captures. */
export interface RuntimeEngine {
  /** Connects the engine to the realm, once the prelude has run. */
  connect(world: EngineWorld): void;
  /**
   * Makes a factory of a tool's code. Its exports have the names that a JavaScript module's would have. `libraries`:
   * machine code that it loads, in the order in which the code names them.
   */
  load(code: string | ArrayBuffer, ...libraries: readonly ArrayBuffer[]): Factory;
}

/** The engine of Python: CPython, as Pyodide compiles it. */
export interface PythonEngine extends RuntimeEngine {
  /**
   * Starts the interpreter; `status` reports the result. `module` is compiled, `library` a zip, `lock` JSON, and
   * `entropy` the randomness for objects made before the first call. With `snapshot`, the interpreter resumes from it;
   * without, it installs `modules` (JSON), so that a snapshot can be taken. A snapshot is Pyodide's header followed by
   * the runs, one after the other; `runs` holds the start address and the length of each.
   */
  start(
    module: object,
    library: ArrayBuffer,
    lock: string,
    entropy: ArrayBuffer,
    modules: string,
    snapshot: ArrayBuffer | null,
    headerBytes: number,
    runs: Int32Array | null,
  ): void;
  /** `ready`, empty while it starts, or an error text. */
  status(): string;
  /** The interpreter's memory, if it was started without a snapshot. */
  snapshot(): Uint8Array;
}

/** A module as the worker compiled it: evaluating it again makes a fresh instance. */
export type Factory = (...globals: unknown[]) => unknown;

/**
 * Checks of a tool's arguments and output, in this realm. Each returns a failure as JSON, or an empty text. The first
 * writes defaults into the arguments; the second takes the output as JSON, and may return another one after
 * a `+`, or a warning after a `~`.
 */
export interface Checks {
  readonly input: ((value: unknown) => string) | null;
  readonly output: ((text: string) => string) | null;
}

/** Makes a realm's checks: `place` is shared memory that shows the running check, `codes` the code of both schemas. */
export type CreateChecks = (place: unknown, codes: unknown) => Checks;

/** Functions of a realm that the worker calls. Arguments and results are numbers and strings. */
export interface Guest {
  /** Loads the tool's factory. `shared` keeps one instance for all calls. */
  load(factory: Factory, ownNames: string, facts: string, shared: boolean, checks: Checks | null): void;
  /**
   * Starts calls one after the other, `[run, id, nowMs, outputMax, arguments, command?, seed?][]` as JSON, up to and
   * including the first that does not end at once. Returns, for each started call, its outcome (empty if it continues)
   * and a tab; then a line feed if calls remain. A call that continues emits its outcome with `EMIT_DONE`.
   * `hasLongIntegers`: the arguments may have long integers.
   */
  start(calls: string, hasLongIntegers: boolean): string;
  /** Starts the remaining calls, in a separate turn. */
  startNext(): string;
  /**
   * Answers capability calls: `asks` has their numbers, separated by commas, that of a failed one negative; `payloads`
   * has a line of JSON for each. All promises are settled before any code that awaits them runs.
   */
  settle(run: number, asks: string, payloads: string, nowMs: number): void;
  fire(run: number, nowMs: number): void;
  /** Aborts the call's signal; the call is over in spite of its listeners. */
  cancel(run: number, nowMs: number): void;
  /**
   * The last result of `start` or `startNext`, if an exception lost it; or that of the last inspection, if `inspect`
   * returned an empty text.
   */
  recover(): string;
  /** Evaluates the module and returns a description of its exports as JSON; empty if it is asynchronous. */
  inspect(run: number, nowMs: number): string;
}

/** Free names in a bundle that resolve to its instance instead of the realm. */
export const OWN_NAMES = [
  "console",
  "setTimeout",
  "setInterval",
  "clearTimeout",
  "clearInterval",
  "queueMicrotask",
] as const;

/** The folder of a bundle's modules in their `import.meta`. It does not exist. */
export const FILES_FOLDER = "/tool";

/**
 * Key in the registry of symbols under which the global object of an instance has the files of its bundle: an object
 * without a prototype, from absolute paths below `FILES_FOLDER` to a text, or to `{ base64 }` for a file that is no
 * UTF-8. Absent if the bundle has none.
 */
export const FILES_KEY = "glovebox.files";

/** The parameter of a factory through which its module reaches Node's names: a `NodeInstance`. */
export const NODE_NAME = "__node";
/** Member of the exports of a module that awaits at its top level: the promise that fills them. */
export const LOADS = "~loads";
export { ABSENT_GLOBALS, adviceOn, explained, saysAbsent } from "./node/inner/advice.ts";
export { NETWORK_FAILURES } from "./network-failures.ts";

/** Uses of globals that need the capability `fetch`, by `NODE_NAME` or by a name of the global object. */
const SOCKET_USES: readonly string[] = [".WebSocket", ".EventSource"];

/** Whether a bundle uses one of these globals. */
export function usesSockets(bundle: string): boolean {
  return SOCKET_USES.some((use) => bundle.includes(use));
}

/** Whether a bundle may read `process.env`. */
export function usesProcess(bundle: string): boolean {
  return bundle.includes(`${NODE_NAME}.process`) || bundle.includes('("process"');
}

/** Names of the global object in modules. */
export const GLOBAL_NAMES = ["globalThis", "self", "window", "global"] as const;

/**
 * The prelude, as its script's value: `lines` is a line memory, `engine` is the value of the script before it, and
 * `tool` is loaded at once.
 */
export type Boot = (
  emit: Emit,
  pure: Pure,
  lines: SharedArrayBuffer | null,
  hardened: boolean,
  engine: RuntimeEngine | null,
  ...tool: Partial<Parameters<Guest["load"]>>
) => Guest;

/** A tool of another server, as its isolate carries it out: the text of a script with the runtime `remote`, as JSON. */
export type Operation = McpOperation | OpenApiOperation;

interface OperationBase {
  /** Name of the connector, which the host compares with the tool's. */
  readonly connector: string;
  /** Whether a call has no effects. */
  readonly isRead: boolean;
  /** Whether a repeated call has no further effect; true of reads. */
  readonly isRepeatable: boolean;
}

/**
 * A tool of an MCP server. Its engine calls `connector.call` with a `McpCall`, and gets a `CallToolResult` as JSON
 * text.
 */
export interface McpOperation extends OperationBase {
  readonly kind: "mcp";
  /** Its name at that server. */
  readonly tool: string;
  /** Whether it declares an output schema: a text is then never parsed. */
  readonly isTyped: boolean;
}

/**
 * An operation of an OpenAPI document. Its engine calls `connector.request` with a `RemoteRequest`, and gets a
 * `RemoteAnswer`.
 */
export interface OpenApiOperation extends OperationBase {
  readonly kind: "openapi";
  /** The method in requests. */
  readonly method: string;
  /** Path below the server's URL, with parameters in braces: `/repos/{owner}`. It may have a query that is always the same. */
  readonly path: string;
  readonly parameters: readonly OpenApiParameter[];
  readonly body: OpenApiBody | null;
  /** The media type to accept; `null` for none. */
  readonly accept: string | null;
  /** Whether the output has chosen headers of the answer in addition to its body: `{ body, headers }`. */
  readonly hasHeaders: boolean;
  /** Whether files in the body may be paths of mounts. */
  readonly takesPaths: boolean;
  /** The header that names a call, so that a repeated one has no further effect; `null` if it has none. The host fills it in. */
  readonly idempotencyHeader: string | null;
}

/** The form of a value in a request. `json` writes any value as JSON. */
export interface OpenApiForm {
  /** Its name in the request. */
  readonly name: string;
  readonly style:
    "simple" | "label" | "matrix" | "form" | "spaceDelimited" | "pipeDelimited" | "deepObject" | "cookie" | "json";
  readonly isExploded: boolean;
  /** Whether reserved characters are written unencoded. Default: false. */
  readonly isReserved?: boolean;
  /** For a part of `multipart/form-data`, if the document names it. */
  readonly mediaType?: string;
}

export interface OpenApiParameter extends OpenApiForm {
  /** Member of the arguments; differs from `name` if two parameters share one. */
  readonly property: string;
  /** `querystring`: the whole query, without the parameter's name. */
  readonly in: "path" | "query" | "querystring" | "header" | "cookie";
  /** Members of a whole query that is a form, as those of a body. */
  readonly fields?: readonly OpenApiForm[];
}

export interface OpenApiBody {
  /** Member of the arguments. */
  readonly property: string;
  readonly mediaType: string;
  /** `bytes`: a file, `{ base64, mediaType? }`; `multipart`: members, some of which are files. */
  readonly encoding: "json" | "form" | "text" | "bytes" | "multipart";
  /** Members of a form that are not written as by default: objects as JSON, lists as an entry for each item. */
  readonly fields: readonly OpenApiForm[];
}

/** Arguments of `connector.call`. */
export interface McpCall {
  readonly connector: string;
  readonly tool: string;
  /** As in its operation. */
  readonly isRead: boolean;
  /** A JSON object. */
  readonly arguments: string;
}

/** Arguments of `connector.request`. */
export interface RemoteRequest {
  readonly connector: string;
  readonly method: string;
  /** Path and query below the server's URL; begins with `/`. */
  readonly target: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string | BinaryBody | null;
}

/** Bytes that are no text. */
export interface BinaryBody {
  readonly base64: string;
}

/** The answer of `connector.request`. */
export interface RemoteAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string | BinaryBody;
}

/** Calls the capability `connector` for the current call. Rejects with a `CapabilityError`. */
export type AskConnector = (method: "call" | "request", args: McpCall | RemoteRequest) => Promise<unknown>;
