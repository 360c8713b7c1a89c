import { isDeepEqual } from "./inner/deep-equal.ts";
import { checkFunction, invalidArgType, nodeError } from "./inner/errors.ts";
import type { NodeModule } from "./inner/library.ts";
import { inspect } from "./node-util.ts";

/** `node:assert`. */

interface Details {
  readonly message?: unknown;
  readonly actual?: unknown;
  readonly expected?: unknown;
  readonly operator: string;
}

class AssertionError extends Error {
  readonly code = "ERR_ASSERTION";
  readonly generatedMessage: boolean;
  readonly actual: unknown;
  readonly expected: unknown;
  readonly operator: string;

  constructor({ message, actual, expected, operator }: Details) {
    super(message === undefined ? messageOf(actual, expected, operator) : String(message as string));
    Object.defineProperty(this, "name", { value: "AssertionError", writable: true, configurable: true });
    this.generatedMessage = message === undefined;
    this.actual = actual;
    this.expected = expected;
    this.operator = operator;
  }
}

const WORDS: { readonly [operator: string]: string } = {
  strictEqual: "Expected values to be strictly equal:",
  deepStrictEqual: "Expected values to be strictly deep-equal:",
  deepEqual: "Expected values to be loosely deep-equal:",
  equal: "Expected values to be loosely equal:",
  notStrictEqual: 'Expected "actual" to be strictly unequal to:',
  notDeepStrictEqual: 'Expected "actual" not to be strictly deep-equal to:',
  partialDeepStrictEqual: "Expected values to be partially and strictly deep-equal:",
  notDeepEqual: 'Expected "actual" not to be loosely deep-equal to:',
  notEqual: 'Expected "actual" to be loosely unequal to:',
};

function messageOf(actual: unknown, expected: unknown, operator: string): string {
  if (operator === "==" || operator === "!=") return `${inspect(actual)} ${operator} ${inspect(expected)}`;
  const words = WORDS[operator];
  if (words === undefined) return `${inspect(actual)} ${operator} ${inspect(expected)}`;
  if (operator.startsWith("not")) return `${words} ${inspect(expected)}`;
  return `${words}\n\n${inspect(actual)} !== ${inspect(expected)}\n`;
}

function refuse(details: Details): never {
  if (details.message instanceof Error) throw details.message;
  throw new AssertionError(details);
}

type Check = (actual: unknown, expected: unknown, message?: unknown) => void;

function comparing(operator: string, isRight: (actual: unknown, expected: unknown) => boolean): Check {
  return (...args: readonly unknown[]) => {
    const [actual, expected, message] = args;
    if (args.length < 2)
      throw nodeError(TypeError, "ERR_MISSING_ARGS", 'The "actual" and "expected" arguments must be specified');
    if (!isRight(actual, expected)) refuse({ actual, expected, message, operator });
  };
}

// oxlint-disable-next-line eqeqeq
const isLooselyEqual = (a: unknown, b: unknown): boolean => a == b || (Number.isNaN(a) && Number.isNaN(b));
const strictEqual = comparing("strictEqual", Object.is);
const notStrictEqual = comparing("notStrictEqual", (a, b) => !Object.is(a, b));
const deepStrictEqual = comparing("deepStrictEqual", (a, b) => isDeepEqual(a, b, "strict"));
const notDeepStrictEqual = comparing("notDeepStrictEqual", (a, b) => !isDeepEqual(a, b, "strict"));

function ok(...args: readonly unknown[]): void {
  const [value, message] = args;
  if (value) return;
  const said = args.length === 0 ? "No value argument passed to `assert.ok()`" : message;
  refuse({
    actual: value,
    expected: true,
    message: said ?? "The expression evaluated to a falsy value",
    operator: "==",
  });
}

function fail(message: unknown = "Failed"): never {
  if (message instanceof Error) throw message;
  throw new AssertionError({ message, operator: "fail" });
}

/** Whether an error matches the expectation of `throws` or `rejects`. */
function isExpected(error: unknown, expected: unknown, message: unknown, operator: string): void {
  if (expected === undefined || typeof expected === "string") return;
  if (expected instanceof RegExp) {
    if (!expected.test(String(error as string)))
      refuse({
        actual: error,
        expected,
        message:
          message ??
          `The input did not match the regular expression ${inspect(expected)}. Input:\n\n${inspect(String(error as string))}\n`,
        operator,
      });
  } else if (typeof expected === "function") {
    if (expected.prototype !== undefined && error instanceof expected) return;
    if (Error.isPrototypeOf(expected)) throw error;
    if (Reflect.apply(expected as () => unknown, {}, [error]) !== true) {
      refuse({
        actual: error,
        expected,
        message: message ?? 'The validation function is expected to return "true".',
        operator,
      });
    }
  } else if (typeof expected === "object" && expected !== null) {
    for (const key of Object.keys(expected)) {
      const [is, wanted]: unknown[] = [Reflect.get(error as object, key), Reflect.get(expected, key)];
      const isRight =
        wanted instanceof RegExp && typeof is === "string" ? wanted.test(is) : isDeepEqual(is, wanted, "strict");
      if (!isRight) refuse({ actual: error, expected, message, operator });
    }
  } else throw invalidArgType("expected", ["Function", "Error", "RegExp", "Object"], expected);
}

