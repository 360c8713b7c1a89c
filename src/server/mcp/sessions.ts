/** State of a session. */
export interface Held {
  /** Releases the state, which is not used afterwards. */
  end(): void;
}

export interface SessionLimits {
  /** Maximum number of sessions, per key and in total. */
  readonly perKey: number;
  readonly total: number;
  /** Time after which an unused session ends, in milliseconds. */
  readonly idleMs: number;
}

/** Use of a session: a request until its response, or an open notification stream. */
export type Use = "request" | "stream";

interface Place<H extends Held> {
  readonly key: string | null;
  readonly held: H;
  readonly uses: Record<Use, number>;
  lastMs: number;
}

const SWEEP_EVERY_MS = 60_000;

/**
 * Sessions of all clients, each bound to the key that opened it. At a limit, a new session replaces the least recently
 * used one: of the same key, or of the key with the most sessions.
 */
export class Sessions<H extends Held> {
  readonly #limits: SessionLimits;
  /** Least recently used first. */
  readonly #places = new Map<string, Place<H>>();
  readonly #timer: NodeJS.Timeout;

  constructor(limits: SessionLimits) {
    this.#limits = limits;
    this.#timer = setInterval(() => this.#endIdle(), Math.min(limits.idleMs, SWEEP_EVERY_MS)).unref();
  }

  get size(): number {
    return this.#places.size;
  }

  /** Makes room for one more session of a key; `false` if all candidates are in use. */
  makeRoom(key: string | null): boolean {
    const counts = new Map<string | null, number>();
    for (const place of this.#places.values()) counts.set(place.key, (counts.get(place.key) ?? 0) + 1);
    if ((counts.get(key) ?? 0) >= this.#limits.perKey) return this.#endOne(key);
    if (this.#places.size < this.#limits.total) return true;
    const [heaviest] = [...counts].reduce((one, other) => (other[1] > one[1] ? other : one));
    return this.#endOne(heaviest);
  }

  add(id: string, key: string | null, held: H): void {
    this.#places.set(id, { key, held, uses: { request: 0, stream: 0 }, lastMs: performance.now() });
  }

  /** Session with this ID, if the key opened it. It counts as in use until the signal aborts. */
  use(id: string, key: string | null, use: Use, until: AbortSignal): H | undefined {
    const place = this.#places.get(id);
    if (place === undefined || place.key !== key) return undefined;
    place.uses[use]++;
    this.#touch(id, place);
    const leave = (): void => {
      place.uses[use]--;
      this.#touch(id, place);
    };
    if (until.aborted) leave();
    else until.addEventListener("abort", leave, { once: true });
    return place.held;
  }

  /** Removes a session that has ended. */
  delete(id: string): void {
    this.#places.delete(id);
  }

  /** Ends all sessions and stops the timer. */
  close(): void {
    clearInterval(this.#timer);
    for (const id of this.#places.keys()) this.#end(id);
  }

  #touch(id: string, place: Place<H>): void {
    place.lastMs = performance.now();
    if (!this.#places.delete(id)) return;
    this.#places.set(id, place);
  }

  /** Ends a key's least recently used session without a request in progress; preferably one without an open stream. */
  #endOne(key: string | null): boolean {
    const own = [...this.#places].filter(([, place]) => place.key === key && place.uses.request === 0);
    const [id] = own.find(([, { uses }]) => uses.stream === 0) ?? own[0] ?? [];
    if (id === undefined) return false;
    this.#end(id);
    return true;
  }

  #endIdle(): void {
    const sinceMs = performance.now() - this.#limits.idleMs;
    for (const [id, { uses, lastMs }] of this.#places) {
      if (uses.request + uses.stream === 0 && lastMs <= sinceMs) this.#end(id);
    }
  }

  #end(id: string): void {
    const place = this.#places.get(id);
    this.#places.delete(id);
    place?.held.end();
  }
}
