import type { JsonValue } from "../../kernel/base/json.ts";
import type { ToolResult } from "../../kernel/base/result.ts";
import type {
  DurableCalls,
  DurableFilter,
  DurableOfWhom,
  EndWait,
  UndoReport,
  UndoWait,
} from "../../kernel/engine/durable/durable-calls.ts";
import type { Decision, DurableCall, DurableCallDetail } from "../../kernel/store/calls/durable/durable-call.ts";
import type { DurablePage } from "../../kernel/store/calls/durable/durable-step.ts";
import type { Caller } from "./caller.ts";

/**
 * The waiting calls that one caller may see: those of its tenant and its tools. Methods reject as those of
 * `engine.calls.durable` do.
 */
export class CallerDurableCalls {
  readonly #calls: DurableCalls;
  readonly #caller: Caller;
  readonly #whose: DurableOfWhom;

  constructor(calls: DurableCalls, caller: Caller, whose: DurableOfWhom) {
    this.#calls = calls;
    this.#caller = caller;
    this.#whose = whose;
  }

  /** Needs the role `calls` or `approve`. */
  list(filter: DurableFilter): Promise<DurablePage> {
    return this.#calls.list({ ...filter, ...this.#whose });
  }

  /** A key with only the role `execute` reads only its own calls. */
  async get(id: string): Promise<DurableCallDetail | undefined> {
    const call = await this.#calls.get(id, this.#whose);
    return call !== undefined && this.#mayRead(call) ? call : undefined;
  }

  /** A call after its end, or in its state after some time. */
  async ended(id: string, wait: EndWait): Promise<DurableCallDetail | undefined> {
    const call = await this.get(id);
    if (call === undefined || call.state === "ended") return call;
    await this.#calls.result(id, this.#whose, wait);
    return this.get(id);
  }

  /** The result of a call that the caller has made. */
  result(id: string, wait: EndWait): Promise<ToolResult | undefined> {
    return this.#calls.result(id, this.#whose, wait);
  }

  /** Needs the role `approve`. */
  decide(id: string, decisions: Decision | readonly Decision[]): Promise<DurableCall | undefined> {
    return this.#calls.decide(id, decisions, this.#decider);
  }

  /** Needs the role `execute`. */
  signal(id: string, name: string, payload: JsonValue): Promise<DurableCall | undefined> {
    return this.#calls.signal(id, name, payload, this.#decider);
  }

  /** Needs the role `execute`. */
  cancel(id: string, reason: string | undefined): Promise<DurableCall | undefined> {
    return this.#calls.cancel(id, reason, this.#decider);
  }

  /** Needs the role `execute`. */
  undo(id: string, wait: UndoWait): Promise<UndoReport | undefined> {
    return this.#calls.undo(id, this.#decider, wait);
  }

  get #decider() {
    return { ...this.#whose, key: this.#caller.key };
  }

  #mayRead({ key }: DurableCall): boolean {
    const { roles } = this.#caller;
    return roles.has("calls") || roles.has("approve") || key === this.#caller.key;
  }
}
