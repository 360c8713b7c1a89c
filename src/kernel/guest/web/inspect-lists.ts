import { formatNumber, more } from "./inspect-text.ts";
import type { Printer } from "./printer.ts";

/** Adds the entries of a list. Returns the number of omitted ones. */
type Lister = (entries: string[], level: number) => number;

/** Maximum number of steps through holes. Listing the keys of a long sparse array would take too much memory. */
const HOLE_STEPS_MAX = 10_000;

/** Prints the items of an array; consecutive holes are one entry. */
export function listArray(array: readonly unknown[], run: Printer): Lister {
  return (entries, level) => {
    const { maxArrayLength } = run.options;
    let index = 0;
    let steps = 0;
    while (index < array.length && entries.length < maxArrayLength && !run.isFull && steps < HOLE_STEPS_MAX) {
      if (Object.hasOwn(array, index)) {
        entries.push(run.property(array, `${index}`, level, true));
        index += 1;
        continue;
      }
      const end = endOfHole(array, index, HOLE_STEPS_MAX - steps);
      steps += end - index;
      entries.push(run.count(`<${end - index} empty item${end - index > 1 ? "s" : ""}>`));
      index = end;
    }
    return addRest(entries, array.length - index, run);
  };
}

function endOfHole(array: readonly unknown[], start: number, steps: number): number {
  let index = start;
  while (index < array.length && index - start < steps && !Object.hasOwn(array, index)) index += 1;
  return index;
}

export function listTypedArray(array: Uint8Array | BigInt64Array, run: Printer): Lister {
  return (entries) => {
    const shown = Math.min(array.length, run.options.maxArrayLength);
    for (let index = 0; index < shown && !run.isFull; index += 1) {
      const item = array[index] ?? 0;
      entries.push(run.count(typeof item === "bigint" ? `${item}n` : formatNumber(item)));
    }
    return addRest(entries, array.length - entries.length, run);
  };
}

export function listSet(set: object, size: number, run: Printer): Lister {
  return (entries, level) => {
    for (const item of Set.prototype.values.call(set as Set<unknown>) as Iterable<unknown>) {
      if (entries.length >= run.options.maxArrayLength || run.isFull) break;
      entries.push(run.indented(() => run.value(item, level)));
    }
    return addRest(entries, size - entries.length, run);
  };
}

export function listMap(map: object, size: number, run: Printer): Lister {
  return (entries, level) => {
    for (const [key, item] of Map.prototype.entries.call(map as Map<unknown, unknown>) as Iterable<
      [unknown, unknown]
    >) {
      if (entries.length >= run.options.maxArrayLength || run.isFull) break;
      entries.push(run.indented(() => `${run.value(key, level)} => ${run.value(item, level)}`));
    }
    return addRest(entries, size - entries.length, run);
  };
}

function addRest(entries: string[], left: number, run: Printer): number {
  if (left > 0) entries.push(run.count(more(left, "item")));
  return left;
}
