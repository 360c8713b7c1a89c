import type { ErrorCode, ToolError } from "../../base/errors.ts";
import { parseForWriting } from "../../base/exact-json.ts";
import type { LogLine } from "../../base/result.ts";

/** Format of a stored call. A change that readers of the present one do not understand gets another number. */
export const CALL_FORMAT = "glovebox-call/1";

/** Stored parts of calls: nothing, summaries, also the details of failed calls, or everything. */
export const KEEPS = ["nothing", "summaries", "failures", "everything"] as const;
export type Keep = (typeof KEEPS)[number];

/** A call without its values. Times in milliseconds. */
export interface CallSummary {
  readonly id: string;
  /** The name that the caller gave, at most 256 characters. */
  readonly tool: string;
  /** Version and digest of the tool; `null` if the call was refused before its tool was known. */
  readonly version: string | null;
  readonly digest: string | null;
  /** Empty if the call named none. */
  readonly tenant: string;
  /** Id of the calling call, if a tool made this call. */
  readonly parentId: string | null;
  /** Its origin: `library`, `http`, `mcp`, `cli`, `tool`, or a word of the embedder. */
  readonly surface: string;
  /** Name of the key with which it was made. */
  readonly key: string | null;
  /** `ok`, or the code of its error. */
  readonly code: ErrorCode | "ok";
  /** The message of its error, at most 1,000 characters. */
  readonly error: string | null;
  /** Time at which the engine accepted it, in milliseconds since the epoch. */
  readonly beginMs: number;
  readonly queueMs: number;
  readonly wallMs: number;
  readonly cpuMs: number;
  /** Length of its arguments and its output as JSON, in UTF-16 units. */
  readonly bytes: number;
  /** Number of starts; 0 if it never started. */
  readonly attempts: number;
  /**
   * Number of calls for which this one was kept: itself, and earlier ones of its tenant that were not kept, as they
   * came faster than 500 a second. Successes and failures count apart.
   */
  readonly sampled: number;
}

/** Parts of a call's detail. */
export const DETAIL_PARTS = ["arguments", "output", "error", "logs", "asks", "explanation", "journal"] as const;
export type DetailPart = (typeof DETAIL_PARTS)[number];

/** A capability call. Times in milliseconds since the call was accepted. */
export interface StoredAsk {
  /** Its number within the call, from 1. */
  readonly step: number;
  readonly capability: string;
  readonly method: string;
  /**
   * Its subject: an address without its query, a path, a key or a name, at most 256 characters; `null` if it is not
   * known, or if a value of the call may be a password.
   */
  readonly target: string | null;
  /** Method of a request of HTTP, such as `POST`; `null` for other capability calls, and if there is no target. */
  readonly httpMethod: string | null;
  readonly outcome: "ok" | "denied" | "failed" | "limit";
  /** The error code of its answer. */
  readonly code: ErrorCode | null;
  /** The first rule that grants the capability, as `policy.rules[2]`; `null` for none. */
  readonly rule: string | null;
  readonly atMs: number;
  readonly durationMs: number;
  /** Length of its arguments and its answer as JSON, in UTF-16 units. */
  readonly bytes: number;
  /** The start of the call that made it, from 1. */
  readonly attempt: number;
  /** Whether it repeats one of an earlier start, and was answered from the journal. */
  readonly isReplayed: boolean;
}

/** Stays in tool code. Times in milliseconds since the call was accepted. */
export interface StoredTurn {
  readonly atMs: number;
  readonly cpuMs: number;
  readonly attempt: number;
}

/** The values of a call. Passwords, as its schemas declare them, are `[redacted]`. */
export interface CallDetail {
  readonly arguments: unknown;
  readonly output: unknown;
  readonly error: ToolError | null;
  readonly logs: readonly LogLine[];
  /** The first 200 capability calls; those of code that ran again after the loss of its executor are in it twice. */
  readonly asks: readonly StoredAsk[];
  /** Number of further ones. */
  readonly asksOmitted: number;
  /** The first 200; the last of them has the time of all later ones. Of lost starts, only the begin. */
  readonly turns: readonly StoredTurn[];
  /** Grants and limits of the tool at that time, with the source of each, as `engine.explain` returns them. */
  readonly explanation: unknown;
  /** Whether it may be run again with the same answers, as long as its tool is the same. */
  readonly isReplayable: boolean;
  /** Parts that are `null` or empty here, as they were too large or could not be redacted. */
  readonly omitted: readonly DetailPart[];
}

