import { parseForWriting, parseWithDigits } from "../../base/exact-json.ts";
import { type ToolError, toolError } from "../../base/errors.ts";
import { byteLength, isHighSurrogate, parseWithin } from "../../base/json.ts";
import type { JsonVerdict } from "../../base/json-scanner.ts";
import type { Limits } from "../../base/limits.ts";
import { DIVERGED } from "../../base/protocol/capability-call.ts";
import type { Failure } from "../../base/protocol/messages.ts";
import {
  emptyMetadata,
  failure,
  type HostUse,
  type LogLine,
  NO_LOGS,
  type ResultMetadata,
  type ToolResult,
  unreadResult,
} from "../../base/result.ts";
import type { SessionEnd } from "../../broker/call-session.ts";
import type { LastRefusal } from "../../broker/capability-invoker.ts";
import type { CallReply, Executor, OutputText } from "../../executor/executor.ts";
import { readOrphan } from "../../executor/orphan-result.ts";
import type { Outcome } from "../../tool/contracts/contract.ts";
import { fingerprintOf, type RegisteredTool } from "../../tool/registered-tool.ts";
import type { EngineCall } from "./engine-call.ts";
import { helpInFrozenRealm } from "./frozen-realm.ts";

/** State of an ended call, besides the executor's reply. */
export interface EndedCall {
  readonly callId: string;
  readonly tool: RegisteredTool;
  readonly tenant: string;
  readonly limits: Pick<Limits, "outputBytes">;
  /** Queue time and number of starts before those counted in the reply. */
  readonly queueMs: number;
  readonly attempts: number;
  readonly lastRefusal: LastRefusal | null;
  /** Number of capability calls carried out in all starts. */
  readonly effects: number;
  readonly hostUse?: HostUse | null;
}

/** Source of the time for which a quarantined tool's calls are still refused. */
type Refusals = Pick<Executor, "refusedForMs">;

/**
 * Result of a call that ran: its output, read by its tool's contract. `checked`: verdict on an output that stays text
 * until it is read; `null` for one to be parsed now.
 */
export function concludeCall(
  reply: CallReply,
  call: EndedCall,
  executor: Refusals,
  checked: JsonVerdict | null = null,
): ToolResult {
  const { callId, tool, limits, queueMs } = call;
  try {
    const metadata = readMetadata(reply, call);
    const { outcome } = reply;
    if (!outcome.ok) return failure(describeFailure(outcome.failure, call, executor), metadata);
    if (checked !== null) return textOutput(outcome, checked, limits, metadata);
    return readOutput(outcome.json, tool, limits, metadata);
  } catch {
    // Only a compromised executor sends text that is not JSON.
    const message = "the executor's reply is not valid JSON";
    return failure(toolError("executor_crashed", message), emptyMetadata(callId, tool.info.name, queueMs));
  }
}

/**
 * Result of a call that ended on a worker machine after its server was lost. `null` if the tool registered here is not
 * the version that ran: only that version knows how to read its output.
 */
export function adoptResult(end: string, tool: RegisteredTool | undefined): ToolResult | null {
  const orphan = readOrphan(end);
  if (orphan === null || tool === undefined || orphan.tool !== fingerprintOf(tool).mark) return null;
  const { callId, outputBytes, reply } = orphan;
  const base = { callId, tool, tenant: "", limits: { outputBytes }, queueMs: 0, attempts: 0 };
  // Refusals were lost with the server. Effects matter only to failures that a machine never stores.
  return concludeCall(reply, { ...base, lastRefusal: null, effects: 0 }, NEVER_REFUSED);
}

const NEVER_REFUSED: Refusals = { refusedForMs: () => 0 };

/** Failures after which a further start of the call may have made fewer requests than an earlier one. */
const MAY_BE_BEHIND: ReadonlySet<string> = new Set(["tool_error", "wall_limit"]);

const FELL_BEHIND = {
  ok: false,
  failure: {
    code: "executor_lost",
    message: `${DIVERGED}after its executor was lost, the call made fewer capability calls than in its first run`,
  },
} as const;

/** If the last start lacks effects of an earlier one, the call fails, regardless of its result. */
export function withEnd(reply: CallReply, { isBehind }: SessionEnd): CallReply {
  const { outcome } = reply;
  if (!isBehind || (!outcome.ok && !MAY_BE_BEHIND.has(outcome.failure.code))) return reply;
  return { ...reply, outcome: FELL_BEHIND };
}

/** Failures that an immediate retry would repeat. */
const NO_RETRY: ReadonlySet<string> = new Set(["tool_quarantined", "queue_timeout"]);

