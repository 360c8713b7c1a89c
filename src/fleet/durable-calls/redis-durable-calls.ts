import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import PQueue from "p-queue";
import { StoreError } from "../../kernel/base/errors.ts";
import { CALL_STATES, type DurableCapacity, type KeptCall } from "../../kernel/store/calls/durable/durable-call.ts";
import type { DurableAnswer, DurableQuery, DurableStep } from "../../kernel/store/calls/durable/durable-step.ts";
import { inTurns } from "../../kernel/store/calls/durable/durable-rows.ts";
import { isPassing } from "../redis/reply.ts";
import { RefusedError, type ScriptRunner } from "../redis/script.ts";
import { type Seal, SealError } from "../../kernel/store/seal.ts";
import { CallLanes } from "./call-lanes.ts";
import { type CallStep, idOf, isBounded, scriptOf } from "../../kernel/store/calls/sealed/call-step.ts";
import { ForeignRowsError } from "../../kernel/store/calls/sealed/call-rows.ts";
import { DURABLE_SCRIPTS, LOOKED_MAX } from "./durable-scripts.ts";
import { type LoadedCall, PrivateTables, type StepOutcome } from "../../kernel/store/calls/sealed/private-tables.ts";
import { RedisNotes } from "./redis-notes.ts";
import { RedisSnippets } from "./redis-snippets.ts";
import { headOnly, SealedCalls } from "../../kernel/store/calls/sealed/sealed-calls.ts";
import { charsOf, inTimeOfStore, LoadedFamily, loadArgs, TooLongError } from "./step-family.ts";
import { putArgs } from "./stored-call.ts";

/** Time for a step, from when it came: less than its sender waits. */
const TAKE_MS = 8_000;
/** Time after which a script that was sent has no effect any more. */
const COMMIT_MS = 4_000;
/** Pauses between tries of a step that others have crossed. */
const PAUSE_LEAST_MS = 4;
const PAUSE_MOST_MS = 200;
/** Calls whose due timers one look settles. */
const TICKED_MAX = 32;
/** After a look that could not settle all: when the next one is due. */
const LOOK_AGAIN_MS = 1_000;
/** Maximum bytes of a list's sealed heads, and of examined calls. */
const PAGE_BYTES = 6 * 1024 * 1024;
const SCANNED_MAX = 20_000;
/** Bytes of all calls that wait in one Redis, and their scripts. */
const TOTAL_BYTES = 8 * 1024 ** 3;
/** Size of a result for which the oldest ended calls make room. */
const RESULT_BYTES = 16 * 1024 ** 2;
/** Size of a step's long texts beyond which such steps run one at a time: the thread has 256 MiB. */
const LONG_BYTES = 1024 ** 2;

interface Parts {
  readonly runner: Pick<ScriptRunner, "run">;
  readonly seal: Seal;
  /** Of the keys of kept calls: both have one hash tag. */
  readonly prefix: string;
  readonly room: DurableCapacity;
  /** A clock in place of that of Redis. */
  readonly clockMs?: () => number;
}

/** A change that was sent, and of which no answer has come. */
interface Sent {
  readonly id: string;
  readonly version: string;
  readonly untilMs: number;
  readonly answer: DurableAnswer;
}

type Args = readonly (string | number)[];

/**
 * Calls that wait, in Redis, which servers share. A step loads its calls, follows the rules of the tables in memory,
 * and is written by one script if no other server has changed these calls meanwhile: otherwise it is repeated. The
 * clock is that of Redis.
 */
