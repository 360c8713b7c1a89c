import { setImmediate as nextTurn } from "node:timers/promises";
import { NESTING_MAX, VALUES_MAX } from "../../kernel/base/json.ts";

/** Number of values that are walked in one turn of the event loop: less than a millisecond of work. */
const STEP = 10_000;

/** Result of a walk through a value: within the limits, or the limit that it exceeds. */
export type WalkVerdict = "within" | "too large" | "excessive";

/**
 * Walks through a body that another parser has read, in pieces: it has at most a million values and a thousand levels,
 * as every body, and texts of at most `bytesMax` together.
 */
export async function walkBody(body: unknown, bytesMax: number): Promise<WalkVerdict> {
  const waiting: Level[] = [];
  let values = 0;
  let length = 0;
  const take = (value: unknown): boolean => {
    values++;
    if (typeof value === "string") length += value.length;
    else if (typeof value === "object" && value !== null) waiting.push(levelOf(value));
    return values <= VALUES_MAX && waiting.length <= NESTING_MAX && length <= bytesMax;
  };
  let isWithin = take(body);
  for (let level = waiting.at(-1); level !== undefined && isWithin; level = waiting.at(-1)) {
    const { value, names, at } = level;
    if (at === (names ?? value).length) {
      waiting.pop();
      continue;
    }
    level.at++;
    const name = names?.[at];
    length += name?.length ?? 0;
    isWithin = take(Reflect.get(value, name ?? at));
    if (values % STEP === 0) await nextTurn();
  }
  if (isWithin) return "within";
  return length > bytesMax ? "too large" : "excessive";
}

/** An object or a list on the path from the body to the current value. */
interface Level {
  readonly value: object & { readonly length?: number };
  /** Names of an object's members; of a list `null`. */
  readonly names: readonly string[] | null;
  at: number;
}

function levelOf(value: object): Level {
  return { value, names: Array.isArray(value) ? null : Object.keys(value), at: 0 };
}
