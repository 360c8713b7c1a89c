import { Queue } from "bullmq";
import { setTimeout as delay } from "node:timers/promises";
import { valueIn, within } from "../../kernel/base/deadline.ts";
import type { ErrorCode } from "../../kernel/base/errors.ts";
import { Fleet } from "../wire/fleet.ts";
import { DamageReport } from "../wire/damage.ts";
import type { FleetTimings } from "../wire/fleet-timings.ts";
import { FleetScheduler } from "../gate/fleet-scheduler.ts";
import { Inbox } from "../wire/inbox.ts";
import { MessageOutbox } from "../wire/message-outbox.ts";
import { describeForeign, Heartbeat } from "../wire/members.ts";
import { type JobEnvelope, type MachineMessage, PROTOCOL, type ServerMessage } from "../wire/messages.ts";
import { readMachineMessage } from "../wire/read-message.ts";
import { QueueKeeper } from "../wire/queue-keeper.ts";
import { openTextStore, readBucketCredentials } from "../texts/open-store.ts";
import { moveWaiting, readJobTurn } from "../gate/turn.ts";
import { TextPublisher } from "../texts/texts.ts";
import { isObject } from "../../kernel/base/json.ts";
import { wordsOfLoss } from "../redis/reply.ts";
import type { Failure } from "../../kernel/base/protocol/messages.ts";
import type { Inspection, ToolScript, ToolVersion } from "../../kernel/base/protocol/script.ts";
import type {
  Executor,
  ExecutorOptions,
  ExecutorStats,
  Job,
  EmitExecutorEvent,
} from "../../kernel/executor/executor.ts";
import { DeadlineTimer } from "../../kernel/executor/dispatch/deadline-timer.ts";
import { FleetCall } from "./fleet-call.ts";
import { FleetDispatcher } from "./fleet-dispatcher.ts";
import { describeMachines, sumUpMachines, NO_MACHINE, problemOf } from "./fleet-stats.ts";
import { inspectionJob } from "./inspection-job.ts";
import { MissingJobs } from "./missing-jobs.ts";
import { MachineDirectory } from "./machine-directory.ts";
import { FleetScripts } from "./fleet-scripts.ts";
import { JobSender } from "./job-sender.ts";
import { BoundedCache } from "../../kernel/base/bounded-cache.ts";

/** Longest wait for a worker machine at a server's start, in milliseconds. */
const MACHINE_MS = 30_000;
const LOOK_MS = 250;
/** Time after which a start without a machine reports the reason for waiting. */
const TOLD_MS = 1_000;
const EVENTS_MAX = 100;
const CLOSE_MS = 2_000;

/** Fleet options with all defaults applied. */
export interface ResolvedFleetOptions extends Required<
  Pick<ExecutorOptions, "url" | "fleet" | "lostMs" | "codeMaxBytes">
> {
  readonly secret: string | undefined;
  /** A URL, or an absolute path. */
  readonly store: string | undefined;
}

export interface QueueOptions extends ResolvedFleetOptions {
  readonly entropyKey: string;
  readonly nextCallNumber: () => number;
  readonly emit: EmitExecutorEvent;
  /** Caps of the whole fleet; `Infinity` for no cap. */
  readonly perTool: number;
  readonly perTenant: number;
  readonly timings?: FleetTimings;
  /** Version of the fleet's protocol to speak. Default: the newest. */
  readonly protocol?: number;
}

/**
 * Isolates on other machines. This server owns its calls with their journals, limits and deadlines; BullMQ delivers
 * them to machines with free slots; machines reply with messages. When a machine is lost, another one resumes its calls
 * by replaying their journals.
 */
export class QueueExecutor implements Executor {
  readonly kind = "queue";
  readonly #options: QueueOptions;
  readonly #fleet: Fleet;
  readonly #queue: Queue<JobEnvelope>;
  readonly #scheduler: FleetScheduler;
  readonly #outbox: MessageOutbox<ServerMessage>;
  readonly #inbox: Inbox<MachineMessage>;
  readonly #heartbeat: Heartbeat;
  readonly #directory: MachineDirectory;
  readonly #scripts: FleetScripts;
  readonly #sender: JobSender;
  readonly #dispatcher: FleetDispatcher;
  readonly #missing: MissingJobs;
  readonly #refusals = new Refusals();
  readonly #deadlines = new DeadlineTimer(() => this.#look());
  readonly #keeper: QueueKeeper;
  #renewing: NodeJS.Timeout | undefined;
  #closed: Failure | null = null;

