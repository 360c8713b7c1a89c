import { isErrorCode } from "../errors.ts";
import type { Progress } from "../result.ts";
import type { Failure, WorkerStats } from "./messages.ts";
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
    if (isErrorCode(failure.code) && typeof failure.message === "string") return failure as Failure;
  }
  throw new ProtocolError("a message with an invalid failure");
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
