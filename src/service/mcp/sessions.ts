/** What a session holds. */
export interface Held {
  /** Ends what it holds; nothing more is asked of it. */
  end(): void;
}

export interface SessionLimits {
  /** Sessions at once: of one key, and of all. */
  readonly perKey: number;
  readonly total: number;
  /** How long a session is kept that nobody uses, in milliseconds. */
  readonly idleMs: number;
}

/** What a session is used for: a request that is answered, or a stream on which its client waits for news. */
export type Use = "request" | "stream";

interface Place<H extends Held> {
  readonly key: string | null;
  readonly held: H;
  readonly uses: Record<Use, number>;
  lastMs: number;
}

const SWEEP_EVERY_MS = 60_000;

/**
 * The sessions of all clients, each bound to the key that it was opened with. Where there is no room for another, the
 * one that was used least recently makes it: of the same key, or else of the key that has most of them.
 */
export class Sessions<H extends Held> {
  readonly #limits: SessionLimits;
  /** Those used least recently first. */
  readonly #places = new Map<string, Place<H>>();
  readonly #timer: NodeJS.Timeout;

  constructor(limits: SessionLimits) {
    this.#limits = limits;
    this.#timer = setInterval(() => this.#endIdle(), Math.min(limits.idleMs, SWEEP_EVERY_MS)).unref();
  }

  get size(): number {
    return this.#places.size;
  }

  /** Makes room for one more of a key; says whether there is any. */
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

  /** The session of that name, unless it is another key's. It is in use until the signal says otherwise. */
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

  /** Forgets one that has ended. */
  delete(id: string): void {
    this.#places.delete(id);
  }

  /** Ends all, for good. */
  close(): void {
    clearInterval(this.#timer);
    for (const id of this.#places.keys()) this.#end(id);
  }

  #touch(id: string, place: Place<H>): void {
    place.lastMs = performance.now();
    if (!this.#places.delete(id)) return;
    this.#places.set(id, place);
  }

  /** Ends the one that a key used least recently and that answers nothing now; best one whose client does not listen. */
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
