import { isAmong } from "../base/name-patterns.ts";
import { within } from "../base/deadline.ts";
import type { OnDemand } from "../base/on-demand.ts";
import {
  type CallFilter,
  type CallPage,
  type CallSummary,
  NotKeptError,
  readFilter,
  type StoredCall,
} from "../store/calls/call-record.ts";
import type { CallStore, CallStoreStatus } from "../store/calls/call-store.ts";
import type { Difference } from "../store/calls/differences.ts";
import type { ToolCall } from "../base/result.ts";
import type { DurableCall } from "../store/calls/durable/durable-call.ts";
import type { ApprovalRequests } from "./call/approval-request.ts";
import type { CallKeeper } from "./call/call-keeper.ts";
import type { DurableCalls } from "./durable/durable-calls.ts";
import type { DurableStage } from "./durable/durable-stage.ts";
import type { Readmit } from "./durable/readmission.ts";
import type { ExecuteOptions } from "./execute-options.ts";
import type { CallReplay, CallReplays } from "./replay/call-replays.ts";

/** Tenant and tools of the calls, as in a filter. */
export type OfWhom = Pick<CallFilter, "tenant" | "tools">;

/** Differences of two kept calls. */
export interface CallComparison {
  readonly isSame: boolean;
  /** The first 100. */
  readonly differences: readonly Difference[];
}

/** Parts of an engine that keeps calls. */
export interface KeptCalls {
  readonly store: CallStore;
  readonly keeper: CallKeeper;
  /** Loaded with the first replay. */
  readonly replays: OnDemand<CallReplays>;
}

export interface WatchOptions {
  readonly signal?: AbortSignal;
  /** Keys and tenants of the reader, such as `key "ci"`: each has at most 16 readers. */
  readonly holders?: readonly string[];
}

/** The calls that an engine has kept, if it has the option `calls`. */
export class CallHistory {
  readonly #kept: KeptCalls | null;
  readonly #stage: DurableStage;
  readonly #approvals: ApprovalRequests;

  constructor(kept: KeptCalls | null, stage: DurableStage, approvals: ApprovalRequests) {
    this.#kept = kept;
    this.#stage = stage;
    this.#approvals = approvals;
  }

  /** Whether a tool, or a rule of the policy, requests approvals of some of its calls by a tenant. */
  mayNeedApproval(name: string, { tenant = "" }: Pick<OfWhom, "tenant"> = {}): boolean {
    return this.#approvals.mayNeed(name, tenant);
  }

  /** @internal Whether calls of a tool may need an approval, or wait during their run. */
  mayWait(name: string, { tenant = "" }: Pick<OfWhom, "tenant"> = {}): boolean {
    return this.#approvals.mayWait(name, tenant);
  }

  /**
   * Stores a call that needs a person's approval before its start, and runs nothing: the waiting call. It runs once it
   * is approved. `null` if it needs none, or would be refused: `execute` makes it then, and listeners of `tool:pre` get
   * it again. Rejects with a `StoreError` alone.
   */
  requestApproval(call: ToolCall, options: ExecuteOptions = {}): Promise<DurableCall | null> {
    return this.#approvals.request(call, options);
  }

  /** @internal Has a server checked whether the key of a waiting call is still valid, before the call continues. */
  readmitWith(readmit: Readmit): Disposable {
    return this.#stage.readmitWith(readmit);
  }

  /** See `DurableCalls`. */
  readonly decide: DurableCalls["decide"] = (...given) => this.#stage.decide(...given);
  readonly signal: DurableCalls["signal"] = (...given) => this.#stage.signal(...given);
  readonly cancel: DurableCalls["cancel"] = (...given) => this.#stage.cancel(...given);
  readonly undo: DurableCalls["undo"] = (...given) => this.#stage.undo(...given);
  readonly result: DurableCalls["result"] = (...given) => this.#stage.result(...given);

  /** Calls that wait for people, signals and times. Without the option `calls` they are kept in memory. */
  get durable(): DurableCalls {
    return this.#stage;
  }

