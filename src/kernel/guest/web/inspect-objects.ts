import { hexOf } from "./bytes.ts";
import { describeError } from "./inspect-errors.ts";
import { listArray, listMap, listSet, listTypedArray } from "./inspect-lists.ts";
import { describeFunction, prefixOf, readQuietly } from "./inspect-names.ts";
import { more } from "./inspect-text.ts";
import type { Body, Printer } from "./printer.ts";

/** Maximum length of a list whose non-index properties are printed: collecting them makes a key of each index. */
const SMALL_LIST = 10_000;

/** Formats an object; as plain text if the brackets would be empty. */
export function describeObject(value: object, className: string | null, tag: string, run: Printer): Body | string {
  if (Array.isArray(value)) return describeArray(value, className, tag, run);
  if (ArrayBuffer.isView(value)) return describeView(value, className, tag, run);
  return (
    describeShown(value, className, tag, run) ??
    describeCollection(value, className, tag, run) ??
    describeBase(value, className, tag, run) ??
    describePlain(value, className, tag)
  );
}

function describeArray(value: unknown[], className: string | null, tag: string, run: Printer): Body | string {
  const isPlain = className === "Array" && tag === "";
  const open = `${isPlain ? "" : prefixOf(className, tag, "Array", `(${value.length})`)}[`;
  const keys = value.length > SMALL_LIST ? [] : ownKeys(value).filter((key) => !isIndex(key));
  if (value.length === 0 && keys.length === 0) return `${open}]`;
  const shown = Math.min(value.length, run.options.maxArrayLength);
  let numeric = true;
  for (let index = 0; index < shown && numeric; index += 1) {
    const item: unknown = Object.getOwnPropertyDescriptor(value, index)?.value;
    numeric = typeof item === "number" || typeof item === "bigint";
  }
  return { base: "", open, close: "]", keys, numeric, special: listArray(value, run) };
}

function describeView(value: ArrayBufferView, className: string | null, tag: string, run: Printer): Body | string {
  const name: unknown = Reflect.get(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag, value);
  if (typeof name !== "string") {
    const special = (entries: string[], level: number) => {
      entries.push(`[byteLength]: ${value.byteLength}`, `[byteOffset]: ${value.byteOffset}`);
      entries.push(run.indented(() => `[buffer]: ${run.value(value.buffer, level)}`));
      return 0;
    };
    return {
      base: "",
      open: `${prefixOf(className, tag, "DataView", "")}{`,
      close: "}",
      keys: ownKeys(value),
      special,
    };
  }
  const array = value as Uint8Array | BigInt64Array;
  const open = `${prefixOf(className, tag === name ? "" : tag, name, `(${array.length})`)}[`;
  const keys = array.length > SMALL_LIST ? [] : ownKeys(array).filter((key) => !isIndex(key));
  if (array.length === 0 && keys.length === 0) return `${open}]`;
  return { base: "", open, close: "]", keys, numeric: true, special: listTypedArray(array, run) };
}

/** Objects of the web's classes keep their state in private fields. */
function describeShown(value: object, className: string | null, tag: string, run: Printer): Body | string | undefined {
  const facts = run.options.show(value);
  if (facts === undefined) return undefined;
  const open = `${prefixOf(className, tag, "Object", "")}{`;
  if (Object.keys(facts).length === 0) return `${open}}`;
  const special = (entries: string[], level: number) => {
    for (const key of Object.keys(facts)) {
      if (run.isFull) break;
      entries.push(run.property(facts, key, level, false));
    }
    return 0;
  };
  return { base: "", open, close: "}", keys: [], special };
}

/** The getters of `size` and `byteLength` throw for objects that are not a real `Map`, `Set` or `ArrayBuffer`. */
function describeCollection(
  value: object,
  className: string | null,
  tag: string,
  run: Printer,
): Body | string | undefined {
  const keys = ownKeys(value);
  for (const [Class, name, list] of [
    [Map, "Map", listMap],
    [Set, "Set", listSet],
  ] as const) {
    const size = value instanceof Class ? tryGet(Class.prototype, "size", value) : undefined;
    if (size === undefined) continue;
    const open = `${prefixOf(className, tag === name ? "" : tag, name, `(${size})`)}{`;
    return size === 0 && keys.length === 0
      ? `${open}}`
      : { base: "", open, close: "}", keys, special: list(value, size, run) };
  }
  const size = value instanceof ArrayBuffer ? tryGet(ArrayBuffer.prototype, "byteLength", value) : undefined;
  if (size === undefined) return undefined;
  const special = (entries: string[]) => {
    entries.push(
      run.count(`[Uint8Contents]: <${hexDump(value as ArrayBuffer, size, run.options.maxArrayLength)}>`),
      `[byteLength]: ${size}`,
    );
    return 0;
  };
  const open = `${prefixOf(className, tag === "ArrayBuffer" ? "" : tag, "ArrayBuffer", "")}{`;
  return { base: "", open, close: "}", keys, special };
}

