import { randomUUID } from "node:crypto";
import type { RedisConnection } from "../redis/connection.ts";
import { ProtocolError } from "../../kernel/base/protocol/wire.ts";
import type { Seal } from "../../kernel/store/seal.ts";
import type { FleetKeys } from "./keys.ts";

/**
 * Maximum length of an inline text, in characters. Longer texts have a key of their own: inline they would slow streams
 * and queues for everyone.
 */
const INLINE_MAX = 64 * 1024;
/** Lifetime of a side key, in milliseconds. */
const SIDE_TTL_MS = 10 * 60_000;

/** Maximum size read of a side key, in bytes: the longest output, JSON-encoded twice and in Base64. */
const SIDE_MAX_BYTES = 256 * 1024 * 1024;

export interface PayloadConnections {
  /** Writes side texts: the message that names one follows it on this connection. */
  readonly connection: RedisConnection;
  /** Reads side texts, so that other requests need not wait for them. */
  readonly bulk: RedisConnection;
}

/** Texts in Redis: sealed if the fleet has a secret; long ones under side keys. */
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
   * `about`: the place that the text is bound to; it need not be a key. A long text's side key is written now, before
   * the message that names it.
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

  /** Throws if the text was packed for another place, or its side key has expired. */
  async unpack(packed: string, about: string): Promise<string> {
    const place = this.#placeOf(about);
    if (packed.startsWith("=")) return this.#seal.open(packed.slice(1), place);
    const side = this.sideOf(packed);
    if (side === null) throw new ProtocolError("an invalid payload");
    const sealed = await this.#connections.bulk.client.getrange(side, 0, SIDE_MAX_BYTES);
    if (sealed === "") throw new ProtocolError("a payload that has expired");
    return this.#seal.open(sealed, `${place} ${side}`);
  }

  /** The side key of a text, or `null`. The last reader removes the key, so that it need not wait for its expiry. */
  sideOf(packed: string): string | null {
    const isSide = packed.startsWith(`@${this.#keys.of("side", "")}`);
    return isSide ? packed.slice(1) : null;
  }

  /** Contains the fleet's prefix: fleets that share a secret cannot read each other's texts. */
  #placeOf(about: string): string {
    return `${this.#keys.prefix} ${about}`;
  }
}
