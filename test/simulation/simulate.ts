import type { ToolResult } from "../../src/kernel/base/result.ts";
import { SimBrokers } from "./brokers.ts";
import { Effects } from "./effects.ts";
import { createEngine, policy } from "./engine.ts";
import type { Recording } from "../../src/kernel/engine/replay/recording.ts";
import type { ProgramOutput } from "./program.ts";
import { SimProcesses } from "./processes.ts";
import { type CallPlan, type Fault, programsOf, type Scenario, scenarioOf } from "./scenario.ts";
import { enterWorld, World } from "./world.ts";

/** Virtual time after which a call that has not ended will never end, in milliseconds. */
const LIVE_MS = 300_000;
/** Virtual time in which all that calls leave behind has to be gone, in milliseconds. */
const REST_MS = 120_000;

/** Longest time of a handler whose call has ended, in milliseconds. */
const CALM_MS = 60;

export interface Simulated {
  readonly seed: number;
  readonly steps: number;
  readonly violations: readonly string[];
  readonly trace: readonly string[];
  /** Number of calls by their error code; empty for success. */
  readonly ends: ReadonlyMap<string, number>;
  readonly effects: number;
  readonly restarts: number;
  readonly replayed: number;
}

/** Runs the simulation of a seed. The clocks and timers of the process must belong to `currentWorld`. */
export async function simulate(seed: number, isTraced = false): Promise<Simulated> {
  const world = enterWorld(new World(seed, isTraced));
  const simulation = new Simulation(world, scenarioOf(seed));
  await simulation.run();
  const { ends, effects, restarts, replayed } = simulation;
  const counts = { ends, effects: effects.begun.size, restarts, replayed };
  return { seed, steps: world.steps, violations: world.violations, trace: world.trace ?? [], ...counts };
}

class Simulation {
  readonly effects: Effects;
  readonly ends = new Map<string, number>();
  restarts = 0;
  replayed = 0;
  readonly #world: World;
  readonly #scenario: Scenario;
  readonly #brokers: SimBrokers;
  readonly #processes: SimProcesses;
  readonly #engine: ReturnType<typeof createEngine>;
  readonly #results: (ToolResult | null)[];
  /** Ends that were told, and capability calls that were carried out, by call. */
  readonly #told = new Map<string, number>();
  readonly #carriedOut = new Map<string, number>();
  #brokerDeaths = 0;
  #isClosing = false;
  #isClosed = false;