  /**
   * Kept calls, newest first, in pages. Calls that have ended before are among them, unless many wait to be written.
   * Rejects with a `TypeError` if the engine keeps no calls, with a `RangeError` that names a wrong filter, and with a
   * `StoreError` if the store cannot be read.
   */
  async list(filter: CallFilter = {}): Promise<CallPage> {
    const query = readFilter(filter);
    return (await this.#open()).store.list(query);
  }

  /**
   * The newest call with this id, with its detail if that was kept; `undefined` if no call has it. `tenant`, `tools`: as in
   * a filter. Rejects as `list` does.
   */
  async get(id: string, whose: OfWhom = {}): Promise<StoredCall | undefined> {
    const { tenant } = readFilter(whose);
    const found = await (await this.#open()).store.get(idOf(id), tenant);
    return found !== undefined && isAmong(whose.tools, found.tool) ? found : undefined;
  }

  /**
   * Calls as they are kept from now on, also by other engines with the same Redis, until the reader stops, `signal`
   * aborts or the engine closes. A reader that is more than 1,000 calls behind misses the oldest, and gets at most
   * 2,000 calls of other engines a second. `limit` and `cursor` of the filter do not count. Throws a `TypeError` or a
   * `RangeError` as `list` rejects, and a `StoreError` if there are 64 readers already, or 16 for one of `holders`.
   */
  watch(filter: CallFilter = {}, { signal, holders }: WatchOptions = {}): AsyncIterable<CallSummary> {
    if (this.#kept === null) throw new TypeError(KEEPS_NONE);
    return this.#kept.keeper.watchers.watch(readFilter(filter), signal, holders);
  }

  /**
   * Runs a kept call again, in a process of its own, with the same arguments, clock, randomness and answers: no
   * capability is invoked. Two run at once, and 16 wait. `undefined` if there is no such call. Rejects with a
   * `TypeError` with the reason if a call cannot be replayed, such as a tool of another version, and with a
   * `StoreError` if too many wait, or it takes longer than a minute. The tenant is charged; `onCpu` gets the processor
   * time.
   */
  async replay(
    id: string,
    whose: OfWhom = {},
    { onCpu }: { readonly onCpu?: (cpuMs: number) => void } = {},
  ): Promise<CallReplay | undefined> {
    const { tenant } = readFilter(whose);
    const replays = await (await this.#open()).replays.get();
    return replays.replay(idOf(id), tenant, (tool) => isAmong(whose.tools, tool), onCpu);
  }

  /**
   * Compares outputs, errors, log lines and capability calls of two kept calls; times do not count. `undefined` if one
   * of them does not exist. Rejects as `list` does, and with a `TypeError` if the values of one were not kept.
   */
  async compare(id: string, other: string, whose: OfWhom = {}): Promise<CallComparison | undefined> {
    const { tenant } = readFilter(whose);
    const found = await (await this.#open()).store.compare([idOf(id), idOf(other)], tenant);
    if (found === undefined || !found.tools.every((tool) => isAmong(whose.tools, tool))) return undefined;
    const { differences } = found;
    if (differences === null)
      throw new NotKeptError("the values of one of the calls were not kept, or not for so long");
    return { isSame: differences.length === 0, differences };
  }

  /** Numbers of calls that were kept and dropped since the engine was created; `undefined` if it keeps no calls. */
  status(): CallStoreStatus | undefined {
    return this.#kept?.store.status();
  }

  /** @internal Writes waiting calls, at most for some seconds. */
  async close(): Promise<void> {
    await this.#stage.close();
    if (this.#kept === null) return;
    const { keeper, replays, store } = this.#kept;
    keeper.watchers.end();
    await within(SETTLE_MS, keeper.settled());
    await (await replays.made)?.close();
    await store.close();
  }

  async #open(): Promise<KeptCalls> {
    if (this.#kept === null) throw new TypeError(KEEPS_NONE);
    await within(SETTLE_MS, this.#kept.keeper.settled());
    return this.#kept;
  }
}

const KEEPS_NONE = "the engine keeps no calls: set its option calls";
/** The broker answers at once, unless it is lost. */
const SETTLE_MS = 1_000;
/** Longer than any id. */
const ID_MAX = 1_024;

function idOf(id: string): string {
  return String(id).slice(0, ID_MAX);
}
