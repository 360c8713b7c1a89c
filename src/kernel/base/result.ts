import type { ErrorCode, ToolError } from "./errors.ts";
import { mayHaveLongInteger, parseForWriting, parseWithDigits } from "./exact-json.ts";
import { exactJson, parseWhenRead, partsOf, type UnreadJson } from "./unread-json.ts";

/** A call as the caller sends it. */
export interface ToolCall<Name extends string = string, Input = Record<string, unknown>> {
  /** The caller's own id, at most 256 characters. Default: the engine generates one. */
  readonly id?: string;
  readonly name: Name;
  readonly arguments: Input;
  /** An operation other than the tool's main one. Its arguments have no schema. */
  readonly command?: string;
}

export interface LogLine {
  /** `debug`, `log`, `info`, `warn` or `error`. */
  readonly level: string;
  readonly message: string;
}

/** Progress reported by a tool. */
export interface Progress {
  readonly progress: number;
  /** The value of `progress` at completion, if known. */
  readonly total?: number;
  readonly message?: string;
}

/** The host's work for the capability calls of a call. */
export interface HostUse {
  /** Time of the host's main thread, in milliseconds. */
  readonly askMs: number;
  /** Number of capability calls. */
  readonly asks: number;
  /** Length of their arguments and responses as JSON, in UTF-16 units. */
  readonly bytes: number;
}

/** The edit by a person who has approved a call. */
export interface EditedCall {
  /**
   * The arguments of the run, as people see them: without passwords, and of long ones the beginning of their JSON, as a
   * text.
   */
  readonly arguments: unknown;
}

/** A program's call of a tool. Times in milliseconds. */
export interface CalledTool {
  readonly tool: string;
  /** `ok`, the code of its error, or `unfinished` if the program ended before it. */
  readonly code: string;
  /** From the program's start to the begin of the call. */
  readonly startMs: number;
  readonly wallMs: number;
  /** Id of the call; absent if the engine refused to make one. */
  readonly callId?: string;
  /** Present only if the person who approved it has edited its arguments. */
  readonly edited?: EditedCall;
  /** Place in the program's text, from 1; absent if the program hides it. */
  readonly line?: number;
  readonly column?: number;
}

/** Cost and course of a call. Times in milliseconds. */
export interface ResultMetadata {
  readonly callId: string;
  readonly tool: string;
  readonly queueMs: number;
  readonly wallMs: number;
  /**
   * Processor time of the last attempt's turns, in milliseconds. 0 if the call was answered before the end of its work:
   * see the event `tool:late`.
   */
  readonly cpuMs: number;
  readonly heapBytes: number;
  /** Number of starts of the call: above 1 if its executor was lost, 0 if it never started. */
  readonly attempts: number;
  readonly logs: readonly LogLine[];
  /** Amounts cut off, for example dropped log lines. */
  readonly truncated?: { readonly output?: number; readonly logs?: number };
  /** Present only if the call made capability calls. */
  readonly host?: HostUse;
  /** Only of programs: their calls of tools, in the order of their begin. */
  readonly calls?: readonly CalledTool[];
  /** Present only if the call is stored: the id for its undo. */
  readonly durableId?: string;
  /** Present only if the person who approved the call has edited its arguments. */
  readonly edited?: EditedCall;
  readonly [key: string]: unknown;
}

/** The end of a call that succeeded. */
export interface ToolSuccess<Output = unknown> {
  readonly success: true;
  readonly output: Output;
  readonly error: null;
  readonly metadata: ResultMetadata;
}

/** The end of a call that failed. */
export interface ToolFailure<Code extends ErrorCode = ErrorCode> {
  readonly success: false;
  /** The output before the failure, unchecked, if its contract has a place for that; otherwise `null`. */
  readonly output: unknown;
  readonly error: ToolError<Code>;
  readonly metadata: ResultMetadata;
}

/** The end of every call, for any behaviour of the tool. */
export type ToolResult<Output = unknown> = ToolSuccess<Output> | ToolFailure;

/** Thrown by `unwrap`: the error of a call, as an exception. Match on `code`. */
export class ToolCallError extends Error {
  override readonly name = "ToolCallError";
  readonly code: ErrorCode;
  readonly result: ToolFailure;

  constructor(result: ToolFailure) {
    const { code, message } = result.error;
    super(message);
    this.code = code;
    this.result = result;
  }
}

