import type { RecordedAnswer, RecordedJournal } from "../../base/protocol/recorded-journal.ts";
import type { LastRefusal } from "../../broker/capability-invoker.ts";
import { type ErrorCode, ERRORS } from "../../base/errors.ts";
import { type Limits, NAMES as LIMITS } from "../../base/limits.ts";
import { seedOf } from "../../base/protocol/prelude.ts";
import type { EngineCall } from "../call/engine-call.ts";
import { isLine, type JsonSchema } from "../../base/json.ts";
import type { SharedTurn } from "../../base/protocol/messages.ts";
import { OUTPUT_PLACES, PLUGGED_NAME, type ToolChecks, type ToolScript } from "../../base/protocol/script.ts";
import { type LogLine, type ToolResult, withMetadata } from "../../base/result.ts";
import type { ModuleReaders } from "../../tool/contracts/contract.ts";
import { checksFor, type RegisteredTool } from "../../tool/registered-tool.ts";
import { compileChecks } from "../../base/schema/checks.ts";
import { compileSchema } from "../../base/schema/schema.ts";
import { describeViolations } from "../../base/schema/violation.ts";

/** The caller's values. */
export interface RecordedCall {
  readonly id: string;
  readonly tenant: string;
  /** JSON. */
  readonly arguments: string;
  readonly command: string | null;
}

/** The inputs of a call that neither its tool nor its caller has given. */
export interface RecordedRun extends RecordedJournal {
  readonly limits: Limits;
  /** The call's clock when it started, in milliseconds since the epoch. */
  readonly startMs: number;
  /** Seed of the call's randomness, in hexadecimal. */
  readonly seed: string;
  /** The last refused capability call. */
  readonly refusal: LastRefusal | null;
}

/** All inputs of a call with its outcome: enough to run it again without the outside world. */
export interface Recording extends RecordedRun {
  readonly format: typeof FORMAT;
  readonly tool: Omit<ToolScript, "key" | "checks"> & {
    /** Missing in recordings of versions that checked values outside of the isolate: their arguments have defaults. */
    readonly checks?: ToolChecks;
    /** The registrant of the tool, and the digest of that version. Missing in recordings of earlier versions. */
    readonly registrant?: string;
    readonly digest?: string;
    readonly outputSchema: JsonSchema | null;
    readonly outputChars: number | null;
    readonly sourceMap: string;
  };
  readonly call: RecordedCall;
  readonly outcome: RecordedOutcome;
}

/** Part of a result that a replay must reproduce. */
export type RecordedOutcome = Pick<ToolResult, "success" | "output" | "error"> & { readonly logs: readonly LogLine[] };

export const FORMAT = "glovebox-recording/2";

const TEXT = { type: "string" };
const TEXT_OR_NULL = { type: ["string", "null"] };
const COUNT = { type: "integer", minimum: 1 };

function record(properties: Readonly<Record<string, unknown>>) {
  return { type: "object", properties, required: Object.keys(properties), additionalProperties: false };
}

const TOOL = record({
  name: TEXT,
  version: TEXT,
  runtime: { type: "string", pattern: PLUGGED_NAME.source },
  isolation: { enum: ["instance", "context", "isolate", "shared"] },
  memoryMb: { type: "number", minimum: 8, maximum: 65_536 },
  config: TEXT,
  contract: { type: "string", pattern: PLUGGED_NAME.source },
  text: TEXT,
  outputSchema: { type: ["object", "boolean", "null"] },
  outputChars: { type: ["integer", "null"], minimum: 1 },
  sourceMap: TEXT,
});

const CODE = record({ input: TEXT, output: TEXT });
const CHECKS = {
  ...CODE,
  properties: { ...CODE.properties, outputAt: { enum: OUTPUT_PLACES }, isAdvice: { const: true } },
};
/** Members of the tool that recordings of earlier versions do not have. */
const OPTIONAL = {
  checks: CHECKS,
  registrant: TEXT,
  digest: TEXT,
  isInterpreted: { const: true },
  showsConfig: { const: true },
  lacksFetch: { const: true },
  env: { type: "array", items: TEXT },
};

