import { isObject } from "../json.ts";
import { resolveOptions } from "../options.ts";
import type { Configuration, Source } from "./configuration.ts";
import { type Config, HIDDEN } from "./schema.ts";

/** One value that is in force, and whose word it is. */
export interface EffectiveValue {
  /** `limits.wallMs` */
  readonly setting: string;
  readonly value: unknown;
  readonly source: Source;
}

/** What the service does where nobody says anything. */
export const SERVICE_DEFAULTS = {
  host: "127.0.0.1",
  port: 8_080,
  drainMs: 5_000,
  drainDelayMs: 0,
  logLevel: "warn",
} as const satisfies Config;

const SHOWN_INSTEAD = "(not shown)";

/** All that is in force, setting by setting, with nothing that may be a secret. Throws as `createEngine` does. */
export function effectiveValues({ values, sourceOf }: Configuration): readonly EffectiveValue[] {
  const { executor, workers, limits, maxLimits, queue, kv, stateDir } = resolveOptions(values);
  const decided = { executor, workers, limits, maxLimits, queue, kv, stateDir };
  return leaves({ ...SERVICE_DEFAULTS, ...values, ...decided }, []).map(([path, value]) => ({
    setting: path.join("."),
    value: isHidden(path) ? SHOWN_INSTEAD : value,
    source: sourceOf(path),
  }));
}

/** The parts of a value that have none themselves; of a list, its items. */
function leaves(value: unknown, path: readonly string[]): readonly (readonly [readonly string[], unknown])[] {
  if (isHidden(path)) return [[path, value]];
  // What has no bound is not written in JSON.
  if (value === undefined || value === Number.POSITIVE_INFINITY) return [];
  const isSection = isObject(value) && !path.includes("rules");
  const isList = Array.isArray(value) && path.length <= 2;
  if (!isSection && !isList) return [[path, value]];
  return Object.entries(value).flatMap(([name, part]) => leaves(part, [...path, name]));
}

function isHidden(path: readonly string[]): boolean {
  return HIDDEN.some((place) => {
    const names = place.split("/");
    return names.length === path.length && names.every((name, at) => name === "*" || name === path[at]);
  });
}
