import { ExpressionError } from "./expression-tokens.ts";

/** Maximum length of a text, or number of items of a list, that an expression makes. */
const SIZE_MAX = 1_000_000;

type Operation = (value: unknown, ...args: readonly unknown[]) => unknown;

/** Filters, which follow `|`. */
const FILTERS = new Map<string, Operation>([
  ["default", (value, other = "") => value ?? other],
  ["length", (value) => sizeOf(value)],
  ["count", (value) => sizeOf(value)],
  ["lower", (value) => show(value).toLowerCase()],
  ["upper", (value) => show(value).toUpperCase()],
  ["trim", (value) => show(value).trim()],
  ["title", (value) => title(show(value))],
  ["truncate", (value, length = 100) => truncate(show(value), Number(length))],
  ["replace", (value, from, to) => joined(show(value).split(show(from)), show(to))],
  ["join", (value, separator = "") => joined(listOf(value).map(show), show(separator))],
  ["first", (value) => listOf(value)[0]],
  ["last", (value) => listOf(value).at(-1)],
  ["round", (value, digits = 0) => Number(Number(value).toFixed(Math.min(20, Math.max(0, Number(digits)))))],
  ["int", (value) => Math.trunc(Number(value)) || 0],
  ["float", (value) => Number(value) || 0],
  ["string", (value) => show(value)],
  ["list", (value) => listOf(value)],
  ["tojson", (value, indent) => limited(JSON.stringify(value ?? null, null, Math.min(8, Number(indent ?? 0))))],
]);

/** Methods: `x.lower()`. */
const METHODS = new Map<string, Operation>([
  ["lower", (value) => text(value).toLowerCase()],
  ["upper", (value) => text(value).toUpperCase()],
  ["strip", (value) => text(value).trim()],
  ["title", (value) => title(text(value))],
  ["startswith", (value, part) => text(value).startsWith(show(part))],
  ["endswith", (value, part) => text(value).endsWith(show(part))],
  ["replace", (value, from, to) => joined(text(value).split(show(from)), show(to))],
  [
    "split",
    (value, separator) =>
      separator === undefined ? text(value).trim().split(/\s+/) : text(value).split(show(separator)),
  ],
  ["items", (value) => Object.entries(mapOf(value))],
  ["keys", (value) => Object.keys(mapOf(value))],
  ["values", (value) => Object.values(mapOf(value))],
  ["get", (value, key, other = null) => member(mapOf(value), key) ?? other],
]);

/** Functions: `len(x)`. */
const FUNCTIONS = new Map<string, Operation>([
  ["len", (value) => sizeOf(value)],
  ["str", (value) => show(value)],
  ["int", (value) => Math.trunc(Number(value)) || 0],
  ["float", (value) => Number(value) || 0],
  ["bool", (value) => isTrue(value)],
]);

export type OperationKind = "filter" | "method" | "function";

const OPERATIONS: { readonly [Kind in OperationKind]: ReadonlyMap<string, Operation> } = {
  filter: FILTERS,
  method: METHODS,
  function: FUNCTIONS,
};

/** Throws an `ExpressionError` if there is no such operation. */
export function operation(kind: OperationKind, name: string): Operation {
  const found = OPERATIONS[kind].get(name);
  if (found === undefined) throw new ExpressionError(`undefined ${kind}: ${name}`);
  return found;
}

/** An own property, or an item of a list; negative indices count from its end. */
export function member(value: unknown, key: unknown): unknown {
  if ((Array.isArray(value) || typeof value === "string") && typeof key === "number") return value.at(key);
  if (typeof value !== "object" || value === null || (typeof key !== "string" && typeof key !== "number"))
    return undefined;
  return Object.hasOwn(value, key) ? Reflect.get(value, key) : undefined;
}

export function slice(value: unknown, from: unknown, to: unknown): unknown {
  const [start, end] = [from, to].map((bound) => (typeof bound === "number" ? bound : undefined));
  return typeof value === "string" || Array.isArray(value) ? value.slice(start, end) : undefined;
}

/** As Python has it: empty texts, lists and objects are false. */
export function isTrue(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return Boolean(value);
  return Array.isArray(value) ? value.length > 0 : Object.keys(value).length > 0;
}

export function isIn(part: unknown, whole: unknown): boolean {
  if (typeof whole === "string") return whole.includes(show(part));
  if (Array.isArray(whole)) return whole.includes(part);
  return typeof whole === "object" && whole !== null && typeof part === "string" && Object.hasOwn(whole, part);
}

/** Text of a value. Throws an `ExpressionError` for an undefined one. */
export function show(value: unknown): string {
  if (value === undefined) throw new ExpressionError("undefined variable");
  return typeof value === "string" ? value : limited(JSON.stringify(value) ?? "");
}

export function limited(made: string): string {
  if (made.length > SIZE_MAX) throw new ExpressionError(`a text has more than ${SIZE_MAX} characters`);
  return made;
}

/** The size is known before the text is made. */
function joined(parts: readonly string[], separator: string): string {
  let size = separator.length * parts.length;
  for (const part of parts) size += part.length;
  if (size > SIZE_MAX) throw new ExpressionError(`a text has more than ${SIZE_MAX} characters`);
  return parts.join(separator);
}

export function listOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  if (typeof value === "string") return Array.from(value);
  if (typeof value === "object" && value !== null) return Object.keys(value);
  throw new ExpressionError("a list is needed");
}

function mapOf(value: unknown): object {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw new ExpressionError("an object is needed");
}

function text(value: unknown): string {
  if (typeof value === "string") return value;
  throw new ExpressionError(value === undefined ? "undefined variable" : "a text is needed");
}

function sizeOf(value: unknown): number {
  return typeof value === "string" ? value.length : listOf(value).length;
}

function title(words: string): string {
  return words.toLowerCase().replaceAll(/\p{L}+/gu, (word) => word.charAt(0).toUpperCase() + word.slice(1));
}

function truncate(whole: string, length: number): string {
  return whole.length <= length ? whole : `${whole.slice(0, Math.max(0, length - 3))}...`;
}
