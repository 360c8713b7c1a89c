import { prefixOf } from "../redis/keys.ts";
import { randomInt, randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { StoreError } from "../../kernel/base/errors.ts";
import type { RedisConnection } from "../redis/connection.ts";
import { isPassing } from "../redis/reply.ts";
import { RefusedError, type Script, ScriptRunner } from "../redis/script.ts";
import { Seal } from "../../kernel/store/seal.ts";
import type { StoredRow } from "../../kernel/store/calls/call-lines.ts";
import { isMatch } from "../../kernel/store/calls/call-match.ts";
import type { WrittenDetail } from "../../kernel/store/calls/call-redaction.ts";
import {
  CALL_FORMAT,
  type CallCells,
  type CallDetail,
  type CallPage,
  type CallPlace,
  type CallQuery,
  cursorAfter,
  type KeptRun,
  keptRunOf,
  readFilter,
  type StoredCall,
  summaryOf,
} from "../../kernel/store/calls/call-record.ts";
import type { CallRoom } from "../../kernel/store/calls/call-tables.ts";
import { DEFAULT_DURABLE } from "../../kernel/store/calls/durable/durable-call.ts";
import { type CallBackend, type OpenCalls, StoreFailure } from "../../kernel/store/calls/thread/call-backend.ts";
import type { StoreProblem } from "../../kernel/store/calls/thread/messages.ts";
import type { DurableAnswer, DurableStep } from "../../kernel/store/calls/durable/durable-step.ts";
import { RedisDurableCalls } from "../durable-calls/redis-durable-calls.ts";
import { KeptChannel } from "./kept-channel.ts";
import { CALL_SCRIPTS } from "./scripts.ts";
import { isSealError, memberOf, placeOf, SealedRows, type SealedRow, shownOf } from "./sealed-rows.ts";

/** Calls, and characters, that one script writes: Redis serves no other client for up to a millisecond. */
const WRITTEN_MAX = 64;
const WRITTEN_CHARS = 1024 * 1024;
/** Calls that one list examines, and those of them that it opens: some 50 ms. */
const SCANNED_MAX = 20_000;
const OPENED_MAX = 4_000;
/** Pause between scripts of one list. */
const PAUSE_MS = 1;
/** Calls that one script hands over to be opened. */
const FOUND_MAX = 200;
/** Calls that a check of the store examines. */
const NEWEST = 20;
/** Scripts by which one batch makes room. */
const PIECES_MAX = 16;
/** The longest expiry: far longer ones are refused. */
const EXPIRY_MAX_MS = 10 * 365 * 24 * 60 * 60 * 1_000;
/** Parts of the number of a call: of a process, and its own. */
const PROCESSES = 2 ** 22;
const CALLS_OF_PROCESS = 2 ** 27;
const BOOKS = ["rows", "details", "all", "failed", "dated", "ids", "books"];

/** Place of kept calls in Redis. */
export interface CallsAddress {
  readonly url: string;
  /** Name under which servers share calls, among several in one Redis. */
  readonly fleet: string;
  /** Seals the data in Redis. */
  readonly secret: string;
}

export interface RedisSettings extends CallsAddress, CallRoom {}

/** Opens them, with the values that the factory of the store has resolved. */
export const open: OpenCalls = (own, room) => RedisKeptCalls.open({ ...(own as CallsAddress), ...room });

type Args = readonly (string | number)[];

interface Found {
  readonly member: string;
  readonly cells: CallCells;
  readonly detail: WrittenDetail | null;
}

/** Calls in Redis, which servers share. */
export class RedisKeptCalls implements CallBackend {
  /** The first connection takes longest. */
  readonly patienceMs = 500;
  readonly #connection: RedisConnection;
  readonly #runner: ScriptRunner;
  readonly #settings: RedisSettings;
  readonly #prefix: string;
  readonly #rows: SealedRows;
  readonly #durable: RedisDurableCalls;
  /** Number of this process: there is no common counter of calls. */
  #process = randomInt(PROCESSES);
  /** Its name in reports to watchers. */
  readonly #sender = randomUUID();
  #channel: KeptChannel | null = null;
  /** The last list. */
  #listed: Promise<unknown> = Promise.resolve();
  #count = 0;
  /** The list of calls that is being written, and its calls that are not yet. */
  #begun: { readonly rows: readonly StoredRow[]; readonly left: SealedRow[] } | null = null;
  #bytes = 0;

  constructor(connection: RedisConnection, settings: RedisSettings) {
    this.#connection = connection;
    this.#runner = new ScriptRunner(connection);
    this.#settings = settings;
    this.#prefix = prefixOf(settings.fleet, "calls");
    const seal = Seal.of(settings.secret);
    this.#rows = new SealedRows(seal, this.#prefix);
    this.#durable = new RedisDurableCalls({
      runner: this.#runner,
      seal,
      prefix: this.#prefix,
      room: settings.durable ?? DEFAULT_DURABLE,
    });
  }

  /** Begins to connect. */
  static async open(settings: RedisSettings): Promise<RedisKeptCalls> {
    const { RedisConnection: Connection } = await import("../redis/connection.ts");
    const key = `${prefixOf(settings.fleet, "calls")}:rows`;
    return new RedisKeptCalls(Connection.open(settings.url, "glovebox-calls", { key }), settings);
  }

  get bytes(): number {
    return this.#bytes;
  }

  async add(rows: readonly StoredRow[]): Promise<void> {
    // Numbers are assigned once: a repeated write has the same place.
    if (this.#begun?.rows !== rows) {
      this.#begun = { rows, left: rows.map((row) => this.#rows.write(row, this.#nextSeq())) };
    }
    const { left } = this.#begun;
    const { maxAgeMs, detailAgeMs, maxBytes } = this.#settings;
    const ages = [maxAgeMs, detailAgeMs].map((ms) => Math.min(ms, EXPIRY_MAX_MS));
    while (left.length > 0) {
      const piece = firstOf(left);
      const texts = piece.flatMap(({ member, row, detail }) => [member, row, detail]);
      this.#bytes = Number(await this.#write("add", [...ages, this.#sender, ...texts]));
      left.splice(0, piece.length);
    }
    for (let at = 0; at < PIECES_MAX && this.#bytes > maxBytes; at++) await this.#sweepRows(Date.now());
    this.#begun = null;
  }

  /** One list at a time: with any number of requests, Redis has time for other clients. */
  list(query: CallQuery): Promise<CallPage> {
    const listed = this.#listed.then(() => this.#list(query));
    this.#listed = listed.catch(() => undefined);
    return listed;
  }

  async #list(query: CallQuery): Promise<CallPage> {
    const { sets, begin, end, words } = this.#rows.rangeOf(query);
    const keys = this.#keys("rows", ...sets);
    const isSieved = query.text !== null || query.tools !== null;
    const calls: CallCells[] = [];
    let sealed: Error | null = null;
    for (let [from, looked, opened] = [begin, 0, 0]; ;) {
      const most = isSieved ? FOUND_MAX : query.limit - calls.length;
      const answer = await this.#runScript("list", keys, [from, end, most, ...words]);
      const [count, last, isMore, ...texts] = answer as readonly [number, string, number, ...string[]];
      [looked, opened] = [looked + count, opened + texts.length / 2];
      let at = isMore === 1 ? last : null;
      for (let next = 0; next < texts.length && calls.length < query.limit; next += 2) {
        const [member = "", row = ""] = texts.slice(next, next + 2);
        try {
          const cells = this.#rows.read(member, row);
          if (isMatch(cells, query) && calls.push(cells) === query.limit) at = member;
        } catch (error) {
          sealed = failureOf(error);
        }
      }
      const isOver = calls.length === query.limit || looked >= SCANNED_MAX || opened >= OPENED_MAX;
      if (at !== null && !isOver) {
        from = `(${at}`;
        await delay(PAUSE_MS);
        continue;
      }
      // Others are shown without those that cannot be opened.
      if (calls.length === 0 && sealed !== null) throw sealed;
      return { calls: calls.map(summaryOf), cursor: at === null ? null : cursorAfter(placeOf(at)) };
    }
  }

  /** Number of the newest calls, up to 20, and how many of them the secret opens. */
  async openNewest(): Promise<{ readonly found: number; readonly opened: number }> {
    const { sets, begin, end, words } = this.#rows.rangeOf(readFilter({}));
    const answer = await this.#runScript("list", this.#keys("rows", ...sets), [begin, end, NEWEST, ...words]);
    const texts = (answer as readonly [number, string, number, ...string[]]).slice(3) as readonly string[];
    let opened = 0;
    for (let at = 0; at < texts.length; at += 2) {
      const [member = "", row = ""] = texts.slice(at, at + 2);
      if (this.#rows.opens(member, row)) opened++;
    }
    return { found: texts.length / 2, opened };
  }

  async get(id: string, tenant: string | null): Promise<StoredCall | undefined> {
    const found = await this.#find(id, tenant);
    if (found === null) return undefined;
    const { cells, detail } = found;
    return { format: CALL_FORMAT, ...summaryOf(cells), detail: detail && shownOf(detail) };
  }

  async run(id: string, tenant: string | null): Promise<KeptRun | undefined> {
    const found = await this.#find(id, tenant);
    if (found === null) return undefined;
    return keptRunOf(summaryOf(found.cells), placeOf(found.member), found.detail);
  }

  async detail(place: CallPlace): Promise<CallDetail | null> {
    const member = memberOf(place);
    const sealed = await this.#runScript("detail", this.#keys("details"), [member]);
    return typeof sealed === "string" ? shownOf(this.#whole(() => this.#rows.readDetail(member, sealed))) : null;
  }

  async sweep(nowMs: number): Promise<boolean> {
    const isLeft = await this.#sweepRows(nowMs);
    return (await this.#durable.sweep()) || isLeft;
  }

  takeDurable(step: DurableStep): Promise<DurableAnswer> {
    return this.#durable.take(step);
  }

  async #sweepRows(nowMs: number): Promise<boolean> {
    const { maxAgeMs, detailAgeMs, maxBytes } = this.#settings;
    const ends = [maxAgeMs, detailAgeMs].map((ms) => memberOf([nowMs - ms, 0]));
    const [bytes, isLeft] = (await this.#write("sweep", [maxBytes, ...ends])) as readonly unknown[];
    this.#bytes = Number(bytes);
    return isLeft === 1;
  }

  /** Calls after a place, or from the first on, oldest first: some of them. */
  async rowsAfter(place: CallPlace | null): Promise<readonly (readonly [place: CallPlace, row: StoredRow])[]> {
    const begin = place === null ? "-" : `(${memberOf(place)}`;
    const found = await this.#runScript("read", this.#keys("all", "rows", "details"), [begin]);
    return (found as readonly (readonly [string, string | null, string | null])[]).flatMap(([member, row, sealed]) => {
      if (row === null) return [];
      const cells = this.#whole(() => this.#rows.read(member, row));
      const detail = sealed === null ? null : this.#whole(() => this.#rows.readDetail(member, sealed));
      return [[placeOf(member), [cells, detail]] as const];
    });
  }

  watch(tell: ((calls: readonly CallCells[]) => void) | null): void {
    const parts = { connection: this.#connection, prefix: this.#prefix, rows: this.#rows, sender: this.#sender };
    void this.#channel?.[Symbol.asyncDispose]();
    this.#channel = tell && new KeptChannel({ ...parts, tell });
  }

  async close(): Promise<void> {
    this.#durable.close();
    await Promise.all([this.#channel?.[Symbol.asyncDispose](), this.#connection.close()]);
  }

  /** The newest call with an id. Other writers of Redis may have entered any call under the id. */
  async #find(id: string, tenant: string | null): Promise<Found | null> {
    const answer = await this.#runScript("get", this.#keys("ids", "rows", "details"), [
      this.#rows.idDigest(id, tenant),
    ]);
    const [member = null, row = null, sealed = null] = answer as readonly (string | null)[];
    if (member === null || row === null) return null;
    const cells = this.#whole(() => this.#rows.read(member, row));
    const { id: foundId, tenant: foundTenant } = summaryOf(cells);
    if (foundId !== id || (tenant ?? foundTenant) !== foundTenant) return null;
    return { member, cells, detail: sealed === null ? null : this.#whole(() => this.#rows.readDetail(member, sealed)) };
  }

  #nextSeq(): number {
    if (this.#count === CALLS_OF_PROCESS) [this.#process, this.#count] = [randomInt(PROCESSES), 0];
    return this.#process * CALLS_OF_PROCESS + this.#count++;
  }

  #keys(...names: readonly string[]): readonly string[] {
    return names.map((name) => `${this.#prefix}:${name}`);
  }

  #write(name: "add" | "sweep", args: Args): Promise<unknown> {
    return this.#runScript(name, this.#keys(...BOOKS), [this.#prefix, ...args]);
  }

  /** Every script may be sent again. */
  async #runScript(name: keyof typeof CALL_SCRIPTS, keys: readonly string[], args: Args): Promise<unknown> {
    const script: Script = CALL_SCRIPTS[name];
    try {
      return await this.#runner.run({ script, keys, args, urgency: "again" });
    } catch (error) {
      throw failureOf(error);
    }
  }

  #whole<T>(open: () => T): T {
    try {
      return open();
    } catch (error) {
      throw failureOf(error);
    }
  }
}

