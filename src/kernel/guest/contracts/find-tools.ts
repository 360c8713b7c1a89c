import { type Exports, isObject } from "./adapter.ts";
import type { Library } from "./library.ts";

const { get, getPrototypeOf } = Reflect;

/** In matching order. */
const LIBRARIES: Library[] = [];

/** Adds the libraries of a plugin, after those that were added before. The prelude's end calls this. */
export function addLibraries(libraries: readonly Library[]): void {
  LIBRARIES.push(...libraries);
}

/** Maximum number of examined values of a module. */
const VALUES_MAX = 2_000;

/** An object of a module that is a tool, or a server of tools. */
export interface FoundTool {
  /** `weather`, `tools.weather`, `tools[0]`, `default`. */
  readonly place: string;
  /** Its own name, else that of its export or the key of its record. */
  readonly name: string | undefined;
  readonly library: Library;
  readonly value: object;
}

/**
 * The tools that a module exports: by name, as default, in a list or in a record. An object in a list or a record takes
 * precedence over the same object as an export: the key of a record is the name that its library shows to models.
 */
export function findTools(exports: Exports): readonly FoundTool[] {
  const own = toolAt("default", undefined, exports);
  if (own !== undefined) return [own];
  const inside: FoundTool[] = [];
  const named: FoundTool[] = [];
  let count = 0;
  const keysOf = (value: object): readonly string[] => {
    const keys = Object.keys(value);
    count += keys.length;
    if (count > VALUES_MAX) throw new TypeError(`the module exports more than ${VALUES_MAX} values; export fewer`);
    return keys;
  };
  const lookInto = (place: string, values: object): void => {
    const isList = Array.isArray(values);
    for (const key of keysOf(values)) {
      const value: unknown = get(values, key);
      if (!isObject(value)) continue;
      const at = isList ? `${place}[${key}]` : place === "" ? key : `${place}.${key}`;
      const found = toolAt(at, isList ? undefined : key, value);
      if (found !== undefined) inside.push(found);
    }
  };
  if (Array.isArray(exports)) lookInto("default", exports);
  else {
    for (const key of keysOf(exports)) {
      const value: unknown = get(exports, key);
      if (!isObject(value) || key === "spec") continue;
      const found = toolAt(key, key === "default" ? undefined : key, value);
      if (found !== undefined) named.push(found);
      else if (isCollection(value)) lookInto(key, value);
    }
  }
  const known = new Set(inside.map(({ value }) => value));
  return distinct([...inside, ...named.filter(({ value }) => !known.has(value))]);
}

function toolAt(place: string, key: string | undefined, value: object): FoundTool | undefined {
  const library = LIBRARIES.find((each) => each.matches(value));
  return library === undefined ? undefined : { place, name: library.nameOf(value) ?? key, library, value };
}

/** A list or a record; no object of a class. */
function isCollection(value: object): boolean {
  if (Array.isArray(value)) return true;
  const prototype = getPrototypeOf(value);
  return prototype === null || getPrototypeOf(prototype) === null;
}

/** The same object under the same name is one tool. */
function distinct(found: readonly FoundTool[]): readonly FoundTool[] {
  const names = new Map<object, Set<string | undefined>>();
  return found.filter(({ name, value }) => {
    const known = names.get(value) ?? new Set();
    names.set(value, known);
    return known.size !== known.add(name).size;
  });
}

const SHOWN_MAX = 12;
const KEYS_MAX = 8;
const TEXT_MAX = 60;

/** The exports of a module and their forms, for an error. */
export function describeExports(exports: Exports): string {
  const keys = Object.keys(exports);
  const shown = keys.slice(0, SHOWN_MAX).map((key) => `${cut(key)} (${looksLike(get(exports, key))})`);
  const more = keys.length - shown.length;
  return shown.join(", ") + (more > 0 ? `, and ${more} more` : "");
}

function looksLike(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) {
    const first: unknown = value[0];
    const shown = isObject(first) && !Array.isArray(first) ? `, of which the first is ${looksLike(first)}` : "";
    return `a list of ${value.length}${shown}`;
  }
  if (typeof value === "function") return value.prototype === undefined || !isClass(value) ? "a function" : "a class";
  if (typeof value !== "object") return typeof value;
  if (typeof get(value, "~tool") === "function") return "a tool of defineTool, which must be the default export";
  const keys = Object.keys(value);
  const named = keys.slice(0, KEYS_MAX).map(cut).join(", ");
  return keys.length === 0
    ? "an object without members"
    : `an object with ${named}${keys.length > KEYS_MAX ? ", …" : ""}`;
}

function isClass(value: unknown): boolean {
  return Function.prototype.toString.call(value).startsWith("class");
}

export function cut(text: string): string {
  return text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX)}…` : text;
}
