import { hash } from "node:crypto";
import { BoundedCache } from "../../../kernel/base/bounded-cache.ts";
import { isObject } from "../../../kernel/base/json.ts";
import type { ToolCall, ToolResult } from "../../../kernel/base/result.ts";
import type { Engine } from "../../../kernel/engine/engine.ts";
import type { CallWait, DurableCall } from "../../../kernel/store/calls/durable/durable-call.ts";
import {
  forModel,
  type ModelAnswer,
  type ModelOptions,
  type ModelRunner,
  type RunOptions,
  type ToolRunner,
} from "../../../kernel/tool/contracts/runner.ts";

/** Calls of this process whose place in the store is known. */
const KNOWN_MAX = 10_000;
/** Newest calls of a tool that are searched for a call of another process. */
const PAGE = 50;
const PAGES_MAX = 20;
/** Maximum number of looks at a running call, and their interval. A library has its own deadline, too: the signal. */
const LOOKS_MAX = 300;
const LOOK_MS = 1_000;

/** A call of a model: the library gives it an id. */
export type ModelCall = ToolCall & { readonly id: string };

/** An engine that stores calls which wait for a person; `null` for another runner of tools. */
export function engineOf(runner: ToolRunner): Engine | null {
  const calls: unknown = "calls" in runner ? runner.calls : null;
  const isEngine = isObject(calls) && typeof calls["requestApproval"] === "function";
  return isEngine ? (runner as unknown as Engine) : null;
}

/**
 * Calls of a model that need a person's approval, in the form in which a library requests them. The engine's gate
 * selects them, its store contains them, and only `engine.calls.durable.decide` decides: texts of a library or a
 * message start nothing.
 */
export class StoredApprovals {
  readonly #engine: Engine;
  readonly #tenant: string;
  /** Ids in the store; an empty one for a call that needs no approval. */
  readonly #known = new BoundedCache<string>(KNOWN_MAX);
  /** Calls in the store whose results were given: from then on, the same id of a model is a new call. */
  readonly #given = new BoundedCache<true>(KNOWN_MAX);

  constructor(engine: Engine, { tenant = "" }: Pick<RunOptions, "tenant"> = {}) {
    this.#engine = engine;
    this.#tenant = tenant;
  }

  /** Stores a call if it needs an approval. */
  async request(call: ModelCall): Promise<boolean> {
    const stored = await this.#engine.calls.requestApproval(call, { tenant: this.#tenant });
    this.#known.set(keyOf(call), stored?.id ?? "");
    return stored !== null;
  }