/** The first calls of a list that go into one script. */
function firstOf(rows: readonly SealedRow[]): readonly SealedRow[] {
  let chars = 0;
  const end = rows.findIndex(({ row, detail }, at) => {
    chars += row.length + detail.length;
    return at > 0 && (at === WRITTEN_MAX || chars > WRITTEN_CHARS);
  });
  return end === -1 ? rows.slice() : rows.slice(0, end);
}

/** Refusals after which a later attempt may succeed: those caused by the state of Redis, not by the command. */
const STATES = new Set(["NOAUTH", "NOPERM", "WRONGPASS", "MISCONF", "NOREPLICAS", "DENIED"]);

function failureOf(error: unknown): Error {
  if (!(error instanceof Error)) return new TypeError("it is no error");
  if (isSealError(error)) {
    return failure("corrupt", "the store has calls that were sealed with another secret, or were changed");
  }
  if (!(error instanceof StoreError)) return error;
  if (!(error instanceof RefusedError)) return failure("unreachable", error.message);
  if (error.reply === "OOM") return failure("full", error.message);
  if (error.reply === "WRONGTYPE") return failure("corrupt", error.message);
  if (isPassing(error.reply)) return failure("unreachable", error.message);
  return STATES.has(error.reply) ? failure("unusable", error.message) : error;
}

function failure(reason: StoreProblem["reason"], message: string): StoreFailure {
  return new StoreFailure({ reason, message });
}