export class RedisDurableCalls {
  readonly #parts: Parts;
  readonly #prefix: string;
  readonly #room: DurableCapacity;
  readonly #calls: SealedCalls;
  readonly #tables: PrivateTables;
  readonly #snippets: RedisSnippets;
  readonly #notes: RedisNotes;
  readonly #lanes = new CallLanes();
  readonly #long = new PQueue({ concurrency: 1 });
  readonly #closed = new AbortController();

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#prefix = `${parts.prefix}:waits`;
    this.#room = parts.room;
    this.#calls = new SealedCalls(parts.seal, this.#prefix);
    this.#tables = new PrivateTables(this.#room);
    this.#snippets = new RedisSnippets(parts.runner, parts.seal, this.#prefix);
    this.#notes = new RedisNotes((name, args) => this.#run(name, args), this.#calls, this.#tables);
  }

  /** Rejects with a `StoreError`: `isUnanswered` if the step may have been taken. */
  async take(step: DurableStep): Promise<DurableAnswer> {
    const endMs = performance.now() + TAKE_MS;
    try {
      switch (step.kind) {
        case "see":
          await this.#run("see", [step.holder]);
          return { kind: "done", call: null };
        case "due":
          return await this.#due(step.most, step.nowMs, endMs);
        case "standing":
          return await this.#standing();
        case "list":
          return await this.#list(step.query);
        case "save":
        case "drop":
        case "snippets":
          return await this.#snippets.take(step);
        case "notes":
        case "told":
          return await this.#notes.take(step);
        default:
          return await this.#lanes.run(idOf(step), () => this.#takeInTurn(step, endMs));
      }
    } catch (error) {
      // A call that cannot be opened must not block others: a request for it gets the reason.
      if (step.kind === "claim" && isForeign(error)) return { kind: "lost" };
      throw storeErrorOf(error);
    }
  }

  /** Removes some ended calls that were kept long enough; returns whether there may be more. */
  async sweep(): Promise<boolean> {
    return (await this.#run("sweep", [])) === 1;
  }

  close(): void {
    this.#closed.abort();
    this.#tables.close();
  }

  /** Of steps with long texts one is taken at a time. */
  async #takeInTurn(step: CallStep, endMs: number): Promise<DurableAnswer> {
    try {
      if (charsOf(step) <= LONG_BYTES) return await this.#take(step, endMs, LONG_BYTES);
    } catch (error) {
      if (!(error instanceof TooLongError)) throw error;
    }
    return this.#long.add(() => this.#take(step, endMs, null));
  }

  /** Takes a step of one call, until its outcome is known. Rejects with a `TooLongError` if it needs more bytes. */
  async #take(step: CallStep, endMs: number, mostBytes: number | null): Promise<DurableAnswer> {
    const sent: Sent[] = [];
    for (let pauseMs = PAUSE_LEAST_MS; performance.now() < endMs; pauseMs = Math.min(2 * pauseMs, PAUSE_MOST_MS)) {
      try {
        const family = await this.#load(step, sent.length === 0 ? mostBytes : null);
        const written = sent.find(({ id, version }) => family.has(id, version));
        if (written !== undefined) return written.answer;
        if (sent.every(({ untilMs }) => untilMs < family.nowMs)) {
          const outcome = this.#tables.take(inTimeOfStore(step, family.nowMs), family.view);
          if (outcome.changed.length === 0) return outcome.answer;
          if (await this.#commit(step, family, outcome, sent)) return outcome.answer;
          // Other servers settle due timers as well.
          if (step.kind === "due" && sent.length === 0) return NOTHING_DUE;
        }
      } catch (error) {
        // As long as the outcome of a change is unknown, the loop queries it.
        if (sent.length === 0) throw error;
      }
      await delay(pauseMs * Math.random());
    }
    if (sent.length === 0) throw new StoreError("the store is busy: try again later");
    for (const { answer } of sent) if (answer.kind === "claimed") this.#giveBack(answer.call.id, answer.call.leg);
    throw new StoreError(UNKNOWN, { isUnanswered: true });
  }

  async #load(step: CallStep, mostBytes: number | null): Promise<LoadedFamily> {
    const { perTenant, tenantBytes } = this.#room;
    const room = [perTenant, tenantBytes - RESULT_BYTES] as const;
    const reply = await this.#run("load", loadArgs(step, this.#calls, room, mostBytes));
    return LoadedFamily.read(step, reply, this.#calls);
  }

  /** Returns whether it is written. `sent` contains it as long as that is unknown. */
  async #commit(step: CallStep, family: LoadedFamily, outcome: StepOutcome, sent: Sent[]): Promise<boolean> {
    const version = randomBytes(9).toString("base64url");
    const id = idOf(step);
    const changed = outcome.changed.toSorted((left, right) => Number(right.row.id === id) - Number(left.row.id === id));
    const [first] = changed;
    if (first === undefined) return true;
    const attempt = { id: first.row.id, version, untilMs: family.nowMs + COMMIT_MS, answer: outcome.answer };
    const { perTenant, tenantBytes } = this.#room;
    const script = scriptOf(step);
    const isKept = script === null || family.hasScript;
    const args = [
      version,
      attempt.untilMs,
      isBounded(step) ? 1 : 0,
      perTenant,
      tenantBytes,
      TOTAL_BYTES,
      step.kind === "claim" || step.kind === "start" ? step.holder : "",
      script === null ? "" : this.#calls.digest("script", script.hash),
      isKept ? "" : this.#calls.closeScript(script.hash, script.text),
      ...family.checks(outcome.removed),
      ...changed.flatMap((one) => putArgs(this.#calls, one, version, family.headOf(one.row.id))),
      ...outcome.removed.flatMap((gone) => ["drop", gone, "", "", "", "", ""]),
    ];
    sent.push(attempt);
    try {
      const told = await this.#run("commit", args);
      sent.splice(sent.indexOf(attempt), 1);
      if (told === "full") throw new StoreError(`calls that wait have ${TOTAL_BYTES} bytes in the store already`);
      return told === "done";
    } catch (error) {
      // A refused script has changed nothing, unless it was sent before to a Redis that has failed since.
      const isRefused = error instanceof RefusedError && !isPassing(error.reply);
      if (isRefused && sent.includes(attempt)) sent.splice(sent.indexOf(attempt), 1);
      throw error;
    }
  }

  /** A call may have been claimed by a claimant without an answer. */
  #giveBack(id: string, leg: number): void {
    const release = async (): Promise<void> => {
      while (!this.#closed.signal.aborted) {
        await delay(COMMIT_MS + PAUSE_MOST_MS, undefined, { ref: false, signal: this.#closed.signal });
        const isDone = await this.take({ kind: "release", id, leg, nowMs: Date.now() }).then(
          () => true,
          () => false,
        );
        if (isDone) return;
      }
    };
    void release().catch(() => undefined);
  }

  async #due(most: number, nowMs: number, endMs: number): Promise<DurableAnswer> {
    const look = await this.#look(most);
    // Servers with simultaneous looks begin with different calls, and each takes those of all tenants in turn.
    const ids = inTurns(shuffled([...look.due, look.lost]).map(shuffled), TICKED_MAX);
    const ticks = ids.map((id) =>
      this.#lanes.run(id, () => this.#takeInTurn({ kind: "due", id, most: 0, nowMs }, endMs)).catch(() => null),
    );
    const answers = await Promise.all(ticks);
    const lost = answers.flatMap((answer): readonly KeptCall[] => (answer?.kind === "ready" ? answer.lost : []));
    const ended = answers.flatMap((answer) => answer?.ended ?? []);
    const now = ids.length === 0 ? look : await this.#look(most);
    const leastMs = answers.includes(null) ? LOOK_AGAIN_MS : 0;
    // By the clock of the requester.
    const wakeMs = now.wakeMs === null ? null : nowMs + Math.max(leastMs, now.wakeMs - now.nowMs);
    return { kind: "ready", ids: inTurns(now.ready, most), wakeMs, lost, ended };
  }

  async #standing(): Promise<DurableAnswer> {
    const [nowMs, paused, inDoubt, openedMs] = (await this.#run("standing", [])) as StandingReply;
    return { kind: "standing", paused, inDoubt, oldestApprovalMs: openedMs === -1 ? null : nowMs - openedMs };
  }

  async #look(most: number): Promise<Look> {
    const [nowMs, due, lost, wakeMs, ready] = (await this.#run("due", [most])) as LookReply;
    return { nowMs, due, lost, wakeMs: wakeMs === -1 ? null : wakeMs, ready };
  }

  async #list(query: DurableQuery): Promise<DurableAnswer> {
    const { states, tenant, tool, limit, cursor } = query;
    const of = tenant === null ? "state" : `of:${this.#calls.digest("tenant", tenant)}`;
    const sets = (states ?? CALL_STATES).map((state) => `${of}:${state}`);
    const digest = tool === null ? "" : this.#calls.digest("tool", tool);
    const found = new Map<string, LoadedCall>();
    let [before, isMore, room] = [cursor ?? `${Number.MAX_SAFE_INTEGER}`, true, PAGE_BYTES];
    let sealed: StoreError | null = null;
    for (let looked = 0; isMore && looked < SCANNED_MAX && found.size < limit && room > 0; looked += LOOKED_MAX) {
      const reply = await this.#run("list", [before, limit - found.size, room, digest, ...sets]);
      const [last, more, heads] = reply as ListReply;
      [before, isMore] = [`${last}`, more === 1];
      for (const [id, n, version, head] of heads) {
        room -= head.length;
        try {
          found.set(id, { id, n, parts: headOnly(this.#calls.openHead(id, version, head)), seenMs: 0 });
        } catch (error) {
          sealed = storeErrorOf(error);
        }
      }
    }
    // Others are shown without those that cannot be opened.
    if (found.size === 0 && sealed !== null) throw sealed;
    const answer = this.#tables.read({ kind: "list", query }, [...found.values()]);
    if (answer.kind !== "page" || answer.page.cursor !== null || !isMore) return answer;
    return { kind: "page", page: { ...answer.page, cursor: before } };
  }

  /** Every script may be sent again. */
  #run(name: keyof typeof DURABLE_SCRIPTS, args: Args): Promise<unknown> {
    const { runner, clockMs } = this.#parts;
    const all = [this.#prefix, clockMs === undefined ? "" : clockMs(), ...args];
    return runner.run({ script: DURABLE_SCRIPTS[name], keys: [`${this.#prefix}:seq`], args: all, urgency: "again" });
  }
}

interface Look {
  readonly nowMs: number;
  readonly due: readonly (readonly string[])[];
  readonly lost: readonly string[];
  readonly wakeMs: number | null;
  /** Of each tenant, the tenant that waits longest first. */
  readonly ready: readonly (readonly string[])[];
}

type Ids = readonly string[];
type LookReply = readonly [nowMs: number, due: readonly Ids[], lost: Ids, wakeMs: number, ready: readonly Ids[]];
type StandingReply = readonly [nowMs: number, paused: number, inDoubt: number, openedMs: number];
type ListReply = readonly [number | string, number, readonly (readonly [string, number, string, string])[]];

const NOTHING_DUE: DurableAnswer = { kind: "ready", ids: [], wakeMs: null, lost: [] };
const UNKNOWN = "the store did not respond in time: the operation may have been carried out or not";

function isForeign(error: unknown): boolean {
  return error instanceof SealError || error instanceof ForeignRowsError;
}

function storeErrorOf(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  if (error instanceof SealError)
    return new StoreError("the store has calls that were sealed with another secret, or were changed", {
      isDamaged: true,
    });
  if (error instanceof ForeignRowsError) return new StoreError("the store has calls of another version of this engine");
  return new StoreError("the store cannot write or read what it has");
}

function shuffled<T>(all: readonly T[]): readonly T[] {
  return all
    .map((one) => [Math.random(), one] as const)
    .toSorted(([left], [right]) => left - right)
    .map(([, one]) => one);
}
