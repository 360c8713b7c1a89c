import { count } from "../base/limits.ts";
import { isObject } from "../base/json.ts";
import { availableParallelism } from "node:os";
import { join, resolve } from "node:path";
import type { Registry } from "prom-client";
import type { AuditTarget } from "./telemetry/audit.ts";
import type { Policy } from "../broker/policy.ts";
import type { CustomCapability } from "../broker/capabilities/custom-types.ts";
import { IN_MEMORY } from "../store/sqlite/layout.ts";
import { DEFAULT_KEYS, type LedgerCapacity } from "../store/calls/ledger.ts";
import { BROKER_PLACES, type BrokerPlace } from "../broker/thread/start.ts";
import type { FetchOptions } from "../broker/capabilities/fetch/connections.ts";
import type { SecretOptions } from "../broker/capabilities/secrets/secrets.ts";
import type { ExecutorKind, ExecutorOptions } from "../executor/executor.ts";
import type { ResolvedExecutorOptions } from "../executor/executor-factory.ts";
import { resolveExecutorOptions } from "../executor/options.ts";
import { DEFAULT_LIMITS, type Limits, MAX_LIMITS, resolveLimits, toolCeiling } from "../base/limits.ts";
import type { Logger } from "./telemetry/log.ts";
import { type PackageOptions, type ResolvedPackageOptions, resolvePackageOptions } from "../tool/package/options.ts";
import type { StoreOptions } from "../store/sqlite/store.ts";
import { type LedgerFactory, type PluginStore, pluginStore, type ThreadStoreFactory } from "../store/store-factory.ts";
import type { SourceSettings } from "./sources.ts";
import { type PluggedIn, type Plugin, resolvePlugins } from "./plugin.ts";
import { CALL_MEMBERS, type CallOptions, type ResolvedCallOptions, resolveCalls } from "./call-options.ts";
import type { NotifyTarget } from "./durable/notify-options.ts";
import { type CodeModeOptions, resolveCodeMode } from "./code-mode-options.ts";
import type { ToolDefinition, ToolLocation } from "../tool/definition.ts";

export { BROKER_PLACES } from "../broker/thread/start.ts";
export { EXECUTOR_KINDS, LATENCIES, SANDBOX_MODES } from "../executor/options.ts";

export interface QueueOptions {
  /** Maximum number of waiting calls: one more is refused with `queue_full`. Default 10,000. */
  readonly maxQueued?: number;
  /** Maximum number of calls in flight. Default 256. */
  readonly concurrency?: number;
  /** Maximum number of calls in flight of one tool. Default: no cap. */
  readonly perTool?: number;
  /** Maximum number of calls in flight of one tenant. Default: no cap. */
  readonly perTenant?: number;
}

/** Storage of the `kv` capability: a file or Redis. */
export interface KvOptions {
  /**
   * Redis or Valkey instead of a file, for engines on several machines: `redis://host:6379`. Its own `maxmemory` bounds
   * it.
   */
  readonly url?: string;
  /**
   * Path of a file that is created on first use and may be shared by engines; `:memory:` for no file. Default
   * `kv.sqlite` in `stateDir`.
   */
  readonly path?: string;
  /** Maximum size of the file in bytes. Default 8 GiB. */
  readonly maxBytes?: number;
}

/** Storage of the results of calls with an `idempotencyKey`. */
export interface IdempotencyOptions {
  /**
   * Path of a file that is created on first use and may be shared by engines; `calls.path` may be the same one. It
   * contains results in plain text, keys and arguments as digests. Results are on the disk before they are returned,
   * unless the call may be repeated. Default `:memory:`: results are lost when the engine closes.
   */
  readonly path?: string;
  /**
   * URL of a Redis instead of a file, for engines on several machines: `redis://`, `rediss://`, `redis+sentinel://` or
   * `redis+cluster://`. The connection is opened on first use.
   */
  readonly url?: string;
  /** Name of the fleet: engines with the same name and Redis share results. Default `default`. */
  readonly fleet?: string;
  /** Key that seals results before they go to Redis: at least 16 characters, the same for all engines of the fleet. */
  readonly secret?: string;
  /** Retention of a result, in milliseconds. Default 600,000. */
  readonly ttlMs?: number;
  /**
   * Maximum number of stored calls; beyond it, the oldest calls of the tenant with the most calls are removed. Default
   * 10,000.
   */
  readonly maxEntries?: number;
  /**
   * Maximum size of all stored results, in bytes. A result above 1/16 of it is not stored, only the fact that the call
   * ended. Default 64 MiB.
   */
  readonly maxBytes?: number;
}

