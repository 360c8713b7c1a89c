import { CONFIG_SCHEMA } from "./schema.ts";
import type { Part } from "./schema-parts.ts";

/** A setting: its path in the configuration and its environment variable. */
export interface Setting {
  /** `limits`, `wallMs` */
  readonly path: readonly string[];
  /** `GLOVEBOX_LIMITS__WALL_MS` */
  readonly variable: string;
  readonly part: Part;
}

export const PREFIX = "GLOVEBOX_";

/** Every setting, those around others first. */
export const SETTINGS: readonly Setting[] = settingsOf(CONFIG_SCHEMA, []);

/** The setting at a path. Throws if none exists. */
export function settingAt(path: string): Setting {
  const found = SETTINGS.find((setting) => setting.path.join("/") === path);
  if (found === undefined) throw new TypeError(`there is no setting ${path}`);
  return found;
}

function settingsOf(part: Part, path: readonly string[]): readonly Setting[] {
  const own = path.length === 0 ? [] : [{ path, variable: PREFIX + path.map(upper).join("__"), part }];
  const below = Object.entries(part.properties ?? {}).flatMap(([name, child]) => settingsOf(child, [...path, name]));
  return [...own, ...below];
}

/** `wallMs` becomes `WALL_MS`. */
function upper(name: string): string {
  return name.replaceAll(/[A-Z]/g, "_$&").toUpperCase();
}

/** Parses a variable's or flag's text by the setting's type; text of the wrong form stays a string. */
export function readText(text: string, { type }: Part): unknown {
  switch (type) {
    case "integer":
    case "number":
      return /^-?\d+(?:\.\d+)?$/.test(text) ? Number(text) : text;
    case "boolean":
      return text === "true" || (text === "false" ? false : text);
    case "array":
      return text.trimStart().startsWith("[") ? JSON.parse(text) : text.split(",").map((one) => one.trim());
    case "object":
      return /^\s*\{/.test(text) ? JSON.parse(text) : text;
    default:
      return text;
  }
}

const NAME_MAX = 100;

/** The most similar known name, if any is close enough: a third of the longer one's letters may differ. */
export function nearest(name: string, known: Iterable<string>): string | undefined {
  const cut = name.slice(0, NAME_MAX);
  let [best, least]: [string | undefined, number] = [undefined, Infinity];
  for (const one of known) {
    const apart = distance(cut, one);
    if (apart < least && apart <= Math.max(cut.length, one.length) / 3) [best, least] = [one, apart];
  }
  return best;
}

/** Edit distance: the number of characters to change, add or remove, and of neighbours to swap. */
function distance(a: string, b: string): number {
  let before: readonly number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let at = 0; at < a.length; at++) {
    const next = [at + 1];
    for (let to = 0; to < b.length; to++) {
      const changed = (row[to] ?? 0) + (a[at] === b[to] ? 0 : 1);
      const isSwapped = at > 0 && to > 0 && a[at] === b[to - 1] && a[at - 1] === b[to];
      const swapped = isSwapped ? (before[to - 1] ?? 0) + 1 : Infinity;
      next.push(Math.min(changed, swapped, (row[to + 1] ?? 0) + 1, (next[to] ?? 0) + 1));
    }
    [before, row] = [row, next];
  }
  return row.at(-1) ?? 0;
}
