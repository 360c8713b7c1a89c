import { memberOf } from "../kernel/base/json.ts";
import type { CalledTool, EditedCall, LogLine, ToolFailure, ToolResult } from "../kernel/base/result.ts";
import { failure, success, unreadResult, writableOutput } from "../kernel/base/result.ts";
import type { CallEnd, ProgramCall } from "../kernel/broker/capabilities/program-tools.ts";
import { PROGRAM_FILE } from "../kernel/tool/program/runner.ts";

/** Output of `run_code`. */
export interface RunCodeOutput {
  /** The value that the program returned, or a preview of it. */
  readonly result: unknown;
  /** Console lines; those of `warn` and `error` begin with their level. */
  readonly logs: readonly string[];
  readonly calls: readonly CallLine[];
  readonly warnings?: readonly string[];
  /** If `result` is a preview: lengths of the JSON of both, in UTF-16 units. */
  readonly truncated?: { readonly chars: number; readonly kept: number; readonly advice: string };
}

/** A call of a tool by the program. */
export interface CallLine {
  readonly tool: string;
  /** `ok`, or the code of its error. */
  readonly code: string;
  readonly ms: number;
  /** Present only if the person who approved it has edited its arguments. */
  readonly edited?: EditedCall;
}

const ADVICE = "filter, count or sample in the program, and return less";
const NOTHING = "nothing was returned: end the program with return, and see whether what it returns is undefined";
const LISTED_CALLS = 100;
const KEPT_CALLS = 1_000;
const SHOWN_CALLS = 20;
/** Calls that failed, of those that an error lists. */
const SHOWN_FAILED = 10;
const SHOWN_LOGS = 20;
const SHOWN_LOG_CHARS = 2_000;
const PLACE = new RegExp(`${PROGRAM_FILE}:(\\d+):(\\d+)`);
const MS_DIGITS = 10;
/** Words of the realm for a program's result, and for a place in it. */
const RETURNED = /^the tool returned(?<held> a value that JSON cannot hold: )?(?:\/value(?=[/ ]))?/;

const UNFINISHED = "unfinished";

interface KeptCalls {
  readonly called: readonly CalledTool[];
  readonly warnings: readonly string[];
}

/** Calls of one program: those that have ended, and those that have not. */
export class ProgramCalls {
  readonly #kept: { readonly call: ProgramCall; end: CallEnd | null }[] = [];
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** The calls of earlier runs of a program, with its warnings, as `kept` wrote them. */
  static from(text: string): { readonly calls: ProgramCalls; readonly warnings: readonly string[] } {
    const { called, warnings } = JSON.parse(text) as KeptCalls;
    const calls = new ProgramCalls();
    for (const { tool, code, wallMs, ...more } of called) {
      const startMs = performance.now();
      calls.begin({ tool, startMs })({ code, endMs: startMs + wallMs, ...moreOf(more) });
    }
    return { calls, warnings };
  }

  /** The state of the run while it waits, as text. Calls without an end are made again. */
  kept(warnings: readonly string[]): string {
    const called = this.list(performance.now()).filter(({ code }) => code !== UNFINISHED);
    return JSON.stringify({ called, warnings } satisfies KeptCalls);
  }

  begin(call: ProgramCall): (end: CallEnd) => void {
    const kept: { readonly call: ProgramCall; end: CallEnd | null } = { call, end: null };
    if (this.#count++ < KEPT_CALLS) this.#kept.push(kept);
    return (end) => {
      kept.end = end;
    };
  }

  /** The first of them, in their current state. `startMs`: that of the program. */
  list(startMs: number): readonly CalledTool[] {
    const nowMs = performance.now();
    // A busy host reads the clock late; no call began before its program.
    const originMs = Math.min(startMs, this.#kept[0]?.call.startMs ?? startMs);
    return this.#kept.map(({ call: { tool, startMs: begunMs, ...place }, end }) => ({
      tool,
      code: end?.code ?? UNFINISHED,
      startMs: rounded(begunMs - originMs),
      wallMs: rounded((end?.endMs ?? nowMs) - begunMs),
      ...(end === null ? {} : moreOf(end)),
      ...place,
    }));
  }
}