/** A tool: its definition, or the place of its module. */
export type ToolSource = ToolDefinition | ToolLocation | string;

/** Options of `createEngine`; all are optional. */
export interface EngineOptions<Sources extends readonly ToolSource[] = readonly ToolSource[]> {
  readonly tools?: Sources;
  readonly executor?: ExecutorKind | ExecutorOptions;
  /**
   * Isolate threads. Default: one per processor up to four, plus one, because a slow tool leaves one fewer to the
   * others and the operating system shares the processors among them.
   */
  readonly workers?: number;
  /**
   * Limits of tools that declare none. A tool may not raise those whose cost falls on the host: `inputBytes`,
   * `outputBytes`, `logBytes`, `capabilityCalls`, `capabilityBytes`.
   */
  readonly limits?: Partial<Limits>;
  /** Ceiling that no tool and no call may exceed. A limit of the host that is set here may be raised by tools up to it. */
  readonly maxLimits?: Partial<Limits>;
  readonly queue?: QueueOptions;
  /** Rules that grant capabilities to tools. Default: no grants. */
  readonly policy?: Policy;
  readonly capabilities?: readonly CustomCapability[];
  /** Additions of packages to the engine: contracts for modules, capabilities, and sources of tools. */
  readonly plugins?: readonly Plugin[];
  /**
   * Place of `fetch`, `fs`, `exec`, `native` and connectors. `process`: a process of their own, so that their failures
   * cannot end this one; a request takes longer and the process some 30 MiB. Default `thread`.
   */
  readonly broker?: BrokerPlace;
  /** Folder of persistent state. Default `.glovebox`. */
  readonly stateDir?: string;
  readonly kv?: KvOptions;
  readonly idempotency?: IdempotencyOptions;
  /** Keeps ended calls, for `engine.calls`. Default: keeps nothing. */
  readonly calls?: CallOptions;
  /**
   * Length of an output, in UTF-16 units, beyond which a model gets its beginning, its end and its shape, and reads the
   * rest with `read_output`: over MCP, with `callTools` and adapters. A tool's own `outputChars` has precedence. At
   * least 1,000; `Infinity`: outputs are never cut. Default 25,000.
   */
  readonly modelChars?: number;
  /** Receives each capability call, and each action on a waiting call: a file or a function. Default: no audit. */
  readonly audit?: AuditTarget;
  /** DNS lookup and timeouts of the `fetch` capability. */
  readonly fetch?: FetchOptions;
  /** Secrets by name. The host replaces `glovebox.secret.NAME.` in requests; tools never see the values. */
  readonly secrets?: { readonly [name: string]: SecretOptions };
  /** Allowed sources and dependencies of tool packages. Default: from disk only, without dependencies. */
  readonly packages?: PackageOptions;
  /**
   * Folder of the project whose files the operator's tools may import. Default: for each tool, the nearest folder above it
   * with a workspace (`workspaces` in its `package.json`, or `pnpm-workspace.yaml`), else the nearest with a `package.json`,
   * else its own. A tool outside of it has its own folder.
   */
  readonly root?: string;
  /** Code mode of the engine's surfaces, and defaults of `codeMode`. Default: surfaces have none. */
  readonly codeMode?: CodeModeOptions;
  /** Registry for the engine's metrics. Default: a new registry. */
  readonly registry?: Registry;
  /** Receives log lines about executors and tools; a pino logger fits. Default: no log. */
  readonly logger?: Logger;
}

/** Place and limits of the ledger of calls with idempotency keys. */
export type ResolvedIdempotency = LedgerCapacity & ({ readonly path: string } | PluginStore<LedgerFactory>);

/** `EngineOptions` with all defaults applied. */
export interface ResolvedOptions {
  readonly executor: ResolvedExecutorOptions;
  readonly workers: number;
  readonly limits: Limits;
  readonly maxLimits: Limits;
  readonly toolMaxLimits: Limits;
  readonly queue: Required<QueueOptions>;
  readonly policy: Policy;
  readonly capabilities: readonly CustomCapability[];
  readonly plugins: PluggedIn;
  readonly broker: BrokerPlace;
  readonly stateDir: string;
  readonly kv: StoreOptions | PluginStore;
  readonly idempotency: ResolvedIdempotency;
  readonly calls: ResolvedCallOptions | null;
  /** As given, and valid. */
  readonly notify: readonly NotifyTarget[];
  readonly modelChars: number;
  readonly audit: AuditTarget | undefined;
  readonly fetch: FetchOptions;
  readonly secrets: { readonly [name: string]: SecretOptions };
  readonly packages: ResolvedPackageOptions;
  readonly root: string | undefined;
  /** As given, and valid. */
  readonly codeMode: CodeModeOptions | undefined;
  /** Of each source of the plugins, in their order. */
  readonly sources: readonly SourceSettings[];
  readonly registry: Registry | undefined;
  readonly logger: Logger | undefined;
}