  constructor(world: World, scenario: Scenario) {
    this.#world = world;
    this.#scenario = scenario;
    this.effects = new Effects(world);
    this.#processes = new SimProcesses(world, this.effects, scenario.isTorn);
    this.#brokers = new SimBrokers(world, (broker) => [
      this.effects.capability("disk", () => {
        if (world.random.chance(scenario.brokerFalls)) broker.end();
        if (world.random.chance(scenario.processFalls)) this.#kill();
      }),
    ]);
    this.#engine = createEngine(scenario, {
      startBroker: this.#brokers.start,
      startProcess: this.#processes.start,
      disk: this.effects.capability("disk", () => world.violate("the main thread carried out a method of the broker")),
      notes: this.effects.capability("notes", () => world.random.chance(scenario.processFalls) && this.#kill()),
      onBrokerDeath: () => this.#brokerDeaths++,
    });
    this.#results = scenario.calls.map(() => null);
    this.#listen();
  }

  #listen(): void {
    const { events } = this.#engine;
    const tell = ({ callId }: { readonly callId: string }): void => {
      this.#told.set(callId, (this.#told.get(callId) ?? 0) + 1);
    };
    events.on("tool:post", tell);
    events.on("tool:error", tell);
    events.on("executor:lost", ({ restarted }) => (this.restarts += restarted));
    events.on("capability:call", ({ callId, outcome }) => {
      if (outcome === "replayed") this.replayed++;
      else if (outcome === "diverged") this.#world.violate(`${callId} did not repeat itself`);
      else this.#carriedOut.set(callId, (this.#carriedOut.get(callId) ?? 0) + 1);
    });
    // Arguments are hashed for others.
    events.markOwn();
  }

  async run(): Promise<void> {
    const world = this.#world;
    const { calls, faults, closesAtMs } = this.#scenario;
    world.at(world.main, 0, "", () => void this.#start());
    for (const fault of faults) world.at(world.main, fault.atMs, "", () => this.#strike(fault));
    for (const [at, plan] of calls.entries()) world.at(world.main, plan.atMs, "", () => void this.#call(at, plan));
    if (closesAtMs !== null) world.at(world.main, closesAtMs, "", () => void this.#close());
    await world.run(() => this.#haveEnded || world.nowMs > LIVE_MS);
    for (const [at, result] of this.#results.entries()) {
      if (result === null) world.violate(`call ${at} has no end`);
    }
    const untilMs = world.nowMs + REST_MS;
    await world.run(() => this.#isAtRest || world.nowMs > untilMs);
    this.#checkRest();
    const calmMs = world.nowMs + CALM_MS;
    await world.run(() => world.nowMs > calmMs);
    if (!this.#isClosing) world.at(world.main, world.nowMs, "", () => void this.#close());
    const closedByMs = world.nowMs + REST_MS;
    await world.run(() => (this.#isClosed && this.#isGone) || world.nowMs > closedByMs);
    this.#checkGone();
    this.#checkEffects();
  }

  async #start(): Promise<void> {
    const { broker, executor } = this.#engine;
    broker.start();
    try {
      await executor.start();
    } catch (error) {
      this.#world.note(`the executor could not be started: ${String(error)}`);
    }
  }

  async #call(at: number, plan: CallPlan): Promise<void> {
    const { tool, args, tenant, cancelAfterMs, wallMs, capabilityCalls, retries, isHeard, isRecorded } = plan;
    const world = this.#world;
    const abort = new AbortController();
    if (cancelAfterMs !== null) world.later(world.main, cancelAfterMs, `call ${at} is cancelled`, () => abort.abort());
    let lines = 0;
    const limits = {
      ...(wallMs === null ? {} : { wallMs }),
      ...(capabilityCalls === null ? {} : { capabilityCalls }),
    };
    if (world.trace !== null) world.note(`call ${at} of ${tool}: ${JSON.stringify(args)}`);
    const result = await this.#engine.pipeline.execute(
      { id: `call-${at}`, name: tool, arguments: args as unknown as Record<string, unknown> },
      {
        ...(tenant === "" ? {} : { tenant }),
        signal: abort.signal,
        limits,
        retries,
        ...(isRecorded && { record: true }),
        ...(isHeard && {
          onLog: ({ message }: { readonly message: string }) => {
            if (message === "0" && retries > 0) lines = 0;
            if (message !== `${lines++}`) world.violate(`call ${at} logged ${message} as line ${lines - 1}`);
          },
        }),
      },
    );
    if (this.#results[at] !== null) world.violate(`call ${at} has two ends`);
    this.#results[at] = result;
    const { error, metadata } = result;
    if (world.trace !== null) {
      world.note(`call ${at} ends: ${JSON.stringify(error ?? result.output)} ${JSON.stringify(metadata)}`);
    }
    this.ends.set(error?.code ?? "", (this.ends.get(error?.code ?? "") ?? 0) + 1);
    this.#judge(at, plan, result);
  }

  #judge(at: number, plan: CallPlan, { error, output, metadata }: ToolResult): void {
    if (error === null) {
      // A broker takes what it has journaled with it.
      if (!plan.isRecorded || this.#brokers.hasFallen) return;
      const { steps } = output as ProgramOutput;
      const recorded = (metadata["recording"] as Recording | undefined)?.asks.length;
      const { faults, processFalls } = this.#scenario;
      // What a call asks as it leaves is lost with its process, and nothing came of it.
      const mayLose = plan.args.leaves && (processFalls > 0 || faults.some(({ kind }) => kind === "kill"));
      if (recorded !== steps && !mayLose)
        this.#world.violate(`call ${at} made ${steps} capability calls, and ${recorded} are recorded`);
      return;
    }
    if (!this.#mayEndWith(plan, error.code))
      this.#world.violate(`call ${at} ended with ${error.code}: ${error.message}`);
  }

  /** Whether what happens in this scenario explains the end. */
  #mayEndWith({ args, cancelAfterMs, wallMs, tool, tenant }: CallPlan, code: string): boolean {
    const { calls, closesAtMs } = this.#scenario;
    const harms = programsOf(args).flatMap(({ harm }) => harm?.kind ?? []);
    switch (code) {
      case "cancelled":
        return cancelAfterMs !== null;
      case "wall_limit":
      case "queue_timeout":
        return wallMs !== null;
      case "engine_closed":
        return closesAtMs !== null;
      case "tool_error":
        return harms.includes("throw");
      case "cpu_limit":
        return harms.includes("spin") || harms.includes("hang");
      case "memory_limit":
        return harms.includes("memory");
      case "executor_crashed":
        return harms.includes("crash");
      case "executor_lost":
        // One that runs out of time before it has repeated itself is lost.
        return this.#brokerDeaths > 0 || wallMs !== null;
      case "tool_quarantined":
        return calls.some(
          (call) =>
            call.tool === tool && call.tenant === tenant && programsOf(call.args).some(({ harm }) => harm !== null),
        );
      default:
        return false;
    }
  }

  #strike(fault: Fault): void {
    switch (fault.kind) {
      case "kill":
        return this.#kill();
      case "policy": {
        const { broker } = this.#engine;
        return broker.use(broker.grantsOf(policy()));
      }
      case "broker": {
        for (const broker of this.#brokers.living) broker.end();
        return;
      }
      case "stall": {
        const [broker] = this.#brokers.living;
        const [process] = this.#processes.living;
        const worker = process?.workers[0]?.thread;
        const thread = { main: this.#world.main, broker: broker?.thread, worker }[fault.who];
        if (thread !== undefined) thread.busyUntilMs = Math.max(thread.busyUntilMs, this.#world.nowMs) + fault.forMs;
      }
    }
  }

  #kill(): void {
    const processes = [...this.#processes.living];
    processes[this.#world.random.below(processes.length)]?.end("SIGKILL");
  }

  get #haveEnded(): boolean {
    return this.#results.every((result) => result !== null);
  }

  get #isAtRest(): boolean {
    const { scheduler, broker } = this.#engine;
    const { running, queued } = scheduler.stats();
    if (running > 0 || queued > 0 || broker.openCalls > 0) return false;
    for (const { openCalls } of this.#brokers.living) if (openCalls > 0) return false;
    for (const { workers } of this.#processes.living) if (!workers.every(({ isIdle }) => isIdle)) return false;
    return true;
  }

  #checkRest(): void {
    if (this.#isAtRest) return;
    const { scheduler, broker } = this.#engine;
    const { running, queued } = scheduler.stats();
    const sessions = [...this.#brokers.living].map(({ openCalls }) => openCalls);
    const what = JSON.stringify({ running, queued, hosted: broker.openCalls, sessions });
    this.#world.violate(`something is left of calls that have ended: ${what}`);
  }

  async #close(): Promise<void> {
    if (this.#isClosing) return;
    this.#isClosing = true;
    await this.#engine.pipeline.close({ isAtOnce: true, hurry: Promise.resolve() });
    await this.#engine.broker.close();
    this.#isClosed = true;
  }

  get #isGone(): boolean {
    const { living } = this.#processes;
    return living.size === 0 && this.#brokers.living.size === 0 && this.#world.main.waiting.size === 0;
  }

  #checkGone(): void {
    const world = this.#world;
    if (!this.#isClosed) return world.violate("the engine does not close");
    if (this.#processes.living.size > 0) world.violate("a process is left of a closed engine");
    if (this.#brokers.living.size > 0) world.violate("a broker is left of a closed engine");
    for (const { everyMs, from } of world.main.waiting) {
      world.violate(`a ${everyMs === null ? "timer" : "interval"} is left of a closed engine ${from}`);
    }
  }

  #checkEffects(): void {
    const world = this.#world;
    const { accounts } = this.#engine.broker;
    const { asks, journalBytes, inFlightBytes } = accounts.total.usage();
    if (journalBytes !== 0) world.violate(`${journalBytes} bytes of journals are held for nobody`);
    if (inFlightBytes !== 0) world.violate(`${inFlightBytes} bytes in flight are held for nobody`);
    for (const [callId, times] of this.#told) if (times !== 1) world.violate(`${callId} has ended ${times} times`);
    // What was carried out for calls that were cut off is not told.
    if (this.#brokerDeaths > 0 || this.#scenario.closesAtMs !== null) return;
    let carriedOut = 0;
    for (const times of this.#carriedOut.values()) carriedOut += times;
    if (asks !== carriedOut) world.violate(`${asks} capability calls were charged, and ${carriedOut} carried out`);
    for (const [at, result] of this.#results.entries()) {
      const charged = result?.metadata.host?.asks ?? 0;
      const done = this.#carriedOut.get(`call-${at}`) ?? 0;
      if (charged !== done) world.violate(`call ${at} was charged ${charged} capability calls of ${done}`);
    }
  }
}
