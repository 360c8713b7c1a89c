import type { Outcome } from "../../tool/contracts/contract.ts";
import { type ToolError, toolError } from "../../base/errors.ts";
import type { CallReply } from "../../executor/executor.ts";
import { byteLength, describeExcess } from "../../base/json.ts";
import type { Limits } from "../../base/limits.ts";
import { failure, type LogLine, NO_LOGS, type ResultMetadata, type ToolResult } from "../../base/result.ts";
import type { RegisteredTool } from "../../tool/registered-tool.ts";

/** What reading an output needs to know of its tool. */
type OutputTool = Pick<RegisteredTool, "readResult" | "outputChars" | "checkOutput">;

/** The result of a call whose tool came to an end with this JSON. Throws where it is none. */
export function readOutput(
  json: string,
  tool: OutputTool,
  limits: Pick<Limits, "outputBytes">,
  metadata: ResultMetadata,
): ToolResult {
  const { outputBytes } = limits;
  const size = byteLength(json, outputBytes);
  if (size > outputBytes) {
    const message = `the output has ${size} bytes of JSON, the limit is ${outputBytes}`;
    return failure(toolError("output_too_large", message), metadata);
  }
  const excess = describeExcess(json);
  if (excess !== null) return failure(toolError("invalid_output", `the output is ${excess}`), metadata);
  const answer: unknown = JSON.parse(json);
  if (tool.readResult === null) return succeed(answer, tool, metadata);
  const outcome = readAnswer(tool.readResult, answer);
  if ("code" in outcome) return failure(outcome, metadata);
  const told = outcome.metadata === undefined ? metadata : { ...withoutOurs(outcome.metadata), ...metadata };
  if (outcome.ok) return succeed(outcome.output, tool, told);
  const { output, metadata: cut } = shorten(outcome.output ?? null, tool, told);
  return { success: false, output, error: errorOf(outcome.error), metadata: cut };
}

/** What a reply says of how its call went, with what waits and starts before it came to. Throws where it cannot be read. */
export function readMetadata(
  reply: CallReply,
  callId: string,
  tool: string,
  queueMs: number,
  attempts: number,
): ResultMetadata {
  const { cpuMs, waitedMs, wallMs, heapBytes, dropped } = reply;
  const metadata = {
    callId,
    tool,
    queueMs: queueMs + waitedMs,
    wallMs,
    cpuMs,
    heapBytes,
    attempts: attempts + reply.attempts,
    logs: reply.logs === "" ? NO_LOGS : readLogs(reply.logs),
  };
  return dropped === 0 ? metadata : { ...metadata, truncated: { logs: dropped } };
}

function readLogs(logs: string): LogLine[] {
  return (JSON.parse(logs) as [string, string][]).map(([level, message]) => ({ level, message }));
}

/** What the engine says of some calls only: of the others a tool must not be able to say it either. */
const OURS: ReadonlySet<string> = new Set(["truncated", "originalChars", "isRepeated", "recording"]);

/** What a tool says of its call, but for what the engine alone knows. */
function withoutOurs(said: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(Object.entries(said).filter(([name]) => !OURS.has(name)));
}

/** What the tool answered in the terms of its contract: anything, as tools are not trusted to keep one. */
function readAnswer(read: (answer: unknown) => Outcome, answer: unknown): Outcome | ToolError {
  try {
    return read(answer);
  } catch (error) {
    return toolError("invalid_output", error instanceof Error ? error.message : String(error));
  }
}

/** The tool says itself that it failed. */
function errorOf({ message, type, details }: Extract<Outcome, { ok: false }>["error"]): ToolError {
  return toolError("tool_error", message, details, type);
}

function succeed(given: unknown, tool: OutputTool, told: ResultMetadata): ToolResult {
  const violations = tool.checkOutput?.check(given) ?? [];
  if (violations.length > 0) {
    const message = "the tool's output does not fit its outputSchema";
    return failure(toolError("invalid_output", message, { violations }), told);
  }
  const { output, metadata } = shorten(given, tool, told);
  return { success: true, output, error: null, metadata };
}

/** Cuts a text that is longer than its tool says. What is cut off is counted in UTF-16 units, as its length is. */
function shorten(
  output: unknown,
  { outputChars }: OutputTool,
  metadata: ResultMetadata,
): { readonly output: unknown; readonly metadata: ResultMetadata } {
  if (outputChars === null || typeof output !== "string" || output.length <= outputChars) return { output, metadata };
  // Never between the two halves of a character.
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

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}
