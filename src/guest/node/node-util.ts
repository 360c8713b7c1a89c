import { formatWith, inspect as inspectWith } from "../web/inspect.ts";
import type { InspectOptions } from "../web/printer.ts";
import { isDeepEqual } from "./inner/deep-equal.ts";
import { checkFunction, checkString, invalidArgType, nodeError } from "./inner/errors.ts";
import { kept, library, type NodeModule, soon } from "./inner/library.ts";
import { parseArgs } from "./inner/parse-args.ts";
import { types } from "./inner/util-types.ts";

/** `node:util`. Options of `inspect` belong to the instance. */

type AnyFunction = (...args: unknown[]) => unknown;
const { apply, get } = Reflect;
const { defineProperty, setPrototypeOf, getOwnPropertyDescriptors } = Object;

const custom = Symbol.for("nodejs.util.inspect.custom");
const promisified = Symbol.for("nodejs.util.promisify.custom");

interface Options {
  depth?: number | null;
  showHidden?: boolean;
  colors?: boolean;
  customInspect?: boolean;
  maxArrayLength?: number | null;
  maxStringLength?: number | null;
  breakLength?: number;
  compact?: number | boolean;
  sorted?: boolean;
  getters?: boolean;
  numericSeparator?: boolean;
}

const USUAL: Options = {
  showHidden: false,
  depth: 2,
  colors: false,
  customInspect: true,
  maxArrayLength: 100,
  maxStringLength: 10_000,
  breakLength: 128,
  compact: 3,
  sorted: false,
  getters: false,
  numericSeparator: false,
};
const usual = (): Options => kept("inspect", () => ({ ...USUAL }));
const OUTPUT_MAX = 16 * 1024 * 1024;

function optionsOf({ depth, maxArrayLength, maxStringLength }: Options): InspectOptions {
  const limit = (value: number | null | undefined, most: number): number => Math.min(value ?? most, most);
  return {
    depth: limit(depth, 10_000),
    maxArrayLength: limit(maxArrayLength, 100_000),
    maxStringLength: limit(maxStringLength, OUTPUT_MAX),
    maxChars: OUTPUT_MAX,
    show: library.host.shown,
  };
}

export function inspect(value: unknown, options?: Options | boolean, depth?: number | null): string {
  const given: Options =
    typeof options === "object" && options !== null ? options : depth === undefined ? {} : { depth };
  const all = { ...usual(), ...given };
  const own = all.customInspect === false ? undefined : customText(value, all);
  return own ?? inspectWith(value, optionsOf(all));
}

/** The text of an object that says itself how it is shown. */
function customText(value: unknown, options: Options): string | undefined {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return undefined;
  const own: unknown = get(value, custom);
  if (typeof own !== "function" || own === inspect) return undefined;
  const shown: unknown = apply(own as AnyFunction, value, [
    options.depth ?? Number.POSITIVE_INFINITY,
    options,
    inspect,
  ]);
  return typeof shown === "string" ? shown : shown === value ? undefined : inspect(shown, options);
}

const COLORS: { [name: string]: [number, number] } = {
  reset: [0, 0],
  bold: [1, 22],
  dim: [2, 22],
  italic: [3, 23],
  underline: [4, 24],
  blink: [5, 25],
  inverse: [7, 27],
  hidden: [8, 28],
  strikethrough: [9, 29],
  doubleunderline: [21, 24],
  black: [30, 39],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  blue: [34, 39],
  magenta: [35, 39],
  cyan: [36, 39],
  white: [37, 39],
  gray: [90, 39],
  grey: [90, 39],
  redBright: [91, 39],
  greenBright: [92, 39],
  yellowBright: [93, 39],
  blueBright: [94, 39],
  magentaBright: [95, 39],
  cyanBright: [96, 39],
  whiteBright: [97, 39],
  bgBlack: [40, 49],
  bgRed: [41, 49],
  bgGreen: [42, 49],
  bgYellow: [43, 49],
  bgBlue: [44, 49],
  bgMagenta: [45, 49],
  bgCyan: [46, 49],
  bgWhite: [47, 49],
};
const STYLES = {
  special: "cyan",
  number: "yellow",
  bigint: "yellow",
  boolean: "yellow",
  undefined: "grey",
  null: "bold",
  string: "green",
  symbol: "green",
  date: "magenta",
  regexp: "red",
  module: "underline",
};
defineProperty(inspect, "defaultOptions", {
  get: usual,
  set: (options: Options) => void Object.assign(usual(), options),
  enumerable: true,
});
Object.assign(inspect, { custom, colors: COLORS, styles: STYLES });