/** Parts of the end of a call that not each has. */
function moreOf({ callId, edited }: Pick<CallEnd, "callId" | "edited">): Pick<CallEnd, "callId" | "edited"> {
  return { ...(callId === undefined ? {} : { callId }), ...(edited === undefined ? {} : { edited }) };
}

function rounded(ms: number): number {
  return Math.round(ms * MS_DIGITS) / MS_DIGITS;
}

/** The result of a program's run as models get it. The output comes from the program's realm: it is hostile. */
export function programResult(result: ToolResult, calls: ProgramCalls, warnings: readonly string[]): ToolResult {
  const called = calls.list(performance.now() - result.metadata.wallMs);
  const lines = called.map(({ tool, code, wallMs, edited }) => ({
    tool,
    code,
    ms: wallMs,
    ...(edited === undefined ? {} : { edited }),
  }));
  const logs = result.metadata.logs.map(lineOf);
  const metadata = { ...result.metadata, ...(called.length === 0 ? {} : { calls: called }) };
  if (!result.success) return failedProgram({ ...result, metadata }, lines, logs);
  const output = writableOutput(result);
  const unlisted = calls.count - Math.min(lines.length, LISTED_CALLS);
  const value = memberOf(output, "value");
  const given: unknown = memberOf(output, "warnings");
  const failed = Array.isArray(given) ? given.map((one) => String(one)) : [];
  const all = [
    ...warnings,
    ...failed,
    ...(value === undefined ? [NOTHING] : []),
    ...(unlisted > 0 ? [`calls has the first ${LISTED_CALLS} of ${calls.count}`] : []),
  ];
  const made: RunCodeOutput = {
    result: value ?? null,
    logs,
    calls: lines.slice(0, LISTED_CALLS),
    ...(all.length === 0 ? {} : { warnings: all }),
    ...truncationOf(memberOf(output, "truncated")),
  };
  return output === result.output
    ? success(made, metadata)
    : unreadResult({ json: JSON.stringify(made), blanks: 0 }, metadata);
}

function truncationOf(given: unknown): Pick<RunCodeOutput, "truncated"> {
  const [chars, kept] = [memberOf(given, "chars"), memberOf(given, "kept")];
  if (typeof chars !== "number" || typeof kept !== "number") return {};
  return { truncated: { chars, kept, advice: ADVICE } };
}

/** The error describes the program's earlier effects: a model has no other information about them. */
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
  const message = [
    `${place}${type}${error.message.replace(RETURNED, (_all, held?: string) => `the program returned${held === undefined ? "" : `${held}/result`}`)}`,
    calls.length === 0 ? "No tool was called." : `Calls of tools: ${listOf(calls)}.`,
    ...(logs.length === 0 ? [] : [`Console:\n${logs.slice(-SHOWN_LOGS).join("\n").slice(-SHOWN_LOG_CHARS)}`]),
  ].join("\n");
  const known = typeof details === "object" && details !== null ? details : {};
  const shownCalls = calls.slice(-LISTED_CALLS);
  return failure({ ...error, message, details: { ...known, calls: shownCalls } } as typeof error, metadata);
}

/** Of many calls those that failed come first: the last ones, of many at once, need not be among them. */
function listOf(calls: readonly CallLine[]): string {
  const written = (some: readonly CallLine[]): string =>
    some
      .map(({ tool, code, edited }) => `${tool} ${code}${edited === undefined ? "" : " with edited arguments"}`)
      .join(", ");
  if (calls.length <= SHOWN_CALLS) return written(calls);
  const failed = calls.filter(({ code }) => code !== "ok" && code !== UNFINISHED);
  const shown = failed.slice(0, SHOWN_FAILED);
  const which = failed.length > shown.length ? `${failed.length} failed, the first of them` : "failed";
  const first = shown.length === 0 ? "" : `${which}: ${written(shown)}; `;
  return `${calls.length} calls, ${first}the last of them: ${written(calls.slice(shown.length - SHOWN_CALLS))}`;
}

function lineOf({ level, message }: LogLine): string {
  return level === "warn" || level === "error" ? `${level}: ${message}` : message;
}
