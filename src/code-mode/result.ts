import { memberOf } from "../base/json.ts";
import type { LogLine, ToolFailure, ToolResult } from "../base/result.ts";
import { failure, success } from "../base/result.ts";
import type { ProgramCall } from "../broker/capabilities/program-tools.ts";
import { PROGRAM_FILE } from "../tool/program/runner.ts";

/** Output of `run_code`. */
export interface RunCodeOutput {
  /** The value that the program returned, or a preview of it. */
  readonly result: unknown;
  /** Console lines; those of `warn` and `error` begin with their level. */
  readonly logs: readonly string[];
  readonly calls: readonly CallLine[];
  readonly warnings?: readonly string[];
  /** Where `result` is a preview: lengths of the JSON of both, in UTF-16 units. */
  readonly truncated?: { readonly chars: number; readonly kept: number; readonly advice: string };
}

/** A call of a tool by the program. */
export interface CallLine {
  readonly tool: string;
  /** `ok`, or the code of its error. */
  readonly code: string;
  readonly ms: number;
}

const ADVICE = "filter, count or sample in the program, and return less";
const NOTHING = "nothing was returned: end the program with return, and see whether what it returns is undefined";
const SHOWN_CALLS = 20;
const SHOWN_LOGS = 20;
const SHOWN_LOG_CHARS = 2_000;
const PLACE = new RegExp(`${PROGRAM_FILE}:(\\d+):(\\d+)`);
const MS_DIGITS = 10;
/** Words of the realm for a program's result. */
const RETURNED = /^the tool returned/;

/** The result of a program's run as models get it. The output comes from the program's realm: it is hostile. */
export function programResult(
  result: ToolResult,
  calls: readonly ProgramCall[],
  warnings: readonly string[],
): ToolResult {
  const lines = calls.map(({ tool, code, wallMs }) => ({ tool, code, ms: Math.round(wallMs * MS_DIGITS) / MS_DIGITS }));
  const logs = result.metadata.logs.map(lineOf);
  if (!result.success) return failedProgram(result, lines, logs);
  const { output, metadata } = result;
  const value = memberOf(output, "value");
  const given: unknown = memberOf(output, "warnings");
  const failed = Array.isArray(given) ? given.map((one) => String(one)) : [];
  const all = [...warnings, ...failed, ...(value === undefined ? [NOTHING] : [])];
  const made: RunCodeOutput = {
    result: value ?? null,
    logs,
    calls: lines,
    ...(all.length === 0 ? {} : { warnings: all }),
    ...truncationOf(memberOf(output, "truncated")),
  };
  return success(made, metadata);
}

function truncationOf(given: unknown): Pick<RunCodeOutput, "truncated"> {
  const [chars, kept] = [memberOf(given, "chars"), memberOf(given, "kept")];
  if (typeof chars !== "number" || typeof kept !== "number") return {};
  return { truncated: { chars, kept, advice: ADVICE } };
}

/** The error says what the program had done before: a model has nothing else to go by. */
function failedProgram(
  { error, metadata }: ToolFailure,
  calls: readonly CallLine[],
  logs: readonly string[],
): ToolResult {
  const details: unknown = error.details;
  const stack: unknown = memberOf(details, "stack");
  const [, line, column] = PLACE.exec(typeof stack === "string" ? stack : "") ?? [];
  const place = line === undefined ? "" : `line ${line}, column ${column ?? "1"}: `;
  const type = error.code === "tool_error" ? `${error.type}: ` : "";
  const shown = calls.slice(-SHOWN_CALLS).map(({ tool, code }) => `${tool} ${code}`);
  const before = calls.length > shown.length ? `${calls.length} calls, the last of them: ` : "";
  const message = [
    `${place}${type}${error.message.replace(RETURNED, "the program returned")}`,
    shown.length === 0 ? "No tool was called." : `Calls of tools: ${before}${shown.join(", ")}.`,
    ...(logs.length === 0 ? [] : [`Console:\n${logs.slice(-SHOWN_LOGS).join("\n").slice(-SHOWN_LOG_CHARS)}`]),
  ].join("\n");
  const known = typeof details === "object" && details !== null ? details : {};
  return failure({ ...error, message, details: { ...known, calls } } as typeof error, metadata);
}

function lineOf({ level, message }: LogLine): string {
  return level === "warn" || level === "error" ? `${level}: ${message}` : message;
}
