import { BoundedCache } from "../../kernel/base/bounded-cache.ts";
import type { FleetTimings } from "../wire/fleet-timings.ts";
import { type MemberOptions, readServers, countServers, describeForeign, type ServerCounts } from "../wire/members.ts";

const SERVERS_MAX = 10_000;

/** Receives the state of servers. */
export interface ServerMonitorHost {
  /** Servers with jobs or kept calls here. */
  watched(): Iterable<string>;
  /** Reports those of the watched servers that have a heartbeat. */
  onLook(servers: readonly string[], there: ReadonlySet<string>): void;
  onGone(server: string): void;
}

/** Watches the servers whose calls a machine runs. */
export class ServerMonitor {
  readonly #options: MemberOptions;
  readonly #timings: FleetTimings;
  readonly #host: ServerMonitorHost;
  readonly #seenMs = new BoundedCache<number>(SERVERS_MAX);
  readonly #goneUntilMs = new BoundedCache<number>(SERVERS_MAX);
  readonly #timer: NodeJS.Timeout;
  #lookedMs = performance.now();

  constructor(options: MemberOptions, host: ServerMonitorHost) {
    this.#options = options;
    this.#timings = options.timings;
    this.#host = host;
    this.#timer = setInterval(() => void this.#look(), this.#timings.lookMs);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Whether a server was missing for `goneMs`, and has not been seen since. */
  isGone(server: string): boolean {
    return (this.#goneUntilMs.get(server) ?? 0) > performance.now();
  }

  markGone(server: string): void {
    this.#goneUntilMs.set(server, performance.now() + this.#timings.goneForMs);
  }

  /** Whether a new job's server has a heartbeat; `null` if Redis does not reply. */
  async isThere(server: string): Promise<boolean | null> {
    const seenMs = this.#seenMs.get(server);
    if (seenMs !== undefined && performance.now() - seenMs < this.#timings.freshMs) return true;
    const there = await readServers(this.#options, [server]);
    if (there === null) return null;
    if (there.has(server)) this.#markSeen(server);
    return there.has(server);
  }

  async #look(): Promise<void> {
    const servers = [...new Set(this.#host.watched())];
    const there = await readServers(this.#options, servers);
    const nowMs = performance.now();
    // Time without Redis does not count towards a server's absence.
    const blindMs = nowMs - this.#lookedMs > 2 * this.#timings.lookMs ? nowMs - this.#lookedMs : 0;
    if (there === null) return;
    this.#lookedMs = nowMs;
    this.#host.onLook(servers, there);
    for (const server of servers) {
      if (there.has(server)) this.#markSeen(server);
      // The absence of a server without any heartbeat so far counts from now, and the server is not fresh.
      else this.#seenMs.set(server, (this.#seenMs.get(server) ?? nowMs - this.#timings.freshMs) + blindMs);
      if (nowMs - (this.#seenMs.get(server) ?? nowMs) < this.#timings.goneMs) continue;
      this.#seenMs.delete(server);
      this.markGone(server);
      this.#host.onGone(server);
    }
  }

  #markSeen(server: string): void {
    this.#goneUntilMs.set(server, 0);
    this.#seenMs.set(server, performance.now());
  }
}

/** Reports servers whose messages a machine cannot read; otherwise their jobs would pass it unnoticed. */
export class ForeignServers {
  readonly #options: MemberOptions;
  readonly #report: (why: string) => void;
  #timer: NodeJS.Timeout | undefined;
  #counts: ServerCounts = { own: 0, foreign: 0 };

  constructor(options: MemberOptions, emit: (why: string) => void) {
    this.#options = options;
    this.#report = emit;
  }

  /** Resolves after the first look. */
  start(): Promise<void> {
    this.#timer ??= setInterval(() => void this.#look(), this.#options.timings.foreignMs);
    return this.#look();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** The reason why no job can come: no server can be read. `null` if one can, or no server exists. */
  get problem(): string | null {
    const { own, foreign } = this.#counts;
    return foreign > 0 && own === 0 ? describeForeign(foreign, "server") : null;
  }

  async #look(): Promise<void> {
    const counts = await countServers(this.#options);
    if (counts === null) return;
    if (counts.foreign > 0 && this.#counts.foreign === 0) this.#report(describeForeign(counts.foreign, "server"));
    this.#counts = counts;
  }
}