/** Default number of isolate threads. */
export const WORKERS_DEFAULT = Math.min(availableParallelism(), 4) + 1;
const WORKERS_MAX = 64;

/** Validates options and applies defaults. Throws a `RangeError` or `TypeError` that names the invalid option. */
export function resolveOptions(options: EngineOptions): ResolvedOptions {
  checkShapes(options);
  const { maxQueued, concurrency, perTool, perTenant } = options.queue ?? {};
  const plugins = resolvePlugins(options.plugins ?? []);
  if (options.codeMode !== undefined) resolveCodeMode(options.codeMode);
  // An operator may raise a ceiling above the built-in one.
  const maxLimits = resolveLimits(MAX_LIMITS, options.maxLimits, UNLIMITED);
  const limits = resolveLimits(DEFAULT_LIMITS, options.limits, maxLimits);
  return {
    executor: resolveExecutorOptions(options.executor, plugins.executors),
    workers: Math.min(count("workers", options.workers, WORKERS_DEFAULT, 1), WORKERS_MAX),
    limits,
    maxLimits,
    toolMaxLimits: toolCeiling(limits, maxLimits, options.maxLimits),
    queue: {
      maxQueued: count("queue.maxQueued", maxQueued, 10_000, 0),
      concurrency: count("queue.concurrency", concurrency, 256, 1),
      perTool: count("queue.perTool", perTool, Number.POSITIVE_INFINITY, 1),
      perTenant: count("queue.perTenant", perTenant, Number.POSITIVE_INFINITY, 1),
    },
    policy: options.policy ?? { rules: [] },
    plugins,
    capabilities: [...(options.capabilities ?? []), ...plugins.capabilities],
    broker: resolveBroker(options.broker),
    stateDir: resolvePath("stateDir", options.stateDir ?? STATE_DIR),
    kv: resolveKv(options.kv ?? {}, options.stateDir ?? STATE_DIR, plugins.stores.kv),
    idempotency: resolveIdempotency(options.idempotency ?? {}, plugins.stores.idempotency),
    calls: resolveCalls(options.calls, options.stateDir ?? STATE_DIR, plugins.stores.calls),
    notify: options.calls?.notify ?? [],
    modelChars: resolveModelChars(options.modelChars),
    audit: options.audit,
    fetch: options.fetch ?? {},
    secrets: options.secrets ?? {},
    packages: resolvePackageOptions(options.packages),
    root: options.root === undefined ? undefined : resolvePath("root", options.root),
    codeMode: options.codeMode,
    sources: plugins.sources.map((source) => source.resolve(options)),
    registry: options.registry,
    logger: options.logger,
  };
}

/** Object options with their allowed members. */
const MEMBERS = {
  queue: ["maxQueued", "concurrency", "perTool", "perTenant"],
  kv: ["url", "path", "maxBytes"],
  idempotency: ["path", "url", "fleet", "secret", "ttlMs", "maxEntries", "maxBytes"],
  calls: CALL_MEMBERS,
  fetch: ["lookup", "connectMs", "headersMs", "idleMs"],
  codeMode: ["tools", "snippets", "pinned", "tokens", "typeCheck", "tenant", "resultChars", "codeChars", "limits"],
} as const;
const DURATIONS = ["connectMs", "headersMs", "idleMs"] as const;

/** Checks the shapes of options without other checks: JavaScript callers and configuration files may pass any value. */
function checkShapes(options: EngineOptions): void {
  for (const name of ["queue", "kv", "idempotency", "calls", "fetch", "codeMode"] as const)
    checkMembers(name, options[name], MEMBERS[name]);
  for (const name of DURATIONS) checkDuration(`fetch.${name}`, options.fetch?.[name]);
  const { policy, secrets, capabilities, plugins, audit, logger } = options;
  if (plugins !== undefined && !Array.isArray(plugins)) throw new TypeError("plugins must be a list");
  if (policy !== undefined && !isObject(policy)) throw new TypeError("policy must be an object with a list of rules");
  if (secrets !== undefined && !isObject(secrets))
    throw new TypeError("secrets must be an object that maps names to secrets");
  if (capabilities !== undefined && !Array.isArray(capabilities)) {
    throw new TypeError("capabilities must be a list of values made by defineCapability");
  }
  if (audit !== undefined && typeof audit !== "function" && (typeof audit !== "string" || audit === "")) {
    throw new TypeError("audit must be the path of a file or a function");
  }
  if (logger === undefined) return;
  if (!isObject(logger) || typeof logger.info !== "function" || typeof logger.warn !== "function") {
    throw new TypeError("logger must have the functions info and warn");
  }
}

