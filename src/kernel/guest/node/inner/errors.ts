/** Errors as Node's own: with its codes and its words. */

type ErrorClass = new (message: string) => Error;

export function nodeError(Base: ErrorClass, code: string, message: string): Error & { readonly code: string } {
  const error = new Base(message);
  Object.defineProperty(error, "code", { value: code, writable: true, enumerable: true, configurable: true });
  return error as Error & { readonly code: string };
}

const TYPES = ["string", "function", "number", "object", "Function", "Object", "boolean", "bigint", "symbol"];

/** `expected`: names of types, of classes, and other words. */
export function invalidArgType(name: string, expected: string | readonly string[], actual: unknown): Error {
  const kinds = typeof expected === "string" ? [expected] : [...expected];
  let types = kinds.filter((kind) => TYPES.includes(kind)).map((kind) => kind.toLowerCase());
  const classes = kinds.filter((kind) => !TYPES.includes(kind) && /^[A-Z]\w*$/.test(kind));
  const others = kinds.filter((kind) => !TYPES.includes(kind) && !classes.includes(kind));
  if (classes.length > 0 && types.includes("object")) {
    types = types.filter((type) => type !== "object");
    classes.push("Object");
  }
  const parts: string[] = [];
  if (types.length > 0) parts.push(`${types.length > 1 ? "one of type" : "of type"} ${listOf(types)}`);
  if (classes.length > 0) parts.push(`an instance of ${listOf(classes)}`);
  if (others.length > 0)
    parts.push(`${others.length > 1 ? "one of " : /^[A-Z]/.test(others[0] ?? "") ? "an " : ""}${listOf(others)}`);
  const kind = name.endsWith(" argument") ? name : `"${name}" ${name.includes(".") ? "property" : "argument"}`;
  return nodeError(TypeError, "ERR_INVALID_ARG_TYPE", `The ${kind} must be ${parts.join(" or ")}.${received(actual)}`);
}

function listOf(names: readonly string[]): string {
  if (names.length < 3) return names.join(" or ");
  return `${names.slice(0, -1).join(", ")}, or ${names.at(-1) ?? ""}`;
}

export function received(actual: unknown): string {
  if (actual === null || actual === undefined) return ` Received ${String(actual)}`;
  if (typeof actual === "function") return ` Received function ${actual.name}`;
  if (typeof actual === "object") {
    const { constructor } = actual as { constructor?: { name?: unknown } };
    const name = typeof constructor === "function" ? String(constructor.name) : "";
    return name === "" ? " Received [Object: null prototype] {}" : ` Received an instance of ${name}`;
  }
  const shown =
    typeof actual === "string" ? quoted(actual) : typeof actual === "bigint" ? `${actual}n` : String(actual as number);
  return ` Received type ${typeof actual} (${shown})`;
}

function quoted(text: string): string {
  const short = text.length > 28 ? `${text.slice(0, 25)}...` : text;
  return short.includes("'") ? JSON.stringify(short) : `'${short}'`;
}

export function outOfRange(name: string, range: string, actual: unknown): Error {
  const shown = typeof actual === "number" || typeof actual === "bigint" ? digits(actual) : String(actual as string);
  const message = `The value of "${name}" is out of range. It must be ${range}. Received ${shown}`;
  return nodeError(RangeError, "ERR_OUT_OF_RANGE", message);
}

/** Long integers have their digits in groups. */
function digits(value: number | bigint): string {
  const text = String(value);
  const suffix = typeof value === "bigint" ? "n" : "";
  const isLong =
    typeof value === "bigint"
      ? value > 2n ** 32n || value < -(2n ** 32n)
      : Number.isInteger(value) && Math.abs(value) > 2 ** 32;
  return (isLong ? text.replaceAll(/(?<=\d)(?=(?:\d{3})+$)/g, "_") : text) + suffix;
}

export function invalidArgValue(name: string, value: unknown, reason = "is invalid"): Error {
  const shown = typeof value === "string" ? quoted(value) : String(value as number);
  const kind = name.includes(".") ? "property" : "argument";
  return nodeError(TypeError, "ERR_INVALID_ARG_VALUE", `The ${kind} '${name}' ${reason}. Received ${shown}`);
}

export function checkFunction(value: unknown, name: string): asserts value is (...args: unknown[]) => unknown {
  if (typeof value !== "function") throw invalidArgType(name, "function", value);
}

export function checkString(value: unknown, name: string): asserts value is string {
  if (typeof value !== "string") throw invalidArgType(name, "string", value);
}

export function checkNumber(value: unknown, name: string, min?: number, max?: number): asserts value is number {
  if (typeof value !== "number") throw invalidArgType(name, "number", value);
  const isBelow = min !== undefined && value < min;
  const isAbove = max !== undefined && value > max;
  if (!isBelow && !isAbove && !Number.isNaN(value)) return;
  const range = [...(min === undefined ? [] : [`>= ${min}`]), ...(max === undefined ? [] : [`<= ${max}`])];
  throw outOfRange(name, range.join(" && "), value);
}

export function checkInteger(
  value: unknown,
  name: string,
  min = Number.MIN_SAFE_INTEGER,
  max = Number.MAX_SAFE_INTEGER,
): asserts value is number {
  if (typeof value !== "number") throw invalidArgType(name, "number", value);
  if (!Number.isInteger(value)) throw outOfRange(name, "an integer", value);
  if (value < min || value > max) throw outOfRange(name, `>= ${digits(min)} && <= ${digits(max)}`, value);
}

export function abortError(reason?: unknown): Error {
  const error = nodeError(Error, "ABORT_ERR", "The operation was aborted");
  error.name = "AbortError";
  if (reason !== undefined) error.cause = reason;
  return error;
}

/** The error that a function throws: the one way to the classes of errors that a package keeps for itself. */
export function thrown(fail: () => unknown): unknown {
  try {
    return fail();
  } catch (error) {
    return error;
  }
}
