import { isDeepEqual } from "./inner/deep-equal.ts";
import { checkFunction, checkString, invalidArgType, nodeError } from "./inner/errors.ts";
import { emitWarning, kept, library, type NodeModule, shareGlobals, soon } from "./inner/library.ts";
import { MIMEParams, MIMEType } from "./inner/mime-type.ts";
import { parseArgs } from "./inner/parse-args.ts";
import { styleText } from "./inner/style-text.ts";
import { types } from "./inner/util-types.ts";
import type * as Tables from "./tables.ts";

/** `node:util`. Options of `inspect` belong to the instance. */

type AnyFunction = (...args: unknown[]) => unknown;
const { apply, get } = Reflect;
const { defineProperty, setPrototypeOf, getOwnPropertyDescriptors } = Object;

const custom = Symbol.for("nodejs.util.inspect.custom");
const promisified = Symbol.for("nodejs.util.promisify.custom");

/** A function of the part that shows values, which is large and evaluated on first use. */
function lazily(name: string): AnyFunction {
  const made = function (...args: readonly unknown[]): unknown {
    return apply(
      (library.load("inspection").shared as { [name: string]: AnyFunction })[name] as AnyFunction,
      undefined,
      args,
    );
  };
  return defineProperty(made, "name", { value: name, configurable: true });
}

const inspection = (): { [name: string]: unknown } =>
  (library.load("inspection").shared as { inspect: object }).inspect as { [name: string]: unknown };
export const inspect = lazily("inspect") as (value: unknown, options?: unknown, depth?: number | null) => string;
const format = lazily("format");
const formatWithOptions = lazily("formatWithOptions");
const member = (name: string) => ({ get: () => inspection()[name], enumerable: true, configurable: true });
Object.defineProperties(inspect, {
  custom: { value: custom, enumerable: true },
  colors: member("colors"),
  styles: member("styles"),
  defaultOptions: {
    ...member("defaultOptions"),
    set: (options: unknown) => {
      Reflect.set(inspection(), "defaultOptions", options);
    },
  },
});

function promisify(original: unknown): unknown {
  checkFunction(original, "original");
  const own: unknown = get(original, promisified);
  if (own !== undefined) {
    checkFunction(own, "util.promisify.custom");
    // That of a function which all instances share is frozen.
    return Object.isExtensible(own) ? defineProperty(own, promisified, { value: own, configurable: true }) : own;
  }
  const made = function (this: unknown, ...args: unknown[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const done = (error: unknown, value: unknown): void => (error ? reject(error as Error) : resolve(value));
      apply(original, this, [...args, done]);
    });
  };
  setPrototypeOf(made, Object.getPrototypeOf(original) as object);
  defineProperty(made, promisified, { value: made, configurable: true });
  return Object.defineProperties(made, getOwnPropertyDescriptors(original));
}
Object.assign(promisify, { custom: promisified });

function callbackify(original: unknown): AnyFunction {
  checkFunction(original, "original");
  return function (this: unknown, ...args: unknown[]): void {
    const callback = args.pop();
    checkFunction(callback, "last argument");
    const promise = apply(original, this, args) as Promise<unknown>;
    promise.then(
      (value) => soon(() => callback(null, value)),
      (reason: unknown) => {
        const error = reason || nodeError(Error, "ERR_FALSY_VALUE_REJECTION", "Promise was rejected with falsy value");
        soon(() => callback(error));
      },
    );
  };
}

function inherits(constructor: unknown, parent: unknown): void {
  if (constructor === undefined || constructor === null) throw invalidArgType("ctor", "function", constructor);
  if (parent === undefined || parent === null) throw invalidArgType("superCtor", "function", parent);
  const { prototype } = parent as { prototype?: object };
  if (prototype === undefined) throw invalidArgType("superCtor.prototype", "object", prototype);
  defineProperty(constructor, "super_", { value: parent, writable: true, configurable: true });
  setPrototypeOf((constructor as { prototype: object }).prototype, prototype);
}

