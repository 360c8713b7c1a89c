import type { LateTimer, ReplayPlan, SharedTurn } from "./messages.ts";

/** A capability call in a recording. */
export interface RecordedAsk {
  readonly capability: string;
  readonly method: string;
  /** Arguments as JSON. */
  readonly args: string;
}

/** A response in a recording. */
export interface RecordedAnswer {
  /** Step of the capability call, from 1, and number of capability calls made by then. */
  readonly step: number;
  readonly asked: number;
  readonly nowMs: number;
  readonly ok: boolean;
  /** JSON: the value, or `{ code, message }`. */
  readonly payload: string;
}

/** A journal as plain data, for a recording. Responses that were pending when the call ended are left out. */
export interface RecordedJournal {
  /** Capability calls, in order. */
  readonly asks: readonly RecordedAsk[];
  /** Responses, in order of delivery. */
  readonly answers: readonly RecordedAnswer[];
  /** Timers that fired late: the number of timer turns by then, and the call's clock. Missing if none did. */
  readonly late?: readonly LateTimer[];
  /** Answers that reached the call in one turn: index of the first, and their number. Missing if each had its own. */
  readonly together?: readonly SharedTurn[];
}

/** The additions to a journal since its last part, for the stored one. */
export interface JournalPart extends Required<RecordedJournal> {
  /** Number of answers of the earlier parts that stay. Later ones are repeated here: their order was not known yet. */
  readonly kept: number;
}

/** A journal with one part more. Timers and turns are whole in each part. */
export function withPart({ asks, answers }: RecordedJournal, part: JournalPart): RecordedJournal {
  const { late, together } = part;
  return {
    asks: [...asks, ...part.asks],
    answers: [...answers.slice(0, part.kept), ...part.answers],
    ...(late.length === 0 ? {} : { late }),
    ...(together.length === 0 ? {} : { together }),
  };
}

/** The `ReplayPlan` of a run that continues from a journal, in JSON. */
export function planOf({ asks, answers, late = [], together = [] }: RecordedJournal): string {
  if (asks.length === 0 && late.length === 0) return "";
  const responses = answers.map(({ asked, nowMs }) => [asked, nowMs] as const);
  return JSON.stringify({ asked: asks.length, responses, late, together } satisfies ReplayPlan);
}
