import { readQuietly } from "./inspect-names.ts";
import { formatNumber } from "./inspect-text.ts";
import { Inspection } from "./inspection.ts";
import type { InspectOptions } from "./printer.ts";

const DEFAULTS: Required<InspectOptions> = {
  depth: 2,
  maxArrayLength: 100,
  maxStringLength: 10_000,
  maxChars: 16_384,
  show: () => undefined,
};

/** Suffix of truncated output. */
const CUT = "... (cut)";

/** Prints a value as Node's `util.inspect` does, but with bounded work and output. Never calls a getter. */
export function inspect(value: unknown, options: InspectOptions = {}): string {
  const all = { ...DEFAULTS, ...options };
  return cut(new Inspection(all).value(value, 0), all.maxChars);
}

/** Formats text as Node's `util.format` does: `%s %d %i %f %j %o %O %c %%`, then the remaining values. */
export function format(...args: readonly unknown[]): string {
  return formatWith({}, ...args);
}

/** `format` with options for the values. */
export function formatWith(options: InspectOptions, ...args: readonly unknown[]): string {
  return formatAll(args, allOptions(options));
}

/** Options with the default of each that is left out. */
export function allOptions(options: InspectOptions): Required<InspectOptions> {
  return { ...DEFAULTS, ...options };
}

/** `formatWith` for options that serve many lines. */
export function formatAll(args: readonly unknown[], options: Required<InspectOptions>): string {
  if (args.length === 0) return "";
  const { maxChars } = options;
  const [first] = args;
  let text = toText(first, options);
  if (args.length === 1) return text;
  let used = 1;
  if (typeof first === "string" && text.includes("%")) {
    let length = 0;
    text = text.replace(/%[sdifjoOc%]/g, (directive) => {
      if (directive === "%%") return "%";
      if (used === args.length || length > maxChars) return directive;
      const converted = convert(directive, args[used], options);
      used += 1;
      length += converted.length;
      return converted;
    });
  }
  for (; used < args.length; used++) text += ` ${toText(args[used], options)}`;
  return cut(text, maxChars);
}

function toText(value: unknown, options: Required<InspectOptions>): string {
  if (typeof value === "string") return cut(value, options.maxChars);
  // The usual values of lines beside text: numbers need no inspection.
  if (typeof value === "number") return cut(formatNumber(value), options.maxChars);
  return inspect(value, options);
}

function cut(text: string, maxChars: number): string {
  return text.length <= maxChars ? text : `${text.slice(0, Math.max(0, maxChars - CUT.length))}${CUT}`;
}

function convert(directive: string, value: unknown, options: Required<InspectOptions>): string {
  switch (directive) {
    case "%s":
      return convertToString(value, options);
    case "%d":
      return typeof value === "bigint" ? `${value}n` : convertToNumber(value, Number);
    case "%i":
      return typeof value === "bigint"
        ? `${value}n`
        : convertToNumber(value, (item) => Number.parseInt(item as string, 10));
    case "%f":
      return convertToNumber(value, (item) => Number.parseFloat(item as string));
    case "%j":
      return convertToJson(value);
    case "%o":
      return inspect(value, { ...options, depth: 4 });
    case "%O":
      return inspect(value, options);
    default:
      return "";
  }
}

function convertToString(value: unknown, options: Required<InspectOptions>): string {
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "number") return formatNumber(value);
  if (typeof value === "object" && value !== null && !hasOwnText(value))
    return inspect(value, { ...options, depth: 0 });
  return attempt(() => cut(String(value), options.maxChars));
}

/** Whether an object has a `toString` that is not a built-in one. */
function hasOwnText(value: object): boolean {
  try {
    const method = readQuietly(value, "toString");
    const builtIn = [Object, Error, Array, Date, RegExp, Number, String, Boolean, Symbol, BigInt];
    return (
      typeof method === "function" && !builtIn.some((Class) => Reflect.get(Class.prototype, "toString") === method)
    );
  } catch {
    return false;
  }
}

function convertToNumber(value: unknown, convertItem: (value: unknown) => number): string {
  if (typeof value === "symbol") return "NaN";
  return attempt(() => formatNumber(convertItem(value)), "NaN");
}

function convertToJson(value: unknown): string {
  return attempt(() => `${JSON.stringify(value)}`, "[Circular]");
}

/** Conversions call the value's own code, which may throw. */
function attempt(compute: () => string, otherwise = "[object that cannot be inspected]"): string {
  try {
    return compute();
  } catch {
    return otherwise;
  }
}
