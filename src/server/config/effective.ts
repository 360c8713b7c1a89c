import { digitsOf } from "../../kernel/base/exact-json.ts";
import { isObject } from "../../kernel/base/json.ts";
import { type ResolvedCallOptions, resolveCalls } from "../../kernel/engine/call-options.ts";
import { resolveOptions, STATE_DIR } from "../../kernel/engine/options.ts";
import type { Configuration, Source } from "./configuration.ts";
import { type Config, HIDDEN, URLS } from "./schema.ts";
import { PLUGINS, STORES } from "../../standard/plugins.ts";
import type { ResolvedExecutorOptions } from "../../kernel/executor/executor-factory.ts";
import type { PluginStore } from "../../kernel/store/store-factory.ts";

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

/**
 * Settings of a service, which keeps calls by default: a server of a fleet that has a secret, in the fleet's Redis,
 * where each of its servers finds them; any other in a file.
 */
export function keptByDefault<Given extends Pick<Config, "calls" | "executor">>(given: Given): Given {
  const { calls = {}, executor } = given;
  if (calls.path !== undefined || calls.url !== undefined || typeof executor !== "object") return { ...given, calls };
  const { kind, url, fleet, secret } = executor;
  if (kind !== "queue" || url === undefined || secret === undefined) return { ...given, calls };
  return { ...given, calls: { url, secret, ...(fleet === undefined ? {} : { fleet }), ...calls } };
}

/** Kept calls of a service; `null` if it keeps none. Throws as `createEngine` does. */
export function keptCallsOf(given: Config): ResolvedCallOptions | null {
  return resolveCalls(keptByDefault(given).calls, given.stateDir ?? STATE_DIR, STORES.calls);
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
  return settingsOf(values).map(([path, value]) => ({ setting: path.join("."), value, source: sourceOf(path) }));
}

/** Like `effectiveValues`, by the paths of the settings. */
export function settingsOf(values: Config): readonly Setting[] {
  const options = { ...keptByDefault(values), plugins: PLUGINS };
  const { workers, limits, maxLimits, queue, broker, stateDir, modelChars, ...others } = resolveOptions(options);
  const executor = executorValues(others.executor);
  const kv = placeValues(others.kv);
  const calls = others.calls === null ? { keep: "nothing" } : { ...callValues(others.calls), notify: others.notify };
  const machine = machineSettings(values.machine, workers);
  const decided = { executor, workers, machine, limits, maxLimits, queue, broker, kv, calls, modelChars, stateDir };
  return leaves({ ...SERVICE_DEFAULTS, ...values, ...decided }, []).map(([path, value]) => [
    path,
    isHidden(path) ? SHOWN_INSTEAD : isOneOf(URLS, path) ? withoutPassword(value) : value,
  ]);
}

/** For a plugin's executor: its kind, and its own options in their place. */
function executorValues(executor: ResolvedExecutorOptions): object {
  if (executor.kind !== "plugin") return executor;
  const { factory, own, ...isolates } = executor;
  return { ...isolates, ...own, kind: factory.kind };
}

function callValues({ keep, place, room, waiting }: ResolvedCallOptions): object {
  const { durable, ...rest } = room;
  return { keep, ...placeValues(place), ...rest, ...durable, ...waiting };
}

/** For a plugin's store: its own options. */
function placeValues(place: { readonly path: string } | PluginStore): object {
  return "factory" in place ? place.own : place;
}

/** Settings of a worker machine, with defaults applied. */
export function machineSettings(
  given: Config["machine"] = {},
  workers: number,
): Required<NonNullable<Config["machine"]>> {
  const { slotsPerWorker, ...defaults } = MACHINE_DEFAULTS;
  return { slots: workers * slotsPerWorker, ...defaults, ...given };
}

/** A value and its path. */
export type Setting = readonly [path: readonly string[], value: unknown];

/** The leaves of a value; the items of a list. */
function leaves(value: unknown, path: readonly string[]): readonly Setting[] {
  // JSON cannot represent Infinity (no limit).
  if (value === undefined || value === Number.POSITIVE_INFINITY) return [];
  if (isHidden(path)) return [[path, value]];
  const isSection = isObject(value) && digitsOf(value) === null && !path.includes("rules");
  const isList = Array.isArray(value) && path.length <= 2;
  if (!isSection && !isList) return [[path, value]];
  return Object.entries(value).flatMap(([name, part]) => leaves(part, [...path, name]));
}

function isHidden(path: readonly string[]): boolean {
  return isOneOf(HIDDEN, path);
}

/** Whether a path is one of some places, in which `*` matches any name. */
export function isOneOf(places: readonly string[], path: readonly string[]): boolean {
  return places.some((place) => {
    const names = place.split("/");
    return names.length === path.length && names.every((name, at) => name === "*" || name === path[at]);
  });
}

/** A URL without its user and password. */
function withoutPassword(url: unknown): unknown {
  return typeof url === "string" ? url.replace(/:\/\/.*@/s, "://…@") : url;
}
