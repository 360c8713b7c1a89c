import { isObject, pointerSegment } from "../../base/json.ts";
import type { CallDetail } from "./call-record.ts";

/** A difference of two calls. */
export interface Difference {
  /** JSON pointer into `{ output, error, logs, asks }`. */
  readonly pointer: string;
  /**
   * The values of either call, absent if it has no value. Of a value with more than 1,000 characters of JSON, the
   * beginning of that text.
   */
  readonly left?: unknown;
  readonly right?: unknown;
}

/** The parts that two equal calls have in common: times are not among them. */
export interface Comparable {
  readonly output: unknown;
  readonly error: unknown;
  readonly logs: readonly unknown[];
  readonly asks: readonly unknown[];
}

const DIFFERENCES_MAX = 100;
const VALUE_MAX = 1_000;

/** `asked`: number of capability calls that count. Those answered from the journal repeat others. */
export function comparableOf({ output, error, logs, asks }: CallDetail, asked = Number.POSITIVE_INFINITY): Comparable {
  const counted = asks.filter(({ isReplayed, step }) => !isReplayed && step <= asked);
  const shown = counted.map(({ capability, method, target, outcome, code }) => ({
    capability,
    method,
    target,
    outcome,
    code,
  }));
  return { output, error, logs, asks: shown };
}

/** The first 100 differences of two JSON values, in their order. Takes no more time than to write both. */
export function differencesOf(left: unknown, right: unknown): readonly Difference[] {
  const found: Difference[] = [];
  const open: (readonly [pointer: string, left: unknown, right: unknown])[] = [["", left, right]];
  for (let next = open.pop(); next !== undefined && found.length < DIFFERENCES_MAX; next = open.pop()) {
    const [pointer, one, other] = next;
    if (Object.is(one, other)) continue;
    const names = namesOf(one, other);
    if (names === null) found.push({ pointer, ...sideOf("left", one), ...sideOf("right", other) });
    else
      for (const name of names.reverse())
        open.push([pointer + pointerSegment(name), ownOf(one, name), ownOf(other, name)]);
  }
  return found;
}

/** Names of members, or indices, of two objects or two lists; `null` for other values. */
function namesOf(left: unknown, right: unknown): string[] | null {
  const areBoth = Array.isArray(left) ? Array.isArray(right) : isObject(left) && isObject(right);
  return areBoth ? [...new Set([...Object.keys(left as object), ...Object.keys(right as object)])] : null;
}

function ownOf(value: unknown, name: string): unknown {
  return Object.hasOwn(value as object, name) ? (value as Readonly<Record<string, unknown>>)[name] : undefined;
}

function sideOf(side: "left" | "right", value: unknown): object {
  if (value === undefined) return {};
  const text = JSON.stringify(value);
  return { [side]: text.length <= VALUE_MAX ? value : text.slice(0, VALUE_MAX) };
}
