import type { Job as BullJob } from "bullmq";
import { randomBytes } from "node:crypto";
import type { Registry } from "prom-client";
import { BoundedCache } from "../bounded-cache.ts";
import { within } from "../deadline.ts";
import { GloveboxError } from "../errors.ts";
import { createExecutor } from "../executor/create.ts";
import type { Answer, Executor, ExecutorStats, ResolvedIsolateOptions } from "../executor/executor.ts";
import { Fleet, type FleetOptions } from "../fleet/fleet.ts";
import { Inbox, Outbox } from "../fleet/mailbox.ts";
import { Presence } from "../fleet/members.ts";
import { type FleetLimits, type MachineMessage, type ServerMessage, UNDERSTOOD } from "../fleet/messages.ts";
import { openTextStore, readBucketCredentials } from "../fleet/text-store/open-store.ts";
import { TextReader } from "../fleet/texts.ts";
import { noteTaken, type Turn } from "../fleet/turn.ts";
import type { Prelude } from "../protocol/prelude.ts";
import { bundlePrelude } from "../runtimes/prelude.ts";
import type { Broker } from "../broker/broker.ts";
import { createDelegateBroker, type DelegateOptions } from "./delegate.ts";
import { readJob } from "./job-data.ts";
import { machineInfo } from "./machine-info.ts";
import { MachineJob } from "./machine-job.ts";
import { MachineMetrics } from "./machine-metrics.ts";
import { logMachine, type MachineLogger } from "./machine-log.ts";
import { Owners } from "./owners.ts";
import { Puller } from "./puller.ts";
import { Slots } from "./slots.ts";
import { ToolScripts } from "./tool-scripts.ts";

/** How long a machine waits for its Redis when it starts. */
const REDIS_MS = 30_000;
/** A job whose server cannot be seen is looked at again so often, and so many times, before it is dropped. */
const UNSEEN_MS = 1_000;
const UNSEEN_MAX = 10;
const LIMITS_MAX = 1_000;
const CLOSE_MS = 5_000;
/** How long a write of a tool may wait until its server is certain to know of it. */
const HEARD_MS = 2_000;

export interface MachineOptions extends FleetOptions {
  /** Jobs that run at once. */
  readonly slots: number;
  /** Isolate threads. */
  readonly workers: number;
  readonly executor: ResolvedIsolateOptions;
  /** Where code lies that is too large for Redis: see `ExecutorOptions.store`. */
  readonly store?: string | undefined;
  /** What it needs to carry out itself what servers leave to machines. */
  readonly delegate?: DelegateOptions | undefined;
  /** Where the machine's metrics are registered. Default: a registry of its own. */
  readonly registry?: Registry;
  readonly logger?: MachineLogger | undefined;
}

export interface MachineStats {
  readonly id: string;
  /** Whether calls can run here now. */
  readonly isReady: boolean;
  readonly isDraining: boolean;
  readonly isRedisUp: boolean;
  readonly slots: number;
  readonly busySlots: number;
  /** Calls that it has. */
  readonly calls: number;
  readonly executor: ExecutorStats;
}

/** A worker machine of a fleet. Made by `startMachine`. */
export interface Machine extends AsyncDisposable {
  stats(): MachineStats;
  /** Prometheus text. */
  metrics(): Promise<string>;
  /** Takes no more jobs; resolves when those it has have ended, or `ms` are over: then other machines are given what is left. */
  drain(ms: number): Promise<void>;
  /** Ends at once: what it has is given back. Leaves no process, thread or connection behind. */
  close(): Promise<void>;
}

/**
 * Starts a worker machine: its executor, and then its work for the fleet. Rejects with a `GloveboxError`, `executor_lost`, where either
 * cannot be used; with a `TypeError` where an option is wrong.
 */
export async function startMachine(options: MachineOptions): Promise<Machine> {
  return FleetMachine.start(options, await bundlePrelude());
}

/** Runs calls of a fleet's servers in a `process` executor of its own. */
class FleetMachine implements Machine {
  readonly #fleet: Fleet;
  readonly #executor: Executor;
  readonly #slots: Slots;
  readonly #broker: Broker;
  readonly #outbox: Outbox<MachineMessage>;
  readonly #inbox: Inbox<ServerMessage>;
  readonly #presence: Presence;
  readonly #owners: Owners;
  readonly #scripts: ToolScripts;
  readonly #pullers: readonly Puller[];
  readonly #metrics: MachineMetrics;
  readonly #logger: MachineLogger | undefined;
  /** By their ids, and by what their calls are called by their servers. */
  readonly #jobs = new Map<string, MachineJob>();
  readonly #calls = new Map<string, MachineJob>();
  readonly #limits = new BoundedCache<FleetLimits>(LIMITS_MAX, LIMITS_MAX, () => 1);
  readonly #idle = new Set<() => void>();
  #turns: Turn[] = [];
  #lastRun = 0;
  #isDraining = false;
  #closing: Promise<void> | null = null;

