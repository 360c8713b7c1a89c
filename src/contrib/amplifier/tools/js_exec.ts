import {
  isinstance,
  len,
  range,
  enumerate,
  max,
  min,
  repr,
  reversed,
  round,
  sorted,
  sum,
  type,
  zip,
} from "./parts/js-builtins.ts";
import { harden } from "./parts/harden.ts";
import { answer, type ToolResult, type ToolUse } from "./parts/strands.ts";

export const TOOL_SPEC = {
  name: "js_exec",
  description:
    "Execute JavaScript code (with restricted globals). What it gives to print is the result; it may use await",
  inputSchema: {
    json: {
      type: "object",
      properties: {
        code: { type: "string", description: "JavaScript code to execute" },
        timeout: { type: "integer", default: 5, minimum: 1, maximum: 60, description: "Timeout in seconds" },
      },
      required: ["code"],
    },
  },
};

/** One isolate per call, discarded afterwards, because the code may change anything in it. */
export const spec = {
  tags: ["code"],
  isolation: "isolate",
  limits: { cpuMs: 60_000, wallMs: 60_250, memoryMb: 64 },
  timeoutArgument: "timeout",
};

interface Input {
  readonly code: string;
  readonly timeout: number;
}

export async function js_exec(tool: ToolUse<Input>): Promise<ToolResult> {
  const { code = "", timeout = 5 } = tool.input ?? {};
  if (code === "") return answer(tool, "error", "No code provided");
  const lines: string[] = [];
  const print = (...parts: readonly unknown[]): void => {
    const line = parts.map(repr).join(" ");
    // Also logged: logs survive if the code is ended from outside.
    console.log(line);
    lines.push(`${line}\n`);
  };
  try {
    await within(timeout, run(code, print));
    return answer(tool, "success", lines.join("") || "Code executed successfully (no output)");
  } catch (error) {
    const partial = lines.join("");
    return answer(tool, "error", `Execution failed: ${wordsOf(error)}`, ...(partial === "" ? [] : [partial]));
  }
}

/** Names that the code may use, besides the language itself. */
function scopeOf(print: (...parts: readonly unknown[]) => void): ReadonlyMap<string, unknown> {
  return new Map<string, unknown>([
    ...Object.entries({ Array, BigInt, Boolean, Date, Map, Number, Object, Promise, RegExp, Set, String, Symbol }),
    ...Object.entries({ Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError }),
    ...Object.entries({ JSON, Math, isFinite, isNaN, parseFloat, parseInt, Infinity, NaN, undefined }),
    ...Object.entries({ len, range, enumerate, zip, sum, min, max, abs: Math.abs, round, sorted, reversed }),
    ...Object.entries({ isinstance, type, print, console: { log: print } }),
  ]);
}

const functionKinds: readonly object[] = [function () {}, function* () {}, async () => {}, async function* () {}].map(
  (one) => Object.getPrototypeOf(one) as object,
);
const compile = functionKinds.map((kind) => Reflect.get(kind, "constructor") as FunctionConstructor);

/** Runs the code as the body of an async function with access only to its scope. */
async function run(code: string, print: (...parts: readonly unknown[]) => void): Promise<void> {
  const [makeFunction, , makeAsync] = compile;
  if (makeFunction === undefined || makeAsync === undefined) throw new TypeError("functions cannot be made");
  // The code must be a complete body by itself, so that it cannot close the enclosing function.
  makeAsync(`"use strict";\n${code}`);
  const scope = scopeOf(print);
  const hidden = globalNames().filter((name) => !scope.has(name));
  const body = `return async function () { "use strict";\n${code}\n};`;
  const wrap = makeFunction(...hidden, ...scope.keys(), body);
  const script: unknown = Reflect.apply(wrap, undefined, [...hidden.map(() => undefined), ...scope.values()]);
  lockDown([...scope.values()]);
  if (typeof script === "function") await Reflect.apply(script, undefined, []);
}

/** Names of all globals that code could write. */
function globalNames(): string[] {
  const names = new Set<string>();
  for (let at: unknown = globalThis; typeof at === "object" && at !== null; at = Object.getPrototypeOf(at)) {
    for (const name of Object.getOwnPropertyNames(at)) names.add(name);
  }
  return [...names].filter((name) => /^[A-Za-z_$][\w$]*$/.test(name) && name !== "undefined");
}

/**
 * Removes function constructors and stack APIs, which lead out of the scope, and freezes built-in functions, which the
 * code could otherwise replace.
 */
function lockDown(scope: readonly unknown[]): void {
  for (const kind of functionKinds) Object.defineProperty(kind, "constructor", { value: undefined });
  for (const name of ["prepareStackTrace", "captureStackTrace"]) {
    Object.defineProperty(Error, name, { value: undefined, writable: false, configurable: false });
  }
  harden([...scope, ...functionKinds]);
}

class TimeoutError extends Error {
  override readonly name = "TimeoutError";
}

/** Rejects after the timeout. This ends only waiting code; busy code is ended by its CPU limit. */
async function within(seconds: number, work: Promise<void>): Promise<void> {
  let timer = 0;
  const over = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new TimeoutError(`the code took longer than ${seconds}s`)), seconds * 1000);
  });
  try {
    await Promise.race([work, over]);
  } finally {
    clearTimeout(timer);
  }
}

/** `TypeError: message`; other values with their type. */
function wordsOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : `${type(error)}: ${repr(error)}`;
}
