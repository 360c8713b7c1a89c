interface Numbered {
  readonly callNumber: number;
}

const LEAST_BITS = 10;
/** Copied, as that takes a hundredth of the time. */
const FEWEST_SLOTS: readonly undefined[] = Array.from<undefined>({ length: 2 ** LEAST_BITS });
/** 2^32 divided by the golden ratio: spreads numbers that follow each other. */
const SPREAD = 0x9e37_79b1;

/**
 * Calls by their numbers, in place of a `Map`, which leaves long-lived garbage: it replaces its storage as calls come
 * and go, and the old storage refers to the new one. Once one of them is in V8's old space, all later ones stay until
 * the next full collection, with the calls that they had when they were replaced. Collections of new objects took four
 * times as long.
 */
export class CallTable<Call extends Numbered> {
  #bits = LEAST_BITS;
  /** At most half of them are taken. A call is in the slot of its number, or in the first free one after it. */
  #slots = emptySlots<Call>(LEAST_BITS);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(callNumber: number): Call | undefined {
    return this.#slots[this.#find(callNumber)];
  }

  /** Adds a call whose number is not in the table. */
  add(call: Call): void {
    if (2 * this.#size >= this.#slots.length) this.#resize(this.#bits + 1);
    this.#slots[this.#find(call.callNumber)] = call;
    this.#size++;
  }

  delete(callNumber: number): void {
    const at = this.#find(callNumber);
    if (this.#slots[at] === undefined) return;
    this.#free(at);
    this.#size--;
    if (this.#bits > LEAST_BITS && 8 * this.#size < this.#slots.length) this.#resize(this.#bits - 1);
  }

  /** All present calls. */
  list(): readonly Call[] {
    return this.#size === 0 ? [] : this.#slots.filter((call) => call !== undefined);
  }

  #slotOf(callNumber: number): number {
    return Math.imul(callNumber, SPREAD) >>> (32 - this.#bits);
  }

  /** Index of a call, or of the free slot for it. */
  #find(callNumber: number): number {
    const slots = this.#slots;
    const last = slots.length - 1;
    let at = this.#slotOf(callNumber);
    for (let call = slots[at]; call !== undefined && call.callNumber !== callNumber; call = slots[at]) {
      at = (at + 1) & last;
    }
    return at;
  }

  /** Frees a slot. Later calls that belong before it move up, as a search ends at a free slot. */
  #free(at: number): void {
    const slots = this.#slots;
    const last = slots.length - 1;
    let free = at;
    let next = (at + 1) & last;
    for (let call = slots[next]; call !== undefined; call = slots[next]) {
      const isInReach = ((next - this.#slotOf(call.callNumber)) & last) >= ((next - free) & last);
      if (isInReach) {
        slots[free] = call;
        free = next;
      }
      next = (next + 1) & last;
    }
    slots[free] = undefined;
  }

  #resize(bits: number): void {
    const calls = this.list();
    this.#bits = bits;
    this.#slots = emptySlots(bits);
    for (const call of calls) this.#slots[this.#find(call.callNumber)] = call;
  }
}

function emptySlots<Call>(bits: number): (Call | undefined)[] {
  return bits === LEAST_BITS ? FEWEST_SLOTS.slice() : Array.from<Call | undefined>({ length: 2 ** bits });
}
