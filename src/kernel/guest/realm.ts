import { parseWithBigInts } from "../base/exact-json.ts";
import { GuestCall, type CallWorld, issuedCode, type NodeNames } from "./call.ts";
import { CallGlobal, type Holder } from "./call-global.ts";
import { type Adapter, isThenable, type ToolFunction } from "./contracts/adapter.ts";
import { Refusal } from "./contracts/defined.ts";
import { adapterNamed, exportsOf, findAdapter } from "./contracts/index.ts";
import { describeError } from "./describe-error.ts";
import { describeModule } from "./describe-module.ts";
import { type Checks, type Factory, type Failure, type Guest, LOADS, NODE_NAME, STARTS_MS } from "./host.ts";
import { ToolContext, type ToolFacts } from "./tool-context.ts";

// Captured before a tool can change them: in an open realm, a tool may replace or delete the functions that end its own
// call.
const { parse } = JSON;
const { get } = Reflect;
const RealPromise = Promise;

const NONE: readonly unknown[] = [];
/** Length of outcomes after which a batch returns, in characters. */
const ANSWER_MAX = 256 * 1024;

type QueuedCall = readonly [
  run: number,
  id: string,
  nowMs: number,
  outputMax: number,
  input: unknown,
  command?: string | null,
  seed?: string,
];

const NO_CALLS: readonly QueuedCall[] = [];

const NO_CHECKS: Checks = { input: null, output: null };

/** What surrounds a module's instance. */
interface InstanceWorld {
  readonly holder: Holder;
  readonly global: CallGlobal;
  readonly node: object | null;
}

interface Instance extends InstanceWorld {
  readonly tool: ToolFunction;
}

export class Realm implements Guest {
  readonly #world: CallWorld;
  readonly #calls = new Map<number, GuestCall>();
  #factory: Factory | null = null;
  /** The per-call globals that the factory takes, and whether Node's names follow. */
  #ownNames: readonly string[] = [];
  #usesNode = false;
  #facts: ToolFacts = { name: "", version: "", config: "null", contract: null };
  #adapter: Adapter | null = null;
  #checks: Checks = NO_CHECKS;
  #isShared = false;
  #shared: Instance | null = null;
  readonly #hardened: boolean;
  #lastAnswer = "";
  #queue: readonly QueuedCall[] = NO_CALLS;
  #next = 0;
  /** Each call gets a separate turn: for a shared module, and once calls continued after their first turn. */
  #isOnePerTurn = false;

  constructor(world: CallWorld, hardened: boolean) {
    this.#world = world;
    this.#hardened = hardened;
  }

  load(factory: Factory, ownNames: string, facts: string, shared: boolean, checks: Checks | null): void {
    this.#checks = checks ?? NO_CHECKS;
    this.#factory = factory;
    const names = ownNames === "" ? [] : ownNames.split(",");
    this.#usesNode = names.at(-1) === NODE_NAME;
    this.#ownNames = this.#usesNode ? names.slice(0, -1) : names;
    this.#facts = parse(facts) as ToolFacts;
    this.#adapter = this.#facts.contract === null ? null : adapterNamed(this.#facts.contract);
    this.#isShared = shared;
    // A call that is taken back has already started its tool: a shared module would see it start twice.
    this.#isOnePerTurn = shared;
  }

  start(calls: string, hasLongIntegers: boolean): string {
    this.#queue = (hasLongIntegers ? parseWithBigInts(calls) : parse(calls)) as QueuedCall[];
    this.#next = 0;
    return this.startNext();
  }