/** Whether to retry a failed call. */
export function mayRetry(failed: Failure, call: EngineCall, executor: Refusals): boolean {
  const { tool, options } = call;
  const retries = options.retries ?? tool.retries;
  if (call.retries >= retries || options.signal?.aborted === true || NO_RETRY.has(failed.code)) return false;
  if (describeFailure(failed, call, executor).retryable) return true;
  if (tool.retryOn !== "failure" || failed.code !== "tool_error") return false;
  const isIdempotent = tool.info.annotations.idempotent === true || options.idempotencyKey !== undefined;
  return isIdempotent || call.effects === 0;
}

/** Codes of failures after which the progress of a started call is unknown. */
const LOST: ReadonlySet<string> = new Set(["executor_lost", "tool_quarantined", "queue_timeout", "cancelled"]);

/** Converts a worker's failure into the error of the call's result. */
function describeFailure(failure: Failure, call: EndedCall, executor: Refusals): ToolError {
  const { code, message, type, stack, violations } = failure;
  if (LOST.has(code)) return describeLoss(failure, call, executor);
  const { lastRefusal } = call;
  const refusal = refusalOf(lastRefusal, message);
  const mapped = stack === undefined ? {} : { stack: call.tool.mapStack(stack) };
  if (violations !== undefined) return toolError(code, message, { violations });
  const help = code === "tool_error" ? helpInFrozenRealm(failure, call.tool) : null;
  const { remedies = refusal === null ? undefined : lastRefusal?.remedies, ...words } = help ?? {};
  const details =
    refusal === null && stack === undefined && help === null ? undefined : { ...refusal, ...words, ...mapped };
  const error = toolError(code, message, details, code === "tool_error" ? type : undefined);
  return remedies === undefined ? error : { ...error, remedies };
}

/** The journal is lost with the call, so only the caller can decide whether to repeat its effects. */
function describeLoss({ code, message }: Failure, call: EndedCall, executor: Refusals): ToolError {
  const { effects, tool, tenant } = call;
  const wait = code === "tool_quarantined" ? { retryAfterMs: executor.refusedForMs(tool.script, tenant) } : null;
  if (effects === 0) return toolError(code, message, wait ?? undefined);
  const text = `${message}; ${effects} of its capability calls had been carried out`;
  return { ...toolError(code, text, { effects, ...wait }), retryable: false };
}

/** Processor time of one attempt. An attempt that ended its process reports none and counts as its whole limit. */
export function spentBy({ outcome, cpuMs }: CallReply, limits: Limits): number {
  if (outcome.ok || cpuMs > 0) return cpuMs;
  const { code } = outcome.failure;
  return code === "executor_crashed" || code === "memory_limit" ? limits.cpuMs : cpuMs;
}

/** Details of the refusal that the call failed with: request, grant and remedy. */
function refusalOf(last: LastRefusal | null, message: string): Omit<LastRefusal, "message"> | null {
  if (last === null || last.message !== message) return null;
  const { capability, asked, granted, remedy } = last;
  return { capability, asked, granted, remedy };
}

/** Parts of a tool needed to read its output. */
type OutputTool = Pick<RegisteredTool, "readResult" | "outputChars">;

/** Result of a call whose output stays text. Throws if the text is not JSON. */
function textOutput(
  { json, parts }: OutputText,
  checked: JsonVerdict,
  { outputBytes }: Pick<Limits, "outputBytes">,
  metadata: ResultMetadata,
): ToolResult {
  const size =
    parts === undefined || json.length * 3 <= outputBytes
      ? byteLength(json, outputBytes)
      : parts.reduce((sum, part) => sum + Buffer.byteLength(part), 0);
  if (size > outputBytes) return failure(tooLarge(size, outputBytes), metadata);
  switch (checked.kind) {
    case "json":
      return unreadResult({ json, blanks: 0, ...(parts === undefined ? {} : { parts }) }, metadata);
    case "excess":
      return failure(toolError("invalid_output", `the output is ${checked.excess}`), metadata);
    case "invalid":
      throw new SyntaxError("the output is not JSON");
  }
}

function tooLarge(size: number, outputBytes: number): ToolError {
  return toolError(
    "output_too_large",
    `the output has ${size} bytes of JSON, the limit is ${outputBytes} (limits.outputBytes)`,
  );
}

