import { readResult, type ToolResult } from "../../../src/kernel/base/result.ts";
import type { DurableStep } from "../../../src/kernel/store/calls/durable/durable-step.ts";
import type { CallWait, Decision, DurableCall } from "../../../src/kernel/store/calls/durable/durable-call.ts";
import { digestOf } from "../../../src/kernel/broker/journal.ts";
import { Effects } from "../effects.ts";
import type { ProgramArgs } from "../program.ts";
import type { Simulated } from "../simulate.ts";
import { enterWorld, SimThread, World } from "../world.ts";
import { SimHost } from "./host.ts";
import {
  FAULTS_MS,
  type LegFault,
  type LegScenario,
  legScenarioOf,
  NO_FAULTS,
  type StoredCallPlan,
} from "./scenario.ts";
import { SimStore } from "./store.ts";

/** Virtual time after the last fault in which all calls have to end, in milliseconds. */
const LIVE_MS = 400_000;
/** Time for which a person lets an effect be before saying what became of it: what was under way has happened by then. */
const LOOKED_MS = 2_000;
/** Codes with which a call may end where something has fallen. */
const FAILURES: readonly (string | undefined)[] = [
  undefined,
  "paused",
  "outcome_unknown",
  "store_failed",
  "executor_lost",
  "approval_refused",
  // By a person, and as it has waited for too long.
  "cancelled",
  "cannot_pause",
  "engine_closed",
];

/** Runs the simulation of calls that wait, of a seed. */
export async function simulateLegs(seed: number, isTraced = false): Promise<Simulated> {
  const world = enterWorld(new World(seed, isTraced));
  const scenario = legScenarioOf(seed);
  const legs = new Legs(world, scenario);
  using _store = legs.store;
  await legs.run();
  const { ends, effects, restarts, resumed } = legs;
  const counts = { ends, effects: effects.begun.size, restarts, replayed: resumed };
  return { seed, steps: world.steps, violations: world.violations, trace: world.trace ?? [], ...counts };
}

type Doubt = Extract<CallWait, { readonly kind: "outcome" }>;

class Legs {
  readonly effects: Effects;
  readonly ends = new Map<string, number>();
  /** Engines that were lost, and calls that went on. */
  restarts = 0;
  resumed = 0;
  readonly #world: World;
  readonly #scenario: LegScenario;
  readonly store: SimStore;
  readonly #people = new SimThread("people");
  #hosts: SimHost[] = [];
  #started = 0;
  #waiting = 0;
  /** What callers have heard of calls that succeeded. */
  readonly #outputs = new Map<string, string>();
  /** Seeds of calls of tools, by their arguments as journals have them. */
  readonly #below = new Map<string, number>();
  /** When an effect was first seen in doubt. */
  readonly #doubtedMs = new Map<string, number>();