  constructor(options: QueueOptions) {
    const { protocol = PROTOCOL, perTool, perTenant, entropyKey, store, codeMaxBytes, emit } = options;
    this.#options = options;
    this.#fleet = new Fleet(options, "server", {
      onDown: (event) => emit("redis:down", event),
      onUp: (event) => emit("redis:up", event),
    });
    const { connection, bulk, keys, seal, payloads, id, timings } = this.#fleet;
    this.#queue = new Queue(this.#fleet.queueOf(protocol), {
      connection: connection.client,
      prefix: keys.prefix,
      // The stream has no readers, so it stays short.
      streams: { events: { maxLen: EVENTS_MAX } },
    });
    this.#keeper = new QueueKeeper(this.#fleet, protocol);
    // The connection's users report its errors.
    this.#queue.on("error", () => undefined);
    this.#scheduler = new FleetScheduler(connection, keys, {
      server: id,
      timings,
      perTool,
      perTenant,
      onRoom: () => this.#sender.tryHeld(),
      onMove: (base) =>
        void moveWaiting(this.#queue, base, (job: unknown) => (isObject(job) ? readJobTurn(job["turn"]) : null)),
    });
    const damage = new DamageReport((told) => emit("fleet:damage", told));
    const messaging = { connection, keys, payloads, id };
    this.#outbox = new MessageOutbox({ ...messaging, protocolOf: () => protocol });
    this.#inbox = new Inbox({
      ...messaging,
      protocols: [protocol],
      timings,
      read: readMachineMessage,
      onMessage: (from, message) => this.#onMessage(from, message),
      onDamage: (why) => damage.report(why),
    });
    this.#heartbeat = new Heartbeat(this.#fleet.members, "server", id, () => JSON.stringify({ id, protocol }));
    const credentials = readBucketCredentials(process.env);
    const place = store === undefined ? undefined : openTextStore(store, { credentials });
    const texts = new TextPublisher({ connection: bulk, keys, seal, store: place, codeMaxBytes });
    this.#scripts = new FleetScripts(texts);
    this.#dispatcher = new FleetDispatcher({
      emit,
      send: (machine, message) => this.#outbox.send(machine, message),
      dispatch: (call) => this.#sender.add(call),
      release: (calls) => this.#scheduler.release(calls.map(({ callNumber }) => `${callNumber}`)),
      withdraw: (job) => void this.#queue.remove(job.id).catch(() => undefined),
      recordTurnTime: (call, cpuMs) => this.#sender.turnTime(call).record(1, cpuMs),
      recordRefusal: ({ job }, refusedForMs) => this.#refusals.record(job.script, job.tenant, refusedForMs),
    });
    this.#sender = new JobSender({
      server: id,
      protocol,
      entropyKey,
      queue: this.#queue,
      scheduler: this.#scheduler,
      connection,
      payloads,
      scripts: this.#scripts,
      onFail: ({ callNumber }, failure) => this.#dispatcher.end(callNumber, failure),
      onSent: (job) => this.#dispatcher.onSent(job),
    });
    this.#missing = new MissingJobs(
      this.#fleet,
      (job) => this.#queue.toKey(job),
      () => this.#inbox.readMs,
      (job) => this.#dispatcher.sendAgain(job, this.#fleet.problem),
    );
    this.#directory = new MachineDirectory(this.#fleet.members, protocol, {
      onJoin: (machine) => {
        emit("fleet:join", { machine });
        this.#dispatcher.onJoin(machine);
      },
      onLeave: (machine) => {
        emit("fleet:leave", { machine });
        this.#dispatcher.onLeave(machine);
      },
      onForeign: (count) => damage.report(describeForeign(count, "machine")),
    });
  }

  async start(): Promise<void> {
    await this.#fleet.reach(this.#options.lostMs);
    await this.#heartbeat.start();
    this.#fleet.requirePermission();
    this.#inbox.start();
    this.#directory.start();
    this.#keeper.start();
    this.#renewing = setInterval(() => void this.#scheduler.renew(), this.#fleet.timings.leaseRenewMs);
    const beganMs = performance.now();
    let isTold = false;
    while (this.#closed === null && this.#directory.serving.length === 0) {
      await this.#directory.look();
      if (this.#directory.misfit !== null) throw this.#fleet.unusable(this.#directory.misfit);
      const problem = problemOf(this.#fleet.weakest, this.#directory) ?? NO_MACHINE;
      const waitedMs = performance.now() - beganMs;
      if (waitedMs > MACHINE_MS) throw this.#fleet.unusable(`${problem} (waited for ${MACHINE_MS} ms)`);
      if (!isTold && waitedMs > TOLD_MS) {
        isTold = true;
        this.#options.emit("fleet:wait", { problem, waitMs: MACHINE_MS });
      }
      await delay(LOOK_MS);
    }
  }

  run(job: Job): void {
    this.#run(new FleetCall(job, performance.now()));
  }

  cancel(callNumber: number, code: ErrorCode, message: string): void {
    this.#dispatcher.end(callNumber, { code, message });
  }

  watch(callNumber: number): void {
    this.#dispatcher.watch(callNumber);
  }

  inspect(script: ToolScript): Promise<Inspection> {
    return new Promise((resolve) => {
      const job = inspectionJob(this.#options.nextCallNumber(), script, resolve);
      this.#run(new FleetCall(job, performance.now(), true));
    });
  }

  forget(key: string): void {
    this.#scripts.forget(key);
  }

  refusedForMs(tool: ToolVersion, tenant: string): number {
    return this.#refusals.forMs(tool, tenant);
  }

  trustGroup(): null {
    return null;
  }

  stats(): ExecutorStats {
    const { serving } = this.#directory;
    const all = [...this.#directory.all.values()];
    const isUp = this.#fleet.isUsable;
    return {
      ...sumUpMachines(all),
      ready: this.#closed === null && isUp && serving.length > 0,
      spareReady: isUp && serving.length > 1,
      fleet: {
        ...describeMachines(this.#directory),
        waitingJobs: this.#dispatcher.waitingJobs,
        isRedisUp: isUp,
        problem: problemOf(this.#fleet.weakest, this.#directory),
      },
    };
  }

  async close(): Promise<void> {
    if (this.#closed !== null) return;
    this.#closed = { code: "engine_closed", message: "the engine was closed before the call ended" };
    this.#dispatcher.endAll(this.#closed);
    this.#deadlines.stop();
    clearInterval(this.#renewing);
    this.#sender.close();
    this.#directory.close();
    this.#missing.close();
    this.#outbox.close();
    await within(
      CLOSE_MS,
      Promise.allSettled([this.#inbox.close(), this.#heartbeat.close(), this.#scheduler[Symbol.asyncDispose]()]),
    );
    await this.#keeper.close();
    await valueIn(CLOSE_MS, this.#queue.close());
    await within(CLOSE_MS, this.#fleet.close());
  }

  #run(call: FleetCall): void {
    const failure = this.#closed ?? this.#lost ?? this.#misfit;
    if (failure !== null) return call.fail(failure);
    this.#dispatcher.run(call);
    this.#deadlines.keepOn();
  }

  /**
   * The failure of calls while Redis is lost for `lostMs`, on either the message or the heartbeat connection; else
   * `null`.
   */
  get #lost(): Failure | null {
    const { lostMs } = this.#options;
    const { weakest } = this.#fleet;
    if (weakest.lostForMs < lostMs) return null;
    const message = `the fleet's Redis has not been reached for ${lostMs} ms: it ${wordsOfLoss(weakest)}`;
    return { code: "executor_lost", message };
  }

  get #misfit(): Failure | null {
    const { misfit } = this.#directory;
    return misfit === null ? null : { code: "executor_lost", message: misfit };
  }

  #onMessage(from: string, message: MachineMessage): void {
    if (message.kind !== "need") return this.#dispatcher.onMessage(from, message);
    this.#scripts.answer(message).then(
      (answer) => this.#outbox.send(from, answer),
      () => this.#outbox.send(from, { kind: "have", script: message.script }),
    );
  }

  /** Ends overdue calls; returns whether any call is in progress. */
  #look(): boolean {
    const nowMs = performance.now();
    const lost = this.#lost;
    if (lost !== null) this.#dispatcher.endAll(lost);
    this.#dispatcher.endOverdue(nowMs, this.#fleet.problem);
    this.#missing.look(this.#dispatcher.jobs, nowMs);
    return !this.#dispatcher.isIdle;
  }
}

const REFUSALS_MAX = 10_000;

/** Quarantine refusals by machines, per tool and tenant. */
export class Refusals {
  readonly #untilMs = new BoundedCache<number>(REFUSALS_MAX);

  record(tool: ToolVersion, tenant: string, refusedForMs: number): void {
    this.#untilMs.set(keyOf(tool, tenant), performance.now() + refusedForMs);
  }

  /** Remaining time of the refusal in milliseconds; 0 if the tool is not refused. */
  forMs(tool: ToolVersion, tenant: string): number {
    const untilMs = this.#untilMs.get(keyOf(tool, tenant)) ?? 0;
    return Math.max(0, Math.ceil(untilMs - performance.now()));
  }
}

function keyOf({ name, registrant = "", digest = "" }: ToolVersion, tenant: string): string {
  return JSON.stringify([registrant, name, digest, tenant]);
}