const REFUSAL = record({ message: TEXT, capability: TEXT, asked: TEXT, granted: TEXT, remedy: TEXT });

const RUN = {
  limits: record(Object.fromEntries(LIMITS.map((name) => [name, { type: "number", exclusiveMinimum: 0 }]))),
  startMs: { type: "number" },
  seed: { type: "string", pattern: "^[0-9a-f]{64}$" },
  asks: { type: "array", items: record({ capability: TEXT, method: TEXT, args: TEXT }) },
  answers: {
    type: "array",
    items: record({ step: COUNT, asked: COUNT, nowMs: { type: "number" }, ok: { type: "boolean" }, payload: TEXT }),
  },
  refusal: {
    anyOf: [{ type: "null" }, { ...REFUSAL, properties: { ...REFUSAL.properties, remedies: { type: "array" } } }],
  },
};

const ALWAYS = record({
  format: { const: FORMAT },
  tool: { ...TOOL, properties: { ...TOOL.properties, ...OPTIONAL } },
  call: record({ id: TEXT, tenant: TEXT, arguments: TEXT, command: TEXT_OR_NULL }),
  ...RUN,
  outcome: record({
    success: { type: "boolean" },
    output: true,
    error: { type: ["object", "null"] },
    logs: { type: "array" },
  }),
});

const LATE = {
  type: "array",
  items: { type: "array", items: { type: "number", minimum: 1 }, minItems: 2, maxItems: 2 },
};

const TOGETHER = {
  type: "array",
  items: { type: "array", items: { type: "integer", minimum: 0 }, minItems: 2, maxItems: 2 },
};

const RECORDING = { ...ALWAYS, properties: { ...ALWAYS.properties, late: LATE, together: TOGETHER } };
const KEPT_RUN = { ...record(RUN), properties: { ...RUN, late: LATE, together: TOGETHER, command: TEXT_OR_NULL } };

/** Error codes of calls ended from outside: by the caller, a clock or the machine. */
export const OUTSIDE: ReadonlySet<string> = new Set<ErrorCode>([
  "cancelled",
  "wall_limit",
  "queue_timeout",
  "engine_closed",
  "executor_lost",
]);

/** Parses a recording. Throws a `TypeError` that describes an invalid one. */
export function readRecording(text: string): Recording {
  const recording = parsed(text, RECORDING, "recording") as Recording;
  const { tool, call } = recording;
  if (!isJson(tool.config)) throw nonsense("recording", "tool.config is no JSON");
  if (!isJsonLine(call.arguments)) throw nonsense("recording", "call.arguments is no line of JSON");
  checkAnswers(recording, "recording");
  return recording;
}

/** Checks the inputs of a kept call's replay, as its store has them. Throws a `TypeError` that describes the mistake. */
export function checkKeptRun(text: string): void {
  checkAnswers(parsed(text, KEPT_RUN, "kept run") as RecordedRun, "kept run");
}

function parsed(text: string, schema: JsonSchema, noun: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new TypeError(`a ${noun} is JSON, and this is not`);
  }
  const violations = compileSchema(schema, "inputSchema").check(value);
  if (violations.length > 0) throw nonsense(noun, describeViolations(violations));
  return value;
}

function nonsense(noun: string, reason: string): TypeError {
  return new TypeError(`this is no ${noun}: ${reason}`);
}

/** Refuses responses that no call can have had: a replay would wait for them, or deliver invalid JSON. */
function checkAnswers(run: RecordedJournal, noun: string): void {
  const reason = findNoAnswer(run);
  if (reason !== null) throw nonsense(noun, reason);
}

