/** A fleet in simulated time. The same settings and seed lead to the same outcome, to the last digit. */
import { randomFrom } from "../open-loop.ts";
import { percentile } from "../statistics.ts";
import type { Costs } from "./costs.ts";
import type { CallKind, Fleet, Mix } from "./mixes.ts";
import type { Sharing } from "./model.ts";
import { type Call, Machine, Redis, Server, type Tally, type World } from "./parts.ts";
import { Timeline } from "./timeline.ts";

/** `closed`: so many callers, each of whom has its next burst when the last one has its answers. `open`: at random. */
export type Load =
  { readonly kind: "closed"; readonly callers: number } | { readonly kind: "open"; readonly callsPerSecond: number };

export interface Settings {
  readonly fleet: Fleet;
  readonly mix: Mix;
  readonly costs: Costs;
  readonly load: Load;
  /** How long it runs before anything is counted, and then for how long that is done. */
  readonly warmUpMs: number;
  readonly windowMs: number;
  readonly seed: number;
}

/** What was counted in the window; shares are of the time. */
export interface Outcome {
  readonly callsPerSecond: number;
  readonly sharing: Sharing;
  /** From a call's arrival at its server until a machine runs it. */
  readonly waitP50Ms: number;
  readonly waitP99Ms: number;
  readonly waitMeanMs: number;
  /** Of the mean and of the busiest Redis. */
  readonly redisBusy: number;
  readonly redisBusiest: number;
  readonly slotsBusy: number;
  readonly serversBusy: number;
  readonly machinesBusy: number;
  /** All calls of the run: every one that entered has settled. */
  readonly entered: number;
  readonly settled: number;
  readonly settledTwice: number;
}

const MS_PER_SECOND = 1e3;
/** Callers begin one by one within this share of the warm-up: those who begin as one would go on as one for long. */
const BEGIN_SHARE = 0.5;

export function simulate(settings: Settings): Outcome {
  return new Run(settings).outcome();
}

/** What has been done so far. */
interface Reading {
  readonly atMs: number;
  readonly settled: number;
  readonly redisMs: readonly number[];
  readonly serversMs: number;
  readonly machinesMs: number;
  readonly slotsMs: number;
  readonly tally: Readonly<Tally>;
}

function sharingBetween(start: Tally, end: Tally): Sharing {
  const ratio = (of: keyof Tally, to: keyof Tally) =>
    end[to] === start[to] ? 1 : (end[of] - start[of]) / (end[to] - start[to]);
  return {
    callsPerJob: ratio("shortCalls", "shortJobs"),
    jobsPerGate: ratio("jobs", "gates"),
    messagesPerEntry: ratio("messages", "entries"),
  };
}

class Run {
  readonly #settings: Settings;
  readonly #timeline = new Timeline();
  readonly #random: () => number;
  readonly #redises: readonly Redis[];
  readonly #servers: readonly Server[];
  readonly #machines: readonly Machine[];
  readonly #shardOfTenant: readonly number[];
  readonly #waitsMs: number[] = [];
  readonly #tally: Tally = { gates: 0, jobs: 0, shortJobs: 0, shortCalls: 0, messages: 0, entries: 0 };
  #entered = 0;
  #settled = 0;
  #settledTwice = 0;
  #busySlots = 0;
  #slotsMs = 0;
  #slotsSeenMs = 0;
  #start: Reading | null = null;
  #end: Reading | null = null;

  constructor(settings: Settings) {
    const { fleet, mix, costs, seed } = settings;
    this.#settings = settings;
    this.#random = randomFrom(seed);
    const world: World = {
      timeline: this.#timeline,
      costs,
      fleet,
      slots: mix.slots,
      tally: this.#tally,
      onStart: (calls) => this.#onStart(calls),
      onSlots: (change) => this.#onSlots(change),
    };
    this.#redises = Array.from({ length: fleet.shards }, () => new Redis(world));
    this.#servers = Array.from({ length: fleet.servers }, () => new Server(world));
    this.#machines = Array.from({ length: fleet.machines }, (_, nth) => new Machine(world, this.#redisOf(nth)));
    this.#shardOfTenant = Array.from({ length: fleet.tenants }, () => this.#below(fleet.shards));
  }