  /** As `request`, for a library that may repeat the request for a stored call. */
  async isNeeded(call: ModelCall): Promise<boolean> {
    if (!this.#engine.calls.mayNeedApproval(call.name, { tenant: this.#tenant })) return false;
    const stored = await this.find(call);
    return stored !== undefined && this.#given.get(stored.id) === undefined ? true : this.request(call);
  }

  /** The stored call, also of another process. */
  async find(call: ModelCall): Promise<DurableCall | undefined> {
    const known = this.#known.get(keyOf(call));
    const { durable } = this.#engine.calls;
    if (known !== undefined) return known === "" ? undefined : durable.get(known, { tenant: this.#tenant });
    const found = await this.#search(call);
    if (found !== undefined) this.#known.set(keyOf(call), found.id);
    return found;
  }

  /**
   * A runner for models that answers a stored call with its result, and makes all others. `wasAsked`: whether an
   * approval of the call was requested, maybe by another process.
   */
  runner(options: ModelOptions, wasAsked: (call: ModelCall) => boolean): ModelRunner {
    const model = this.#engine.forModels(options);
    const answerCall = async (call: ToolCall, given?: RunOptions): Promise<ModelAnswer> => {
      const { id } = call;
      const asked = id === undefined ? undefined : { ...call, id };
      const stored = asked && (await this.#result(asked, wasAsked(asked), given?.signal));
      if (stored === undefined) return model.answerCall(call, given);
      return (await model.showResult?.(stored, given)) ?? { result: stored, shown: stored, kept: null };
    };
    return {
      readsOn: model.readsOn,
      list: () => model.list(),
      get: (name) => model.get(name),
      execute: async (call, given) => (await answerCall(call, given)).shown,
      answerCall,
    };
  }

  /** The result of a stored call: at once if it waits for a person, else after its end. */
  async #result(call: ModelCall, wasAsked: boolean, signal: AbortSignal | undefined): Promise<ToolResult | undefined> {
    if (!wasAsked && this.#known.get(keyOf(call)) === undefined) return undefined;
    let stored = await this.find(call);
    if (stored === undefined) return undefined;
    const { durable } = this.#engine.calls;
    const { id } = stored;
    const whose = { tenant: this.#tenant };
    const wait = { waitMs: LOOK_MS, ...(signal === undefined ? {} : { signal }) };
    for (let looks = 0; looks < LOOKS_MAX && mayEnd(stored) && signal?.aborted !== true; looks++) {
      await durable.result(id, whose, wait);
      stored = await durable.get(id, whose);
    }
    if (stored?.state === "ended") this.#given.set(id, true);
    return durable.result(id, whose);
  }

  async #search(call: ModelCall): Promise<DurableCall | undefined> {
    const filter = { tool: call.name, tenant: this.#tenant, limit: PAGE };
    let cursor: string | null = null;
    for (let pages = 0; pages < PAGES_MAX; pages++) {
      const page = await this.#engine.calls.durable.list(cursor === null ? filter : { ...filter, cursor });
      const found = page.calls.find((stored) => isOf(stored, call));
      if (found !== undefined || page.cursor === null) return found;
      ({ cursor } = page);
    }
    return undefined;
  }
}

/** The runner in the form for models, whose calls may have been approved before. */
export function approvedRunner(
  runner: ToolRunner,
  approvals: StoredApprovals | null,
  options: ModelOptions,
  wasAsked: (call: ModelCall) => boolean,
): ToolRunner {
  return approvals === null ? forModel(runner, options) : approvals.runner(options, wasAsked);
}

/** The approval of a call before its start. */
export function approvalOf({ waits }: DurableCall): (CallWait & { readonly kind: "approval" }) | undefined {
  return waits.find((wait) => wait.step === 0 && wait.kind === "approval") as ReturnType<typeof approvalOf>;
}

/** Decisions about a stored call: `null` before a decision. */
export function decisionOf(stored: DurableCall): { readonly approved: boolean; readonly reason?: string } | null {
  const wait = approvalOf(stored);
  if (wait?.state === "open" && stored.state !== "ended") return null;
  const reason = wait?.settled?.reason ?? (wait?.state === "expired" ? "nobody decided in time" : null);
  return { approved: wait?.state === "approved", ...(reason === null ? {} : { reason }) };
}

/** Whether a call continues without a decision. */
function mayEnd(stored: DurableCall | undefined): boolean {
  return stored?.state === "ready" || stored?.state === "running";
}

function keyOf({ id, name, arguments: args }: ModelCall): string {
  return hash("sha256", JSON.stringify([id, name, args ?? {}], digitsOf));
}

function digitsOf(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? String(value) : value;
}

/** Whether a stored call was made by a model of this process, or of an earlier one. */
function isOf(stored: DurableCall, call: ModelCall): boolean {
  if (stored.callId !== call.id || stored.key !== null || stored.parentId !== null) return false;
  const wait = approvalOf(stored);
  return wait !== undefined && wait.tool === call.name && isWithin(call.arguments ?? {}, wait.arguments);
}

/** Whether a value is another one, but for members that only the other one has: those have defaults in the schema. */
function isWithin(given: unknown, stored: unknown): boolean {
  if (Array.isArray(given)) {
    const others: readonly unknown[] = Array.isArray(stored) ? stored : [];
    return (
      Array.isArray(stored) && given.length === others.length && given.every((one, at) => isWithin(one, others[at]))
    );
  }
  if (isObject(given)) {
    return (
      isObject(stored) &&
      Object.entries(given).every(([name, value]) =>
        value === undefined ? true : Object.hasOwn(stored, name) && isWithin(value, stored[name]),
      )
    );
  }
  // Long integers are strings of digits in the store.
  if (typeof given === "bigint" || (typeof given === "number" && typeof stored === "string"))
    return String(given) === stored;
  return given === stored;
}
