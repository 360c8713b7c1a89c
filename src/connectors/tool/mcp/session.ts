import type { Progress } from "../../../kernel/base/result.ts";
import type { LoginReport } from "../../../kernel/base/connector-report.ts";
import { Worker } from "node:worker_threads";
import { TIMER_MAX_MS, within } from "../../../kernel/base/deadline.ts";
import { missingPackage } from "../../../kernel/base/optional-package.ts";
import type { GloveboxError } from "../../../kernel/base/errors.ts";
import { delegation } from "../../../kernel/base/os/cgroup.ts";
import { killGroupOf } from "../../../kernel/base/os/process-group.ts";
import type { FetchOptions } from "../../../kernel/broker/capabilities/fetch/connections.ts";
import type { SecretOptions } from "../../../kernel/broker/capabilities/secrets/secrets.ts";
import type { LoginUse } from "../../login/settings.ts";
import { failed, type McpFailure } from "./failure.ts";
import { MCP_LIMITS, type McpLimits } from "./limits.ts";
import type { FromThread, ListedTools, McpPeer, ThreadSettings, ToThread } from "./messages.ts";
import type { McpServer } from "./server.ts";

/** The state of a session. A session that is down tries again. */
export type McpState =
  | { readonly kind: "connecting" }
  | { readonly kind: "up"; readonly peer: McpPeer }
  | { readonly kind: "down"; readonly failure: McpFailure; readonly retryInMs: number }
  | { readonly kind: "missing"; readonly error: GloveboxError }
  | { readonly kind: "closed" };

export interface McpSessionOptions {
  readonly connector: string;
  readonly server: McpServer;
  /** Whether tools that the server calls read-only or idempotent are. Default: false. */
  readonly trustAnnotations?: boolean;
  /** The secrets of the connector, with their values. */
  readonly secrets?: { readonly [name: string]: SecretOptions };
  readonly fetch?: FetchOptions;
  readonly limits?: Partial<McpLimits>;
  /** The source of tokens for its requests. */
  readonly login?: LoginUse | null;
  /** Tenant of the token, if each tenant has a login. */
  readonly tenant?: string;
  readonly onLogin?: (report: LoginReport) => void;
  readonly onState?: (state: McpState) => void;
  /** The server's list may be another now. */
  readonly onListChanged?: () => void;
}

export type McpAnswer =
  /** JSON of a `CallToolResult`. */
  { readonly kind: "answered"; readonly text: string } | { readonly kind: "failed"; readonly failure: McpFailure };

/** Tools of a server: each is the JSON of a `RemoteTool`. */
export type McpList =
  { readonly kind: "listed"; readonly list: ListedTools } | { readonly kind: "failed"; readonly failure: McpFailure };

export interface McpCallOptions {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  /** Longest answer. Default: the longest message. */
  readonly maxBytes?: number;
  /** Receives the progress that the server reports, at most twenty times in a second. */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

/** Time of the thread beyond a request's own, after which it counts as stuck. */
const GRACE_MS = 5_000;
const ENDED: McpFailure = failed("the call has ended");
const UNLISTED: McpFailure = failed("it has not listed its tools in time", { isSent: false });
const CLOSED: McpFailure = failed("the engine is closed", { isTransient: false, isSent: false });

type Answered = Extract<FromThread, { readonly request: number }>;

/** One start of the thread. */
interface ThreadRun {
  readonly worker: Worker;
  readonly requests: Map<number, (answer: Answered) => void>;
  readonly connected: PromiseWithResolvers<McpFailure | null>;
  readonly ended: PromiseWithResolvers<void>;
  upMs: number | null;
  /** Process group that ends with the thread. */
  group: number | null;
  isOver: boolean;
  readonly watchdog: NodeJS.Timeout;
}

/**
 * A session with an external MCP server. Each connection has its own thread, which parses the server's messages: they
 * may be hostile. A lost connection is reopened, after a delay that doubles.
 */
export class McpSession implements AsyncDisposable {
  readonly #options: McpSessionOptions;
  readonly #limits: McpLimits;
  #run: ThreadRun | null = null;
  #state: McpState = { kind: "connecting" };
  #losses = 0;
  #restart: NodeJS.Timeout | null = null;
  #restartAtMs = 0;
  #refresh: NodeJS.Timeout | null = null;
  #lastRequest = 0;

  constructor(options: McpSessionOptions) {
    this.#options = options;
    this.#limits = { ...MCP_LIMITS, ...options.limits };
    this.#start();
  }

  get state(): McpState {
    return this.#state;
  }

