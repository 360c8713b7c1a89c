import { StoreError } from "../../base/errors.ts";
import { isAmong } from "../../base/name-patterns.ts";
import { readResult } from "../../base/result.ts";
import {
  CALL_STATES,
  type CallState,
  type DurableCall,
  type DurableCallDetail,
  type KeptCall,
  type KeptPast,
} from "../../store/calls/durable/durable-call.ts";
import {
  CURSOR,
  type DurablePage,
  type DurableQuery,
  type TakeDurable,
} from "../../store/calls/durable/durable-step.ts";
import { undoneId } from "../../store/calls/durable/undone-calls.ts";
import { effectsOf, type EffectParts } from "./call-effects.ts";
import type { DurableFilter, DurableOfWhom } from "./durable-calls.ts";
import { programOf, scriptOf } from "./durable-record.ts";
import { withShownWaits } from "./shown-arguments.ts";

const LIMIT_DEFAULT = 50;
const LIMIT_MAX = 200;
/** Maximum calls among which one list finds the stale ones. */
const LOOKED_MAX = 2_000;
const ID_MAX = 128;
const NOT_ENDED = CALL_STATES.filter((state) => state !== "ended");

interface ReaderParts extends EffectParts {
  readonly take: TakeDurable;
}

/** Durable calls as readers see them. */
export class CallReader {
  readonly #parts: ReaderParts;

  constructor(parts: ReaderParts) {
    this.#parts = parts;
  }

  /** See `DurableCalls.list`. */
  async list(filter: DurableFilter = {}): Promise<DurablePage> {
    const { tools, stale } = filter;
    const query = queryOf(filter);
    const found: DurableCall[] = [];
    let { cursor } = query;
    let looked = 0;
    do {
      const answer = await this.#parts.take({
        kind: "list",
        query: { ...query, limit: query.limit - found.length, cursor },
      });
      if (answer.kind !== "page") throw new StoreError("the store cannot list what it has");
      const { calls } = answer.page;
      ({ cursor } = answer.page);
      looked += calls.length;
      const own = calls.filter(({ tool }) => isAmong(tools, tool));
      const shown = withShownWaits(own, this.#parts.registry).map((call) => this.#told(call));
      found.push(...shown.filter(({ isStale }) => stale === undefined || isStale === stale));
      // The store does not know the registered tools.
    } while (stale !== undefined && cursor !== null && found.length < query.limit && looked < LOOKED_MAX);
    return { calls: found, cursor };
  }

  /** A call without its runs and effects. `isChecked`: all of its stored parts are read, which detects changed ones. */
  async get(id: string, whose: DurableOfWhom = {}, isChecked = false): Promise<DurableCall | undefined> {
    const found = await this.#find(id, whose, isChecked);
    return found === undefined ? undefined : this.read(found.call);
  }

  /** See `DurableCalls.get`. */
  async detail(id: string, whose: DurableOfWhom = {}): Promise<DurableCallDetail | undefined> {
    const found = await this.#find(id, whose, true);
    if (found === undefined) return undefined;
    const { call, past = NO_PAST } = found;
    const { runs, asks, record } = past;
    const shown = this.#shown(call);
    const effects = effectsOf(shown, asks, this.#parts);
    return { ...this.#whole(shown), runs, ...effects, program: undoneId(call.id) === null ? programOf(record) : null };
  }

  read(kept: KeptCall): DurableCall {
    return this.#whole(this.#shown(kept));
  }

  #shown(kept: KeptCall): KeptCall {
    const [shown = kept] = withShownWaits([kept], this.#parts.registry);
    return shown;
  }

  #whole(shown: KeptCall): DurableCall {
    const { result } = shown;
    return { ...this.#told(shown), result: result === null ? null : readResult(result) };
  }

  async #find(
    id: string,
    { tenant, tools }: DurableOfWhom,
    isWhole = false,
  ): Promise<{ readonly call: KeptCall; readonly past?: KeptPast } | undefined> {
    if (typeof id !== "string" || id.length > ID_MAX) return undefined;
    const answer = await this.#parts.take({ kind: "get", id, tenant: tenant ?? null, ...(isWhole && { isWhole }) });
    return answer.kind === "call" && isAmong(tools, answer.call.tool) ? answer : undefined;
  }

  /** Without its result. */
  #told({ script, ...call }: KeptCall): DurableCall {
    return { ...call, isStale: this.#isStale(call, script), result: null };
  }

  #isStale({ id, state, tool: name, tenant, waits }: Omit<KeptCall, "script">, script: string | null): boolean {
    // A call that undoes another has no tool of its own.
    if (state === "ended" || undoneId(id) !== null) return false;
    const { registry } = this.#parts;
    const tool = registry.get(name, tenant);
    if (script !== null && (tool === undefined || scriptOf(tool).hash !== script)) return true;
    return waits.some((wait) => {
      if (wait.kind !== "approval" || wait.state !== "open" || wait.tool === null) return false;
      // A program is shown with its text, and its tool is not registered.
      if (script === null && wait.step === 0) return false;
      return registry.get(wait.tool, tenant)?.info.digest !== wait.version;
    });
  }
}

const NO_PAST: KeptPast = { runs: [], asks: [], record: "" };

/** Throws a `RangeError` that names a wrong filter. */
function queryOf({ state, tool, tenant, stale, limit = LIMIT_DEFAULT, cursor }: DurableFilter): DurableQuery {
  if (!Number.isInteger(limit) || limit < 1 || limit > LIMIT_MAX)
    throw new RangeError(`limit is an integer from 1 to ${LIMIT_MAX}`);
  const states = state === undefined ? (stale === true ? NOT_ENDED : null) : statesOf(state);
  for (const [name, text] of Object.entries({ tool, tenant, cursor }))
    if (text !== undefined && (typeof text !== "string" || text.length > 256))
      throw new RangeError(`${name} is one text of at most 256 characters`);
  if (stale !== undefined && typeof stale !== "boolean") throw new RangeError("stale is true or false");
  if (cursor !== undefined && !CURSOR.test(cursor)) throw new RangeError("cursor is not one that a page has named");
  return { states, tenant: tenant ?? null, tool: tool ?? null, limit, cursor: cursor ?? null };
}

/** The states of a filter, each once. Throws a `RangeError`. */
function statesOf(given: CallState | readonly CallState[]): readonly CallState[] {
  const states = [...new Set<CallState>(typeof given === "string" ? [given] : given)];
  if (states.length > 0 && states.every((state) => CALL_STATES.includes(state))) return states;
  throw new RangeError(`state is one of ${CALL_STATES.join(", ")}, or several of them`);
}
