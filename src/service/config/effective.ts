import { PLUGINS } from "../../ecosystems/plugins.ts";
import { isObject } from "../../base/json.ts";
import { resolveOptions } from "../../engine/options.ts";
import type { Configuration, Source } from "./configuration.ts";
import { type Config, HIDDEN, URLS } from "./schema.ts";

/** An effective value and its source. */
export interface EffectiveValue {
  /** `limits.wallMs` */
  readonly setting: string;
  readonly value: unknown;
  readonly source: Source;
}

/** Defaults of the service. */
export const SERVICE_DEFAULTS = {
  host: "127.0.0.1",
  port: 8_080,
  drainMs: 5_000,
  drainDelayMs: 0,
  logLevel: "warn",
} as const satisfies Config;

/** Settings of a service, which keeps calls unless it is told not to. */
export function keptByDefault<Given extends Pick<Config, "calls">>(given: Given): Given {
  return given.calls === undefined ? { ...given, calls: {} } : given;
}

/** Defaults of a worker machine. */
export const MACHINE_DEFAULTS = {
  slotsPerWorker: 8,
  host: "127.0.0.1",
  port: 9_464,
  drainMs: 30_000,
} as const;

const SHOWN_INSTEAD = "(not shown)";

/** All effective settings, without values that may be secrets. Throws as `createEngine` does. */
export function effectiveValues({ values, sourceOf }: Configuration): readonly EffectiveValue[] {
  const { executor, workers, limits, maxLimits, queue, broker, kv, stateDir, modelChars, ...others } = resolveOptions({
    ...keptByDefault(values),
    plugins: PLUGINS,
  });
  const { keep, store } = others.calls ?? { keep: "nothing" };
  const calls = { keep, ...store };
  const machine = machineSettings(values.machine, workers);
  const decided = { executor, workers, machine, limits, maxLimits, queue, broker, kv, calls, modelChars, stateDir };
  return leaves({ ...SERVICE_DEFAULTS, ...values, ...decided }, []).map(([path, value]) => ({
    setting: path.join("."),
    value: isHidden(path) ? SHOWN_INSTEAD : isOneOf(URLS, path) ? withoutPassword(value) : value,
    source: sourceOf(path),
  }));
}

/** Settings of a worker machine, with defaults applied. */
export function machineSettings(
  given: Config["machine"] = {},
  workers: number,
): Required<NonNullable<Config["machine"]>> {
  const { slotsPerWorker, ...defaults } = MACHINE_DEFAULTS;
  return { slots: workers * slotsPerWorker, ...defaults, ...given };
}

/** The leaves of a value; the items of a list. */
function leaves(value: unknown, path: readonly string[]): readonly (readonly [readonly string[], unknown])[] {
  // JSON cannot represent Infinity (no limit).
  if (value === undefined || value === Number.POSITIVE_INFINITY) return [];
  if (isHidden(path)) return [[path, value]];
  const isSection = isObject(value) && !path.includes("rules");
  const isList = Array.isArray(value) && path.length <= 2;
  if (!isSection && !isList) return [[path, value]];
  return Object.entries(value).flatMap(([name, part]) => leaves(part, [...path, name]));
}

function isHidden(path: readonly string[]): boolean {
  return isOneOf(HIDDEN, path);
}

function isOneOf(places: readonly string[], path: readonly string[]): boolean {
  return places.some((place) => {
    const names = place.split("/");
    return names.length === path.length && names.every((name, at) => name === "*" || name === path[at]);
  });
}

/** A URL without its user and password. */
function withoutPassword(url: unknown): unknown {
  return typeof url === "string" ? url.replace(/:\/\/.*@/s, "://…@") : url;
}
