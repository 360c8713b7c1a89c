import { resolve } from "node:path";
import { count } from "../base/limits.ts";
import { resolveTrust } from "./trust-groups.ts";
import { resolveFleetName, resolveRedisUrl, resolveSecret } from "../store/redis/url.ts";
import type {
  ExecutorKind,
  ExecutorOptions,
  Latency,
  ResolvedExecutorOptions,
  ResolvedFleetOptions,
  ResolvedIsolateOptions,
  SandboxMode,
} from "./executor.ts";

export const EXECUTOR_KINDS: readonly ExecutorKind[] = ["process", "threads", "queue"];
export const LATENCIES: readonly Latency[] = ["normal", "low"];
export const SANDBOX_MODES: readonly SandboxMode[] = ["auto", "require", "off"];

/** Time after a message for which neither side sleeps at `low` latency, in milliseconds: longer than most short calls take. */
const SPIN_MS = 0.5;
/** Options of executor `queue` only. */
const FLEET_OPTIONS = ["url", "fleet", "secret", "lostMs", "store", "codeMaxBytes"] as const;
const LOST_MS_LEAST = 100;
const STORE_URL = /^(?:file|s3\+https?):\/\//;

/** Applies the defaults. Throws a `RangeError` or `TypeError` that names the invalid option and shows no secret. */
export function resolveExecutorOptions(
  given: ExecutorKind | Partial<ExecutorOptions> = "process",
): ResolvedExecutorOptions {
  const options: Partial<ExecutorOptions> = typeof given === "string" ? { kind: given } : given;
  const { kind = "process" } = options;
  if (!EXECUTOR_KINDS.includes(kind))
    throw new TypeError(`executor "${shown(kind)}" is not one of ${EXECUTOR_KINDS.join(", ")}`);
  const isolates = resolveIsolates(options);
  if (kind === "threads" && isolates.sandbox === "require") {
    throw new TypeError('executor "threads" has no sandbox, so executor.sandbox cannot be "require"');
  }
  if (kind === "threads" && options.trust !== undefined) {
    throw new TypeError('executor "threads" has no processes, so executor.trust cannot keep calls apart');
  }
  if (kind === "queue") return { kind, ...isolates, ...resolveFleet(options) };
  const foreign = FLEET_OPTIONS.find((name) => options[name] !== undefined);
  if (foreign !== undefined)
    throw new TypeError(`executor.${foreign} is only for executor "queue", and this is "${kind}"`);
  return { kind, ...isolates };
}

function resolveIsolates({
  warmIsolates,
  latency = "normal",
  rssMb,
  spare = true,
  recycle,
  sandbox = "auto",
  trust,
}: Partial<ExecutorOptions>): ResolvedIsolateOptions {
  if (!SANDBOX_MODES.includes(sandbox)) {
    throw new TypeError(`executor.sandbox "${String(sandbox)}" is not one of ${SANDBOX_MODES.join(", ")}`);
  }
  if (!LATENCIES.includes(latency)) {
    throw new TypeError(`executor.latency "${String(latency)}" is not one of ${LATENCIES.join(", ")}`);
  }
  const rssMaxMb = count("executor.rssMb", rssMb, 4_096, 256);
  return {
    warmIsolates: count("executor.warmIsolates", warmIsolates, 128, 1),
    spinMs: latency === "low" ? SPIN_MS : 0,
    rssMb: rssMaxMb,
    spare,
    recycle: {
      ageMs: count("executor.recycle.ageMs", recycle?.ageMs, 6 * 60 * 60 * 1_000, 1_000),
      calls: count("executor.recycle.calls", recycle?.calls, 100_000_000, 1),
      rssMb: count("executor.recycle.rssMb", recycle?.rssMb, Math.ceil(rssMaxMb / 2), 128),
    },
    sandbox,
    trust: resolveTrust(trust),
  };
}

function resolveFleet({
  url,
  fleet,
  secret,
  lostMs,
  store,
  codeMaxBytes,
}: Partial<ExecutorOptions>): ResolvedFleetOptions {
  if (url === undefined || url === "")
    throw new TypeError('executor.url is required for executor "queue": where Redis is');
  return {
    url: resolveRedisUrl("executor.url", url),
    fleet: resolveFleetName("executor.fleet", fleet),
    secret: resolveSecret("executor.secret", secret),
    lostMs: count("executor.lostMs", lostMs, 10_000, LOST_MS_LEAST),
    store: resolveStore(store),
    codeMaxBytes: count("executor.codeMaxBytes", codeMaxBytes, 16 * 1024 ** 2, 1_024),
  };
}

function resolveStore(store: string | undefined): string | undefined {
  if (store === undefined || STORE_URL.test(store)) return store;
  if (store === "" || store.includes("\0") || store.includes("://")) {
    throw new TypeError("executor.store is a folder, file://…, s3+https://… or s3+http://…");
  }
  return resolve(store);
}

/** Truncates the value at a colon: it may be a URL with a password. */
function shown(kind: unknown): string {
  return String(kind).replace(/:.*/s, ":…").slice(0, 64);
}
