/**
 * Memory that isolates hold, by tenant, in memory that the workers share with the watch of their process: if the
 * process has too much, the tenant that holds most gives back first.
 */

/** Isolates of one worker that are listed; those that are left out are not shed. */
const ISOLATES_MAX = 64;
/** Numbers of an entry: isolate, tenant, bytes, calls in flight. */
const FIELDS = 4;
const WORKER_FIELDS = ISOLATES_MAX * FIELDS;

/** Memory of an isolate when it was last measured. */
export interface Holding {
  readonly worker: number;
  /** Its number in turn records. */
  readonly isolate: number;
  readonly tenant: number;
  readonly bytes: number;
  readonly calls: number;
}

export function holdingsBuffer(workers: number): SharedArrayBuffer {
  return new SharedArrayBuffer(workers * WORKER_FIELDS * Float64Array.BYTES_PER_ELEMENT);
}

/** All holdings, of all workers. */
export function readHoldings(buffer: SharedArrayBuffer): Holding[] {
  const fields = new Float64Array(buffer);
  const holdings: Holding[] = [];
  for (let at = 0; at < fields.length; at += FIELDS) {
    const [isolate = 0, tenant = 0, bytes = 0, calls = 0] = fields.subarray(at, at + FIELDS);
    if (isolate !== 0) holdings.push({ worker: Math.floor(at / WORKER_FIELDS), isolate, tenant, bytes, calls });
  }
  return holdings;
}

/** Removes an isolate that is being shed: its worker detects that, and uses it no more. */
export function removeHolding(buffer: SharedArrayBuffer, { worker, isolate }: Holding): void {
  const fields = fieldsOf(buffer, worker);
  for (let at = 0; at < fields.length; at += FIELDS) if (fields[at] === isolate) fields[at] = 0;
}

function fieldsOf(buffer: SharedArrayBuffer, worker: number): Float64Array {
  return new Float64Array(buffer, worker * WORKER_FIELDS * Float64Array.BYTES_PER_ELEMENT, WORKER_FIELDS);
}

/** A worker's part of the table. */
export class WorkerHoldings {
  readonly #fields: Float64Array;

  constructor(buffer: SharedArrayBuffer, worker: number) {
    this.#fields = fieldsOf(buffer, worker);
    // A thread that replaces another one has none of its isolates.
    this.#fields.fill(0);
  }

  /** Lists an isolate. If there is no room, its entry does nothing. */
  open(isolate: number, tenant: number): HeldMemory {
    for (let at = 0; at < this.#fields.length; at += FIELDS) {
      if (this.#fields[at] === 0) return new HeldMemory(this.#fields.subarray(at, at + FIELDS), isolate, tenant);
    }
    return new HeldMemory(new Float64Array(FIELDS), isolate, tenant);
  }
}

/** The entry of one isolate, which its worker keeps up to date. */
export class HeldMemory implements Disposable {
  readonly #fields: Float64Array;
  readonly #isolate: number;

  constructor(fields: Float64Array, isolate: number, tenant: number) {
    this.#fields = fields;
    this.#isolate = isolate;
    fields.set([isolate, tenant, 0, 0]);
  }

  /** Whether the watch has ended the isolate for its memory. */
  get isShed(): boolean {
    return this.#fields[0] !== this.#isolate;
  }

  set bytes(bytes: number) {
    if (!this.isShed) this.#fields[2] = bytes;
  }

  set calls(calls: number) {
    if (!this.isShed) this.#fields[3] = calls;
  }

  [Symbol.dispose](): void {
    if (!this.isShed) this.#fields[0] = 0;
  }
}
