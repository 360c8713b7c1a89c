import type { Queue } from "bullmq";
import type { AdmissionResult, FleetScheduler, QueuePlace } from "../gate/fleet-scheduler.ts";
import type { AdmissionRequest } from "../gate/caps.ts";
import type { FleetLimits, FleetScript, JobData, JobEnvelope } from "../wire/messages.ts";
import type { Payloads } from "../wire/payloads.ts";
import { TextFailure } from "../texts/text-store.ts";
import type { Failure } from "../../kernel/base/protocol/messages.ts";
import { seedOf } from "../../kernel/base/protocol/prelude.ts";
import type { RedisConnection } from "../redis/connection.ts";
import { redisProblemOf } from "../redis/problem.ts";
import { isPassing, replyOf, wordsOfProblem } from "../redis/reply.ts";
import { BoundedCache } from "../../kernel/base/bounded-cache.ts";
import { TurnTimeEstimate } from "../../kernel/executor/dispatch/turn-time-estimate.ts";
import type { FleetCall } from "./fleet-call.ts";
import { FleetJob } from "./fleet-job.ts";
import { JobExpiry } from "./job-expiry.ts";
import type { FleetScripts } from "./fleet-scripts.ts";
import { dueOf, type JobTurn } from "../gate/turn.ts";

/** Maximum number of calls in a round, and of concurrent rounds. */
const ROUND_MAX = 1_024;
const ROUNDS_MAX = 2;
const TURN_TIMES_MAX = 10_000;
const SINGLES_MAX = 4;
const NOTHING_ADMITTED: AdmissionResult = { places: [], held: [] };
/** Extra lifetime of a job and its side key in Redis after its calls, in milliseconds. */
const MORE_MS = 60_000;

export interface JobSenderOptions {
  readonly server: string;
  readonly protocol: number;
  readonly entropyKey: string;
  readonly queue: Queue<JobEnvelope>;
  readonly scheduler: FleetScheduler;
  readonly connection: RedisConnection;
  readonly payloads: Payloads;
  readonly scripts: FleetScripts;
  /** A call cannot be sent to the fleet. */
  readonly onFail: (call: FleetCall, failure: Failure) => void;
  /** A job is about to be sent. */
  readonly onSent: (job: FleetJob) => void;
}

/**
 * Sends calls to the fleet. Calls of one event-loop turn form one round: the scheduler orders them and holds those over
 * a cap of their tool or tenant, and short calls share a job.
 */
export class JobSender {
  readonly #options: JobSenderOptions;
  #waiting: FleetCall[] = [];
  /** Calls that a cap of the fleet holds back. */
  #held: FleetCall[] = [];
  readonly #turnTimes = new BoundedCache<TurnTimeEstimate>(TURN_TIMES_MAX);
  #rounds = 0;
  #isDue = false;
  #jobs = 0;
  #isClosed = false;
  readonly #expiry: JobExpiry;
  readonly #stopListening: () => void;

  constructor(options: JobSenderOptions) {
    this.#options = options;
    this.#expiry = new JobExpiry(options.connection, (job) => options.queue.toKey(job));
    // Calls made without a connection have waited for it.
    this.#stopListening = options.connection.onReady(() => this.#schedule());
  }

  add(call: FleetCall): void {
    this.#waiting.push(call);
    this.#schedule();
  }