  constructor(world: World, scenario: LegScenario) {
    this.#world = world;
    this.#scenario = scenario;
    this.store = new SimStore(world, scenario.store, (step, main) => this.#onTaken(step, main));
    this.effects = new Effects(world);
    for (const { args } of scenario.calls)
      for (const child of args.children)
        this.#below.set(digestOf(JSON.stringify(child)), (child.arguments as ProgramArgs).seed);
  }

  async run(): Promise<void> {
    const world = this.#world;
    const { hosts, calls, faults } = this.#scenario;
    for (let more = hosts; more > 0; more--) this.#startHost();
    for (const [at, plan] of calls.entries()) world.at(this.#people, plan.atMs, "", () => this.#call(at, plan));
    for (const fault of faults) world.at(this.#people, fault.atMs, "", () => this.#strike(fault));
    this.#look();
    await world.run(() => world.nowMs > FAULTS_MS);
    this.store.faults = NO_FAULTS;
    const untilMs = world.nowMs + LIVE_MS;
    await world.run(() => world.nowMs > untilMs || (this.#waiting === 0 && this.store.open === 0));
    this.#check();
    for (const host of this.#hosts) host.kill();
  }

  get #living(): readonly SimHost[] {
    return this.#hosts.filter(({ isAlive, isClosing }) => isAlive && !isClosing);
  }

  #startHost(): void {
    const host = new SimHost(this.#world, ++this.#started, this.effects, this.store, (one) => this.#onEffect(one));
    host.engine.events.on("call:resume", () => this.resumed++);
    this.#hosts.push(host);
    this.#world.at(host.main, this.#world.timeMs, `${host.main.name} starts`, () => void host.start());
  }

  /** An engine may end before it hears what the store has taken: an announced effect then never happens. */
  #onTaken(step: DurableStep, main: SimThread): void {
    const { hostFalls, stepFalls } = this.#scenario;
    const { random, nowMs } = this.#world;
    if (nowMs > FAULTS_MS) return;
    const isAnnounced = step.kind === "append" && step.lines.some(({ begins }) => begins !== null);
    if (!random.chance(isAnnounced ? hostFalls : stepFalls)) return;
    const host = this.#living.find((one) => one.main === main);
    if (host !== undefined) this.#end(host);
  }

  #onEffect(host: SimHost): void {
    const { executorFalls, hostFalls } = this.#scenario;
    const { random, nowMs } = this.#world;
    if (nowMs > FAULTS_MS) return;
    if (random.chance(executorFalls)) host.killExecutors();
    if (random.chance(hostFalls)) this.#end(host);
  }

  #strike(fault: LegFault): void {
    const world = this.#world;
    const [first] = this.#living;
    switch (fault.kind) {
      case "host":
        return first && this.#end(first);
      case "executors":
        return first?.killExecutors();
      case "clock":
        world.note(`the clock is set by ${fault.byMs} ms`);
        world.clockMs += fault.byMs;
        return;
      case "close":
        if (first === undefined) return;
        world.at(first.main, world.nowMs, `${first.main.name} closes`, () => void first.close());
        this.#startLater();
    }
  }

  #end(host: SimHost): void {
    host.kill();
    this.restarts++;
    this.#startLater();
  }

  #startLater(): void {
    this.#world.later(this.#people, this.#world.random.between(1, 300), "", () => this.#startHost());
  }