function hexDump(buffer: ArrayBuffer, size: number, shown: number): string {
  const bytes = size === 0 ? new Uint8Array() : new Uint8Array(buffer, 0, Math.min(size, shown));
  const text = hexOf(bytes, " ");
  return size > shown ? `${text} ${more(size - shown, "byte")}` : text;
}

/** Values printed as text, with brackets only for additional properties. */
function describeBase(value: object, className: string | null, tag: string, run: Printer): Body | string | undefined {
  if (Error.isError(value)) return describeError(value, className, tag, ownKeys(value), run);
  const text =
    typeof value === "function"
      ? describeFunction(value, className, tag)
      : (dateText(value) ?? regExpText(value) ?? boxedText(value, run));
  if (text === undefined) return undefined;
  const isText = !(value instanceof String) || typeof value === "function";
  const keys = isText ? ownKeys(value) : ownKeys(value).filter((key) => !isIndex(key));
  return keys.length === 0 ? text : { base: text, open: "{", close: "}", keys };
}

function dateText(value: object): string | undefined {
  if (!(value instanceof Date)) return undefined;
  const time = attempt(() => Date.prototype.getTime.call(value));
  if (time === undefined) return undefined;
  return Number.isNaN(time) ? "Invalid Date" : Date.prototype.toISOString.call(value);
}

function regExpText(value: object): string | undefined {
  if (!(value instanceof RegExp)) return undefined;
  const source = tryGet(RegExp.prototype, "source", value);
  const flags = tryGet(RegExp.prototype, "flags", value);
  return source === undefined || flags === undefined ? undefined : `/${source}/${flags}`;
}

function boxedText(value: object, run: Printer): string | undefined {
  for (const Class of [Number, String, Boolean, BigInt, Symbol]) {
    if (!(value instanceof Class)) continue;
    const inner: unknown = attempt(() => Reflect.apply(Class.prototype.valueOf, value, []));
    if (inner !== undefined) return `[${Class.name}: ${run.value(inner, 0)}]`;
  }
  return undefined;
}

function describePlain(value: object, className: string | null, tag: string): Body | string {
  const keys = ownKeys(value);
  const isArguments = tag === "" && className === "Object" && isArgumentsObject(value);
  const isPlain = className === "Object" && tag === "";
  const open = isArguments ? "[Arguments] {" : isPlain ? "{" : `${prefixOf(className, tag, "Object", "")}{`;
  const unseen = value instanceof WeakMap || value instanceof WeakSet ? "<items unknown>" : "";
  if (unseen !== "") {
    const special = (entries: string[]) => {
      entries.push(unseen);
      return 0;
    };
    return { base: "", open: `${className ?? "Object"} {`, close: "}", keys, special };
  }
  if (value instanceof Promise && className !== null) {
    return keys.length === 0 ? `${className} {}` : { base: "", open: `${className} {`, close: "}", keys };
  }
  return keys.length === 0 ? `${open}}` : { base: "", open, close: "}", keys };
}

/** Uses the built-in tag, but only if no getter could interfere. */
function isArgumentsObject(value: object): boolean {
  if (!Object.hasOwn(value, "length") || Symbol.toStringTag in value) return false;
  return (
    readQuietly(value, Symbol.iterator) !== undefined && Object.prototype.toString.call(value) === "[object Arguments]"
  );
}

/** Own enumerable properties. */
function ownKeys(value: object): (string | symbol)[] {
  const symbols = Object.getOwnPropertySymbols(value).filter((key) =>
    Object.prototype.propertyIsEnumerable.call(value, key),
  );
  return [...Object.keys(value), ...symbols];
}

function isIndex(key: string | symbol): boolean {
  return typeof key === "string" && /^(?:0|[1-9]\d{0,9})$/.test(key) && Number(key) < 2 ** 32 - 1;
}

/** The value of a built-in prototype's getter for an object; `undefined` if the object is not of that class. */
function tryGet<T extends object, K extends keyof T>(prototype: T, key: K, value: object): T[K] | undefined {
  return attempt(() => Reflect.get(prototype, key, value) as T[K]);
}

function attempt<T>(compute: () => T): T | undefined {
  try {
    return compute();
  } catch {
    return undefined;
  }
}
