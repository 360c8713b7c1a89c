import { count } from "../base/limits.ts";
import { resolveTrust } from "./trust-groups.ts";
import type { ExecutorFactory, ResolvedExecutorOptions } from "./executor-factory.ts";
import type { ExecutorKind, ExecutorOptions, Latency, ResolvedIsolateOptions, SandboxMode } from "./executor.ts";

/** Kinds that need no plugin. */
export const EXECUTOR_KINDS = ["process", "threads"] as const;
export const LATENCIES: readonly Latency[] = ["normal", "low"];
export const SANDBOX_MODES: readonly SandboxMode[] = ["auto", "require", "off"];

/** Time after a message for which neither side sleeps at `low` latency, in milliseconds: longer than most calls. */
const SPIN_MS = 0.5;

/** Applies the defaults. Throws a `RangeError` or `TypeError` that names the invalid option and shows no secret. */
export function resolveExecutorOptions(
  given: ExecutorKind | Partial<ExecutorOptions> = "process",
  factories: readonly ExecutorFactory[] = [],
): ResolvedExecutorOptions {
  const options: Partial<ExecutorOptions> = typeof given === "string" ? { kind: given } : given;
  const { kind: asked = "process" } = options;
  const isolates = resolveIsolates(options);
  const factory = factories.find((one) => one.kind === asked);
  if (factory !== undefined) return { kind: "plugin", ...isolates, factory, own: factory.resolve(options) };
  const kind = EXECUTOR_KINDS.find((one) => one === asked);
  if (kind === undefined) {
    const kinds = [...EXECUTOR_KINDS, ...factories.map((one) => one.kind)];
    throw new TypeError(`executor "${shown(asked)}" is not one of ${kinds.join(", ")}`);
  }
  if (kind === "threads" && isolates.sandbox === "require") {
    throw new TypeError('executor "threads" has no sandbox, so executor.sandbox cannot be "require"');
  }
  if (kind === "threads" && options.trust !== undefined) {
    throw new TypeError('executor "threads" has no processes, so executor.trust cannot keep calls apart');
  }
  for (const other of factories) {
    const foreign = other.options.find((name) => options[name] !== undefined);
    if (foreign !== undefined)
      throw new TypeError(`executor.${foreign} is only for executor "${other.kind}", and this is "${kind}"`);
  }
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

/** Truncates the value at a colon: it may be a URL with a password. */
function shown(kind: unknown): string {
  return String(kind).replace(/:.*/s, ":…").slice(0, 64);
}