  #call(at: number, plan: StoredCallPlan): void {
    const [host] = this.#living;
    if (host === undefined) return this.#world.later(this.#people, 20, "", () => this.#call(at, plan));
    this.#waiting++;
    this.#world.at(
      host.main,
      this.#world.nowMs,
      `call ${at}: ${JSON.stringify(plan)}`,
      () => void this.#run(host, at, plan),
    );
    // Nobody waits any more for what an engine that is gone was to answer.
    const forget = (): void => {
      if (!host.isAlive && this.#open.delete(at)) this.#waiting--;
      if (this.#open.has(at)) this.#world.later(this.#people, 500, "", forget);
    };
    this.#open.add(at);
    this.#world.later(this.#people, 500, "", forget);
  }

  readonly #open = new Set<number>();

  async #run(host: SimHost, at: number, { args, tenant, isDurable }: StoredCallPlan): Promise<void> {
    const call = { id: `call-${at}`, name: "waiter", arguments: args as unknown as Record<string, unknown> };
    const options = { ...(tenant === "" ? {} : { tenant }), ...(isDurable ? { durable: true } : {}) };
    const { success, output, error } = await host.engine.pipeline.execute(call, options);
    if (this.#open.delete(at)) this.#waiting--;
    if (success) this.#outputs.set(call.id, JSON.stringify(output));
    this.#tell(`call ${at}`, error);
  }

  #tell(what: string, error: ToolResult["error"]): void {
    const code = error?.code;
    this.#world.note(`${what} ends: ${code ?? "ok"} ${error?.message ?? ""}`);
    this.#count(code ?? "");
    if (!FAILURES.includes(code)) this.#world.violate(`${what} ended with ${code}: ${error?.message}`);
  }

  /** The store has the end that the caller has heard. */
  #checkEnd(callId: string, { output, error }: ToolResult): void {
    this.#tell(`stored ${callId}`, error);
    const heard = this.#outputs.get(callId);
    const stored = JSON.stringify(output);
    if (heard !== undefined && heard !== stored)
      this.#world.violate(`${callId} gave ${heard}, and ${stored} is stored`);
  }

  /** A person looks at what waits, and decides some of it. */
  #look(): void {
    const world = this.#world;
    world.later(this.#people, world.random.between(10, this.#scenario.peopleMs), "", () => {
      const [host] = this.#living;
      if (host !== undefined) world.at(host.main, world.nowMs, "", () => void this.#decide(host));
      this.#look();
    });
  }

  async #decide({ engine: { durable } }: SimHost): Promise<void> {
    try {
      const { calls } = await durable.list({ state: ["paused", "in_doubt"] } as never);
      for (const call of calls) {
        if (this.#world.random.chance(this.#scenario.cancels)) await durable.cancel(call.id);
        for (const wait of call.waits) if (wait.state === "open") await this.#settle(durable, call, wait);
      }
    } catch (error) {
      // The store fails at times, and another person was faster.
      this.#world.note(`nothing is decided: ${String(error)}`);
    }
  }

  async #settle(durable: SimHost["engine"]["durable"], { id }: DurableCall, wait: CallWait): Promise<void> {
    const { random } = this.#world;
    if (random.chance(0.3)) return;
    const { step } = wait;
    switch (wait.kind) {
      case "approval": {
        const isApproved = random.chance(0.8);
        const decision: Decision = isApproved
          ? { wait: step, decision: "approve", digest: wait.digest }
          : { wait: step, decision: "refuse" };
        await durable.decide(id, decision);
        return;
      }
      case "signal":
        await durable.signal(id, wait.name, random.below(9));
        return;
      case "outcome":
        return this.#say(durable, id, step, wait);
      case "time":
      case "call":
        return;
    }
  }

  /** What became of an effect, as somebody finds who looks where it would be. */
  async #say(durable: SimHost["engine"]["durable"], id: string, step: number, asked: Doubt): Promise<void> {
    const { nowMs } = this.#world;
    const place = `${id} ${step}`;
    const sinceMs = this.#doubtedMs.get(place) ?? nowMs;
    this.#doubtedMs.set(place, sinceMs);
    if (nowMs - sinceMs < LOOKED_MS) return;
    const answer = this.#found(asked);
    const decision: Decision =
      answer === undefined ? { wait: step, decision: "did_not_happen" } : { wait: step, decision: "happened", answer };
    if ((await durable.decide(id, decision)) !== undefined) this.#count(decision.decision);
  }

  /** The answer of an effect that has happened. A call of a tool has where that has written anything. */
  #found({ asked, arguments: args }: Doubt): unknown {
    if (asked !== "tools.call") {
      const key = this.effects.keys.get(args);
      return key === undefined ? undefined : { key };
    }
    const seed = this.#below.get(args);
    if (seed === undefined) this.#world.violate(`nobody knows the call ${args}`);
    return seed !== undefined && this.effects.hasWritten(seed) ? { hash: 0, steps: 0 } : undefined;
  }

  #count(what: string): void {
    this.ends.set(what, (this.ends.get(what) ?? 0) + 1);
  }

  #check(): void {
    const world = this.#world;
    for (const { id, call_id: callId, state, result } of this.store.rows()) {
      if (state !== "ended" || result === null) world.violate(`${callId} is ${state} for ever, as ${id}`);
      else this.#checkEnd(callId, readResult(result));
    }
    if (this.#waiting > 0) world.violate(`${this.#waiting} callers wait for ever`);
    const [counted, summed] = this.store.books();
    if (counted !== summed) world.violate(`${counted} bytes are counted, and there are ${summed}`);
  }
}