  /** The fleet may have room for held calls. */
  tryHeld(): void {
    if (this.#held.length === 0) return;
    this.#waiting = [...this.#held.splice(0), ...this.#waiting];
    this.#schedule();
  }

  /** Estimated duration of one turn of the call's tool. */
  turnTime({ job }: FleetCall): TurnTimeEstimate {
    return this.#turnTimes.getOrMake(job.script.key, () => new TurnTimeEstimate());
  }

  close(): void {
    this.#isClosed = true;
    this.#expiry.close();
    this.#stopListening();
    this.#waiting = [];
    this.#held = [];
  }

  #schedule(): void {
    if (this.#isDue || this.#isClosed) return;
    this.#isDue = true;
    setImmediate(() => {
      this.#isDue = false;
      void this.#run();
    });
  }

  async #run(): Promise<void> {
    // The client cannot withdraw a command that waits for a connection.
    if (this.#rounds >= ROUNDS_MAX || !this.#options.connection.isReady) return;
    const calls = this.#waiting.splice(0, ROUND_MAX).filter(({ isOver }) => !isOver);
    if (this.#waiting.length > 0) this.#schedule();
    if (calls.length === 0) return;
    this.#rounds++;
    try {
      await this.#round(calls);
    } catch (error) {
      // A call with a carrier may have been added all the same: its job is searched for.
      for (const call of calls) if (call.carrier === null) this.#refuse(call, error);
    }
    this.#rounds--;
    if (this.#waiting.length > 0) this.#schedule();
  }

  #refuse(call: FleetCall, error: unknown): void {
    const message = `the fleet's Redis did not take the call: it ${wordsOfProblem(redisProblemOf(error))}`;
    this.#options.onFail(call, { code: "executor_lost", message });
  }

  async #round(calls: readonly FleetCall[]): Promise<void> {
    const { scheduler, queue } = this.#options;
    const byId = new Map(calls.map((call) => [`${call.callNumber}`, call]));
    const awaited = calls.filter(isAwaited);
    const requests = calls.filter((call) => !isAwaited(call)).map((call) => this.#admissionRequest(call));
    const { places, held } = requests.length === 0 ? NOTHING_ADMITTED : await scheduler.admit(requests);
    this.#hold(held, byId);
    // Calls that another call waits for bypass the order and go first.
    const first = awaited.map((call) => ({
      call,
      turn: { tag: 0, level: 0 },
      priority: 0,
      turnTime: this.turnTime(call),
    }));
    const ordered = places.flatMap((place) => this.#placed(place, byId));
    const placed = [...first, ...ordered];
    const brought = await this.#upload(placed);
    const isDue = ({ call }: PlacedCall): boolean => !call.isOver && brought.has(call.job.script.key);
    const jobs = [...packJobs(first.filter(isDue)), ...packJobs(ordered.filter(isDue))];
    if (jobs.length === 0) return;
    const sent: (readonly [job: FleetJob, ttlMs: number])[] = [];
    const bulk = jobs.map((members) => {
      const job = new FleetJob(
        `${this.#options.server}-${++this.#jobs}`,
        members.map(({ call }) => call),
        performance.now(),
      );
      for (const { call } of members) call.carrier = job;
      const first = members[0];
      const ttlMs = MORE_MS + Math.max(...members.map(({ call }) => longest(call.job.limits)));
      const text = JSON.stringify(this.#write(members, brought, job.isAgain));
      const packed = this.#options.payloads.pack(text, job.id, ttlMs);
      sent.push([job, ttlMs]);
      this.#options.onSent(job);
      // Members are in due order: the first is due first.
      const data: JobEnvelope = { turn: first?.turn ?? { tag: 0, level: 0 }, packed };
      const opts = { jobId: job.id, priority: first?.priority ?? 1, removeOnComplete: true, removeOnFail: true };
      return { name: "calls", data, opts };
    });
    // A few jobs are faster one by one: the overhead of a bulk add equals the cost of some of them.
    try {
      if (bulk.length > SINGLES_MAX) await queue.addBulk(bulk);
      else await Promise.all(bulk.map((one, at) => this.#add(one, jobs[at] ?? [])));
    } finally {
      // Even if one was refused, others may have been added.
      for (const [job, ttlMs] of sent) this.#expiry.onSent(job, ttlMs);
    }
  }

  /**
   * Adds one job. Its calls end if Redis refuses it until an operator solves its problem: a refused command has no
   * effect.
   */
  async #add(
    { name, data, opts }: Parameters<Queue<JobEnvelope>["addBulk"]>[0][number],
    members: readonly PlacedCall[],
  ): Promise<void> {
    try {
      await this.#options.queue.add(name, data, opts);
    } catch (error) {
      const reply = replyOf(error);
      if (reply === undefined || isPassing(reply)) throw error;
      for (const { call } of members) this.#refuse(call, error);
    }
  }

  #admissionRequest(call: FleetCall): AdmissionRequest {
    const { tenant, script, fleet } = call.job;
    const priority = fleet?.priority ?? 0;
    const cost = costOf(this.turnTime(call));
    // Inspections bypass caps: otherwise no server could start while the fleet is busy.
    return { id: `${call.callNumber}`, tenant, tool: script.name, priority, cost, isFree: call.isInspection };
  }

  #hold(ids: readonly string[], calls: ReadonlyMap<string, FleetCall>): void {
    for (const id of ids) {
      const call = calls.get(id);
      if (call !== undefined) this.#held.push(call);
    }
  }

  #placed({ id, turn, priority }: QueuePlace, calls: ReadonlyMap<string, FleetCall>): readonly PlacedCall[] {
    const call = calls.get(id);
    return call === undefined ? [] : [{ call, turn, priority, turnTime: this.turnTime(call) }];
  }

  /** Uploads the tools' code. Calls of a tool whose upload fails end. */
  async #upload(placed: readonly PlacedCall[]): Promise<ReadonlyMap<string, FleetScript>> {
    const brought = new Map<string, FleetScript>();
    const scripts = new Map(placed.map(({ call }) => [call.job.script.key, call.job.script]));
    await Promise.all(
      Array.from(scripts, async ([key, script]) => {
        try {
          brought.set(key, await this.#options.scripts.upload(script));
        } catch (error) {
          const why = error instanceof TextFailure ? `: ${error.message}` : "";
          const failure =
            error instanceof TextFailure && error.kind === "too_large"
              ? ({ code: "load_error", message: error.message } as const)
              : ({
                  code: "executor_lost",
                  message: `the tool's code could not be uploaded to the fleet${why}`,
                } as const);
          for (const { call } of placed) if (call.job.script.key === key) this.#options.onFail(call, failure);
        }
      }),
    );
    return brought;
  }

  #write(members: readonly PlacedCall[], brought: ReadonlyMap<string, FleetScript>, isAgain: boolean): JobData {
    const scripts: FleetScript[] = [];
    const limits: FleetLimits[] = [];
    const places = new Map<unknown, number>();
    const place = <T extends object>(list: T[], key: unknown, make: () => T): number => {
      const known = places.get(key);
      if (known !== undefined) return known;
      places.set(key, list.length);
      return list.push(make()) - 1;
    };
    const calls = members.flatMap(({ call }) => {
      const { job, callNumber, nowMs } = call;
      const script = brought.get(job.script.key);
      if (script === undefined) return [];
      const command = job.command === undefined ? {} : { command: job.command };
      const { claim } = call;
      return {
        callNumber,
        ...(claim === undefined ? {} : { claim }),
        script: place(scripts, script, () => script),
        limits: place(limits, job.limits, () => limitsOf(job.limits)),
        tenant: job.tenant,
        callId: job.callId,
        args: job.args,
        ...command,
        seed: job.replay?.seed ?? seedOf(this.#options.entropyKey, `${callNumber}`),
        nowMs,
        stream: job.stream,
      };
    });
    const { protocol: v, server } = this.#options;
    const isInspection = members[0]?.call.isInspection === true;
    return {
      v,
      server,
      scripts,
      limits,
      calls,
      ...(isInspection ? { isInspection } : {}),
      ...(isAgain ? { isAgain } : {}),
    };
  }
}

/** Whether another call waits for this one. */
function isAwaited({ job: { fleet } }: FleetCall): boolean {
  return fleet?.parent !== undefined && fleet.parent !== null;
}

function limitsOf(limits: FleetLimits): FleetLimits {
  const { cpuMs, outputBytes, logBytes, capabilityCalls, capabilityBytes, wallMs, queueMs } = limits;
  return { cpuMs, outputBytes, logBytes, capabilityCalls, capabilityBytes, wallMs, queueMs };
}

/** Longest time in the fleet, in milliseconds: a call may wait twice, for a machine and then for a worker there. */
function longest({ queueMs, wallMs }: FleetLimits): number {
  return 2 * queueMs + wallMs;
}

/** Maximum number of calls in a job. Calls known to be short share a job, and so its cost in Redis. */
const TOGETHER_MAX = 128;
/** Maximum expected total duration of a job's calls, in milliseconds: they run on one machine. */
const TOGETHER_MS = 8;
/** Longest expected turn of a call that shares a job, in milliseconds; a longer one has a job of its own. */
const SHORT_MS = 2;
/** Maximum total length of a job's arguments, in characters. */
const LENGTH_MAX = 256 * 1024;

/** A call, its place in the fleet's order, and the estimated duration of its tool's turns. */
export interface PlacedCall {
  readonly call: FleetCall;
  readonly turn: JobTurn;
  /** BullMQ's priority: lower is first. */
  readonly priority: number;
  readonly turnTime: TurnTimeEstimate;
}

/** A call's share of a job, from 0 to 1, for the fleet's order. */
export function costOf(turnTime: TurnTimeEstimate): number {
  if (turnTime.isUnknown || turnTime.expectMs(1) > SHORT_MS) return 1;
  return Math.max(1 / TOGETHER_MAX, turnTime.expectMs(1) / TOGETHER_MS);
}

/** Groups calls into jobs, in due order. */
function packJobs(placed: readonly PlacedCall[]): readonly (readonly PlacedCall[])[] {
  const jobs: PlacedCall[][] = [];
  let open: PlacedCall[] = [];
  let [length, expectedMs] = [0, 0];
  for (const each of placed.toSorted((a, b) => dueOf(a.turn) - dueOf(b.turn))) {
    if (costOf(each.turnTime) >= 1 || each.call.isInspection) {
      jobs.push([each]);
      continue;
    }
    length += each.call.job.args.length;
    expectedMs += each.turnTime.expectMs(1);
    if (open.length > 0 && (open.length >= TOGETHER_MAX || length > LENGTH_MAX || expectedMs > TOGETHER_MS)) {
      jobs.push(open);
      open = [];
      [length, expectedMs] = [each.call.job.args.length, each.turnTime.expectMs(1)];
    }
    open.push(each);
  }
  if (open.length > 0) jobs.push(open);
  return jobs;
}