/** The output of a call that succeeded. Throws a `ToolCallError` for one that failed. */
export function unwrap<Output>(result: ToolResult<Output>): Output {
  if (!result.success) throw new ToolCallError(result);
  return result.output;
}

export const NO_LOGS: readonly LogLine[] = Object.freeze([]);

/** The result of a call that succeeded. */
export function success<Output>(output: Output, metadata: ResultMetadata): ToolSuccess<Output> {
  return { success: true, output, error: null, metadata };
}

/** The result of a call that failed. */
export function failure(error: ToolError, metadata: ResultMetadata): ToolFailure {
  return { success: false, output: null, error, metadata };
}

/** The result of a call whose output is parsed when it is read. `json` has been proved to be JSON. */
export function unreadResult(json: UnreadJson, metadata: ResultMetadata, error: ToolError | null = null): ToolResult {
  const result: ToolResult =
    error === null
      ? { success: true, output: null, error, metadata }
      : { success: false, output: null, error, metadata };
  return parseWhenRead(result, "output", json);
}

/** A result with other metadata. Its output is not read. */
export function withMetadata(result: ToolResult, metadata: ResultMetadata): ToolResult {
  const output = exactJson(result, "output");
  return output === undefined ? { ...result, metadata } : unreadResult(output, metadata, result.error);
}

/** The form of a result for models: a tool of the AI SDK may shape its output for them. */
export function forModels(result: ToolResult): ToolResult {
  const { modelOutput } = result.metadata;
  return result.success && modelOutput !== undefined ? { ...result, output: modelOutput } : result;
}

/** A result's output as JSON, in which long integers have their digits. An unread output is passed on unchanged. */
export function outputText(result: ToolResult): string {
  return exactJson(result, "output")?.json ?? JSON.stringify(result.output);
}

/** A result's output for a text that is made of it: `JSON.stringify` writes the digits of its long integers. */
export function writableOutput(result: ToolResult): unknown {
  const exact = exactJson(result, "output");
  return exact !== undefined && mayHaveLongInteger(exact.json) ? parseForWriting(exact.json) : result.output;
}

/** Number of a result's members: a listener of the embedder may have added some. */
const MEMBERS = 4;

/** A result as JSON. An unread output is passed on unchanged. Throws if it is nested too deeply. */
export function resultText(result: ToolResult): string {
  return resultParts(result).join("");
}

/** The parts of `resultText`: joining a long output to others would copy it. */
export function resultParts(result: ToolResult): readonly string[] {
  const output = exactJson(result, "output");
  if (output === undefined) return [JSON.stringify(result)];
  if (Object.keys(result).length !== MEMBERS) return [JSON.stringify({ ...result, output: writableOutput(result) })];
  const { success: isSuccess, error, metadata } = result;
  return [
    `{"success":${isSuccess},"output":`,
    ...partsOf(output),
    `,"error":${JSON.stringify(error)},"metadata":${JSON.stringify(metadata)}}`,
  ];
}

/** Reads the text of `resultText`. */
export function readResult(text: string): ToolResult {
  if (!mayHaveLongInteger(text)) return JSON.parse(text) as ToolResult;
  const { output } = parseForWriting(text) as ToolResult;
  const { error, metadata } = parseWithDigits(text) as ToolResult;
  return unreadResult({ json: JSON.stringify(output), blanks: 0 }, metadata, error);
}

const NAME_SHOWN_MAX = 256;

/**
 * The result of a request that was refused before it became a call. `call` is the request, unchecked; `callId` is for
 * one without an id.
 */
export function refusedCall(call: unknown, error: ToolError, callId = ""): ToolFailure {
  const { id, name }: { readonly id?: unknown; readonly name?: unknown } = Object(call) as object;
  return failure(error, emptyMetadata(shownName(id, callId), shownName(name, ""), 0));
}

function shownName(value: unknown, otherwise: string): string {
  return (typeof value === "string" ? value : otherwise).slice(0, NAME_SHOWN_MAX);
}

/** Metadata of a call that did not run. */
export function emptyMetadata(callId: string, tool: string, queueMs: number): ResultMetadata {
  return { callId, tool, queueMs, wallMs: 0, cpuMs: 0, heapBytes: 0, attempts: 0, logs: NO_LOGS };
}
