import { parseForWriting } from "../../../base/exact-json.ts";
import type { RecordedAnswer, RecordedJournal } from "../../../base/protocol/recorded-journal.ts";

/** Maximum number of a call's last capability calls that its reader gets, and of characters of their arguments. */
const ASKS_MAX = 1_000;
const ARGS_MAX = 256 * 1024;
/** Maximum length of arguments that are shown, and of those that are kept of an ended call. */
const SHOWN_MAX = 4_096;
const KEPT_MAX = 256;
/** Beginning of the answer of a failed call of a tool. */
const TOOL_FAILED = '{"ok":false';

/** A capability call of a durable call, for its readers. */
export interface JournalAsk {
  readonly step: number;
  readonly capability: string;
  readonly method: string;
  /** JSON, or the length and digest of a longer text; `null` if it is too long to be shown. */
  readonly args: string | null;
  /** `null` without an answer. */
  readonly answer: "ok" | "failed" | null;
  /** By the clock of the call. */
  readonly answeredMs: number | null;
}

/** Arguments as a journal has them; `null` if it has a digest of long ones. */
export function parsedArgs(args: string): unknown {
  try {
    return parseForWriting(args);
  } catch {
    return null;
  }
}

/** The capability calls of a call, in the order of its steps. */
export function journalAsks({ asks, answers }: RecordedJournal): readonly JournalAsk[] {
  const answered = new Map(answers.map((answer) => [answer.step, answer]));
  const first = Math.max(0, asks.length - ASKS_MAX);
  let room = ARGS_MAX;
  return asks.slice(first).map(({ capability, method, args }, at) => {
    const step = first + at + 1;
    const answer = answered.get(step);
    const isShown = args !== "" && args.length <= Math.min(SHOWN_MAX, room);
    if (isShown) room -= args.length;
    return {
      step,
      capability,
      method,
      args: isShown ? args : null,
      answer: answer === undefined ? null : hasFailed(method, answer) ? "failed" : "ok",
      answeredMs: answer?.nowMs ?? null,
    };
  });
}

function hasFailed(method: string, { ok, payload }: RecordedAnswer): boolean {
  return !ok || (method === "call" && payload.startsWith(TOOL_FAILED));
}

/** The journal of an ended call that is not undone: its capability calls, without answers. Empty without any. */
export function withoutAnswers({ asks, answers }: RecordedJournal): string {
  if (asks.length === 0) return "";
  return JSON.stringify({
    asks: asks.map((ask) => (ask.args.length <= KEPT_MAX ? ask : { ...ask, args: "" })),
    answers: answers.map((answer) => ({ ...answer, payload: "null" })),
  } satisfies RecordedJournal);
}