  private constructor(
    options: MachineOptions,
    executorOf: (tell: MachineMetrics["tell"], nextRun: () => number) => Executor,
  ) {
    const fleet = new Fleet(options, "machine");
    const { connection, bulk, keys, seal, payloads, id } = fleet;
    this.#fleet = fleet;
    this.#logger = options.logger;
    this.#slots = new Slots(options.slots);
    this.#broker = createDelegateBroker(options.delegate ?? {});
    this.#metrics = new MachineMetrics(() => this.stats(), options.registry);
    const log = logMachine(options.logger);
    this.#executor = executorOf(
      (...told) => {
        this.#metrics.tell(...told);
        log(...told);
      },
      () => ++this.#lastRun,
    );
    const mail = { connection, keys, payloads, id };
    this.#outbox = new Outbox(mail);
    this.#inbox = new Inbox({
      ...mail,
      onMessage: (from, message) => this.#onMessage(from, message),
      onDamage: (why) => options.logger?.warn({ why }, "something came from the fleet that cannot be read"),
    });
    this.#presence = new Presence(fleet, "machine", id, () => machineInfo(this.stats(), UNDERSTOOD));
    this.#owners = new Owners(
      fleet,
      () => Array.from(this.#jobs.values(), ({ server }) => server),
      (server) => this.#onGone(server),
    );
    const store =
      options.store === undefined
        ? undefined
        : openTextStore(options.store, { credentials: readBucketCredentials(process.env) });
    this.#scripts = new ToolScripts({
      texts: new TextReader({ connection: bulk, keys, seal, store }),
      send: (server, message) => this.#outbox.send(server, message),
      onForget: (key) => this.#executor.forget(key),
    });
    this.#pullers = UNDERSTOOD.map(
      (protocol) =>
        new Puller({
          fleet,
          protocol,
          slots: this.#slots,
          onJob: (job, token) => void this.#take(puller(protocol), job, token),
        }),
    );
    const puller = (protocol: number): Puller => {
      const found = this.#pullers[UNDERSTOOD.indexOf(protocol)];
      if (found === undefined) throw new RangeError(`protocol ${protocol} is none of ours`);
      return found;
    };
  }

  static async start(options: MachineOptions, prelude: Prelude): Promise<FleetMachine> {
    const { workers, executor } = options;
    const machine = new FleetMachine(options, (tell, nextRun) =>
      createExecutor(
        { ...executor, kind: "process" },
        {
          workers,
          prelude,
          entropyKey: randomBytes(32).toString("hex"),
          nextRun,
          tell,
        },
      ),
    );
    try {
      await machine.#begin(options.fleet);
      return machine;
    } catch (error) {
      await machine.close();
      throw error;
    }
  }

  stats(): MachineStats {
    const executor = this.#executor.stats();
    const isRedisUp = this.#fleet.connection.isReady;
    return {
      id: this.#fleet.id,
      isReady: executor.ready && isRedisUp && !this.#isDraining,
      isDraining: this.#isDraining,
      isRedisUp,
      slots: this.#slots.size,
      busySlots: this.#slots.busy,
      calls: this.#calls.size,
      executor,
    };
  }

  metrics(): Promise<string> {
    return this.#metrics.text();
  }

  async drain(ms: number): Promise<void> {
    this.#isDraining = true;
    for (const puller of this.#pullers) puller.stop();
    await this.#presence.say();
    if (this.#jobs.size > 0 && ms > 0) await within(ms, new Promise<void>((resolve) => this.#idle.add(resolve)));
    await this.#giveBack();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #begin(fleet: string): Promise<void> {
    await this.#executor.start();
    const { connection } = this.#fleet;
    if (!(await connection.ready(REDIS_MS))) {
      const why = `Redis cannot be reached: ${connection.failure}`;
      throw new GloveboxError("executor_lost", `the fleet "${fleet}" cannot be used: ${why}`);
    }
    this.#inbox.start();
    for (const puller of this.#pullers) puller.start();
    await this.#presence.start();
  }

  async #close(): Promise<void> {
    await this.drain(0);
    this.#owners.close();
    this.#outbox.close();
    await within(CLOSE_MS, Promise.allSettled([this.#inbox.close(), this.#presence.close()]));
    await within(CLOSE_MS, Promise.allSettled(this.#pullers.map((puller) => puller.close())));
    await this.#executor.close();
    await this.#broker.close();
    await within(CLOSE_MS, this.#fleet.close());
  }

  async #giveBack(): Promise<void> {
    const jobs = [...this.#jobs.values()];
    this.#jobs.clear();
    await Promise.all(
      jobs.map((job) => {
        job.abandon();
        return job.puller.giveBack(job.bull, job.token);
      }),
    );
  }

  async #take(puller: Puller, bull: BullJob, token: string): Promise<void> {
    const id = bull.id ?? "";
    let data;
    try {
      data = await readJob(bull, this.#fleet.payloads);
    } catch (error) {
      const why = error instanceof Error ? error.message : "it is none";
      this.#logger?.warn({ job: id, why }, "a job cannot be read, and is dropped");
      return puller.complete(bull, token);
    }
    this.#noteTurn(data.turn);
    if (!(await this.#isWanted(data.server)) || this.#isDraining) {
      if (this.#isDraining) return void puller.giveBack(bull, token);
      this.#logger?.warn({ job: id }, "the server of a job is gone, and the job is dropped");
      return puller.complete(bull, token);
    }
    // It was lost to us meanwhile, and has come back: who had it before has no say any more.
    this.#jobs.get(id)?.abandon();
    const job = new MachineJob(
      { bull, token, data, puller },
      {
        executor: this.#executor,
        scripts: this.#scripts,
        slots: this.#slots,
        nextRun: () => ++this.#lastRun,
        limits: (limits) => this.#oneLimits(limits),
        send: (server, message, isUrgent) => this.#outbox.send(server, message, isUrgent),
        broker: this.#broker,
        isHeard: async (one) => (await this.#outbox.delivered(HEARD_MS)) && (await puller.holds(one.bull, one.token)),
        onEnd: (ended) => this.#onEnd(ended),
      },
    );
    this.#jobs.set(id, job);
    for (const { run } of data.calls) this.#calls.set(`${data.server} ${run}`, job);
    this.#metrics.noteJob(data.calls.length);
    await job.begin();
  }

  async #isWanted(server: string): Promise<boolean> {
    for (let looked = 0; looked < UNSEEN_MAX; looked++) {
      const isThere = await this.#owners.isThere(server);
      if (isThere === true) return true;
      await within(UNSEEN_MS, new Promise(() => undefined));
    }
    return false;
  }

  #onEnd(job: MachineJob): void {
    for (const run of job.runs) {
      const key = `${job.server} ${run}`;
      if (this.#calls.get(key) === job) this.#calls.delete(key);
    }
    if (this.#jobs.get(job.id) !== job) return;
    this.#jobs.delete(job.id);
    // What it has said goes before the word that it is done.
    setImmediate(() => job.puller.complete(job.bull, job.token));
    if (this.#jobs.size > 0) return;
    for (const resolve of this.#idle) resolve();
    this.#idle.clear();
  }

  #onGone(server: string): void {
    this.#logger?.warn({ server }, "a server is gone, and its calls are cancelled");
    for (const job of this.#jobs.values()) if (job.server === server) job.abandon();
  }

  #onMessage(server: string, message: ServerMessage): void {
    switch (message.kind) {
      case "resume": {
        const job = this.#jobs.get(message.job);
        if (job?.server === server && job.start === message.start) job.resume(message.calls);
        return;
      }
      case "answer": {
        const call = this.#calls.get(`${server} ${message.run}`)?.call(message.run);
        return call?.answer(message.attempt, message.step, JSON.parse(message.answer) as Answer);
      }
      case "cancel":
        return this.#calls.get(`${server} ${message.run}`)?.cancel(message.run);
      case "have":
        return this.#scripts.onHave(message);
    }
  }

  #noteTurn(turn: Turn): void {
    if (this.#turns.length === 0) {
      setImmediate(() => void noteTaken(this.#fleet.connection.client, this.#fleet.keys, this.#turns.splice(0)));
    }
    this.#turns.push(turn);
  }

  #oneLimits(limits: FleetLimits): FleetLimits {
    const text = JSON.stringify(limits);
    const known = this.#limits.get(text);
    if (known !== undefined) return known;
    this.#limits.set(text, limits);
    return limits;
  }
}
