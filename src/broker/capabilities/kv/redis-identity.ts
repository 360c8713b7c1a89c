import { randomUUID } from "node:crypto";
import { Script } from "../../../store/redis/script.ts";
import type { RedisLink } from "./redis-link.ts";

const KEY = "glovebox:kv:identity";
const FORM = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const LOOK_MS = 5_000;
/** What was not seen again for so long is not known any more. */
const FRESH_MS = 15_000;
/** What was answered while a connection came tells nothing, so it is asked again. */
const TRIES = 2;

/** KEYS: where the identity is. ARGV: what it becomes where there is none. Answers what it is. */
const IDENTIFY = new Script(`
local known = redis.call("GET", KEYS[1])
if known then
  -- A Redis that only reads must not say whose it is.
  redis.call("PERSIST", KEYS[1])
  return known
end
redis.call("SET", KEYS[1], ARGV[1])
return ARGV[1]
`);

/**
 * Which store it is that a Redis holds: a random id that lies in it. Two URLs with one identity are one store, as long as nobody
 * copies it. One that was emptied gets another identity. From the first time that somebody asks it is looked at again and again.
 */
export class RedisIdentity {
  readonly #link: RedisLink;
  readonly #closed = new AbortController();
  /** What was seen last, by which connection and when. */
  #seen: { readonly id: string | null; readonly connections: number; readonly ms: number } | null = null;
  #timer: NodeJS.Timeout | undefined;
  #isLooking = false;

  constructor(link: RedisLink) {
    this.#link = link;
  }

  /** `null` as long as it is not known: behind another connection there may be another store. */
  get known(): string | null {
    const seen = this.#seen;
    const isCurrent = seen?.connections === this.#link.connections;
    if (!isCurrent) void this.#look();
    return isCurrent && performance.now() - seen.ms < FRESH_MS ? seen.id : null;
  }

  close(): void {
    this.#closed.abort();
    clearInterval(this.#timer);
    this.#seen = null;
  }

  async #look(): Promise<void> {
    const { signal } = this.#closed;
    if (signal.aborted || this.#isLooking) return;
    this.#timer ??= setInterval(() => void this.#look(), LOOK_MS).unref();
    this.#isLooking = true;
    for (let tries = 0; tries < TRIES; tries++) {
      const { connections } = this.#link;
      const id = await this.#link.run({ signal }, IDENTIFY, [KEY], [randomUUID()]).catch(() => null);
      if (signal.aborted) return;
      const isOurs = typeof id === "string" && FORM.test(id) && connections === this.#link.connections;
      this.#seen = { id: isOurs ? id : null, connections: this.#link.connections, ms: performance.now() };
      if (isOurs) break;
    }
    this.#isLooking = false;
  }
}