/** Describes a response that no call can have had. */
function findNoAnswer({ asks, answers, together = [] }: RecordedJournal): string | null {
  const answered = new Set<number>();
  let askedBefore = 1;
  for (const [at, { step, asked, ok, payload }] of answers.entries()) {
    const place = `answers[${at}]`;
    if (step > asked || asked > asks.length) return `${place} answers what was not asked`;
    if (asked < askedBefore) return `${place} is not in its order`;
    if (answered.has(step)) return `${place} answers step ${step} again`;
    if (!isJsonLine(payload)) return `${place}.payload is no line of JSON`;
    if (!ok && !isFailure(JSON.parse(payload))) return `${place}.payload is no failure`;
    answered.add(step);
    askedBefore = asked;
  }
  return findNoTurn(answers, together);
}

/** Describes answers that cannot have reached the call in one turn, as it requested one of them after that. */
function findNoTurn(answers: readonly RecordedAnswer[], together: readonly SharedTurn[]): string | null {
  let end = 0;
  for (const [nth, [at, count]] of together.entries()) {
    const place = `together[${nth}]`;
    if (at < end || count < 2) return `${place} is not in its order`;
    end = at + count;
    if (end > answers.length) return `${place} has answers that are not there`;
    if (answers[at]?.asked !== answers[end - 1]?.asked) return `${place} has an answer to what was asked after it`;
  }
  return null;
}

/** A line feed would end the line in which an executor gets the text. */
function isJsonLine(text: string): boolean {
  return isLine(text) && isJson(text);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function isFailure(value: unknown): boolean {
  if (typeof value !== "object" || value === null || !("code" in value) || !("message" in value)) return false;
  return typeof value.code === "string" && Object.hasOwn(ERRORS, value.code) && typeof value.message === "string";
}

/**
 * Throws a `TypeError` if the call was not a function of the recorded data and cannot be replayed: an end from outside
 * is not recorded, nor are earlier calls in a shared module.
 */
export function requireReplayable({ tool, outcome }: Recording): void {
  const code = outcome.error?.code ?? "";
  if (OUTSIDE.has(code)) throw new TypeError(`the recorded call was ended from outside: ${code}`);
  if (tool.isolation !== "shared") return;
  throw new TypeError("the recorded call ran in a shared module, which other calls had changed before");
}

/** The checks under which the recorded call ran. */
export function checksOf(
  { tool: { checks, contract, outputSchema } }: Pick<Recording, "tool">,
  readers: ModuleReaders,
): ToolChecks {
  return checks ?? checksFor(contract, compileChecks(true, outputSchema), readers);
}

const NOTHING: RecordedJournal = { asks: [], answers: [] };

/** Part of a result that a replay must reproduce. */
export function outcomeOf({ success, output, error, metadata: { logs } }: ToolResult): RecordedOutcome {
  return { success, output, error, logs };
}

/** A tool as recordings hold it. */
export function toRecordedTool({ script, outputChars, info, sourceMap }: RegisteredTool): Recording["tool"] {
  const { key: _key, ...own } = script;
  const { outputSchema, registrant, digest } = info;
  return { ...own, outputChars, outputSchema, registrant, digest, sourceMap };
}

/** Adds a recording of the call to its result's metadata. A refused call ran nothing that could be replayed. */
export function recordCall(call: EngineCall, result: ToolResult, entropyKey: string): ToolResult {
  if (result.metadata.attempts === 0) return result;
  const { callId, tenant, args, command } = call;
  const recording: Recording = {
    format: FORMAT,
    tool: toRecordedTool(call.tool),
    call: { id: callId, tenant, arguments: args, command: command ?? null },
    ...runOf(call, entropyKey),
    ...(call.end?.journal ?? NOTHING),
    outcome: outcomeOf(result),
  };
  return withMetadata(result, { ...result.metadata, recording });
}

/** Parts of a recording besides the tool, the caller's values and the journal. */
export function runOf(
  { limits, clockMs, callNumber, end, seed: earlier }: EngineCall,
  entropyKey: string,
): Omit<RecordedRun, keyof RecordedJournal> {
  // A call that continued after a pause has the randomness of its begin.
  const seed = earlier ?? seedOf(entropyKey, `${callNumber}`);
  return { limits, startMs: clockMs, seed, refusal: end?.lastRefusal ?? null };
}
