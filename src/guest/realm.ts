import { Call, type CallWorld, issuedCode } from "./call.ts";
import { CallGlobal, type Holder } from "./call-global.ts";
import { describeError } from "./describe-error.ts";
import type { Factory, Failure, Guest } from "./host.ts";
import { ToolContext, type ToolFacts } from "./tool-context.ts";

type ToolFunction = (input: unknown, context: ToolContext) => unknown;

const NONE: readonly unknown[] = [];
/** Characters of outcomes after which a batch answers with what it has. */
const ANSWER_MAX = 256 * 1024;

interface Instance {
  readonly tool: ToolFunction;
  readonly holder: Holder;
  readonly global: CallGlobal;
}

export class Realm implements Guest {
  readonly #world: CallWorld;
  readonly #calls = new Map<number, Call>();
  #factory: Factory | null = null;
  #ownNames: readonly string[] = [];
  #facts: ToolFacts = { name: "", version: "", config: "null" };
  #isShared = false;
  #shared: Instance | null = null;
  readonly #hardened: boolean;
  #lastAnswer = "";

  constructor(world: CallWorld, hardened: boolean) {
    this.#world = world;
    this.#hardened = hardened;
  }

  load(factory: Factory, ownNames: string, facts: string, shared: boolean): void {
    this.#factory = factory;
    this.#ownNames = ownNames === "" ? [] : ownNames.split(",");
    this.#facts = JSON.parse(facts) as ToolFacts;
    this.#isShared = shared;
  }

  start(run: number, id: string, args: string, nowMs: number, outputMax: number): string {
    this.#lastAnswer = this.#startOne(run, id, nowMs, outputMax, JSON.parse(args));
    return this.#lastAnswer;
  }

  startMany(batch: string): string {
    this.#lastAnswer = "";
    for (const [run, id, nowMs, outputMax, input] of JSON.parse(batch) as [number, string, number, number, unknown][]) {
      const outcome = this.#startOne(run, id, nowMs, outputMax, input);
      this.#lastAnswer += `${outcome}\n`;
      // What a call does after an await belongs to a turn of its own.
      if (outcome === "" || this.#lastAnswer.length > ANSWER_MAX) break;
    }
    // What ended calls left in the microtask queue runs for nobody.
    if (this.#world.turn.call?.settled === true) this.#world.turn.call = null;
    return this.#lastAnswer;
  }

  settle(run: number, ask: number, ok: boolean, payload: string, nowMs: number): void {
    this.#enter(run, nowMs)?.answer(ask, ok, payload);
  }

  fire(run: number, nowMs: number): void {
    const call = this.#enter(run, nowMs);
    call?.timers.fire((error) => this.report(call, error));
  }

  cancel(run: number, nowMs: number): void {
    const call = this.#enter(run, nowMs);
    if (call === null) return;
    this.#calls.delete(run);
    call.end();
    call.abort(undefined);
  }

  recover(): string {
    return this.#lastAnswer;
  }

  inspect(run: number, nowMs: number): string {
    this.#world.turn.nowMs = nowMs;
    const call = new Call(this.#world, run, "", 0);
    this.#world.turn.call = call;
    try {
      const holder: Holder = { call, realm: this };
      const exported = this.#evaluate(new CallGlobal(holder), call);
      call.end();
      const spec = JSON.stringify(Reflect.get(exported, "spec") ?? null) ?? "null";
      return `+${JSON.stringify({ spec, defaultExport: typeof Reflect.get(exported, "default") })}`;
    } catch (error) {
      return call.failWith(this.#loadFailure(error));
    }
  }

  #startOne(run: number, id: string, nowMs: number, outputMax: number, input: unknown): string {
    const { turn } = this.#world;
    turn.nowMs = nowMs;
    const call = new Call(this.#world, run, id, outputMax);
    turn.call = call;
    const outcome = this.#begin(call, input);
    if (!call.settled) this.#calls.set(run, call);
    return outcome;
  }

  #begin(call: Call, input: unknown): string {
    let instance: Instance;
    try {
      instance = this.#instance(call);
    } catch (error) {
      return call.failWith(this.#loadFailure(error));
    }
    call.global = instance.global;
    try {
      const value = instance.tool(input, new ToolContext(call, this.#facts));
      return isThenable(value) ? this.#follow(call, value) : call.finish(value);
    } catch (error) {
      return call.failWith(describeError(error, issuedCode));
    }
  }

  /** Waits for an asynchronous tool without holding the turn. */
  #follow(call: Call, value: object): string {
    Promise.resolve(value).then(
      (output) => this.#conclude(call, () => call.finish(output)),
      (error: unknown) => this.report(call, error),
    );
    return "";
  }

  /** Ends a call with an error that nobody in it caught. */
  report(call: Call, error: unknown): void {
    this.#conclude(call, () => call.failWith(describeError(error, issuedCode)));
  }

  #conclude(call: Call, outcome: () => string): void {
    this.#calls.delete(call.run);
    call.emitOutcome(outcome());
  }

  nowMs(): number {
    return this.#world.turn.nowMs;
  }

  #enter(run: number, nowMs: number): Call | null {
    const call = this.#calls.get(run) ?? null;
    this.#world.turn.nowMs = call?.advance(nowMs) ?? nowMs;
    this.#world.turn.call = call;
    if (call !== null && this.#shared !== null) this.#shared.holder.call = call;
    return call;
  }

  #instance(call: Call): Instance {
    if (this.#shared !== null) {
      this.#shared.holder.call = call;
      return this.#shared;
    }
    const holder: Holder = { call, realm: this };
    const global = new CallGlobal(holder);
    const exported = this.#evaluate(global, call);
    const tool: unknown = Reflect.get(exported, "default");
    if (typeof tool !== "function") throw new TypeError("the module's default export is not a function");
    const instance = { tool: tool as ToolFunction, holder, global };
    if (this.#isShared) this.#shared = instance;
    return instance;
  }

  #evaluate(global: CallGlobal, call: Call): object {
    if (this.#factory === null) throw new TypeError("no tool is loaded");
    call.global = global;
    // A realm that is not hardened serves one call, so its own global is the call's: polyfills work there as usual.
    const own = this.#hardened ? global : globalThis;
    const named =
      this.#ownNames.length === 0 ? NONE : this.#ownNames.map((name) => Reflect.get(global, name) as unknown);
    // In the order of `GLOBAL_NAMES`.
    const exported = this.#factory(own, own, own, own, ...named);
    if (typeof exported !== "object" || exported === null) throw new TypeError("the module exports nothing");
    return exported;
  }

  #loadFailure(error: unknown): Failure {
    const failure = describeError(error, () => undefined);
    if (failure.code !== "tool_error") return failure;
    return { ...failure, code: "load_error", message: `the tool's module cannot be evaluated: ${failure.message}` };
  }
}

function isThenable(value: unknown): value is object {
  return (
    value !== null &&
    (typeof value === "object" || typeof value === "function") &&
    typeof Reflect.get(value, "then") === "function"
  );
}
