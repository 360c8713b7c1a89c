import { isErrorCode } from "../errors.ts";
import { isObject } from "../json.ts";
import type { Progress } from "../result.ts";
import type { Failure, WorkerStats } from "./messages.ts";
import type { Violation } from "../schema/violation.ts";
import { ProtocolError } from "./wire.ts";

/** A payload is parsed before it is used: invalid data from a worker must not cost a call its reply. */
export function readJson(payload: string): unknown {
  try {
    return JSON.parse(payload);
  } catch {
    throw new ProtocolError("a message with a payload that is not JSON");
  }
}

export function readFailure(payload: string): Failure {
  const failure = readJson(payload);
  if (typeof failure === "object" && failure !== null && "code" in failure && "message" in failure) {
    if (isErrorCode(failure.code) && typeof failure.message === "string" && hasViolations(failure)) return failure;
  }
  throw new ProtocolError("a message with an invalid failure");
}

/** Maximum number of violations in a failure, and maximum length of each of their texts, and of all together. */
const VIOLATIONS_MAX = 20;
const VIOLATION_TEXT_MAX = 1_024;
const VIOLATIONS_LENGTH_MAX = 32 * 1024;
const VIOLATION_PARTS = ["pointer", "keyword", "expected", "received", "message"] as const;

/** Whether a failure has no violations, or valid ones. */
export function hasViolations(failure: object): failure is Failure {
  if (!("violations" in failure)) return true;
  const { violations } = failure;
  if (!Array.isArray(violations) || violations.length > VIOLATIONS_MAX || !violations.every(isViolation)) return false;
  return lengthOf(violations) <= VIOLATIONS_LENGTH_MAX;
}

function lengthOf(violations: readonly Violation[]): number {
  return violations.reduce((sum, one) => VIOLATION_PARTS.reduce((length, part) => length + one[part].length, sum), 0);
}

function isViolation(value: unknown): value is Violation {
  if (!isObject(value) || Object.keys(value).length !== VIOLATION_PARTS.length) return false;
  return VIOLATION_PARTS.every((part) => {
    const text = value[part];
    return typeof text === "string" && text.length <= VIOLATION_TEXT_MAX;
  });
}

/** Violations from an isolate that may be hostile, within their bounds; `undefined` for anything but a list. */
export function readViolations(value: unknown, text: (value: unknown) => string): readonly Violation[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const violations = value.slice(0, VIOLATIONS_MAX).map((one: unknown) => {
    const parts = isObject(one) ? one : {};
    const part = (name: keyof Violation) => text(parts[name]).slice(0, VIOLATION_TEXT_MAX);
    const [pointer, keyword, expected] = [part("pointer"), part("keyword"), part("expected")];
    return { pointer, keyword, expected, received: part("received"), message: part("message") };
  });
  while (lengthOf(violations) > VIOLATIONS_LENGTH_MAX) violations.pop();
  return violations;
}

/** Maximum length of a progress message, in characters. */
const PROGRESS_MESSAGE_MAX = 1_000;

export function readProgress(payload: string): Progress {
  const said = readJson(payload);
  const [progress, total, message] = Array.isArray(said) ? (said as unknown[]) : [];
  const isMessage = typeof message === "string" && message.length <= PROGRESS_MESSAGE_MAX;
  if (!isFiniteNumber(progress) || !(total === null || isFiniteNumber(total)) || !(message === null || isMessage)) {
    throw new ProtocolError("a message with invalid progress");
  }
  return { progress, ...(total === null ? {} : { total }), ...(message === null ? {} : { message }) };
}

function isFiniteNumber(value: unknown): value is number {
  return Number.isFinite(value);
}

/** The kinds by which starts of isolates and contexts are counted. */
const START_KINDS: ReadonlySet<string> = new Set(["blank", "tool", "context"]);

export function readStats(payload: string): WorkerStats {
  const stats = readJson(payload) as Partial<WorkerStats> | null;
  const { active, warm, blank, starts, heapBytes } = stats ?? {};
  const areCounts = [active, warm, blank].every((count) => Number.isFinite(count));
  const isKnown = isCounted(starts) && Object.keys(starts).every((kind) => START_KINDS.has(kind));
  if (areCounts && isKnown && isCounted(heapBytes)) return stats as WorkerStats;
  throw new ProtocolError("a message with invalid statistics");
}

function isCounted(value: unknown): value is { readonly [name: string]: number } {
  return typeof value === "object" && value !== null && Object.values(value).every((count) => Number.isFinite(count));
}
