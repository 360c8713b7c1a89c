import { parseForWriting } from "../../base/exact-json.ts";
import { describeExcess, NESTING_MAX, VALUES_MAX } from "../../base/json.ts";
import { compileSchema } from "../../base/schema/schema.ts";
import { CALL_FORMAT, type CallCells, type CallSummary, DETAIL_PARTS, summaryOf } from "./call-record.ts";
import type { WrittenDetail } from "./call-redaction.ts";

/** A call with all of its stored values. */
export type StoredRow = readonly [cells: CallCells, detail: WrittenDetail | null];

const NAME = { type: "string", maxLength: 256 };
const NAME_OR_NULL = { type: ["string", "null"], maxLength: 256 };
const TEXT = { type: "string" };
const TEXT_OR_NULL = { type: ["string", "null"] };
const COUNT = { type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER };
const NUMBER = { type: "number" };
const MS = { ...NUMBER, minimum: 0 };
/** The latest time that a cursor of 15 digits names: no list could go on after a later one. */
const TIME_MAX = 999_999_999_999_999;
/** A line has its values in its detail. */
const LEVELS_ABOVE_VALUES = 2;

function exactly(properties: Readonly<Record<string, unknown>>) {
  return { type: "object", properties, required: Object.keys(properties), additionalProperties: false };
}

function withAll(properties: Readonly<Record<string, unknown>>, type: string | readonly string[] = "object") {
  return { type, properties, required: Object.keys(properties) };
}

const ASK = withAll({
  step: COUNT,
  capability: TEXT,
  method: TEXT,
  target: TEXT_OR_NULL,
  outcome: TEXT,
  code: TEXT_OR_NULL,
  rule: TEXT_OR_NULL,
  atMs: NUMBER,
  durationMs: NUMBER,
  bytes: COUNT,
  attempt: COUNT,
  isReplayed: { type: "boolean" },
});

const LINE = exactly({
  format: { const: CALL_FORMAT },
  id: NAME,
  tool: NAME,
  version: NAME_OR_NULL,
  digest: NAME_OR_NULL,
  tenant: NAME,
  parentId: NAME_OR_NULL,
  surface: NAME,
  key: NAME_OR_NULL,
  code: NAME,
  error: { ...TEXT_OR_NULL, maxLength: 1_000 },
  beginMs: { ...COUNT, maximum: TIME_MAX },
  queueMs: MS,
  wallMs: MS,
  cpuMs: MS,
  bytes: COUNT,
  attempts: COUNT,
  sampled: COUNT,
  detail: withAll(
    {
      arguments: true,
      output: true,
      // An embedder's redaction puts any value in the place of their texts.
      error: withAll({ code: true, message: true }, ["object", "null"]),
      logs: { type: "array", items: withAll({ level: true, message: true }) },
      asks: { type: "array", items: ASK },
      asksOmitted: COUNT,
      turns: { type: "array", items: withAll({ atMs: NUMBER, cpuMs: NUMBER, attempt: COUNT }) },
      explanation: { type: ["object", "null"] },
      isReplayable: { type: "boolean" },
      omitted: { type: "array", items: { enum: DETAIL_PARTS } },
    },
    ["object", "null"],
  ),
  run: TEXT_OR_NULL,
});

/** A stored call as a line of JSON: a `StoredCall`, with the inputs of a replay as `run`. */
export function writeLine([cells, detail]: StoredRow): string {
  const summary = JSON.stringify({ format: CALL_FORMAT, ...summaryOf(cells) }).slice(0, -1);
  return `${summary},"detail":${detail?.json ?? "null"},"run":${JSON.stringify(detail?.run ?? null)}}`;
}

/** Reads such a line. Throws a `TypeError` that names the mistake in it. */
export function readLine(line: string): StoredRow {
  const value = parsed(line);
  const [violation] = check().check(value);
  if (violation !== undefined) throw new TypeError(`it is no stored call: ${violation.message}`);
  const { detail, run, ...summary } = value as CallSummary & {
    readonly detail: object | null;
    readonly run: string | null;
  };
  return [cellsOf(summary), detail && { json: JSON.stringify(detail), run }];
}

let compiled: ReturnType<typeof compileSchema> | undefined;

function check(): ReturnType<typeof compileSchema> {
  return (compiled ??= compileSchema(LINE, "inputSchema"));
}

function parsed(line: string): unknown {
  const excess = describeExcess(line, VALUES_MAX, NESTING_MAX + LEVELS_ABOVE_VALUES);
  if (excess !== null) throw new TypeError(`its values are ${excess}`);
  try {
    return parseForWriting(line);
  } catch {
    throw new TypeError("it is no JSON");
  }
}

function cellsOf(summary: CallSummary): CallCells {
  const { id, tool, version, digest, tenant, parentId, surface, key, code, error, beginMs } = summary;
  const { queueMs, wallMs, cpuMs, bytes, attempts, sampled } = summary;
  const names = [id, tool, version, digest, tenant, parentId, surface, key] as const;
  return [...names, code, error, beginMs, queueMs, wallMs, cpuMs, bytes, attempts, sampled];
}
