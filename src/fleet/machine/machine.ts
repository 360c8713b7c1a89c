import { randomBytes } from "node:crypto";
import type { Registry } from "prom-client";
import { within } from "../../kernel/base/deadline.ts";
import { ProcessExecutor } from "../../kernel/executor/process/process-executor.ts";
import type { Executor, ResolvedIsolateOptions } from "../../kernel/executor/executor.ts";
import { Fleet, type FleetOptions } from "../wire/fleet.ts";
import { DamageReport } from "../wire/damage.ts";
import { Inbox } from "../wire/inbox.ts";
import { MessageOutbox } from "../wire/message-outbox.ts";
import { Heartbeat } from "../wire/members.ts";
import { type MachineMessage, type ServerMessage, UNDERSTOOD } from "../wire/messages.ts";
import { readServerMessage } from "../wire/read-message.ts";
import { openTextStore, readBucketCredentials, requireSigner } from "../texts/open-store.ts";
import { TextReader } from "../texts/texts.ts";
import { RedisLedger, type RedisLedgerOptions } from "../ledger/redis-ledger.ts";
import type { Prelude } from "../../kernel/base/protocol/prelude.ts";
import { loadPrelude, type PreludeParts } from "../../kernel/tool/runtimes/prelude.ts";
import { KeyedCalls } from "./keyed-calls.ts";
import { ForeignServers } from "./server-monitor.ts";
import { MachineJobs } from "./machine-jobs.ts";
import { MachineMetrics } from "./machine-metrics.ts";
import { type MachineStats, problemOf, machineInfo } from "./machine-stats.ts";
import { logMachine, logRedis, type MachineLogger } from "./machine-log.ts";
import { JobPuller, type JobPullerOptions } from "./puller.ts";
import { Slots } from "./slots.ts";
import { ToolScripts } from "./tool-scripts.ts";

const CLOSE_MS = 5_000;

export interface MachineOptions extends FleetOptions {
  /** Maximum number of jobs that run at once. */
  readonly slots: number;
  /** Number of isolate threads. */
  readonly workers: number;
  readonly executor: ResolvedIsolateOptions;
  /** Store for code that is too large for Redis: see `ExecutorOptions.store`. */
  readonly store?: string | undefined;
  /**
   * The ledger of the servers' calls with keys: with it, such calls of a lost server run to their end. The servers
   * decide the ledger's capacity.
   */
  readonly ledger?: RedisLedgerOptions | undefined;
  /** The registry of the machine's metrics. Default: a registry of its own. */
  readonly registry?: Registry;
  readonly logger?: MachineLogger | undefined;
  /** Additions of the servers' plugins to the programs inside isolates. */
  readonly parts?: PreludeParts;
  /** Versions of the fleet's protocol that it accepts. Default: all supported ones. */
  readonly protocols?: readonly number[];
}

/** A worker machine of a fleet. Made by `startMachine`. */
export interface Machine extends AsyncDisposable {
  stats(): MachineStats;
  /** Registry of the machine's metrics. */
  readonly registry: Registry;
  /** Takes no more jobs; resolves when its jobs have ended, or after `ms`: then the remaining jobs are given back. */
  drain(ms: number): Promise<void>;
  /** Ends at once and gives its jobs back. Leaves no process, thread or connection behind. */
  close(): Promise<void>;
}

/**
 * Starts a worker machine: it waits for Redis without a time limit, starts its executor, then its work for the fleet.
 * `onOpen` receives the machine before that, so that probes can report why it is not ready. Rejects with a
 * `GloveboxError`, `executor_lost`, if its executor cannot be used, or Redis has a problem that a retry does not solve;
 * with a `TypeError` if an option is invalid.
 */
export async function startMachine(options: MachineOptions, onOpen?: (machine: Machine) => void): Promise<Machine> {
  await requireSigner(options.store);
  return FleetMachine.start(options, await loadPrelude(options.parts), onOpen);
}

/** Runs calls of a fleet's servers in its own `process` executor. */
class FleetMachine implements Machine {
  readonly #fleet: Fleet;
  readonly #executor: Executor;
  readonly #slots: Slots;
  readonly #outbox: MessageOutbox<MachineMessage>;
  readonly #inbox: Inbox<ServerMessage>;
  readonly #heartbeat: Heartbeat;
  readonly #keyed: KeyedCalls | undefined;
  readonly #foreign: ForeignServers;
  readonly #jobs: MachineJobs;
  readonly #pullers: readonly JobPuller[];
  readonly #metrics: MachineMetrics;
  #lastRun = 0;
  #beats = 0;
  #isDraining = false;
  #closing: Promise<void> | null = null;

