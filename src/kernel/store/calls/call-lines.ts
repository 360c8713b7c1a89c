import { parseForWriting } from "../../base/exact-json.ts";
import { compileSchema } from "../../base/schema/schema.ts";
import { CALL_FORMAT, type CallCells, type CallSummary, summaryOf } from "./call-record.ts";
import type { WrittenDetail } from "./call-redaction.ts";

/** A call with all of its stored values. */
export type StoredRow = readonly [cells: CallCells, detail: WrittenDetail | null];

const NAME = { type: "string", maxLength: 256 };
const NAME_OR_NULL = { type: ["string", "null"], maxLength: 256 };
const COUNT = { type: "integer", minimum: 0 };
const MS = { type: "number", minimum: 0 };

function exactly(properties: Readonly<Record<string, unknown>>) {
  return { type: "object", properties, required: Object.keys(properties), additionalProperties: false };
}

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
  error: { type: ["string", "null"], maxLength: 1_000 },
  beginMs: COUNT,
  queueMs: MS,
  wallMs: MS,
  cpuMs: MS,
  bytes: COUNT,
  attempts: COUNT,
  sampled: COUNT,
  detail: {
    type: ["object", "null"],
    required: [
      "arguments",
      "output",
      "error",
      "logs",
      "asks",
      "asksOmitted",
      "turns",
      "explanation",
      "isReplayable",
      "omitted",
    ],
  },
  run: { type: ["string", "null"] },
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
  if (violation !== undefined) throw new TypeError(`it is no stored call: ${violation.pointer} ${violation.message}`);
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
