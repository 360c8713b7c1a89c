import { randomUUID } from "node:crypto";
import type { RedisConnection } from "../../store/redis/connection.ts";
import { ProtocolError } from "../../base/protocol/wire.ts";
import type { Seal } from "../../store/redis/seal.ts";
import type { FleetKeys } from "./keys.ts";

/** Longer texts have a key of their own, in characters: they would make streams and queues slow for all others. */
const INLINE_MAX = 64 * 1024;
/** Lifetime of such a key. */
export const SIDE_TTL_MS = 10 * 60_000;

/** The most that is fetched of such a key, in bytes: the longest output, written as JSON twice and in Base64. */
const SIDE_MAX_BYTES = 256 * 1024 * 1024;

export interface PayloadConnections {
  /** On which long texts are written: what names them is sent after them on it. */
  readonly connection: RedisConnection;
  /** … and on which they are read, so that nothing else waits for them. */
  readonly bulk: RedisConnection;
}

/** Texts as they lie in Redis: sealed where the fleet has a secret, and long ones beside what names them. */
export class Payloads {
  readonly #connections: PayloadConnections;
  readonly #keys: FleetKeys;
  readonly #seal: Seal;

  constructor(connections: PayloadConnections, keys: FleetKeys, seal: Seal) {
    this.#connections = connections;
    this.#keys = keys;
    this.#seal = seal;
  }

  /**
   * `about`: where it will lie, which need be no key. What a long text needs beside it is sent now, so that it is there before what
   * names it.
   */
  pack(text: string, about: string, ttlMs = SIDE_TTL_MS): string {
    const place = this.#placeOf(about);
    if (text.length <= INLINE_MAX) return `=${this.#seal.close(text, place)}`;
    const key = this.#keys.of("side", randomUUID());
    this.#connections.connection.client
      .set(key, this.#seal.close(text, `${place} ${key}`), "PX", ttlMs)
      .catch(() => undefined);
    return `@${key}`;
  }

  /** Throws where it is not what was packed for this place, or its key has expired. */
  async unpack(packed: string, about: string): Promise<string> {
    const place = this.#placeOf(about);
    if (packed.startsWith("=")) return this.#seal.open(packed.slice(1), place);
    const side = this.sideOf(packed);
    if (side === null) throw new ProtocolError("an invalid payload");
    const sealed = await this.#connections.bulk.client.getrange(side, 0, SIDE_MAX_BYTES);
    if (sealed === "") throw new ProtocolError("a payload that has expired");
    return this.#seal.open(sealed, `${place} ${side}`);
  }

  /** The key of a text that has one of its own: whoever is the last to read it takes it away, so that it need not expire. */
  sideOf(packed: string): string | null {
    const isSide = packed.startsWith(`@${this.#keys.of("side", "")}`);
    return isSide ? packed.slice(1) : null;
  }

  /** Fleets that share a secret cannot read each other's. */
  #placeOf(about: string): string {
    return `${this.#keys.prefix} ${about}`;
  }
}
