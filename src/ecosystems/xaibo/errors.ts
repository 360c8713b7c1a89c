import type { ErrorCode } from "../../base/errors.ts";

/** What the engine knows of a failure, besides its words. */
export interface ToolErrorOptions extends ErrorOptions {
  readonly code?: ErrorCode;
  readonly retryable?: boolean;
  readonly details?: unknown;
}

/** What providers throw: one of the classes below, or itself. */
export class ToolError extends Error {
  override readonly name: string = "ToolError";
  /** The engine's code, where an engine ran the call. */
  readonly code: ErrorCode | undefined;
  /** Whether the same call may succeed later. */
  readonly retryable: boolean;
  readonly details: unknown;

  constructor(message: string, { code, retryable = false, details, ...options }: ToolErrorOptions = {}) {
    super(message, options);
    this.code = code;
    this.retryable = retryable;
    this.details = details;
  }
}

/** There is no such tool. */
export class ToolNotFoundError extends ToolError {
  override readonly name = "ToolNotFoundError";
}

/** The tool ran, or was to run, and failed. */
export class ToolExecutionError extends ToolError {
  override readonly name = "ToolExecutionError";
}

/** The parameters do not fit: the tool did not run. */
export class ToolParameterError extends ToolError {
  override readonly name = "ToolParameterError";
}

const NAMES_MAX = 100;

/** Says which tools there are instead, in the document's words. */
export function notFound(name: unknown, available: readonly string[]): ToolNotFoundError {
  const names = available.slice(0, NAMES_MAX).map((one) => `'${one}'`);
  if (available.length > NAMES_MAX) names.push(`… ${available.length - NAMES_MAX} more`);
  const asked = typeof name === "string" ? name.slice(0, 128) : `(a value of type ${typeof name})`;
  const message = `Tool '${asked}' not found. Available tools: [${names.join(", ")}]`;
  return new ToolNotFoundError(message, { code: "tool_not_found" });
}

/** The words of whatever was thrown. */
export function wordsOf(thrown: unknown): string {
  return (thrown instanceof Error ? thrown.message : String(thrown)).slice(0, 2_000);
}