/** A call as the store has it. */
export interface StoredCall extends CallSummary {
  readonly format: typeof CALL_FORMAT;
  /** `null` if it was not to be kept, or is older than details are kept. */
  readonly detail: CallDetail | null;
}

/** Place of a call in its store: later calls have larger ones. `seq` is a number of at most 15 digits. */
export type CallPlace = readonly [beginMs: number, seq: number];

/** Inputs of a call's replay, as the store has them. */
export interface KeptRun extends Pick<CallSummary, "id" | "tool" | "tenant" | "digest" | "code" | "attempts"> {
  readonly place: CallPlace;
  readonly hasDetail: boolean;
  readonly omitted: readonly DetailPart[];
  /** JSON. */
  readonly arguments: string;
  readonly command: string | null;
  /** JSON of a `RecordedRun`; `null` if it cannot be replayed. */
  readonly run: string | null;
}

/** Filter of a list of calls: all of its members have to match. */
export interface CallFilter {
  readonly tool?: string;
  /** Names of tools, each of which may end in `*`; at most 1,000. */
  readonly tools?: readonly string[];
  readonly tenant?: string;
  /** Id of the calling call. */
  readonly parent?: string;
  /** `ok`, or an error's code. */
  readonly code?: string;
  /** Earliest and latest begin: a `Date`, milliseconds since the epoch, or a time in ISO 8601. */
  readonly since?: Date | number | string;
  readonly until?: Date | number | string;
  /** Text in the message of the error, whatever its case; at most 256 characters. */
  readonly text?: string;
  /** Maximum number of calls, 1 to 200. Default 50. */
  readonly limit?: number;
  /** The `cursor` of the page before. */
  readonly cursor?: string;
}

/** Calls, newest first. */
export interface CallPage {
  readonly calls: readonly CallSummary[];
  /**
   * Continues the list, if there may be more: a page may have fewer calls than its `limit`, as one request reads no
   * more than 20,000.
   */
  readonly cursor: string | null;
}

/** A filter whose values were checked. */
export interface CallQuery {
  readonly tool: string | null;
  readonly tenant: string | null;
  readonly parent: string | null;
  readonly code: string | null;
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly text: string | null;
  readonly limit: number;
  /** The last call of the page before. */
  readonly after: CallPlace | null;
  readonly tools: readonly string[] | null;
}

/** A summary on its way to the store: the cells of its row, as names would be copied with each. */
export type CallCells = readonly [
  id: string,
  tool: string,
  version: string | null,
  digest: string | null,
  tenant: string,
  parentId: string | null,
  surface: string,
  key: string | null,
  code: string,
  error: string | null,
  beginMs: number,
  queueMs: number,
  wallMs: number,
  cpuMs: number,
  bytes: number,
  attempts: number,
  sampled: number,
];

/** Thrown if an operation on a kept call needs a part that was not kept. */
export class NotKeptError extends TypeError {
  override readonly name = "NotKeptError";
}

/** The summary in cells. */
export function summaryOf(cells: CallCells): CallSummary {
  const [id, tool, version, digest, tenant, parentId, surface, key, code, error, beginMs, ...more] = cells;
  const [queueMs, wallMs, cpuMs, bytes, attempts, sampled] = more;
  const names = { id, tool, version, digest, tenant, parentId, surface, key, code: code as CallSummary["code"], error };
  return { ...names, beginMs, queueMs, wallMs, cpuMs, bytes, attempts, sampled };
}

/** Inputs of the replay of a kept call. `detail`: JSON of its detail, and of a `RecordedRun`. */
export function keptRunOf(
  { id, tool, tenant, digest, code, attempts }: CallSummary,
  place: CallPlace,
  detail: { readonly json: string; readonly run: string | null } | null,
): KeptRun {
  const shown = detail === null ? null : (parseForWriting(detail.json) as CallDetail);
  const run = detail?.run ?? null;
  const { command = null } = run === null ? {} : (JSON.parse(run) as Pick<KeptRun, "command">);
  const values = { omitted: shown?.omitted ?? [], arguments: JSON.stringify(shown?.arguments ?? {}), command, run };
  return { place, id, tool, tenant, digest, code, attempts, hasDetail: shown !== null, ...values };
}

