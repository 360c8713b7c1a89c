/** Numbers that look random and follow from a seed, so that a run can be repeated. Mulberry32. */
export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0;
  }

  /** From 0 to below 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number, both ends included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  pick<T>(list: readonly T[]): T {
    const item = list[Math.floor(this.next() * list.length)];
    if (item === undefined) throw new RangeError("there is nothing to pick from");
    return item;
  }

  /** Picks items as often as their weights say. */
  pickWeighted<T extends { readonly weight: number }>(list: readonly T[]): T {
    let left = this.next() * list.reduce((sum, { weight }) => sum + weight, 0);
    for (const item of list) {
      left -= item.weight;
      if (left < 0) return item;
    }
    return this.pick(list);
  }

  /** A die of its own, so that what one part of a run draws does not depend on how often another does. */
  fork(): Dice {
    return new Dice(this.between(0, 2 ** 31 - 1));
  }
}

/** The seed that was asked for, or any. */
export function seedOf(text: string | undefined): number {
  const seed = text === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(text);
  if (!Number.isInteger(seed) || seed < 0) throw new RangeError("--seed must be a whole number of at least 0");
  return seed;
}