/** Result of a call whose tool returned this JSON. Throws if the text is not JSON. */
function readOutput(
  json: string,
  tool: OutputTool,
  limits: Pick<Limits, "outputBytes">,
  metadata: ResultMetadata,
): ToolResult {
  const { outputBytes } = limits;
  const size = byteLength(json, outputBytes);
  if (size > outputBytes) return failure(tooLarge(size, outputBytes), metadata);
  const parsed = parseWithin(json, tool.readResult === null ? undefined : parseForWriting);
  if ("excess" in parsed) return failure(toolError("invalid_output", `the output is ${parsed.excess}`), metadata);
  const { value: answer, hasLongIntegers: isExact } = parsed;
  if (tool.readResult === null) {
    if (isExact && typeof answer !== "string") return unreadResult({ json, blanks: 0 }, metadata);
    return resultOf(shorten(answer, tool, metadata), false);
  }
  const outcome = readAnswer(tool.readResult, answer);
  if ("code" in outcome) return failure(outcome, metadata);
  const own = outcome.metadata === undefined ? undefined : readable(withoutReserved(outcome.metadata), isExact);
  const merged = own === undefined ? metadata : { ...own, ...metadata };
  if (outcome.ok) return resultOf(shorten(outcome.output, tool, merged), isExact);
  const error = errorOf(readable(outcome.error, isExact));
  return resultOf(shorten(outcome.output ?? null, tool, merged), isExact, error);
}

/** Metadata of a result: the reply's figures added to those of earlier attempts. Throws if the logs are not JSON. */
function readMetadata(
  reply: CallReply,
  { callId, tool, queueMs, attempts, effects, hostUse }: EndedCall,
): ResultMetadata {
  const { cpuMs, waitedMs, wallMs, heapBytes, dropped } = reply;
  // Arguments that their schema refuses never reach the tool. A tool that claims so after an effect did run.
  const isRefused = !reply.outcome.ok && reply.outcome.failure.code === "invalid_arguments" && effects === 0;
  const metadata = {
    callId,
    tool: tool.info.name,
    queueMs: queueMs + waitedMs,
    wallMs,
    cpuMs,
    heapBytes,
    attempts: isRefused ? 0 : attempts + reply.attempts,
    logs: reply.logs === "" ? NO_LOGS : readLogs(reply.logs),
  };
  const host = hostUse ?? null;
  if (dropped === 0 && host === null) return metadata;
  return {
    ...metadata,
    ...(host === null ? {} : { host }),
    ...(dropped === 0 ? {} : { truncated: { logs: dropped } }),
  };
}

function readLogs(logs: string): LogLine[] {
  return (JSON.parse(logs) as [string, string][]).map(([level, message]) => ({ level, message }));
}

/** Metadata that only the engine may set, although not every call has it. */
const RESERVED: ReadonlySet<string> = new Set([
  "truncated",
  "originalChars",
  "isRepeated",
  "recording",
  "host",
  "calls",
]);

/** A tool's own metadata, without names reserved for the engine. */
function withoutReserved(given: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(Object.entries(given).filter(([name]) => !RESERVED.has(name)));
}

/** Reads a tool's answer by its contract. Tools are not trusted to keep their contract. */
function readAnswer(read: (answer: unknown) => Outcome, answer: unknown): Outcome | ToolError {
  try {
    return read(answer);
  } catch (error) {
    return toolError("invalid_output", error instanceof Error ? error.message : String(error));
  }
}

/** Error of a failure that the tool itself returned. */
function errorOf({ message, type, details }: Extract<Outcome, { ok: false }>["error"]): ToolError {
  return toolError("tool_error", message, details, type);
}

/** `isExact`: the output may have long integers, which `JSON.stringify` writes: it stays text until it is read. */
function resultOf(
  { output, metadata }: { readonly output: unknown; readonly metadata: ResultMetadata },
  isExact: boolean,
  error: ToolError | null = null,
): ToolResult {
  if (isExact && typeof output !== "string") {
    return unreadResult({ json: JSON.stringify(output) ?? "null", blanks: 0 }, metadata, error);
  }
  return error === null ? { success: true, output, error, metadata } : { success: false, output, error, metadata };
}

/** A value with the digits of long integers as strings. */
function readable<Value extends object>(value: Value, isExact: boolean): Value {
  return isExact ? (parseWithDigits(JSON.stringify(value)) as Value) : value;
}

/** Cuts a text output to the tool's `outputChars`. Lengths count UTF-16 units. */
function shorten(
  output: unknown,
  { outputChars }: OutputTool,
  metadata: ResultMetadata,
): { readonly output: unknown; readonly metadata: ResultMetadata } {
  if (outputChars === null || typeof output !== "string" || output.length <= outputChars) return { output, metadata };
  // Do not split a surrogate pair.
  const end = isHighSurrogate(output.charCodeAt(outputChars - 1)) ? outputChars - 1 : outputChars;
  const left = output.length - end;
  return {
    output: `${output.slice(0, end)}\n\n[Truncated: ${left} chars remaining]`,
    metadata: {
      ...metadata,
      truncated: { ...metadata.truncated, output: left },
      originalChars: output.length,
    },
  };
}