/** Warns once for an instance. */
function deprecate(callback: unknown, message: string, code?: string): unknown {
  checkFunction(callback, "fn");
  if (code !== undefined) checkString(code, "code");
  return function (this: unknown, ...args: unknown[]): unknown {
    const told = kept("deprecations", () => new Set<string>());
    const name = code ?? message;
    if (!told.has(name)) {
      told.add(name);
      emitWarning(message, "DeprecationWarning", code);
    }
    return new.target === undefined ? apply(callback, this, args) : Reflect.construct(callback, args, callback);
  };
}

function debuglog(): AnyFunction {
  return Object.assign((): void => undefined, { enabled: false });
}

function toUSVString(text: unknown): string {
  return String(text as string).toWellFormed();
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

const VARIABLE = /^\s*(?:export[^\S\n]+)?([\w.-]+)[^\S\n]*=[^\S\n]*(?:"([^"]*)"|'([^']*)'|`([^`]*)`|([^#\n]*))/gm;

function parseEnv(text: unknown): { [name: string]: string } {
  checkString(text, "content");
  const found = Object.create(null) as { [name: string]: string };
  for (const [, name = "", escaped, single, back, plain = ""] of text.matchAll(VARIABLE))
    found[name] = escaped?.replaceAll(String.raw`\n`, "\n") ?? single ?? back ?? plain.trim();
  return found;
}

const FRAME = /^\s*at (?:(?:async )?(.*?) \()?(.*?):(\d+):(\d+)\)?$/;

/** The calls that led here, nearest first, as far as a stack of the isolate has them. */
function getCallSites(count: unknown): readonly object[] {
  const lines = String(new Error("a stack").stack).split("\n").slice(2);
  const frames = lines.flatMap((line) => {
    const [, functionName = "", scriptName, lineNumber, column] = FRAME.exec(line) ?? [];
    if (scriptName === undefined) return [];
    return [{ functionName, scriptId: "0", scriptName, lineNumber: Number(lineNumber), columnNumber: Number(column) }];
  });
  return frames.slice(0, typeof count === "number" ? count : undefined);
}

function getSystemErrorName(code: number): string {
  const { errno } = (library.load("tables") as unknown as typeof Tables).os as { errno: { [name: string]: number } };
  return Object.keys(errno).find((name) => errno[name] === -code) ?? `Unknown system error ${code}`;
}

const is = {
  isArray: Array.isArray,
  isBoolean: (value: unknown) => typeof value === "boolean",
  isNull: (value: unknown) => value === null,
  isNullOrUndefined: (value: unknown) => value === null || value === undefined,
  isNumber: (value: unknown) => typeof value === "number",
  isString: (value: unknown) => typeof value === "string",
  isSymbol: (value: unknown) => typeof value === "symbol",
  isUndefined: (value: unknown) => value === undefined,
  isRegExp: types["isRegExp"],
  isDate: types["isDate"],
  isError: types["isNativeError"],
  isObject: (value: unknown) => value !== null && typeof value === "object",
  isFunction: (value: unknown) => typeof value === "function",
  isPrimitive: (value: unknown) => value === null || (typeof value !== "object" && typeof value !== "function"),
};

export const shared: NodeModule = {
  inspect,
  format,
  formatWithOptions,
  promisify,
  callbackify,
  inherits,
  deprecate,
  debuglog,
  debug: debuglog,
  stripVTControlCharacters: lazily("stripVTControlCharacters"),
  styleText,
  toUSVString,
  aborted,
  parseEnv,
  parseArgs,
  MIMEType,
  MIMEParams,
  getCallSites,
  types,
  transferableAbortController: () => new AbortController(),
  isDeepStrictEqual: (a: unknown, b: unknown, skipsPrototype?: unknown) =>
    isDeepEqual(a, b, skipsPrototype === true ? "members" : "strict"),
  getSystemErrorName,
  getSystemErrorMap: () => new Map(),
  _extend: (target: unknown, source: unknown) =>
    typeof source === "object" && source !== null ? Object.assign(target as object, source) : target,
  ...is,
};

/** The web's classes are made when they are read. */
shareGlobals(shared, ["TextEncoder", "TextDecoder"]);
