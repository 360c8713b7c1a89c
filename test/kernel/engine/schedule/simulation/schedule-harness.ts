/**
 * A seeded day in the life of a scheduler: random calls under a fake clock, watched by somebody who knows the rules
 * and reports every breach of one.
 */
import { vi } from "vitest";
import type { ScheduleRequest, SchedulerStats } from "../../../../../src/kernel/engine/schedule/scheduler.ts";
import { Refusal } from "../../../../../src/kernel/engine/schedule/queue-entry.ts";

// Taken before the simulation replaces the timers.
const { setImmediate: realSetImmediate } = globalThis;

const STEP_MS = 10;

/** A deadline is noticed at most two sweeps late, and by the harness a step later. */
const MOST_LATE_MS = 2 * 20 + STEP_MS;

/** After this time without a start at its tool a call counts as overdue. */
const PATIENCE_MS = 5_000;

/** What the harness needs of a scheduler: a broken one for the canary has no more. */
export interface Subject {
  run<T>(request: ScheduleRequest, start: (queueMs: number) => Promise<T>): Promise<T | Refusal>;
  stats(): SchedulerStats;
}

export interface World {
  readonly calls: number;
  readonly tenants: number;
  readonly tools: number;
  readonly maxQueued: number;
  readonly concurrency: number;
  readonly perTool: number;
  readonly perTenant: number;
  /** The mean time between two arrivals and the mean time of service, in milliseconds. */
  readonly arrivalMs: number;
  readonly serviceMs: number;
}

export interface Outcome {
  readonly breaches: string[];
  /** How many calls ended in which way. */
  readonly ends: Record<string, number>;
}

interface Call {
  readonly id: number;
  readonly request: ScheduleRequest;
  readonly controller: AbortController;
  readonly arrivedAtMs: number;
  state: "new" | "waiting" | "running" | "done" | "refused";
  finish: () => void;
}

/** The same numbers for the same seed, on every machine. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Plays a world with a scheduler, and reports what it did wrong. */
export async function simulate(seed: number, world: World, make: (world: World) => Subject): Promise<Outcome> {
  vi.useFakeTimers();
  try {
    const watch = new Simulation(seed, world, make);
    await watch.play();
    return { breaches: watch.breaches, ends: watch.ends };
  } finally {
    vi.useRealTimers();
  }
}

class Simulation {
  readonly breaches: string[] = [];
  readonly ends: Record<string, number> = {};
  readonly #random: () => number;
  readonly #world: World;
  readonly #subject: Subject;
  readonly #calls: Call[] = [];
  readonly #waiting = new Set<Call>();
  readonly #running = new Set<Call>();
  /** For each flow with waiting calls: how often each other tenant was served while the flow could have been. */
  readonly #passedBy = new Map<string, Map<string, number>>();
  /** For each flow and tool: when a call last started there, or when the first one began to wait. */
  readonly #laneSinceMs = new Map<string, number>();
  /** What happens when, apart from arrivals; unsorted, because it is short. */
  #agenda: { atMs: number; happen: () => void }[] = [];
  #nowMs = 0;

  constructor(seed: number, world: World, make: (world: World) => Subject) {
    this.#random = randomFrom(seed);
    this.#world = world;
    this.#subject = make(world);
  }

