import { type MemberOptions, readServers } from "../fleet/members.ts";

const LOOK_MS = 1_000;
/** A server is gone that is missing for so long, while Redis answers: it may only have lost its connection. */
const GONE_MS = 10_000;
/** What was seen so lately is there. */
const FRESH_MS = 3_000;
const SERVERS_MAX = 10_000;

/** The servers whose calls a machine runs. */
export class Owners {
  readonly #options: MemberOptions;
  readonly #onGone: (server: string) => void;
  /** Those that have something here. */
  readonly #watched: () => Iterable<string>;
  readonly #seenMs = new Map<string, number>();
  /** Since when those could not be seen whose jobs have come, while Redis answered. */
  readonly #missingMs = new Map<string, number>();
  readonly #timer: NodeJS.Timeout;
  #lookedMs = performance.now();

  constructor(options: MemberOptions, watched: () => Iterable<string>, onGone: (server: string) => void) {
    this.#options = options;
    this.#watched = watched;
    this.#onGone = onGone;
    this.#timer = setInterval(() => void this.#look(), LOOK_MS);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Whether a server is there whose job has come. `null` where nobody can say. */
  async isThere(server: string): Promise<boolean | null> {
    const seenMs = this.#seenMs.get(server);
    if (seenMs !== undefined && performance.now() - seenMs < FRESH_MS) return true;
    const there = await readServers(this.#options, [server]);
    if (there === null) this.#missingMs.clear();
    else if (there.has(server)) this.#note(server);
    else this.#miss(server);
    return there?.has(server) ?? null;
  }

  /** Whether a server has been looked for, and missing, for so long that no job of it is wanted any more. */
  isGone(server: string): boolean {
    return performance.now() - (this.#missingMs.get(server) ?? Infinity) >= GONE_MS;
  }

  async #look(): Promise<void> {
    const servers = [...new Set(this.#watched())];
    const there = await readServers(this.#options, servers);
    const nowMs = performance.now();
    // While Redis was away nobody could be seen, so that time counts for nobody.
    const blindMs = nowMs - this.#lookedMs > 2 * LOOK_MS ? nowMs - this.#lookedMs : 0;
    if (there === null) return;
    this.#lookedMs = nowMs;
    for (const server of servers) {
      if (there.has(server)) this.#note(server);
      else this.#seenMs.set(server, (this.#seenMs.get(server) ?? nowMs) + blindMs);
      if (nowMs - (this.#seenMs.get(server) ?? nowMs) < GONE_MS) continue;
      this.#seenMs.delete(server);
      this.#missingMs.set(server, nowMs - GONE_MS);
      this.#onGone(server);
    }
  }

  #note(server: string): void {
    this.#missingMs.delete(server);
    this.#seenMs.delete(server);
    this.#seenMs.set(server, performance.now());
    forgetOldest(this.#seenMs);
  }

  #miss(server: string): void {
    if (this.#missingMs.has(server)) return;
    this.#missingMs.set(server, performance.now());
    forgetOldest(this.#missingMs);
  }
}

function forgetOldest(servers: Map<string, number>): void {
  for (const oldest of servers.keys()) {
    if (servers.size <= SERVERS_MAX) return;
    servers.delete(oldest);
  }
}
