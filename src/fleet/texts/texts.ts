import { BoundedCache } from "../../kernel/base/bounded-cache.ts";
import type { RedisConnection } from "../redis/connection.ts";
import type { FleetKeys } from "../wire/keys.ts";
import { identify, isTextRef, pack, storedBytesMax, type TextRef, type TextSeal, unpack } from "./packing.ts";
import { type TextStore, TextFailure, oversized } from "./text-store.ts";
import { inTime } from "../../kernel/base/deadline.ts";
import { replyOf, wordsOfLoss, wordsOfReply } from "../redis/reply.ts";

export type { TextRef, TextSeal };

/** The places of tools' code, for both sides of a fleet. */
export interface TextsOptions {
  /** Preferably a dedicated connection: other commands wait behind a large text. */
  readonly connection: RedisConnection;
  readonly keys: FleetKeys;
  readonly seal: TextSeal;
  /** Store for texts that are too large for Redis: see `openTextStore`. Default: none. */
  readonly store?: TextStore | undefined;
  /** Longest wait for Redis, in milliseconds. Default 10,000. */
  readonly waitMs?: number | undefined;
  /** Lifetime of a text in Redis after its last publication, in milliseconds. Default one hour. */
  readonly ttlMs?: number | undefined;
}

export interface TextPublisherOptions extends TextsOptions {
  /** Maximum size of a text in Redis, compressed and sealed. Default 16 MiB. */
  readonly codeMaxBytes?: number | undefined;
}

export interface TextReaderOptions extends TextsOptions {
  /** Maximum size of the cache in memory. Default 256 MiB. */
  readonly cacheBytes?: number | undefined;
}

/** A publisher's knowledge of a text: published, or unusable for a machine. */
type PublishedState =
  | { readonly kind: "published"; readonly ref: TextRef; readonly freshUntilMs: number; readonly untilMs: number }
  | { readonly kind: "missing" | "damaged" };

/** A text in a machine's memory, and its size there. */
interface CachedText {
  readonly text: string;
  readonly bytes: number;
}

type Identity = Pick<TextRef, "hash" | "bytes">;

const WAIT_DEFAULT_MS = 10_000;
const TTL_DEFAULT_MS = 3_600_000;
const MIB = 1024 * 1024;
const CODE_MAX_DEFAULT_BYTES = 16 * MIB;
const CACHE_DEFAULT_BYTES = 256 * MIB;
const ENTRIES_MAX = 4_096;

/** The places of a fleet's texts, and their keys. */
class TextStores {
  readonly #redis: TextStore;
  readonly #store: TextStore | undefined;
  readonly #keys: FleetKeys;

  constructor(options: TextsOptions) {
    const { connection, keys, store, waitMs = WAIT_DEFAULT_MS, ttlMs = TTL_DEFAULT_MS } = options;
    this.#redis = new RedisTextStore(connection, { waitMs, ttlMs });
    this.#store = store;
    this.#keys = keys;
  }

  keyOf({ hash }: Identity): string {
    return this.#keys.of("text", hash);
  }

  of(place: TextRef["place"]): TextStore | undefined {
    switch (place) {
      case "redis":
        return this.#redis;
      case "store":
        return this.#store;
    }
  }
}

/** The server's side: publishes tools' code for machines, each text once. */
export class TextPublisher {
  readonly #places: TextStores;
  readonly #seal: TextSeal;
  readonly #ttlMs: number;
  readonly #codeMaxBytes: number;
  /** Keyed by the text itself, so that a large text is not hashed for each call. */
  readonly #identities = new BoundedCache<Identity>(ENTRIES_MAX, CACHE_DEFAULT_BYTES, ({ bytes }) => bytes);
  readonly #known = new BoundedCache<PublishedState>(ENTRIES_MAX);
  readonly #publishing = new Map<string, Promise<TextRef>>();

  constructor(options: TextPublisherOptions) {
    this.#places = new TextStores(options);
    this.#seal = options.seal;
    this.#ttlMs = options.ttlMs ?? TTL_DEFAULT_MS;
    this.#codeMaxBytes = options.codeMaxBytes ?? CODE_MAX_DEFAULT_BYTES;
  }

  /**
   * Resolves when machines can fetch the text. It is sent once, and its lifetime is extended while it is used. Rejects
   * with a `TextFailure`.
   */
  async publish(text: string): Promise<TextRef> {
    const identity = this.#identities.getOrMake(text, () => identify(text));
    const known = this.#known.get(identity.hash);
    if (known?.kind !== "published" || performance.now() >= known.untilMs) return this.#once(identity, text);
    // The text still has half of its lifetime, so no call waits for the extension or fails with it: the next call
    // retries.
    if (performance.now() >= known.freshUntilMs) this.#once(identity, text).catch(() => undefined);
    return known.ref;
  }

  isPublished(hash: string): boolean {
    const known = this.#known.get(hash);
    return known?.kind === "published" && performance.now() < known.untilMs;
  }

  /**
   * A machine did not find the text, or could not use it. The next `publish` sends it again: with `missing` only if no
   * other server has; with `damaged` over the stored one.
   */
  forget(hash: string, why: "missing" | "damaged" = "missing"): void {
    this.#known.set(hash, { kind: why });
  }