/** A call's turns as far as they are known. A call of one turn has nothing but its start and its processor time. */
export interface GivenTurns {
  readonly beginMs: number;
  readonly startsMs: readonly number[];
  readonly cpuMs: number;
  /** Those of the last start, as its worker reported them. */
  readonly told: string;
}

/** A detail on its way to the store, as JSON that is not parsed before. */
export interface DetailTexts {
  readonly arguments: string | null;
  readonly output: string | null;
  /** The place of the output in `output`, if that is an answer in the terms of the tool's contract. */
  readonly outputAt: string | null;
  readonly error: string | null;
  /** `[level, message][]`, or empty. */
  readonly logs: string;
  readonly omitted: readonly DetailPart[];
  /**
   * The record of the session at the broker: a line of JSON with capability calls, and one with the journal, in UTF-8.
   */
  readonly told: Uint8Array<ArrayBuffer> | null;
  readonly turns: GivenTurns;
  readonly explanation: string | null;
  /** The members of a recording besides the journal, as JSON; `null` if the call cannot be replayed. */
  readonly run: string | null;
  /** The tool's input and output schemas in a list, if one of them may have a password. */
  readonly schemas: string | null;
}

/** A call on its way to the store. */
export type CallRow = readonly [cells: CallCells, detail: DetailTexts | null];

/** Length from which a part is not kept, in UTF-16 units. */
export const PART_MAX = 256 * 1024;
const NAME_MAX = 256;
const NAMES_MAX = 1_000;
const TEXT_MAX = 256;
const LIMIT_DEFAULT = 50;
const LIMIT_MAX = 200;
const ISO_8601 = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)?)?$/;
const CURSOR = /^(\d{1,15})-(\d{1,15})$/;

/** Checks a filter. Throws a `RangeError` that names the mistake. */
export function readFilter(filter: CallFilter): CallQuery {
  const { limit = LIMIT_DEFAULT, cursor, tools } = filter;
  if (!Number.isInteger(limit) || limit < 1 || limit > LIMIT_MAX) {
    throw new RangeError(`limit is an integer from 1 to ${LIMIT_MAX}`);
  }
  return {
    tool: textOf("tool", filter.tool, NAME_MAX),
    tenant: textOf("tenant", filter.tenant, NAME_MAX),
    parent: textOf("parent", filter.parent, NAME_MAX),
    code: textOf("code", filter.code, NAME_MAX),
    sinceMs: timeOf("since", filter.since, 0),
    untilMs: timeOf("until", filter.until, Number.MAX_SAFE_INTEGER),
    text: textOf("text", filter.text, TEXT_MAX) || null,
    limit,
    after: cursor === undefined ? null : readCursor(cursor),
    tools: tools === undefined ? null : readNames(tools),
  };
}

function textOf(name: string, value: unknown, most: number): string | null {
  if (value === undefined) return null;
  if (typeof value === "string" && value.length <= most) return value;
  throw new RangeError(`${name} is one text of at most ${most} characters`);
}

function readNames(names: readonly unknown[]): readonly string[] {
  const isList = Array.isArray(names) && names.length <= NAMES_MAX;
  const read = isList ? names.map((name) => textOf("tools", name, NAME_MAX)) : [null];
  if (read.every((name) => name !== null)) return read;
  throw new RangeError(`tools is a list of at most ${NAMES_MAX} names`);
}

function timeOf(name: string, value: CallFilter["since"], otherwise: number): number {
  if (value === undefined) return otherwise;
  const ms = value instanceof Date ? value.getTime() : typeof value === "string" ? parseTime(value) : value;
  if (typeof ms === "number" && Number.isFinite(ms)) return Math.floor(ms);
  throw new RangeError(`${name} is a time: a Date, milliseconds since 1970, or ISO 8601, as 2026-01-31T12:00:00Z`);
}

/** `Date.parse` reads nearly any text as a time. */
function parseTime(text: string): number {
  return ISO_8601.test(text) ? Date.parse(text) : Number.NaN;
}

function readCursor(cursor: unknown): CallPlace {
  const [, beginMs, seq] = (typeof cursor === "string" && CURSOR.exec(cursor)) || [];
  if (beginMs === undefined) throw new RangeError("cursor is not one that a page has named");
  return [Number(beginMs), Number(seq)];
}

/** The cursor that continues after a call. */
export function cursorAfter([beginMs, seq]: CallPlace): string {
  return `${beginMs}-${seq}`;
}
