/** The limits of a call. Each has a default and a ceiling that no tool and no call may exceed. */
export interface Limits {
  /** Maximum wait for a start, in milliseconds: then `queue_timeout`. */
  readonly queueMs: number;
  /** Processor time of the call's own turns, in milliseconds, not elapsed time: then `cpu_limit`, some 40 ms late. */
  readonly cpuMs: number;
  /** Maximum time from start to result, in milliseconds: then `wall_limit`. */
  readonly wallMs: number;
  /** V8 heap of the tool's isolate, in MiB: then `memory_limit`. */
  readonly memoryMb: number;
  /** UTF-8 bytes of the arguments as JSON: then `input_too_large`. */
  readonly inputBytes: number;
  /** UTF-8 bytes of the output as JSON: then `output_too_large`. */
  readonly outputBytes: number;
  /** UTF-16 units of console output kept for a call; the excess is counted and dropped. */
  readonly logBytes: number;
  /** Maximum number of capability calls of one call: then `capability_limit`. */
  readonly capabilityCalls: number;
  /** UTF-16 units of capability arguments and responses together: then `capability_limit`. */
  readonly capabilityBytes: number;
}

/** The limits in force in an engine: defaults for tools that set none, and ceilings. */
export interface Bounds {
  readonly limits: Limits;
  readonly maxLimits: Limits;
  /** Ceiling for the limits that a tool may declare: see `toolCeiling`. */
  readonly toolMaxLimits: Limits;
}

const KIB = 1024;
const MIB = 1024 * KIB;

export const DEFAULT_LIMITS: Limits = Object.freeze({
  queueMs: 30_000,
  cpuMs: 2_000,
  wallMs: 30_000,
  memoryMb: 64,
  inputBytes: MIB,
  outputBytes: MIB,
  logBytes: 64 * KIB,
  capabilityCalls: 100,
  capabilityBytes: 8 * MIB,
});

export const MAX_LIMITS: Limits = Object.freeze({
  queueMs: 600_000,
  cpuMs: 60_000,
  wallMs: 600_000,
  memoryMb: 2_048,
  inputBytes: 64 * MIB,
  outputBytes: 64 * MIB,
  logBytes: 4 * MIB,
  capabilityCalls: 10_000,
  capabilityBytes: 256 * MIB,
});

/** The smallest heap that isolated-vm accepts. */
const MIN_MEMORY_MB = 8;

export const NAMES: readonly (keyof Limits)[] = Object.freeze(Object.keys(DEFAULT_LIMITS) as (keyof Limits)[]);

/**
 * Overrides `base` with `asked` and cuts every value at `ceiling`. Throws a `RangeError` that names the limit when a
 * value is not a positive finite number or the name is unknown.
 */
export function resolveLimits(base: Limits, asked: Partial<Limits> | undefined, ceiling: Limits): Limits {
  const resolved = { ...base };
  // Runs for each call with limits of its own: no lists of entries.
  for (const name in asked) {
    if (!isLimitName(name)) throw new RangeError(`limits.${name} is not a limit; the limits are ${NAMES.join(", ")}`);
    const value = asked[name];
    if (value === undefined) continue;
    if (typeof value !== "number" || !Number.isFinite(value) || value <= 0) {
      throw new RangeError(`limits.${name} must be a number above 0`);
    }
    resolved[name] = value;
  }
  for (const name of NAMES) if (resolved[name] > ceiling[name]) resolved[name] = ceiling[name];
  resolved.memoryMb = Math.max(MIN_MEMORY_MB, Math.floor(resolved.memoryMb));
  return resolved;
}

/** A limit of a tool that is lower than the tool declares. */
export interface CutLimit {
  readonly limit: keyof Limits;
  readonly declared: number;
  readonly value: number;
}

/** The limits that are lower than the requested ones. */
export function cutLimits(limits: Limits, asked: Partial<Limits>): readonly CutLimit[] {
  return NAMES.flatMap((limit) => {
    const [declared, value] = [asked[limit] ?? 0, limits[limit]];
    return Math.floor(declared) > value ? [{ limit, declared, value }] : [];
  });
}

/** Limits whose cost falls on the host. They belong to the operator: a tool may lower them, and not raise them. */
const HOST_LIMITS = ["inputBytes", "outputBytes", "logBytes", "capabilityCalls", "capabilityBytes"] as const;

/**
 * The ceiling of limits that tools may declare: `maxLimits`, but for a limit of the host the value of `limits`, unless
 * the operator has set the ceiling. `given`: the ceilings that the operator has set.
 */
export function toolCeiling(limits: Limits, maxLimits: Limits, given: Partial<Limits> = {}): Limits {
  const ceiling = { ...maxLimits };
  for (const name of HOST_LIMITS) if (given[name] === undefined) ceiling[name] = limits[name];
  return ceiling;
}

function isLimitName(name: string): name is keyof Limits {
  return Object.hasOwn(DEFAULT_LIMITS, name);
}

/** An option's whole number, or `fallback` if the option is not set. Throws a `RangeError` that names the option. */
export function count(name: string, value: number | undefined, fallback: number, least: number): number {
  if (value === undefined) return fallback;
  if (value !== Number.POSITIVE_INFINITY && (!Number.isInteger(value) || value < least)) {
    throw new RangeError(`${name} must be a whole number of at least ${least}`);
  }
  return value;
}

/** As `count`, for a number that has a bound. */
export function countWithin(
  name: string,
  value: number | undefined,
  fallback: number,
  [least, most]: readonly [least: number, most: number],
): number {
  if (value === undefined || (Number.isInteger(value) && value >= least && value <= most)) return value ?? fallback;
  throw new RangeError(`${name} must be a whole number from ${least} to ${most}`);
}