  #once(identity: Identity, text: string): Promise<TextRef> {
    const { hash } = identity;
    const under = this.#publishing.get(hash);
    if (under !== undefined) return under;
    const publishing = this.#send(identity, text).finally(() => this.#publishing.delete(hash));
    this.#publishing.set(hash, publishing);
    return publishing;
  }

  async #send(identity: Identity, text: string): Promise<TextRef> {
    const sinceMs = performance.now();
    const known = this.#known.get(identity.hash);
    const isDamaged = known?.kind === "damaged";
    const likely = known?.kind === "published" ? known.ref.place : "redis";
    const isThere = !isDamaged && (await this.#places.of(likely)?.keep(this.#places.keyOf(identity)));
    const place = isThere === true ? likely : await this.#put(this.#places.keyOf(identity), text, isDamaged);
    const ref: TextRef = { ...identity, place };
    this.#known.set(identity.hash, {
      kind: "published",
      ref,
      freshUntilMs: sinceMs + this.#ttlMs / 2,
      untilMs: sinceMs + this.#ttlMs,
    });
    return ref;
  }

  async #put(key: string, text: string, isDamaged: boolean): Promise<TextRef["place"]> {
    const stored = await pack(text, this.#seal, key);
    const bytes = Buffer.byteLength(stored);
    const place = bytes <= this.#codeMaxBytes ? "redis" : "store";
    const target = this.#places.of(place);
    if (target === undefined) throw new TextFailure("too_large", tooLargeWords(bytes, this.#codeMaxBytes));
    const isThere = place === "store" && !isDamaged && (await target.keep(key));
    if (!isThere) await target.put(key, stored);
    return place;
  }
}

/** A machine's side: fetches tools' code, caches it within bounds, and verifies each text's digest. */
export class TextReader {
  readonly #places: TextStores;
  readonly #seal: TextSeal;
  readonly #texts: BoundedCache<CachedText>;
  readonly #cacheBytes: number;
  readonly #fetching = new Map<string, Promise<string>>();

  constructor(options: TextReaderOptions) {
    this.#places = new TextStores(options);
    this.#seal = options.seal;
    this.#cacheBytes = options.cacheBytes ?? CACHE_DEFAULT_BYTES;
    this.#texts = new BoundedCache(ENTRIES_MAX, this.#cacheBytes, ({ bytes }) => bytes);
  }

  /** The text that a reference names. Rejects with a `TextFailure`. */
  async fetch(ref: TextRef): Promise<string> {
    const kept = this.#texts.get(ref.hash);
    if (kept !== undefined) return kept.text;
    const under = this.#fetching.get(ref.hash);
    if (under !== undefined) return under;
    const fetching = this.#read(ref).finally(() => this.#fetching.delete(ref.hash));
    this.#fetching.set(ref.hash, fetching);
    return fetching;
  }

  async #read(ref: TextRef): Promise<string> {
    if (!isTextRef(ref)) throw new TextFailure("damaged", "a call has an invalid reference to its tool's code");
    const place = this.#places.of(ref.place);
    if (place === undefined)
      throw new TextFailure(
        "unreachable",
        "the tool's code is in a store, and this machine's executor.store names none",
      );
    const key = this.#places.keyOf(ref);
    const stored = await place.get(key, storedBytesMax(ref));
    if (stored === null) throw new TextFailure("missing", "the tool's code is missing in the store");
    const text = await unpack(stored, this.#seal, key, ref);
    const bytes = weigh(text, ref);
    // A larger text would evict all others.
    if (bytes <= this.#cacheBytes) this.#texts.set(ref.hash, { text, bytes });
    return text;
  }
}

/** Memory of a text in V8: one byte for each unit if all are ASCII, two otherwise. */
function weigh(text: string, { bytes }: TextRef): number {
  return bytes === text.length ? bytes : 2 * text.length;
}

function tooLargeWords(bytes: number, codeMaxBytes: number): string {
  return (
    `the tool's code takes ${bytes} bytes, and Redis is given no more than ${codeMaxBytes}: ` +
    "raise executor.codeMaxBytes, or name a folder or a bucket in executor.store"
  );
}

export interface RedisTextStoreOptions {
  /** Lifetime of a text after its last publication, in milliseconds. */
  readonly ttlMs: number;
  /** Longest wait for Redis, in milliseconds. */
  readonly waitMs: number;
}

/** Texts in Redis itself: the default place for all that are small enough. */
class RedisTextStore implements TextStore {
  readonly #connection: RedisConnection;
  readonly #ttlMs: number;
  readonly #waitMs: number;

  constructor(connection: RedisConnection, { ttlMs, waitMs }: RedisTextStoreOptions) {
    this.#connection = connection;
    this.#ttlMs = ttlMs;
    this.#waitMs = waitMs;
  }

  async keep(key: string): Promise<boolean> {
    return (await this.#ask((client) => client.pexpire(key, this.#ttlMs))) === 1;
  }

  async put(key: string, stored: string): Promise<void> {
    await this.#ask((client) => client.set(key, stored, "PX", this.#ttlMs));
  }

  async get(key: string, bytesMax: number): Promise<string | null> {
    // Bounds the read: one byte beyond the maximum reveals an oversized text.
    const stored = await this.#ask((client) => client.getrangeBuffer(key, 0, bytesMax));
    if (stored.length > bytesMax) throw oversized();
    return stored.length === 0 ? null : stored.toString();
  }

  async #ask<Answer>(ask: (client: RedisConnection["client"]) => Promise<Answer>): Promise<Answer> {
    // A command without a connection would wait in memory, and a text may be large.
    if (!(await this.#connection.ready(this.#waitMs))) throw unreachable(wordsOfLoss(this.#connection));
    try {
      const late = () => unreachable("does not answer in time");
      return await inTime(this.#waitMs, ask(this.#connection.client), late);
    } catch (error) {
      if (error instanceof TextFailure) throw error;
      const reply = replyOf(error);
      throw unreachable(reply === undefined ? wordsOfLoss(this.#connection) : wordsOfReply(reply));
    }
  }
}

function unreachable(words: string): TextFailure {
  return new TextFailure("unreachable", `Redis ${words}`);
}