  async play(): Promise<void> {
    let arrivalMs = 0;
    for (let id = 0; id < this.#world.calls; id++) {
      arrivalMs += this.#spread(this.#world.arrivalMs);
      while (await this.#happenUntil(arrivalMs));
      await this.#passTo(arrivalMs);
      this.#arrive(id);
      await this.#settle();
    }
    while (await this.#happenUntil(Infinity));
    // Whatever still waits could never start; its deadline is the last that can happen to it.
    for (let turn = 0; turn < 300 && this.#waiting.size > 0; turn++) {
      await this.#passTo(this.#nowMs + STEP_MS);
      while (await this.#happenUntil(this.#nowMs));
    }
    await this.#passTo(this.#nowMs + MOST_LATE_MS);
    this.#concludeAll();
  }

  /** Lets the next thing on the agenda happen, one at a time, and says whether there was one before the time given. */
  async #happenUntil(untilMs: number): Promise<boolean> {
    let next = this.#agenda[0];
    for (const item of this.#agenda) if (next === undefined || item.atMs < next.atMs) next = item;
    if (next === undefined || next.atMs > untilMs) return false;
    this.#agenda = this.#agenda.filter((item) => item !== next);
    await this.#passTo(next.atMs);
    next.happen();
    await this.#settle();
    return true;
  }

  #arrive(id: number): void {
    const { tools, tenants } = this.#world;
    // A square makes the first tools and tenants far busier than the last, as they are in life.
    const request = {
      tool: `tool ${Math.floor(this.#random() ** 2 * tools)}`,
      tenant: `tenant ${Math.floor(this.#random() ** 2 * tenants)}`,
      priority: Math.floor(this.#random() * 3) - 1,
      queueMs: this.#random() < 0.3 ? Math.ceil(this.#random() * 300) : 3_000,
    };
    const controller = new AbortController();
    const whole = { ...request, signal: controller.signal };
    const call: Call = { id, request: whole, controller, arrivedAtMs: this.#nowMs, state: "new", finish: () => {} };
    this.#calls.push(call);
    const result = this.#subject.run(whole, () => this.#start(call));
    if (call.state === "new") this.#beginWaiting(call);
    void result.then(
      (value) => this.#conclude(call, value),
      () => this.#conclude(call, "rejected"),
    );
    if (this.#random() < 0.1) {
      const atMs = this.#nowMs + this.#spread(this.#world.serviceMs);
      this.#agenda.push({ atMs, happen: () => this.#cancel(call) });
    }
  }

  #beginWaiting(call: Call): void {
    call.state = "waiting";
    const flow = flowOf(call);
    if (!this.#passedBy.has(flow)) this.#passedBy.set(flow, new Map());
    const lane = laneOf(call);
    const isFirst = ![...this.#waiting].some((other) => laneOf(other) === lane);
    if (isFirst) this.#laneSinceMs.set(lane, this.#nowMs);
    this.#waiting.add(call);
  }

  #stopWaiting(call: Call): void {
    if (!this.#waiting.delete(call)) return;
    const flow = flowOf(call);
    for (const other of this.#waiting) if (flowOf(other) === flow) return;
    this.#passedBy.delete(flow);
  }

  #start(call: Call): Promise<number> {
    const { request } = call;
    if (call.state !== "new" && call.state !== "waiting") this.#breach(call, `started while it was ${call.state}`);
    if (this.#nowMs - call.arrivedAtMs > request.queueMs + MOST_LATE_MS)
      this.#breach(call, "started long after its deadline");
    this.#judgeTurn(call);
    this.#stopWaiting(call);
    call.state = "running";
    this.#running.add(call);
    const { concurrency, perTool, perTenant } = this.#world;
    if (this.#running.size > concurrency) this.#breach(call, "runs without a slot");
    if (this.#count("tool", request.tool) > perTool) this.#breach(call, "exceeds the cap of its tool");
    if (this.#count("tenant", request.tenant) > perTenant) this.#breach(call, "exceeds the cap of its tenant");
    const ended = Promise.withResolvers<number>();
    call.finish = () => ended.resolve(call.id);
    const atMs = this.#nowMs + this.#spread(this.#world.serviceMs);
    this.#agenda.push({ atMs, happen: () => this.#finish(call) });
    return ended.promise;
  }

  /** Nobody who may start is passed over twice by the same tenant at the same priority, or by a call that just came. */
  #judgeTurn(call: Call): void {
    const flow = flowOf(call);
    const judged = new Set([flow]);
    // Where tools are capped, a tenant that got nothing from a tool for very long may have one call more.
    const isOverdue =
      this.#world.perTool < Infinity && this.#nowMs - (this.#laneSinceMs.get(laneOf(call)) ?? 0) > PATIENCE_MS;
    for (const other of this.#waiting) {
      const otherFlow = flowOf(other);
      if (other === call || !this.#hasRoom(other)) continue;
      if (call.state === "new") {
        this.#breach(call, `started at once past call ${other.id}`);
        return;
      }
      if (otherFlow === flow && other.id < call.id && this.#world.perTool === Infinity) {
        this.#breach(call, `overtook call ${other.id} of its own tenant`);
      }
      if (judged.has(otherFlow) || other.request.priority !== call.request.priority) continue;
      judged.add(otherFlow);
      const passes = this.#passedBy.get(otherFlow);
      const times = (passes?.get(call.request.tenant) ?? 0) + 1;
      passes?.set(call.request.tenant, times);
      if (times > 1 && !isOverdue) this.#breach(call, `had turn ${times} before a turn of ${otherFlow}`);
    }
    this.#passedBy.get(flow)?.clear();
    this.#laneSinceMs.set(laneOf(call), this.#nowMs);
  }

  #hasRoom({ request }: Call): boolean {
    const { perTool, perTenant } = this.#world;
    return this.#count("tool", request.tool) < perTool && this.#count("tenant", request.tenant) < perTenant;
  }

  #count(what: "tool" | "tenant", name: string): number {
    let count = 0;
    for (const { request } of this.#running) if (request[what] === name) count++;
    return count;
  }

  #finish(call: Call): void {
    this.#running.delete(call);
    call.finish();
  }

  #cancel(call: Call): void {
    call.controller.abort();
  }

  #conclude(call: Call, value: unknown): void {
    const end = value instanceof Refusal ? value.code : "ran";
    this.ends[end] = (this.ends[end] ?? 0) + 1;
    this.#stopWaiting(call);
    const hasRun = call.state === "running";
    call.state = hasRun ? "done" : "refused";
    const waitedMs = this.#nowMs - call.arrivedAtMs;
    if (value instanceof Refusal) {
      if (hasRun) this.#breach(call, "was refused after it had started");
      if (value.code === "queue_timeout" && waitedMs < call.request.queueMs) this.#breach(call, "timed out too early");
      if (value.code === "queue_timeout" && waitedMs > call.request.queueMs + MOST_LATE_MS)
        this.#breach(call, "timed out late");
      if (value.code === "cancelled" && !call.controller.signal.aborted) this.#breach(call, "was cancelled by nobody");
    } else if (value !== call.id || !hasRun) {
      this.#breach(call, `settled with ${String(value)}`);
    }
  }

  #concludeAll(): void {
    for (const call of this.#calls) {
      if (call.state !== "done" && call.state !== "refused") this.#breach(call, `was lost while it was ${call.state}`);
    }
    const { queued, running } = this.#subject.stats();
    if (queued !== 0 || running !== 0) this.breaches.push(`${queued} calls wait and ${running} run at the end`);
    if (vi.getTimerCount() > 0) this.breaches.push("a timer is left at the end");
  }

  #breach(call: Call, what: string): void {
    this.breaches.push(`call ${call.id} of ${flowOf(call)} ${what} at ${this.#nowMs} ms`);
  }

  #spread(meanMs: number): number {
    return Math.floor(-Math.log(1 - this.#random()) * meanMs);
  }

  /** Lets time pass in short steps, so that refusals are heard of when they happen. */
  async #passTo(atMs: number): Promise<void> {
    while (this.#nowMs < atMs) {
      const stepMs = Math.min(STEP_MS, atMs - this.#nowMs);
      vi.advanceTimersByTime(stepMs);
      this.#nowMs += stepMs;
      await this.#settle();
    }
  }

  /** Lets everything happen that needs no time to pass, and checks what must hold at any time. */
  async #settle(): Promise<void> {
    await new Promise<void>((resolve) => realSetImmediate(resolve));
    const { queued, running } = this.#subject.stats();
    if (queued > this.#world.maxQueued) this.breaches.push(`${queued} calls wait at ${this.#nowMs} ms`);
    if (running !== this.#running.size) this.breaches.push(`${running} calls are said to run at ${this.#nowMs} ms`);
    const isSlotFree = this.#running.size < this.#world.concurrency;
    if (!isSlotFree) return;
    for (const call of this.#waiting) {
      if (this.#hasRoom(call)) this.#breach(call, "waits although it could run");
    }
  }
}

function laneOf(call: Call): string {
  return `${flowOf(call)} at ${call.request.tool}`;
}

function flowOf({ request }: Call): string {
  return `${request.tenant} at priority ${request.priority}`;
}
