import { prefixOf, readQuietly } from "./inspect-names.ts";
import type { Body, Printer } from "./printer.ts";

/** Formats an error: its stack, then its cause and any other properties. */
export function describeError(
  error: Error,
  className: string | null,
  tag: string,
  ownKeys: readonly (string | symbol)[],
  run: Printer,
): Body | string {
  const stack = improveStack(readStack(error, run), error, className, tag);
  const base = stack.includes("\n    at") ? stack : `[${stack}]`;
  const keys = ownKeys.filter((key) => !isInStack(error, key, stack));
  for (const key of ["cause", "errors"]) {
    if (Object.hasOwn(error, key) && !keys.includes(key)) keys.push(key);
  }
  const indented = run.indentation === 0 ? base : base.replaceAll("\n", `\n${" ".repeat(run.indentation)}`);
  return keys.length === 0 ? indented : { base: indented, open: "{", close: "}", keys };
}

/** V8 creates the stack on first read, by an accessor function shared by all errors. */
function readStack(error: Error, run: Printer): string {
  const own = Object.getOwnPropertyDescriptor(error, "stack");
  const isBuiltIn = own?.get !== undefined && own.get === Object.getOwnPropertyDescriptor(new Error(), "stack")?.get;
  const stack: unknown = isBuiltIn ? error.stack : own?.value;
  if (typeof stack === "string" && stack !== "") return stack.slice(0, run.options.maxStringLength);
  const name = readText(error, "name") ?? "Error";
  const message = (readText(error, "message") ?? "").slice(0, run.options.maxStringLength);
  return message === "" ? name : `${name}: ${message}`;
}

/** Adds the class if the stack's first line lacks it: `class MyError extends Error {}` is a `MyError`. */
function improveStack(stack: string, error: Error, className: string | null, tag: string): string {
  const name = readText(error, "name") ?? "Error";
  const isNamed = name.endsWith("Error") && stack.startsWith(name) && /^(?:$|[:\n])/.test(stack.slice(name.length));
  if (!isNamed || className === null) return stack;
  const title = prefixOf(className, tag, "Error", "").slice(0, -1);
  if (title === name) return stack;
  const rest = stack.slice(name.length);
  return title.includes(name) ? `${title}${rest}` : `${title} [${name}]${rest}`;
}

/** Whether the stack already contains a property's value. */
function isInStack(error: Error, key: string | symbol, stack: string): boolean {
  if (key !== "name" && key !== "message" && key !== "stack") return false;
  const value: unknown = Object.getOwnPropertyDescriptor(error, key)?.value;
  return typeof value === "string" && (key === "stack" || stack.includes(value));
}

function readText(error: Error, key: string): string | undefined {
  const value = readQuietly(error, key);
  return typeof value === "string" ? value : undefined;
}
