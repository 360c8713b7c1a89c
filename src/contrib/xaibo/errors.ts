import type { ErrorCode } from "../../kernel/base/errors.ts";

/** An engine's details of a failure. */
export interface ToolErrorOptions extends ErrorOptions {
  readonly code?: ErrorCode;
  readonly retryable?: boolean;
  readonly details?: unknown;
}

/** Base class of errors that providers throw. */
export class ToolError extends Error {
  override readonly name: string = "ToolError";
  /** The engine's error code, if an engine ran the call. */
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

/** The tool does not exist. */
export class ToolNotFoundError extends ToolError {
  override readonly name = "ToolNotFoundError";
}

/** The tool failed, or could not be run. */
export class ToolExecutionError extends ToolError {
  override readonly name = "ToolExecutionError";
}

/** The parameters are invalid; the tool did not run. */
export class ToolParameterError extends ToolError {
  override readonly name = "ToolParameterError";
}

const NAMES_MAX = 100;

/** Error for an unknown tool, in the wording of Xaibo's document, with the available tools. */
export function notFound(name: unknown, available: readonly string[]): ToolNotFoundError {
  const names = available.slice(0, NAMES_MAX).map((one) => `'${one}'`);
  if (available.length > NAMES_MAX) names.push(`… ${available.length - NAMES_MAX} more`);
  const asked = typeof name === "string" ? name.slice(0, 128) : `(a value of type ${typeof name})`;
  const message = `Tool '${asked}' not found. Available tools: [${names.join(", ")}]`;
  return new ToolNotFoundError(message, { code: "tool_not_found" });
}

/** Message of a thrown value, at most 2,000 characters. */
export function wordsOf(thrown: unknown): string {
  return (thrown instanceof Error ? thrown.message : String(thrown)).slice(0, 2_000);
}
