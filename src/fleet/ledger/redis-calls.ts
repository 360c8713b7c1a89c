import { prefixOf } from "../redis/keys.ts";
import type { RedisConnection } from "../redis/connection.ts";
import { type Seal, SealError } from "../../kernel/store/seal.ts";
import { LateError, ScriptRunner, type Urgency } from "../redis/script.ts";
import { StoreError } from "../../kernel/base/errors.ts";
import type { ClaimResult, KeyedCall, LedgerCapacity } from "../../kernel/store/calls/ledger.ts";
import { LEDGER_SCRIPTS } from "./redis-scripts.ts";

const YEAR_MS = 365 * 24 * 60 * 60 * 1_000;
/** Prefix of data that is not yet a result; a result begins with a brace. */
const LEFT = "left:";
/** Maximum of limits: larger ones are no limit in practice, and not exact integers in Lua. */
const MOST = 2 ** 50;

interface RedisCallsOptions {
  readonly fleet: string;
  readonly room: LedgerCapacity;
  readonly seal: Seal;
}

/**
 * The calls of a ledger in Redis. A call's holder is `PROCESS:CLAIM`. Times default to the clock of Redis, because the
 * clocks of machines differ.
 */
export class RedisCalls {
  readonly #runner: ScriptRunner;
  readonly #prefix: string;
  readonly #books: readonly string[];
  readonly #room: readonly number[];
  readonly #seal: Seal;

  constructor(connection: RedisConnection, { fleet, room, seal }: RedisCallsOptions) {
    this.#runner = new ScriptRunner(connection);
    this.#prefix = prefixOf(fleet, "ledger");
    this.#books = ["holders", "begun", "ended", "books", "calls", "bytes"].map((name) => `${this.#prefix}:${name}`);
    this.#room = [Math.min(room.ttlMs, YEAR_MS), Math.min(room.maxEntries, MOST), Math.min(room.maxBytes, MOST)];
    this.#seal = seal;
  }

  /** Claims a call for a holder, if it is unknown and no other holder has it. */
  async claim(call: KeyedCall, holder: string, nowMs?: number): Promise<ClaimResult> {
    const digest = hexOf(call.digest);
    const args = [hexOf(call.asked), holder, call.mayRepeat ? 1 : 0, hexOf(call.tenant), ...this.#room];
    try {
      return this.#read(digest, await this.#run("claim", digest, args, "now", nowMs));
    } catch (error) {
      // The script may still run, and would then leave an unused claim on the call.
      if (error instanceof LateError) void this.release(digest, holder, nowMs).catch(() => undefined);
      throw error;
    }
  }

  /** Records the result of a call, `null` if it cannot be written; returns whether the holder still held it. */
  async settle(digest: string, holder: string, result: string | null, nowMs?: number): Promise<boolean> {
    const sealed = result === null ? "" : this.#seal.close(result, this.#callKey(digest));
    const length = result === null ? 0 : Buffer.byteLength(result);
    return (await this.#run("settle", digest, [holder, length, sealed], "later", nowMs)) === 1;
  }

  /**
   * Records another machine's data on a call's end, in place of its lost holder; returns whether the holder still held
   * it.
   */
  leaveEnd(digest: string, holder: string, end: string): Promise<boolean> {
    return this.settle(digest, holder, LEFT + end);
  }

  /** Registers a process that continues a call whose holder is lost; returns whether the holder still holds it. */
  async carry(digest: string, holder: string, carrier: string): Promise<boolean> {
    return (await this.#run("carry", digest, [holder, carrier], "now")) === 1;
  }

  /** Undoes `carry`. */
  async putDown(digest: string, holder: string, carrier: string): Promise<void> {
    await this.#run("putDown", digest, [holder, carrier], "later");
  }

  /** Forgets a call that was not run. */
  async release(digest: string, holder: string, nowMs?: number): Promise<void> {
    await this.#run("release", digest, [holder], "later", nowMs);
  }

  /** Records a heartbeat of a process. */
  async see(owner: string, nowMs?: number): Promise<void> {
    await this.#run("see", "", [owner], "now", nowMs);
  }

  /** Removes a process that ends: calls it has begun and not settled are lost. */
  async leave(owner: string): Promise<void> {
    await this.#run("leave", "", [owner], "now");
  }

  /** Removes some expired calls from the books; Redis expires the calls themselves. */
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