function throws(callback: unknown, ...rest: readonly unknown[]): void {
  checkFunction(callback, "fn");
  const [expected, message] = rest;
  let thrown: { readonly error: unknown } | null = null;
  try {
    callback();
  } catch (error) {
    thrown = { error };
  }
  const said = typeof expected === "string" ? expected : message;
  if (thrown === null) return refuse({ expected, message: said ?? "Missing expected exception.", operator: "throws" });
  return isExpected(thrown.error, expected, message, "throws");
}

async function rejects(promise: unknown, ...rest: readonly unknown[]): Promise<void> {
  const [expected, message] = rest;
  let thrown: { readonly error: unknown } | null = null;
  try {
    await (typeof promise === "function" ? (promise as () => unknown)() : promise);
  } catch (error) {
    thrown = { error };
  }
  const said = typeof expected === "string" ? expected : message;
  if (thrown === null) return refuse({ expected, message: said ?? "Missing expected rejection.", operator: "rejects" });
  return isExpected(thrown.error, expected, message, "rejects");
}

function doesNotThrow(callback: unknown, ...rest: readonly unknown[]): void {
  checkFunction(callback, "fn");
  try {
    callback();
  } catch (error) {
    const said = rest.find((one) => typeof one === "string");
    refuse({
      actual: error,
      message: `Got unwanted exception${said === undefined ? "." : `: ${said}`}\nActual message: "${(error as Error).message}"`,
      operator: "doesNotThrow",
    });
  }
}

async function doesNotReject(promise: unknown): Promise<void> {
  try {
    await (typeof promise === "function" ? (promise as () => unknown)() : promise);
  } catch (error) {
    refuse({
      actual: error,
      message: `Got unwanted rejection.\nActual message: "${(error as Error).message}"`,
      operator: "doesNotReject",
    });
  }
}

function ifError(value: unknown): void {
  if (value === null || value === undefined) return;
  const message = `ifError got unwanted exception: ${value instanceof Error ? value.message : inspect(value)}`;
  throw new AssertionError({ actual: value, expected: null, message, operator: "ifError" });
}

function matching(isWanted: boolean): (text: unknown, pattern: unknown, message?: unknown) => void {
  const operator = isWanted ? "match" : "doesNotMatch";
  return (text, pattern, message) => {
    if (!(pattern instanceof RegExp)) throw invalidArgType("regexp", "RegExp", pattern);
    if (typeof text === "string" && pattern.test(text) === isWanted) return;
    const what = isWanted ? "did not match" : "was expected to not match";
    refuse({
      actual: text,
      expected: pattern,
      message: message ?? `The input ${what} the regular expression ${inspect(pattern)}. Input:\n\n${inspect(text)}\n`,
      operator,
    });
  };
}

const both = {
  AssertionError,
  ok,
  fail,
  strictEqual,
  notStrictEqual,
  deepStrictEqual,
  notDeepStrictEqual,
  partialDeepStrictEqual: comparing("partialDeepStrictEqual", (a, b) => isDeepEqual(a, b, "partial")),
  throws,
  doesNotThrow,
  rejects,
  doesNotReject,
  ifError,
  match: matching(true),
  doesNotMatch: matching(false),
};
const loose = {
  equal: comparing("==", isLooselyEqual),
  notEqual: comparing("!=", (a, b) => !isLooselyEqual(a, b)),
  deepEqual: comparing("deepEqual", (a, b) => isDeepEqual(a, b, "loose")),
  notDeepEqual: comparing("notDeepEqual", (a, b) => !isDeepEqual(a, b, "loose")),
};

function assert(...args: readonly unknown[]): void {
  ok(...args);
}

function strict(...args: readonly unknown[]): void {
  ok(...args);
}

Object.assign(strict, both, {
  equal: strictEqual,
  notEqual: notStrictEqual,
  deepEqual: deepStrictEqual,
  notDeepEqual: notDeepStrictEqual,
  strict,
});
Object.assign(assert, both, loose, { strict });

export const shared = assert as unknown as NodeModule & ((...args: never[]) => unknown);