  private constructor(
    options: MachineOptions,
    { runtimes }: Prelude,
    executorOf: (emit: MachineMetrics["emit"], nextCallNumber: () => number) => Executor,
  ) {
    const fleet = new Fleet(options, "machine", logRedis(options.logger));
    const { connection, bulk, keys, seal, payloads, id, timings } = fleet;
    this.#fleet = fleet;
    this.#slots = new Slots(options.slots);
    this.#metrics = new MachineMetrics(() => this.stats(), options.registry);
    const log = logMachine(options.logger);
    this.#executor = executorOf(
      (...told) => {
        this.#metrics.emit(...told);
        log(...told);
      },
      () => ++this.#lastRun,
    );
    const protocols = options.protocols ?? UNDERSTOOD;
    const damage = new DamageReport((told) =>
      options.logger?.warn(told, "an unreadable message from the fleet was dropped"),
    );
    const messaging = { connection, keys, payloads, id };
    this.#outbox = new MessageOutbox({ ...messaging, protocolOf: (server) => this.#jobs.protocolOf(server) });
    this.#inbox = new Inbox({
      ...messaging,
      protocols,
      timings,
      read: readServerMessage,
      onMessage: (from, message) => this.#jobs.onMessage(from, message),
      onDamage: (why) => damage.report(why),
    });
    this.#foreign = new ForeignServers(fleet.members, (why) =>
      options.logger?.warn({ why }, "this machine takes no jobs of servers that it cannot read"),
    );
    this.#heartbeat = new Heartbeat(fleet.members, "machine", id, () =>
      machineInfo(this.stats(), protocols, ++this.#beats),
    );
    const store =
      options.store === undefined
        ? undefined
        : openTextStore(options.store, { credentials: readBucketCredentials(process.env) });
    const scripts = new ToolScripts({
      texts: new TextReader({ connection: bulk, keys, seal, store }),
      send: (server, message) => this.#outbox.send(server, message),
      onForget: (key) => this.#executor.forget(key),
      answerMs: timings.answerMs,
      interpreted: new Set(runtimes.filter(({ isInterpreted }) => isInterpreted).map(({ name }) => name)),
    });
    const { ledger, logger } = options;
    this.#keyed = ledger === undefined ? undefined : new KeyedCalls(new RedisLedger(ledger), logger, timings);
    this.#jobs = new MachineJobs({
      fleet,
      executor: this.#executor,
      scripts,
      slots: this.#slots,
      keyed: this.#keyed,
      logger,
      protocols,
      onDamage: (why) => damage.report(why),
      nextCallNumber: () => ++this.#lastRun,
      send: (server, message) => this.#outbox.send(server, message),
      sendSoon: (server, message) => this.#outbox.sendSoon(server, message),
      onTaken: (calls) => this.#metrics.recordJob(calls),
    });
    this.#pullers = protocols.map((protocol) => {
      const onJob: JobPullerOptions["onJob"] = (job, token) => void this.#jobs.accept(puller, job, token);
      const puller: JobPuller = new JobPuller({ fleet, protocol, slots: this.#slots, onJob });
      return puller;
    });
  }

  static async start(
    options: MachineOptions,
    prelude: Prelude,
    onOpen?: (machine: Machine) => void,
  ): Promise<FleetMachine> {
    const { workers, executor } = options;
    const machine = new FleetMachine(
      options,
      prelude,
      (emit, nextCallNumber) =>
        new ProcessExecutor({
          warmIsolates: executor.warmIsolates,
          spinMs: executor.spinMs,
          rssMaxMb: executor.rssMb,
          spare: executor.spare,
          recycle: executor.recycle,
          sandbox: executor.sandbox,
          trust: executor.trust,
          workers,
          prelude,
          entropyKey: randomBytes(32).toString("hex"),
          nextCallNumber,
          emit,
        }),
    );
    onOpen?.(machine);
    try {
      await machine.#begin();
      return machine;
    } catch (error) {
      await machine.close();
      throw error;
    }
  }

  stats(): MachineStats {
    const executor = this.#executor.stats();
    const isRedisUp = this.#fleet.isUsable;
    return {
      id: this.#fleet.id,
      isReady: executor.ready && isRedisUp && !this.#isDraining,
      isDraining: this.#isDraining,
      isRedisUp,
      problem: problemOf(this.#fleet.weakest, executor) ?? this.#foreign.problem,
      slots: this.#slots.size,
      busySlots: this.#slots.busy,
      calls: this.#jobs.calls,
      executor,
    };
  }

  get registry(): Registry {
    return this.#metrics.registry;
  }

  async drain(ms: number): Promise<void> {
    this.#isDraining = true;
    for (const puller of this.#pullers) puller.stop();
    await this.#heartbeat.beat();
    await this.#jobs.drain(ms);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #begin(): Promise<void> {
    await this.#fleet.reach(Infinity);
    await this.#executor.start();
    this.#inbox.start();
    for (const puller of this.#pullers) puller.start();
    await this.#heartbeat.start();
    this.#fleet.requirePermission();
    await this.#foreign.start();
  }

  async #close(): Promise<void> {
    await this.drain(0);
    this.#jobs.close();
    this.#foreign.close();
    this.#outbox.close();
    // Commands that wait for a lost Redis would block the rest.
    if (!this.#fleet.connection.isReady) await within(CLOSE_MS, this.#fleet.close());
    const closing = [this.#inbox.close(), this.#heartbeat.close()];
    if (this.#keyed !== undefined) closing.push(this.#keyed.close());
    await within(CLOSE_MS, Promise.allSettled(closing));
    await within(CLOSE_MS, Promise.allSettled(this.#pullers.map((puller) => puller.close())));
    await this.#executor.close();
    await within(CLOSE_MS, this.#fleet.close());
  }
}
