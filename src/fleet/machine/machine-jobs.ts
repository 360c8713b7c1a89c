import type { Job as BullJob } from "bullmq";
import { setTimeout as delay } from "node:timers/promises";
import { BoundedCache } from "../../kernel/base/bounded-cache.ts";
import { within } from "../../kernel/base/deadline.ts";
import type { Executor } from "../../kernel/executor/executor.ts";
import type { Fleet } from "../wire/fleet.ts";
import { type FleetLimits, type MachineMessage, PROTOCOL, type ServerMessage } from "../wire/messages.ts";
import { describeDamage } from "../wire/damage.ts";
import { readAnswer } from "../wire/read-message.ts";
import { recordTaken, type JobTurn } from "../gate/turn.ts";
import { readJob } from "./job-worker.ts";
import type { KeyedCalls } from "./keyed-calls.ts";
import { MachineJob } from "./machine-job.ts";
import type { MachineLogger } from "./machine-log.ts";
import { ServerMonitor } from "./server-monitor.ts";
import type { JobPuller } from "./puller.ts";
import type { Slots } from "./slots.ts";
import type { ToolScripts } from "./tool-scripts.ts";

/** Maximum number of reads of a new job's server before the job is dropped. */
const UNSEEN_MAX = 10;
const LIMITS_MAX = 1_000;
const SERVERS_MAX = 10_000;
/** Time in which taken jobs are collected before the scheduler is notified, in milliseconds. */
const TURNS_MS = 5;

/** A view of the machine. */
export interface JobsHost {
  readonly fleet: Fleet;
  readonly executor: Executor;
  readonly scripts: ToolScripts;
  readonly slots: Slots;
  readonly keyed: KeyedCalls | undefined;
  readonly logger: MachineLogger | undefined;
  readonly protocols: readonly number[];
  /** A job cannot be read, or its server is lost, and it is dropped. */
  readonly onDamage: (why: string) => void;
  readonly nextCallNumber: () => number;
  send(server: string, message: MachineMessage): void;
  /** Sends a message that is not urgent. */
  sendSoon(server: string, message: MachineMessage): void;
  /** A job with this number of calls has been taken. */
  onTaken(calls: number): void;
}

/** The jobs of a machine. */
export class MachineJobs {
  readonly #host: JobsHost;
  readonly #servers: ServerMonitor;
  /** Jobs by id, and by server and call number. */
  readonly #jobs = new Map<string, MachineJob>();
  readonly #calls = new Map<string, MachineJob>();
  readonly #limits = new BoundedCache<FleetLimits>(LIMITS_MAX);
  /** Protocols of servers, from their jobs. */
  readonly #protocols = new BoundedCache<number>(SERVERS_MAX);
  readonly #idle = new Set<() => void>();
  readonly #repeating: NodeJS.Timeout;
  #turns: JobTurn[] = [];
  #isDraining = false;

  constructor(host: JobsHost) {
    this.#host = host;
    this.#repeating = setInterval(() => this.#repeatCapabilityCalls(), host.fleet.timings.repeatMs);
    this.#servers = new ServerMonitor(host.fleet.members, {
      watched: () => [...Array.from(this.#jobs.values(), ({ server }) => server), ...(host.keyed?.servers ?? [])],
      onLook: (servers, there) => host.keyed?.look(servers, there),
      onGone: (server) => this.#onGone(server),
    });
  }

  /** Number of calls that have not ended. */
  get calls(): number {
    return this.#calls.size;
  }

  protocolOf(server: string): number {
    return this.#protocols.get(server) ?? PROTOCOL;
  }