  /** The server's tools. Waits for a connection that is being made. */
  async list(signal?: AbortSignal): Promise<McpList> {
    const { listMs, connectMs } = this.#limits;
    const answer = await this.#request(signal, connectMs + listMs, (request) => ({ kind: "list", request }));
    if (answer.kind === "failed") return signal?.aborted === true ? { kind: "failed", failure: UNLISTED } : answer;
    if (answer.kind !== "listed") return { kind: "failed", failure: failed("it gave no list") };
    const { list } = answer;
    if (this.#refresh !== null) clearTimeout(this.#refresh);
    // An expired list may have changed. Without an expiry, the server reports changes.
    const dueMs = Math.min(Math.max(list.ttlMs, this.#limits.ttlMinMs), TIMER_MAX_MS);
    this.#refresh = list.ttlMs > 0 ? setTimeout(() => this.#options.onListChanged?.(), dueMs) : null;
    this.#refresh?.unref();
    return { kind: "listed", list };
  }

  /** `args`: JSON of an object. */
  async call(tool: string, args: string, options: McpCallOptions): Promise<McpAnswer> {
    const { signal, timeoutMs, maxBytes = Infinity, onProgress } = options;
    const bytes = Math.min(maxBytes, this.#limits.messageBytes);
    const isWatched = onProgress !== undefined;
    const make = (request: number, leftMs: number): ToThread => {
      return { kind: "call", request, tool, args, timeoutMs: leftMs, maxBytes: bytes, isWatched };
    };
    const answer = await this.#request(signal, timeoutMs, make, onProgress);
    if (answer.kind === "answered") return { kind: "answered", text: answer.text };
    return answer.kind === "failed" ? answer : { kind: "failed", failure: failed("it gave no answer") };
  }

  /** Connects now, if it waits to try again. */
  hasten(): void {
    const run = this.#run;
    if (this.#state.kind !== "down" || this.#restart === null || run === null) return;
    clearTimeout(this.#restart);
    this.#restart = null;
    this.#losses = 0;
    void this.#again(run);
  }

  async close(): Promise<void> {
    if (this.#restart !== null) clearTimeout(this.#restart);
    if (this.#refresh !== null) clearTimeout(this.#refresh);
    const run = this.#run;
    this.#change({ kind: "closed" });
    if (run === null) return;
    run.connected.resolve(CLOSED);
    this.#fail(run, CLOSED);
    if (!run.isOver) run.worker.postMessage({ kind: "close" } satisfies ToThread);
    await within(this.#limits.closeMs + GRACE_MS, run.ended.promise);
    await this.#end(run);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #request(
    signal: AbortSignal | undefined,
    timeoutMs: number,
    make: (request: number, leftMs: number) => ToThread,
    onProgress?: (progress: Progress) => void,
  ): Promise<Answered | { readonly kind: "failed"; readonly failure: McpFailure }> {
    const startMs = performance.now();
    const unready = await this.#ready(signal, timeoutMs);
    const run = this.#run;
    if (unready !== null || run === null) return { kind: "failed", failure: unready ?? CLOSED };
    const leftMs = Math.max(1, Math.ceil(timeoutMs - (performance.now() - startMs)));
    const request = ++this.#lastRequest;
    return await new Promise((resolve) => {
      const settle = (answer: Answered): void => {
        if (answer.kind === "progress") return onProgress?.(answer.progress);
        clearTimeout(watchdog);
        signal?.removeEventListener("abort", onAbort);
        run.requests.delete(request);
        resolve(answer);
      };
      const onAbort = (): void => {
        run.worker.postMessage({ kind: "cancel", request } satisfies ToThread);
        settle({ kind: "failed", request, failure: ENDED });
      };
      const watchdog = setTimeout(() => this.#onStuck(run), leftMs + GRACE_MS);
      run.requests.set(request, settle);
      signal?.addEventListener("abort", onAbort, { once: true });
      run.worker.postMessage(make(request, leftMs));
    });
  }

  /** Waits for a connection that is being made; returns the reason if it is not made. */
  async #ready(signal: AbortSignal | undefined, timeoutMs: number): Promise<McpFailure | null> {
    if (signal?.aborted === true) return ENDED;
    const run = this.#run;
    if (this.#state.kind === "up") return null;
    if (this.#state.kind !== "connecting" || run === null) return this.#downFailure();
    const { promise: aborted, resolve } = Promise.withResolvers<McpFailure>();
    const onAbort = (): void => resolve(ENDED);
    const timer = setTimeout(
      () => resolve(failed(`it was not ready within ${timeoutMs} ms`, { isSent: false })),
      timeoutMs,
    );
    signal?.addEventListener("abort", onAbort, { once: true });
    try {
      return await Promise.race([run.connected.promise, aborted]);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    }
  }

  #downFailure(): McpFailure {
    const state = this.#state;
    if (state.kind === "missing") return failed(state.error.message, { isTransient: false, isSent: false });
    if (state.kind !== "down") return CLOSED;
    const retryAfterMs = Math.max(0, Math.ceil(this.#restartAtMs - performance.now()));
    return { ...state.failure, message: `it is down: ${state.failure.message}`, isSent: false, retryAfterMs };
  }

  #start(): void {
    const {
      connector,
      server,
      trustAnnotations = false,
      secrets = {},
      login = null,
      tenant = "",
      fetch: { lookup, ...fetch } = {},
    } = this.#options;
    const delegated = delegation();
    const settings: ThreadSettings = {
      connector,
      server,
      trustAnnotations,
      secrets,
      fetch,
      hasLookup: lookup !== undefined,
      groups: delegated?.kind === "delegated" ? delegated.directory : null,
      limits: this.#limits,
      login,
      tenant,
    };
    const worker = new Worker(new URL(`./entry.${import.meta.url.endsWith(".ts") ? "ts" : "js"}`, import.meta.url), {
      name: `glovebox-mcp-${connector}`,
      resourceLimits: { maxOldGenerationSizeMb: this.#limits.heapMb },
      // Pipes that are opened by name become sockets, which close them: their numbers must not be closed once more.
      trackUnmanagedFds: false,
    });
    const run: ThreadRun = {
      worker,
      requests: new Map(),
      connected: Promise.withResolvers(),
      ended: Promise.withResolvers(),
      upMs: null,
      group: null,
      isOver: false,
      watchdog: setTimeout(() => this.#onStuck(run), 2 * this.#limits.connectMs + GRACE_MS),
    };
    this.#run = run;
    worker.on("message", (message: FromThread) => this.#receive(run, message));
    worker.on("error", () => this.#onLost(run, failed("its thread failed, or ran out of memory")));
    worker.on("exit", () => {
      this.#onLost(run, failed("the connection has ended"));
      run.ended.resolve();
    });
    worker.postMessage(settings);
    this.#change({ kind: "connecting" });
  }

  #receive(run: ThreadRun, message: FromThread): void {
    switch (message.kind) {
      case "up":
        clearTimeout(run.watchdog);
        run.upMs = performance.now();
        run.connected.resolve(null);
        return this.#change({ kind: "up", peer: message.peer });
      case "lost":
        return this.#onLost(run, message.failure);
      case "missing":
        return this.#onMissing(run);
      case "changed":
        return this.#options.onListChanged?.();
      case "group":
        run.group = message.pid;
        return;
      case "login":
        return this.#options.onLogin?.(message.report);
      case "lookup":
        return void this.#resolve(run, message.lookup, message.hostname);
      default:
        return run.requests.get(message.request)?.(message);
    }
  }

  async #resolve({ worker }: ThreadRun, lookup: number, hostname: string): Promise<void> {
    const own = this.#options.fetch?.lookup;
    const addresses = await Promise.try(async () => (await own?.(hostname)) ?? null).catch(() => null);
    worker.postMessage({ kind: "resolved", lookup, addresses } satisfies ToThread);
  }

  #onStuck(run: ThreadRun): void {
    this.#onLost(run, failed("its messages took too long to read"));
    void this.#end(run);
  }

  #onMissing(run: ThreadRun): void {
    run.isOver = true;
    clearTimeout(run.watchdog);
    this.#change({ kind: "missing", error: missingPackage("an MCP connector", ["@modelcontextprotocol/client"]) });
    run.connected.resolve(this.#downFailure());
    this.#fail(run, this.#downFailure());
  }

  #onLost(run: ThreadRun, failure: McpFailure): void {
    if (run.isOver) return;
    run.isOver = true;
    clearTimeout(run.watchdog);
    run.connected.resolve({ ...failure, isSent: false });
    this.#fail(run, failure);
    if (this.#state.kind === "closed") return;
    const { backoffMinMs, backoffMaxMs } = this.#limits;
    const lastedMs = run.upMs === null ? 0 : performance.now() - run.upMs;
    this.#losses = lastedMs >= backoffMaxMs ? 0 : this.#losses + 1;
    const retryInMs = Math.min(backoffMaxMs, backoffMinMs * 2 ** Math.max(0, Math.min(this.#losses - 1, 30)));
    this.#restartAtMs = performance.now() + retryInMs;
    this.#restart = setTimeout(() => {
      this.#restart = null;
      void this.#again(run);
    }, retryInMs);
    this.#change({ kind: "down", failure, retryInMs });
  }

  /** Two servers of one connector would be one too many: the next starts when the last has ended. */
  async #again(run: ThreadRun): Promise<void> {
    await within(this.#limits.closeMs + GRACE_MS, run.ended.promise);
    await this.#end(run);
    if (this.#state.kind === "down") this.#start();
  }

  #fail({ requests }: ThreadRun, failure: McpFailure): void {
    for (const [request, settle] of requests) settle({ kind: "failed", request, failure });
  }

  async #end(run: ThreadRun): Promise<void> {
    clearTimeout(run.watchdog);
    if (run.group !== null) killGroupOf(run.group);
    run.group = null;
    await run.worker.terminate();
    run.ended.resolve();
  }

  #change(state: McpState): void {
    if (this.#state.kind === "closed") return;
    this.#state = state;
    this.#options.onState?.(state);
  }
}