function format(...args: readonly unknown[]): string {
  return formatWithOptions({}, ...args);
}

function formatWithOptions(options: Options, ...args: readonly unknown[]): string {
  const all = { ...usual(), ...options };
  const shown = args.map((value, at) =>
    at > 0 || typeof value !== "string" ? (customText(value, all) ?? value) : value,
  );
  return formatWith(optionsOf(all), ...shown);
}

function promisify(original: unknown): unknown {
  checkFunction(original, "original");
  const own: unknown = get(original, promisified);
  if (own !== undefined) {
    checkFunction(own, "util.promisify.custom");
    return defineProperty(own, promisified, { value: own, configurable: true });
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
      const process = library.state().require("process") as { emitWarning(...args: readonly unknown[]): void };
      process.emitWarning(message, "DeprecationWarning", code);
    }
    return new.target === undefined ? apply(callback, this, args) : Reflect.construct(callback, args, callback);
  };
}

function debuglog(): AnyFunction {
  return Object.assign((): void => undefined, { enabled: false });
}

const ANSI =
  // oxlint-disable-next-line no-control-regex
  /[\u001B\u009B][[\]()#;?]*(?:(?:(?:(?:;[-a-zA-Z\d/#&.:=?%@~_]+)*|[a-zA-Z\d]+(?:;[-a-zA-Z\d/#&.:=?%@~_]*)*)?\u0007)|(?:(?:\d{1,4}(?:;\d{0,4})*)?[\dA-PR-TZcf-ntqry=><~]))/g;

function stripVTControlCharacters(text: unknown): string {
  checkString(text, "str");
  return text.replaceAll(ANSI, "");
}

function styleText(format: string | readonly string[], text: unknown): string {
  checkString(text, "text");
  return [format].flat().reduceRight((inner: string, name: string) => {
    const codes = COLORS[name];
    if (codes === undefined)
      throw nodeError(
        TypeError,
        "ERR_INVALID_ARG_VALUE",
        `The argument 'format' must be one of the colors. Received '${name}'`,
      );
    return `\u001B[${codes[0]}m${inner}\u001B[${codes[1]}m`;
  }, text);
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

function parseEnv(text: unknown): { [name: string]: string } {
  checkString(text, "content");
  const found: { [name: string]: string } = {};
  for (const [, name = "", , quoted, plain = ""] of text.matchAll(
    /^\s*(?:export\s+)?([\w.-]+)\s*=\s*(?:(["'`])([\s\S]*?)\2|([^#\n]*))/gm,
  )) {
    found[name] = (quoted ?? plain.trim()).replaceAll(String.raw`\n`, "\n");
  }
  return found;
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
  stripVTControlCharacters,
  styleText,
  toUSVString,
  aborted,
  parseEnv,
  parseArgs,
  types,
  transferableAbortController: () => new AbortController(),
  isDeepStrictEqual: (a: unknown, b: unknown, skipsPrototype?: unknown) =>
    isDeepEqual(a, b, skipsPrototype === true ? "members" : "strict"),
  getSystemErrorName: (code: number) => `Unknown system error ${code}`,
  getSystemErrorMap: () => new Map(),
  _extend: (target: unknown, source: unknown) =>
    typeof source === "object" && source !== null ? Object.assign(target as object, source) : target,
  ...is,
};

const web = (name: "TextEncoder" | "TextDecoder") => ({
  get: () => Reflect.get(globalThis, name) as unknown,
  enumerable: true,
  configurable: true,
});
/** The web's classes are made when they are read. */
const WEB = { TextEncoder: web("TextEncoder"), TextDecoder: web("TextDecoder") };

export function open(): NodeModule {
  return Object.defineProperties({ ...shared }, WEB);
}
