import { randomUUID } from "node:crypto";
import type { RedisConnection } from "../redis/connection.ts";
import type { Seal } from "../redis/seal.ts";
import type { FleetKeys } from "./keys.ts";

/** Longer texts have a key of their own, in characters: they would make streams and queues slow for all others. */
const INLINE_MAX = 64 * 1024;
/** How long such a key lives. */
export const SIDE_TTL_MS = 10 * 60_000;

/** Texts as they lie in Redis: sealed where the fleet has a secret, and long ones beside what names them. */
export class Payloads {
  readonly #connection: RedisConnection;
  readonly #keys: FleetKeys;
  readonly #seal: Seal;

  constructor(connection: RedisConnection, keys: FleetKeys, seal: Seal) {
    this.#connection = connection;
    this.#keys = keys;
    this.#seal = seal;
  }

  /** `about`: where it will lie. What a long text needs beside it is sent now, so that it is there before what names it. */
  pack(text: string, about: string, ttlMs = SIDE_TTL_MS): string {
    if (text.length <= INLINE_MAX) return `=${this.#seal.close(text, about)}`;
    const key = this.#keys.of("side", randomUUID());
    this.#connection.client.set(key, this.#seal.close(text, `${about} ${key}`), "PX", ttlMs).catch(() => undefined);
    return `@${key}`;
  }

  /** Throws where it is not what was packed for this place, or its key has expired. */
  async unpack(packed: string, about: string): Promise<string> {
    if (packed.startsWith("=")) return this.#seal.open(packed.slice(1), about);
    const side = this.sideOf(packed);
    if (side === null) throw new Error("a payload that is none");
    const sealed = await this.#connection.client.get(side);
    if (sealed === null) throw new Error("a payload that has expired");
    return this.#seal.open(sealed, `${about} ${side}`);
  }

  /** The key of a text that has one of its own: whoever is the last to read it takes it away, so that it need not expire. */
  sideOf(packed: string): string | null {
    const isSide = packed.startsWith(`@${this.#keys.of("side", "")}`);
    return isSide ? packed.slice(1) : null;
  }
}
