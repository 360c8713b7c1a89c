import type { GivenTurns, StoredTurn } from "./call-record.ts";

const TURNS_MAX = 200;
/** A begin, in milliseconds since the epoch, and processor time. */
const TURN = /^(\d{1,14}(?:\.\d{1,3})?) (\d{1,12}(?:\.\d{1,3})?)$/;

/** Turns as a detail has them. The report of a worker is hostile input. */
export function storedTurns({ beginMs, startsMs, cpuMs, told }: GivenTurns): readonly StoredTurn[] {
  const attempt = Math.max(1, startsMs.length);
  const at = (ms: number): number => Math.round(Math.max(0, ms - beginMs) * 1_000) / 1_000;
  const lost = startsMs.slice(0, -1).map((ms, index) => ({ atMs: at(ms), cpuMs: 0, attempt: index + 1 }));
  const turns = told.split(",").flatMap((one): readonly StoredTurn[] => {
    const [, begin, spent] = TURN.exec(one) ?? [];
    return begin === undefined ? [] : [{ atMs: at(Number(begin)), cpuMs: Number(spent), attempt }];
  });
  const last = startsMs.at(-1);
  const only = last === undefined ? [] : [{ atMs: at(last), cpuMs, attempt }];
  return [...lost, ...(turns.length > 0 ? turns : only)].slice(0, TURNS_MAX);
}