/** Throws a `TypeError` for a value that is no object with these members. */
export function checkMembers(name: string, value: unknown, known: readonly string[]): void {
  if (value === undefined) return;
  if (!isObject(value)) throw new TypeError(`${name} must be an object with the members ${known.join(", ")}`);
  const unknown = Object.keys(value).find((key) => !known.includes(key));
  if (unknown !== undefined) {
    throw new TypeError(
      `${name}.${unknown.slice(0, 64)} is not an option; the options of ${name} are ${known.join(", ")}`,
    );
  }
}

function checkDuration(name: string, value: unknown): void {
  if (value === undefined || (typeof value === "number" && value > 0)) return;
  throw new RangeError(`${name} must be a number above 0`);
}

/** Least of `modelChars`, and its default. */
export const MODEL_CHARS_MIN = 1_000;
const MODEL_CHARS_DEFAULT = 25_000;

/** Throws a `RangeError` if it is invalid. */
export function resolveModelChars(value: number | undefined, otherwise = MODEL_CHARS_DEFAULT): number {
  return count("modelChars", value, otherwise, MODEL_CHARS_MIN);
}

function resolveBroker(place: BrokerPlace = "thread"): BrokerPlace {
  if (BROKER_PLACES.includes(place)) return place;
  throw new TypeError(`broker must be ${BROKER_PLACES.join(" or ")}`);
}

/** Default of `stateDir`. */
export const STATE_DIR = ".glovebox";

function resolveKv(
  { url, path, maxBytes }: KvOptions,
  stateDir: string,
  factory: ThreadStoreFactory | undefined,
): StoreOptions | PluginStore {
  if (url !== undefined) {
    if (path === undefined && maxBytes === undefined) return pluginStore("kv", factory, { url });
    throw new TypeError("kv.url excludes kv.path and kv.maxBytes, which configure a file");
  }
  return {
    path: path === IN_MEMORY ? path : resolvePath("kv.path", path ?? join(stateDir, "kv.sqlite")),
    maxBytes: count("kv.maxBytes", maxBytes, 8 * 1024 ** 3, 1024 ** 2),
  };
}

function resolveIdempotency(options: IdempotencyOptions, factory: LedgerFactory | undefined): ResolvedIdempotency {
  const { path, url, fleet, secret, ttlMs, maxEntries, maxBytes } = options;
  const room = {
    ttlMs: count("idempotency.ttlMs", ttlMs, DEFAULT_KEYS.ttlMs, 1),
    maxEntries: count("idempotency.maxEntries", maxEntries, DEFAULT_KEYS.maxEntries, 1),
    maxBytes: count("idempotency.maxBytes", maxBytes, DEFAULT_KEYS.maxBytes, 1024 ** 2),
  };
  if (url === undefined) {
    if (fleet !== undefined || secret !== undefined)
      throw new TypeError("idempotency.fleet and idempotency.secret require idempotency.url");
    return { path: resolvePath("idempotency.path", path ?? IN_MEMORY), ...room };
  }
  if (path !== undefined) throw new TypeError("idempotency takes a path or a url, not both");
  return { ...pluginStore("idempotency", factory, { url, fleet, secret }), ...room };
}

/** Throws a `TypeError` that names the option if it is no path. */
export function resolvePath(name: string, path: unknown): string {
  if (typeof path !== "string" || path === "" || path.includes("\0")) throw new TypeError(`${name} must be a path`);
  return path === IN_MEMORY ? path : resolve(path);
}

const UNLIMITED: Limits = Object.freeze({
  queueMs: Number.MAX_SAFE_INTEGER,
  cpuMs: Number.MAX_SAFE_INTEGER,
  wallMs: Number.MAX_SAFE_INTEGER,
  memoryMb: 65_536,
  inputBytes: 256 * 1024 * 1024,
  outputBytes: 256 * 1024 * 1024,
  logBytes: 64 * 1024 * 1024,
  capabilityCalls: Number.MAX_SAFE_INTEGER,
  capabilityBytes: Number.MAX_SAFE_INTEGER,
});
