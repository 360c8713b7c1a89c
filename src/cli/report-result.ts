import type { ErrorCode } from "../kernel/base/errors.ts";
import { outputText, resultText, type ToolResult } from "../kernel/base/result.ts";
import { EXIT } from "./exit.ts";
import { print, say } from "./output.ts";
import { sayWhatToDo } from "./remedies.ts";

const INVALID_INPUT: readonly ErrorCode[] = ["invalid_arguments", "input_too_large", "load_error"];

/**
 * Prints the output of a call, or the `whole` result, writes its error with advice to stderr, and sets the exit code.
 */
export function reportResult(result: ToolResult, whole: boolean): void {
  const { success, error } = result;
  if (whole) print(resultText(result));
  else if (success) print(outputText(result));
  if (error === null) return;
  process.exitCode = exitOf(error.code);
  if (whole) return;
  say(`glovebox: ${error.code}: ${error.type}: ${error.message}`);
  // For a waiting call, the caller prints the command that continues it.
  if (error.code !== "paused") sayWhatToDo(error);
}

export function exitOf(code: ErrorCode): number {
  if (code === "paused") return EXIT.PAUSED;
  return INVALID_INPUT.includes(code) ? EXIT.INVALID : EXIT.FAILED;
}