  startNext(): string {
    const queue = this.#queue;
    const { realMs } = this.#world;
    const startedMs = realMs();
    this.#lastAnswer = "";
    for (let ended = 0; this.#next < queue.length; ended++) {
      const queued = queue[this.#next];
      if (queued === undefined) break;
      const outcome = this.#startOne(queued);
      if (outcome === "" && ended > 0) {
        // Microtasks left by ended calls would run as part of this call, so it starts again in a separate turn.
        this.#takeBack(queued[0]);
        break;
      }
      this.#next++;
      this.#lastAnswer += `${outcome}\t`;
      if (outcome === "" || this.#isOnePerTurn || this.#lastAnswer.length > ANSWER_MAX) break;
      // A long call is the last of its turn, so that its time is measured separately.
      if (realMs() - startedMs >= STARTS_MS) break;
    }
    if (this.#next < queue.length) this.#lastAnswer += "\n";
    else this.#queue = NO_CALLS;
    // Microtasks that ended calls left run without a call.
    if (this.#world.turn.call?.settled === true) this.#world.turn.call = null;
    return this.#lastAnswer;
  }

  /** Discards a call as if it had not been started; calls no longer share a turn. */
  #takeBack(run: number): void {
    this.#isOnePerTurn = true;
    this.#calls.get(run)?.end();
    this.#calls.delete(run);
  }

  settle(run: number, asks: string, payloads: string, nowMs: number): void {
    const call = this.#enter(run, nowMs);
    if (call === null) return;
    const lines = payloads.split("\n");
    const numbers = asks.split(",");
    // Without an iterator, which a tool may have replaced.
    for (let at = 0; at < numbers.length; at++) call.answer(+(numbers[at] ?? ""), lines[at] ?? "");
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

  /** The description of the module; the worker reads it with `recover` if it is late, or a rejection came between. */
  inspect(run: number, nowMs: number): string {
    return (this.#lastAnswer = this.#inspect(run, nowMs));
  }

  #inspect(run: number, nowMs: number): string {
    this.#world.turn.nowMs = nowMs;
    const call = new GuestCall(this.#world, run, "", 0);
    this.#world.turn.call = call;
    try {
      const holder: Holder = { call, realm: this };
      const module = this.#evaluate(this.#openGlobal(holder), call);
      const described = describeModule(module, this.#adapter, this.#facts, loadingOf(module));
      if (typeof described !== "string") {
        void this.#answerLater(call, described);
        return "";
      }
      call.end();
      return described;
    } catch (error) {
      return call.failWith(this.#loadFailure(error));
    }
  }

  /** Stores the description of a module whose promises settle later. */
  async #answerLater(call: GuestCall, description: Promise<string>): Promise<void> {
    let answer: string;
    try {
      answer = await description;
      if (call.settled) return;
    } catch (error) {
      answer = call.failWith(this.#loadFailure(error));
    }
    if (answer !== "") this.#lastAnswer = answer;
    call.end();
  }

  #startOne(queued: QueuedCall): string {
    const { turn } = this.#world;
    turn.nowMs = queued[2];
    const call = new GuestCall(this.#world, queued[0], queued[1], queued[3], queued[6]);
    turn.call = call;
    turn.lastRun = call.run;
    const begin = (): string => this.#begin(call, queued[4], queued[5] ?? undefined);
    const { env } = this.#facts;
    const outcome = env === undefined ? begin() : this.#beginWith(call, env, begin);
    if (!call.settled) this.#calls.set(call.run, call);
    return outcome;
  }

  /** Begins a call when it has its variables: the host grants each and answers, as for requests by the tool itself. */
  #beginWith(call: GuestCall, names: readonly string[], begin: () => string): string {
    const ask = async (name: string): Promise<unknown> => {
      try {
        return await call.ask("env", "get", { name });
      } catch {
        return null;
      }
    };
    const start = async (): Promise<void> => {
      const asked = names.map(ask);
      const env: { [name: string]: string } = {};
      for (const [at, name] of names.entries()) {
        const value = await asked[at];
        if (typeof value === "string") env[name] = value;
      }
      if (call.settled) return;
      call.env = env;
      const outcome = begin();
      if (outcome !== "") this.#conclude(call, () => outcome);
    };
    void start();
    return "";
  }

  #begin(call: GuestCall, input: unknown, command: string | undefined): string {
    // The schemas describe the tool's main operation, not its commands. An undoing function gets the arguments of that.
    const isMain = command === undefined;
    const undoes = !isMain && this.#facts.contract === "glovebox";
    const { input: check, output: checkOutput } = isMain ? this.#checks : NO_CHECKS;
    const checkUndone = undoes ? this.#checks.input : null;
    const refusal = check?.(input) ?? checkUndone?.(get(Object(input), "input")) ?? "";
    if (refusal !== "") return call.failAs(refusal);
    let instance: Instance | Promise<Instance>;
    try {
      instance = this.#instance(call);
    } catch (error) {
      return call.failWith(this.#loadFailure(error));
    }
    if (!(instance instanceof RealPromise)) return this.#run(call, instance, input, command, checkOutput);
    void this.#runLater(call, instance, (loaded) => this.#run(call, loaded, input, command, checkOutput));
    return "";
  }

  /** Runs a tool whose module awaits at its top level. */
  async #runLater(call: GuestCall, loading: Promise<Instance>, run: (instance: Instance) => string): Promise<void> {
    let outcome: string;
    try {
      const instance = await loading;
      if (call.settled) return;
      outcome = run(instance);
    } catch (error) {
      outcome = call.failWith(this.#loadFailure(error));
    }
    if (outcome !== "") this.#conclude(call, () => outcome);
  }

  #run(
    call: GuestCall,
    instance: Instance,
    input: unknown,
    command: string | undefined,
    checkOutput: Checks["output"],
  ): string {
    call.global = instance.global;
    call.node = instance.node;
    try {
      // Called without a receiver: `this` would be an object of the prelude.
      const { tool } = instance;
      const value = tool(input, new ToolContext(call, this.#facts), command);
      if (!isThenable(value)) return call.finish(value, checkOutput);
      void this.#follow(call, value, checkOutput);
      return "";
    } catch (error) {
      return failureOf(call, error);
    }
  }

  /**
   * Waits for an asynchronous tool without occupying the turn. Uses `await`, because a tool may have replaced the
   * members of an open realm's `Promise`.
   */
  async #follow(call: GuestCall, value: PromiseLike<unknown>, check: Checks["output"]): Promise<void> {
    let output: unknown;
    try {
      output = await value;
    } catch (error) {
      return this.report(call, error);
    }
    this.#conclude(call, () => call.finish(output, check));
  }

  /** Ends a call with an uncaught error. */
  report(call: GuestCall, error: unknown): void {
    this.#conclude(call, () => failureOf(call, error));
  }

  #conclude(call: GuestCall, outcome: () => string): void {
    this.#calls.delete(call.run);
    call.emitOutcome(outcome());
  }

  /** Whether its calls share the tool's module. */
  get isShared(): boolean {
    return this.#isShared;
  }

  nowMs(): number {
    return this.#world.turn.nowMs;
  }

  #enter(run: number, nowMs: number): GuestCall | null {
    const call = this.#calls.get(run) ?? null;
    this.#world.turn.nowMs = call?.advance(nowMs) ?? nowMs;
    this.#world.turn.call = call;
    if (call !== null && this.#shared !== null) this.#lend(this.#shared, call);
    return call;
  }

  /** Makes a shared module work for the call whose turn it is. */
  #lend({ holder, node }: Instance, call: GuestCall): void {
    holder.call = call;
    if (call.env !== undefined) (node as NodeNames | null)?.setEnvironment(call.env);
  }

  #instance(call: GuestCall): Instance | Promise<Instance> {
    if (this.#shared !== null) {
      this.#lend(this.#shared, call);
      return this.#shared;
    }
    const holder: Holder = { call, realm: this };
    const global = this.#openGlobal(holder);
    const module = this.#evaluate(global, call);
    const world = { holder, global, node: call.node };
    const loads = loadingOf(module);
    return loads === null ? this.#open(module, world) : this.#openLater(module, world, loads);
  }

  async #openLater(module: object, world: InstanceWorld, loads: Promise<unknown>): Promise<Instance> {
    await loads;
    return this.#open(module, world);
  }

  #open(module: object, { holder, global, node }: InstanceWorld): Instance {
    const exports = exportsOf(module);
    this.#adapter ??= findAdapter(exports);
    const instance = { tool: this.#adapter.open(exports, this.#facts, this.#isShared), holder, global, node };
    // Calls that came while a module awaited have made one each: the first is kept.
    if (this.#isShared) this.#shared ??= instance;
    return instance;
  }

  #openGlobal(holder: Holder): CallGlobal {
    const Global = this.#usesNode ? (this.#world.node.globals() as typeof CallGlobal) : CallGlobal;
    return new Global(holder);
  }

  #evaluate(global: CallGlobal, call: GuestCall): object {
    if (this.#factory === null) throw new TypeError("no tool is loaded");
    call.global = global;
    // A realm that is not hardened runs one call, so its own global is the call's: polyfills work there as usual.
    const own = this.#hardened ? global : globalThis;
    // In the order of `GLOBAL_NAMES`. Without a receiver: a direct `eval("this")` in the module would find the realm.
    const factory = this.#factory;
    const named = this.#ownNames.length === 0 ? NONE : this.#ownNames.map((name): unknown => get(global, name));
    const exported = this.#usesNode
      ? factory(own, own, own, own, ...named, (call.node = this.#openNode(call)))
      : factory(own, own, own, own, ...named);
    if (typeof exported !== "object" || exported === null) throw new TypeError("the module exports nothing");
    return exported;
  }

  #openNode(call: GuestCall): object {
    return this.#world.node.open(this.#facts.lacksFetch === true, call.env);
  }

  #loadFailure(error: unknown): Failure {
    const failure = describeError(error, () => undefined);
    if (failure.code !== "tool_error") return failure;
    return { ...failure, code: "load_error", message: `the tool's module cannot be evaluated: ${failure.message}` };
  }
}

/** The promise of a module that awaits at its top level. */
function loadingOf(module: object): Promise<unknown> | null {
  const loads: unknown = get(module, LOADS);
  return loads instanceof RealPromise ? loads : null;
}

/** The outcome of a call that ends with an error, or with values that the tool's own schemas refuse. */
function failureOf(call: GuestCall, error: unknown): string {
  const refused = Refusal.failureIn(error);
  if (refused === null) return call.failWith(describeError(error, issuedCode));
  return call.settled ? "" : call.failAs(refused);
}