  /**
   * Resolves when all jobs have ended, or after `ms`: then the remaining jobs are given back. New jobs are given back
   * too.
   */
  async drain(ms: number): Promise<void> {
    this.#isDraining = true;
    if (this.#jobs.size > 0 && ms > 0) await within(ms, new Promise<void>((resolve) => this.#idle.add(resolve)));
    await this.#giveBack();
  }

  close(): void {
    this.#servers.close();
    clearInterval(this.#repeating);
  }

  /** Runs a delivered job. Never rejects. */
  async accept(puller: JobPuller, bull: BullJob, token: string): Promise<void> {
    const id = bull.id ?? "";
    const { slots } = this.#host;
    let data;
    // Reading takes a slot too: otherwise the puller would take more jobs than there is room for.
    slots.enter();
    try {
      data = await readJob(bull, this.#host.fleet.payloads, this.#host.protocols);
    } catch (error) {
      this.#host.onDamage(`a job was dropped: ${describeDamage(error)}`);
      return puller.complete(bull, token);
    } finally {
      slots.leave(true);
    }
    const before = this.#jobs.get(id);
    if (before?.keep(bull, token) === true) return;
    this.#recordTurn(data.turn);
    this.#protocols.set(data.server, data.v);
    if (this.#isDraining) return void puller.giveBack(bull, token);
    const job = new MachineJob(
      { bull, token, data, puller },
      {
        ...this.#host,
        answerMs: this.#host.fleet.timings.answerMs,
        send: (server, message) => this.#host.send(server, message),
        sendSoon: (server, message) => this.#host.sendSoon(server, message),
        limits: (limits) => this.#limits.getOrMake(JSON.stringify(limits), () => limits),
        onEnd: (ended) => this.#onEnd(ended),
      },
    );
    this.#jobs.set(id, job);
    for (const { callNumber } of data.calls) {
      const key = `${data.server} ${callNumber}`;
      const other = this.#calls.get(key);
      this.#calls.set(key, job);
      // The server sent the call again in another job, and could not distinguish the two.
      if (other !== before) other?.cancel(callNumber);
    }
    // This machine lost the job and took it again; the earlier start is obsolete.
    before?.abandon();
    const isWanted = await this.#isWanted(data.server);
    if (isWanted === null) return this.#giveUp(job);
    if (!isWanted) {
      this.#host.onDamage("a job was dropped: its server is gone");
      return job.orphan();
    }
    this.#host.onTaken(data.calls.length);
    await job.begin();
  }

  /** Handles a server's message. */
  onMessage(server: string, message: ServerMessage): void {
    switch (message.kind) {
      case "resume":
        return this.#jobOf(server, message)?.resume(message.calls);
      case "answer": {
        const call = this.#calls.get(`${server} ${message.callNumber}`)?.call(message.callNumber);
        return call?.respond(message.attempt, message.step, readAnswer(message.answer));
      }
      case "cancel":
        return this.#jobOf(server, message)?.cancel(message.callNumber);
      case "watch":
        return this.#jobOf(server, message)?.watch(message.callNumber);
      case "logged":
        return this.#jobOf(server, message)?.call(message.callNumber)?.logged();
      case "have":
        return this.#host.scripts.onHave(message);
    }
  }

  /** The job that a server's message names, unless it was lost or restarted since. */
  #jobOf(server: string, { job: id, start }: { readonly job: string; readonly start: number }): MachineJob | undefined {
    const job = this.#jobs.get(id);
    return job?.server === server && job.start === start ? job : undefined;
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

  /** Whether a new job's server has a heartbeat; `null` if that is unknown. */
  async #isWanted(server: string): Promise<boolean | null> {
    let isThere: boolean | null = null;
    for (let looked = 0; looked < UNSEEN_MAX; looked++) {
      isThere = await this.#servers.isThere(server);
      if (isThere === true) return true;
      // All jobs of a lost server share one wait; later ones do not wait again.
      if (this.#servers.isGone(server)) return false;
      await delay(this.#host.fleet.timings.lookMs);
    }
    if (isThere === false) this.#servers.markGone(server);
    return isThere;
  }

  /** Gives a job back whose server could not be looked up. */
  #giveUp(job: MachineJob): void {
    this.#jobs.delete(job.id);
    job.abandon();
    void job.puller.giveBack(job.bull, job.token);
  }

  #onEnd(job: MachineJob): void {
    for (const callNumber of job.runs) {
      const key = `${job.server} ${callNumber}`;
      if (this.#calls.get(key) === job) this.#calls.delete(key);
    }
    if (this.#jobs.get(job.id) !== job) return;
    this.#jobs.delete(job.id);
    // Its messages are sent before its completion.
    setImmediate(() => job.puller.complete(job.bull, job.token));
    if (this.#jobs.size > 0) return;
    for (const resolve of this.#idle) resolve();
    this.#idle.clear();
  }

  #onGone(server: string): void {
    this.#host.logger?.warn({ server }, "server lost: its calls without a key are cancelled");
    this.#host.keyed?.onGone(server);
    for (const job of this.#jobs.values()) if (job.server === server) job.orphan();
  }

  #repeatCapabilityCalls(): void {
    if (!this.#host.fleet.connection.isReady) return;
    for (const job of this.#jobs.values()) job.repeatCapabilityCalls();
  }

  #recordTurn(turn: JobTurn): void {
    if (this.#turns.length === 0) {
      setTimeout(
        () => void recordTaken(this.#host.fleet.connection, this.#host.fleet.keys, this.#turns.splice(0)),
        TURNS_MS,
      );
    }
    this.#turns.push(turn);
  }
}
