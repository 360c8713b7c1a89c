import type { Failure } from "./host.ts";

// Captured before a tool can change it.
const { get } = Reflect;

/** A thrown value as data. Each property of the object is read once, within the tool's own turn, and truncated. */

const MESSAGE_MAX = 2_000;
const CAUSE_MAX = 1_000;
const TYPE_MAX = 100;
const STACK_MAX = 8_000;

/** V8's message if an isolate's buffers would exceed its memory limit. */
const BUFFER_REFUSED = "Array buffer allocation failed";

export function describeError(thrown: unknown, codeOf: (thrown: object) => string | undefined): Failure {
  try {
    if (thrown === null || (typeof thrown !== "object" && typeof thrown !== "function")) {
      return { code: "tool_error", type: typeof thrown, message: cut(describePrimitive(thrown), MESSAGE_MAX) };
    }
    const message = text(get(thrown, "message")) ?? "the tool threw an object without a message";
    const type = errorType(thrown);
    const own = codeOf(thrown);
    const code = type === "RangeError" && message === BUFFER_REFUSED ? "memory_limit" : (own ?? "tool_error");
    const stack = text(get(thrown, "stack"));
    const said = cut(message, MESSAGE_MAX) + describeCause(get(thrown, "cause"));
    const failure = { code, type: cut(type, TYPE_MAX), message: said };
    return stack === undefined ? failure : { ...failure, stack: cut(stack, STACK_MAX) };
  } catch {
    return { code: "tool_error", type: "Error", message: "the tool threw a value that cannot be described" };
  }
}

/** The message of an error's cause, such as the reason of a failed fetch: often the only actionable part. */
function describeCause(cause: unknown): string {
  const message = typeof cause === "object" && cause !== null ? text(get(cause, "message")) : text(cause);
  return message === undefined || message === "" ? "" : ` (cause: ${cut(message, CAUSE_MAX)})`;
}

/** The error's own name if it has one, else its class's: `class MyError extends Error {}` is a `MyError`. */
function errorType(thrown: object): string {
  const name = text(get(thrown, "name"));
  const constructor: unknown = get(thrown, "constructor");
  const className = typeof constructor === "function" ? text(get(constructor, "name")) : undefined;
  if (name !== undefined && name !== "" && name !== "Error") return name;
  return className === undefined || className === "" ? "Error" : className;
}

function describePrimitive(thrown: unknown): string {
  return typeof thrown === "symbol" ? thrown.toString() : `${thrown as string}`;
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** Checks the length first: slicing a rope string of gigabytes would flatten it. */
function cut(value: string, max: number): string {
  if (value.length <= max) return value;
  if (value.length > 1_000_000) return `(${value.length} characters)`;
  return `${value.slice(0, max)}… (${value.length} characters)`;
}
