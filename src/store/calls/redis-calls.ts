import type { RedisConnection } from "../redis/connection.ts";
import { type Seal, SealError } from "../redis/seal.ts";
import { LateError, ScriptRunner, type Urgency } from "../redis/script.ts";
import { StoreError } from "../../base/errors.ts";
import type { ClaimResult, KeyedCall, LedgerCapacity } from "./ledger.ts";
import { LEDGER_SCRIPTS } from "./redis-scripts.ts";

const YEAR_MS = 365 * 24 * 60 * 60 * 1_000;
/** With this begins what is no result yet; a result begins with a brace. */
const LEFT = "left:";
/** Larger numbers are as good as none, and not whole ones in Lua. */
const MOST = 2 ** 50;

interface RedisCallsOptions {
  readonly fleet: string;
  readonly room: LedgerCapacity;
  readonly seal: Seal;
}

/**
 * The calls of a ledger in Redis. A call's holder is a process and its claim, with a colon between them. What takes a
 * time goes by the clock of Redis where none is given, because those of several machines differ.
 */
export class RedisCalls {
  readonly #runner: ScriptRunner;
  readonly #prefix: string;
  readonly #books: readonly string[];
  readonly #room: readonly number[];
  readonly #seal: Seal;

  constructor(connection: RedisConnection, { fleet, room, seal }: RedisCallsOptions) {
    this.#runner = new ScriptRunner(connection);
    // A tag that no fleet's own keys have, so that a cluster may keep them elsewhere.
    this.#prefix = `{glovebox:${fleet}:ledger}`;
    this.#books = ["holders", "begun", "ended", "books", "calls", "bytes"].map((name) => `${this.#prefix}:${name}`);
    this.#room = [Math.min(room.ttlMs, YEAR_MS), Math.min(room.maxEntries, MOST), Math.min(room.maxBytes, MOST)];
    this.#seal = seal;
  }

  /** Makes a call the holder's to run, if it is nobody's, and nothing is known of it. */
  async claim(call: KeyedCall, holder: string, nowMs?: number): Promise<ClaimResult> {
    const digest = hexOf(call.digest);
    const args = [hexOf(call.asked), holder, call.mayRepeat ? 1 : 0, hexOf(call.tenant), ...this.#room];
    try {
      return this.#read(digest, await this.#run("claim", digest, args, "now", nowMs));
    } catch (error) {
      // It may yet be done, and would be held by a claim that nobody knows of.
      if (error instanceof LateError) void this.release(digest, holder, nowMs).catch(() => undefined);
      throw error;
    }
  }

  /** Keeps how a call ended, `null` where that cannot be written; answers whether it was still the holder's to say. */
  async settle(digest: string, holder: string, result: string | null, nowMs?: number): Promise<boolean> {
    const sealed = result === null ? "" : this.#seal.close(result, this.#callKey(digest));
    const length = result === null ? 0 : Buffer.byteLength(result);
    return (await this.#run("settle", digest, [holder, length, sealed], "later", nowMs)) === 1;
  }

  /** Keeps what a machine says of a call's end in the place of its holder; answers whether it was still the holder's to say. */
  leaveEnd(digest: string, holder: string, end: string): Promise<boolean> {
    return this.settle(digest, holder, LEFT + end);
  }

  /** Says that a process goes on with a call whose holder is missed; answers whether it is still the holder's. */
  async carry(digest: string, holder: string, carrier: string): Promise<boolean> {
    return (await this.#run("carry", digest, [holder, carrier], "now")) === 1;
  }

  /** Whoever carried a call does so no longer. */
  async putDown(digest: string, holder: string, carrier: string): Promise<void> {
    await this.#run("putDown", digest, [holder, carrier], "later");
  }

  /** Forgets a call that did not come to be. */
  async release(digest: string, holder: string, nowMs?: number): Promise<void> {
    await this.#run("release", digest, [holder], "later", nowMs);
  }

  /** Says that a process is there. */
  async see(owner: string, nowMs?: number): Promise<void> {
    await this.#run("see", "", [owner], "now", nowMs);
  }

  /** A process ends: what it has begun and not settled has ended with it. */
  async leave(owner: string): Promise<void> {
    await this.#run("leave", "", [owner], "now");
  }

  /** Takes some of what has expired out of the books; Redis itself forgets it sooner or later. */
  async sweep(nowMs?: number): Promise<void> {
    await this.#run("sweep", "", [], "now", nowMs);
  }

  #run(
    name: keyof typeof LEDGER_SCRIPTS,
    digest: string,
    args: readonly (string | number)[],
    urgency: Urgency,
    nowMs: number | "" = "",
  ): Promise<unknown> {
    const keys = [...this.#books, this.#callKey(digest)];
    return this.#runner.run({ script: LEDGER_SCRIPTS[name], keys, args: [this.#prefix, nowMs, ...args], urgency });
  }

  #callKey(digest: string): string {
    return `${this.#prefix}:call:${digest}`;
  }

  #read(digest: string, answer: unknown): ClaimResult {
    const [kind, result]: readonly unknown[] = Array.isArray(answer) ? answer : [];
    switch (kind) {
      case "mine":
      case "running":
      case "conflict":
        return { kind };
      case "kept": {
        const text = this.#open(digest, String(result));
        return text.startsWith(LEFT) ? { kind: "left", end: text.slice(LEFT.length) } : { kind, result: text };
      }
      case "ended":
        return { kind: "unknown", hasEnded: true };
      case "lost":
        return { kind: "unknown", hasEnded: false };
      default:
        throw new StoreError("the store has what cannot be read");
    }
  }

  #open(digest: string, sealed: string): string {
    try {
      return this.#seal.open(sealed, this.#callKey(digest));
    } catch (error) {
      if (!(error instanceof SealError)) throw error;
      throw new StoreError(`the store has a result that is not what was kept: ${error.message}`, { cause: error });
    }
  }
}

function hexOf(digest: Uint8Array): string {
  return Buffer.from(digest).toString("hex");
}