  outcome(): Outcome {
    this.#machines.forEach((machine, nth) => {
      machine.take();
      this.#beat([this.#redisOf(nth)]);
    });
    for (let nth = 0; nth < this.#servers.length; nth++) this.#beat(this.#redises);
    this.#load();
    this.#timeline.run(() => this.#isOver && this.#settled === this.#entered);
    return this.#summarize(this.#start ?? this.#read(), this.#end ?? this.#read());
  }

  get #isOver(): boolean {
    return this.#end !== null;
  }

  #load(): void {
    const { load, mix, warmUpMs, windowMs } = this.#settings;
    this.#timeline.at(warmUpMs, () => {
      this.#start = this.#read();
    });
    this.#timeline.at(warmUpMs + windowMs, () => {
      this.#end = this.#read();
    });
    switch (load.kind) {
      case "closed":
        for (let nth = 0; nth < load.callers; nth++)
          this.#timeline.at(this.#random() * BEGIN_SHARE * warmUpMs, () => this.#repeat());
        break;
      case "open":
        this.#arrive((mix.burst * MS_PER_SECOND) / load.callsPerSecond);
        break;
    }
  }

  #repeat(): void {
    if (!this.#isOver) this.#burst(() => this.#repeat());
  }

  #arrive(meanMs: number): void {
    this.#timeline.after(this.#exponential(meanMs), () => {
      if (this.#isOver) return;
      this.#burst(() => {});
      this.#arrive(meanMs);
    });
  }

  /** Calls of one tenant that come to one server at once. */
  #burst(settledAll: () => void): void {
    const { burst } = this.#settings.mix;
    const server = this.#servers[this.#below(this.#servers.length)];
    const redis = this.#redisOf(this.#shardOfTenant[this.#below(this.#shardOfTenant.length)] ?? 0);
    if (server === undefined) return;
    let open = burst;
    for (let nth = 0; nth < burst; nth++) {
      server.accept(
        this.#call(server, redis, () => {
          open--;
          if (open === 0) settledAll();
        }),
      );
    }
  }

  #call(server: Server, redis: Redis, settled: () => void): Call {
    this.#entered++;
    const kind = this.#kind();
    let isSettled = false;
    const settle = () => {
      if (isSettled) this.#settledTwice++;
      isSettled = true;
      this.#settled++;
      settled();
    };
    return { kind, server, redis, serviceMs: this.#serviceMs(kind), arrivedMs: this.#timeline.nowMs, settle };
  }

  /** Calls count by when they arrived, so that those which wait long are not left out. */
  #onStart(calls: readonly Call[]): void {
    if (this.#start === null) return;
    const { nowMs } = this.#timeline;
    const fromMs = this.#start.atMs;
    const toMs = this.#end?.atMs ?? Infinity;
    for (const { arrivedMs } of calls) {
      if (arrivedMs >= fromMs && arrivedMs < toMs) this.#waitsMs.push(nowMs - arrivedMs);
    }
  }

  #onSlots(change: number): void {
    const { nowMs } = this.#timeline;
    this.#slotsMs += this.#busySlots * (nowMs - this.#slotsSeenMs);
    this.#slotsSeenMs = nowMs;
    this.#busySlots += change;
  }

  #beat(redises: readonly Redis[]): void {
    const { beatMs } = this.#settings.fleet;
    if (!Number.isFinite(beatMs)) return;
    const beat = () => {
      for (const redis of redises) redis.ask("beat", 0);
      this.#timeline.after(beatMs, beat);
    };
    this.#timeline.after(this.#random() * beatMs, beat);
  }

  #read(): Reading {
    this.#onSlots(0);
    const busy = (parts: readonly { readonly loop: { readonly busyMs: number } }[]) =>
      parts.reduce((sum, { loop }) => sum + loop.busyMs, 0);
    return {
      atMs: this.#timeline.nowMs,
      settled: this.#settled,
      redisMs: this.#redises.map(({ station }) => station.busyMs),
      serversMs: busy(this.#servers),
      machinesMs: busy(this.#machines),
      slotsMs: this.#slotsMs,
      tally: { ...this.#tally },
    };
  }

  #summarize(start: Reading, end: Reading): Outcome {
    const ms = end.atMs - start.atMs;
    const { fleet, mix } = this.#settings;
    const redisShares = end.redisMs.map((each, nth) => (each - (start.redisMs[nth] ?? 0)) / ms);
    const waits = Float64Array.from(this.#waitsMs.length === 0 ? [Number.NaN] : this.#waitsMs).sort();
    return {
      callsPerSecond: ((end.settled - start.settled) * MS_PER_SECOND) / ms,
      sharing: sharingBetween(start.tally, end.tally),
      waitP50Ms: percentile(waits, 0.5),
      waitP99Ms: percentile(waits, 0.99),
      waitMeanMs: waits.reduce((sum, each) => sum + each, 0) / waits.length,
      redisBusy: redisShares.reduce((sum, each) => sum + each, 0) / redisShares.length,
      redisBusiest: Math.max(...redisShares),
      slotsBusy: (end.slotsMs - start.slotsMs) / ms / (fleet.machines * mix.slots),
      serversBusy: (end.serversMs - start.serversMs) / ms / fleet.servers,
      machinesBusy: (end.machinesMs - start.machinesMs) / ms / fleet.machines,
      entered: this.#entered,
      settled: this.#settled,
      settledTwice: this.#settledTwice,
    };
  }

  #kind(): CallKind {
    let drawn = this.#random();
    const { kinds } = this.#settings.mix;
    const found = kinds.find(({ share }) => {
      drawn -= share;
      return drawn < 0;
    });
    const kind = found ?? kinds.at(-1);
    if (kind === undefined) throw new RangeError("a mix has at least one kind of call");
    return kind;
  }

  #serviceMs({ serviceMs, spread }: CallKind): number {
    switch (spread) {
      case "exponential":
        return this.#exponential(serviceMs);
      case "fixed":
        return serviceMs;
    }
  }

  #exponential(mean: number): number {
    return -Math.log1p(-this.#random()) * mean;
  }

  #below(count: number): number {
    return Math.floor(this.#random() * count);
  }

  #redisOf(nth: number): Redis {
    const redis = this.#redises[nth % this.#redises.length];
    if (redis === undefined) throw new RangeError("a fleet has at least one Redis");
    return redis;
  }
}
