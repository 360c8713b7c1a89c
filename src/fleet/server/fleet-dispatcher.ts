import type { MachineMessage, ServerMessage } from "../wire/messages.ts";
import type { Failure } from "../../kernel/base/protocol/messages.ts";
import { LingeringWork } from "../../kernel/executor/dispatch/lingering-work.ts";
import type { EmitExecutorEvent } from "../../kernel/executor/executor.ts";
import type { RedisProblem } from "../../kernel/store/outage.ts";
import { isPassing, wordsOfProblem } from "../redis/reply.ts";
import type { FleetCall } from "./fleet-call.ts";
import type { FleetJob } from "./fleet-job.ts";

/** Number of lost machines after which a call ends. */
const LOSSES_MAX = 10;
/** Time after which a machine's message with the usage of an ended call counts as lost. */
const UNHEARD = { factor: 1, ms: 5_000 };

/** A dispatcher's view of its executor. */
export interface FleetDispatcherHost {
  readonly emit: EmitExecutorEvent;
  send(machine: string, message: ServerMessage): void;
  /** Sends a call to the fleet, which then calls `onSent`. */
  dispatch(call: FleetCall): void;
  /** Releases the leases of ended calls. */
  release(calls: readonly FleetCall[]): void;
  /** Removes an unwanted job that no machine holds. */
  withdraw(job: FleetJob): void;
  /** Records the CPU time of a call's turns. */
  recordTurnTime(call: FleetCall, cpuMs: number): void;
  /** A machine refuses a tool's calls for a tenant. */
  recordRefusal(call: FleetCall, refusedForMs: number): void;
}

/**
 * The calls of one server in the fleet, and the messages of machines about them. Of the machines that started a job
 * only the last one is trusted: an earlier one may have been cut off and still run calls that it no longer owns.
 */
export class FleetDispatcher {
  readonly #host: FleetDispatcherHost;
  readonly #calls = new Map<number, FleetCall>();
  readonly #jobs = new Map<string, FleetJob>();
  readonly #lingering = new LingeringWork<string>(UNHEARD);

  constructor(host: FleetDispatcherHost) {
    this.#host = host;
  }

  /** Whether no call is in progress, and no machine works for one that has ended. */
  get isIdle(): boolean {
    return this.#calls.size === 0 && this.#lingering.size === 0;
  }

  get jobs(): Iterable<FleetJob> {
    return this.#jobs.values();
  }

  /** Number of jobs that no machine holds. */
  get waitingJobs(): number {
    return this.#jobs.values().reduce((sum, job) => sum + Number(!job.isHeard), 0);
  }

  run(call: FleetCall): void {
    this.#calls.set(call.callNumber, call);
    this.#host.dispatch(call);
  }

  onSent(job: FleetJob): void {
    this.#jobs.set(job.id, job);
    const size = this.#openCalls(job).filter(({ isInspection }) => !isInspection).length;
    if (size > 0) this.#host.emit("dispatch:batch", { size });
  }

  /** Requests a report from the call's machine when the call only waits: also from a later machine. */
  watch(callNumber: number): void {
    const call = this.#calls.get(callNumber);
    if (call === undefined) return;
    call.isWatched = true;
    if (call.carrier?.isHeard === true) this.#askToWatch(call, call.carrier);
  }

  #askToWatch({ callNumber }: FleetCall, { machine, id: job, start }: FleetJob): void {
    if (machine !== null) this.#host.send(machine, { kind: "watch", callNumber, job, start });
  }

  /**
   * Ends a call now, and cancels it on its machine; of the machine's later messages, only the processor time counts.
   */
  end(callNumber: number, failure: Failure): void {
    const call = this.#calls.get(callNumber);
    if (call === undefined) return;
    const machine = this.#drop(call);
    const isWorking = machine !== null && !call.isInspection && call.carrier?.isLost === false;
    call.fail(failure, 0, isWorking ? this.#lingering.add(call, machine, performance.now()) : undefined);
  }

  /** Ends all calls, without waiting for reports of their usage. */
  endAll(failure: Failure): void {
    for (const call of this.#calls.values().toArray()) this.#endUnheard(call, failure);
    this.#lingering.endAll();
  }

  /** `problem`: that of Redis, which may be the reason for the silence. */
  endOverdue(nowMs: number, problem: RedisProblem | null = null): void {
    const why = problem === null ? "" : `; the fleet's Redis ${wordsOfProblem(problem)}`;
    for (const call of this.#calls.values()) {
      if (call.deadlineMs > nowMs) continue;
      const { code, message } = call.overdue;
      this.#endUnheard(call, { code, message: message + why });
    }
    this.#lingering.endOverdue(nowMs);
  }

  /** Ends a call without further messages from its machine. */
  #endUnheard(call: FleetCall, failure: Failure): void {
    this.#drop(call);
    call.fail(failure);
  }

  /** Forgets a call and cancels it on its machine. Returns the machine's id; `null` for a call without one. */
  #drop(call: FleetCall): string | null {
    const job = call.carrier;
    this.#forget(call);
    if (job === null || job.machine === null) return null;
    this.#cancel(job.machine, call.callNumber, job.id, job.start);
    return job.machine;
  }

  /** Throws if the message is invalid. */
  onMessage(machine: string, message: Exclude<MachineMessage, { readonly kind: "need" }>): void {
    if (message.kind === "taken") return this.#onTaken(machine, message.job, message.start);
    const call = this.#calls.get(message.callNumber);
    const job = call?.carrier ?? null;
    const isAsk = message.kind === "ask";
    const isOurs = job?.machine === machine && job.start === message.start && (!isAsk || message.job === job.id);
    if (call === undefined || !isOurs) {
      // The machine does not know yet that the call is over or runs elsewhere.
      if (isAsk) this.#cancel(machine, message.callNumber, message.job, message.start);
      return this.#onSpent(machine, message);
    }
    job.seenMs = performance.now();
    this.#markFound(job);
    switch (message.kind) {
      case "ask":
        return this.#onAsk(machine, call, message);
      case "log":
        call.log(message.at, message.lines);
        if (message.isFull)
          this.#host.send(machine, { kind: "logged", callNumber: call.callNumber, job: job.id, start: job.start });
        return;
      case "progress":
        return call.progress(message.payload);
      case "timed":
        return call.job.replay?.onTimed(message.step, message.nowMs);
      case "late":
        return call.job.replay?.onLate(message.fired, message.nowMs);
      case "together":
        return call.job.replay?.onTogether(message.at, message.count);
      case "restart":
        this.#emitRestart(call, call.attempts);
        return call.restart(message.attempts);
      case "idle": {
        const { asked, delivered, dueInMs, usedMs } = message;
        return call.job.onIdle?.({ asked, delivered, dueInMs, usedMs });
      }
      case "done":
        return this.#onDone(machine, call, message);
      case "spent":
        return;
    }
  }

  /** A machine is lost. Another one takes its jobs once their locks expire. */
  onLeave(machine: string): void {
    const nowMs = performance.now();
    this.#lingering.endOn(machine);
    for (const job of this.#jobs.values()) {
      if (job.machine !== machine || job.isLost) continue;
      job.isLost = true;
      for (const call of this.#openCalls(job)) call.lose(nowMs);
    }
  }

  /** A machine that was only missing is back, and possibly its jobs too. */
  onJoin(machine: string): void {
    for (const job of this.#jobs.values()) if (job.machine === machine) this.#markFound(job);
  }

  /**
   * A job is missing in Redis without a result: its calls are sent again, unless Redis refuses them until an operator
   * solves its problem, for example because it is full.
   */
  sendAgain(job: FleetJob, problem: RedisProblem | null = null): void {
    this.#jobs.delete(job.id);
    const refusal = problem === null || isPassing(problem.code) ? null : problem;
    for (const call of this.#openCalls(job)) {
      call.carrier = null;
      const isLast = call.lose(performance.now()) >= LOSSES_MAX;
      if (isLast || refusal !== null) {
        const message =
          refusal === null
            ? `the call was sent ${LOSSES_MAX} times, and was lost each time`
            : `the call was lost in the fleet's Redis: it ${wordsOfProblem(refusal)}`;
        this.end(call.callNumber, { code: "executor_lost", message });
      } else {
        this.#host.release([call]);
        this.#host.dispatch(call);
      }
    }
  }

  #markFound(job: FleetJob): void {
    if (!job.isLost) return;
    job.isLost = false;
    const nowMs = performance.now();
    for (const call of this.#openCalls(job)) call.giveTime(nowMs);
  }

  #onTaken(machine: string, id: string, start: number): void {
    const job = this.#jobs.get(id);
    if (job === undefined || start <= job.start) {
      // All of its calls are over, or a later start owns them.
      if (job?.machine !== machine) this.#host.send(machine, { kind: "resume", job: id, start, calls: [] });
      return;
    }
    const nowMs = performance.now();
    const isFirst = job.start === 0;
    const calls = this.#openCalls(job);
    const before = job.machine;
    if (before !== null && before !== machine) {
      for (const call of calls) this.#cancel(before, call.callNumber, id, job.start);
    }
    job.machine = machine;
    job.start = start;
    job.isLost = false;
    job.seenMs = nowMs;
    this.#emitTaken(job, calls, isFirst, nowMs);
    for (const call of calls) {
      const { attempts } = call;
      if (attempts > 0) this.#emitRestart(call, attempts);
      call.take(nowMs);
      if (attempts > 0) call.job.onRestart?.(attempts);
    }
    if (start > 1 || job.isAgain) return void this.#resume(machine, job, calls);
    // The machine has started all of the job's calls, including those that ended meanwhile.
    for (const callNumber of job.runs) if (!this.#calls.has(callNumber)) this.#cancel(machine, callNumber, id, start);
  }

  /** Sends a machine the data for continuing calls of another one. */
  async #resume(machine: string, job: FleetJob, calls: readonly FleetCall[]): Promise<void> {
    const { id, start } = job;
    const failures = await Promise.all(calls.map(async (call) => (await call.job.replay?.prepare?.()) ?? null));
    for (const [at, { callNumber }] of calls.entries()) {
      const failure = failures[at] ?? null;
      if (failure !== null) this.end(callNumber, failure);
    }
    if (job.machine !== machine || job.start !== start) return;
    const resumptions = calls.flatMap((call) => (call.isOver ? [] : [call.resumption]));
    this.#host.send(machine, { kind: "resume", job: id, start, calls: resumptions });
  }

  #cancel(machine: string, callNumber: number, job: string, start: number): void {
    this.#host.send(machine, { kind: "cancel", callNumber, job, start });
  }

  #emitTaken(job: FleetJob, calls: readonly FleetCall[], isFirst: boolean, nowMs: number): void {
    const counted = calls.filter(({ isInspection }) => !isInspection);
    const again = counted.filter(({ attempts }) => attempts > 0).length;
    if (again > 0) this.#host.emit("fleet:resume", { size: again });
    if (isFirst && counted.length > 0) {
      this.#host.emit("fleet:taken", { size: counted.length, waitMs: nowMs - job.sentMs });
    }
  }

  #emitRestart({ job, isInspection }: FleetCall, attempts: number): void {
    if (isInspection) return;
    this.#host.emit("call:restart", { callId: job.callId, tool: job.script.name, attempts });
  }

  #onAsk(machine: string, call: FleetCall, asked: Extract<MachineMessage, { readonly kind: "ask" }>): void {
    const { callNumber, step, attempt, start } = asked;
    const job = call.carrier;
    if (job !== null && call.mayMissWatch(asked)) this.#askToWatch(call, job);
    void call.ask(asked)?.then((answer) => {
      if (call.isOver || call.carrier !== job || job?.machine !== machine || job.start !== start) return;
      this.#host.send(machine, { kind: "answer", callNumber, step, attempt, answer: JSON.stringify(answer) });
    });
  }

  /** A machine's processor time for a call that has ended here: reported when its work ends, or with a crossing reply. */
  #onSpent(machine: string, message: Exclude<MachineMessage, { readonly kind: "need" | "taken" }>): void {
    const { callNumber, kind } = message;
    if (!this.#lingering.isAt(callNumber, machine)) return;
    if (kind === "spent") this.#lingering.end(callNumber, message.cpuMs);
    if (kind === "done" && message.isWorking === undefined) this.#lingering.end(callNumber, message.reply.cpuMs);
  }

  #onDone(
    machine: string,
    call: FleetCall,
    { reply, refusedForMs, isWorking }: Extract<MachineMessage, { readonly kind: "done" }>,
  ): void {
    if (!call.isInspection) this.#host.recordTurnTime(call, reply.cpuMs);
    if (refusedForMs !== undefined) this.#host.recordRefusal(call, refusedForMs);
    this.#forget(call);
    if (call.carrier?.open.size === 0) call.carrier.isDone = true;
    try {
      const nowMs = performance.now();
      call.finish(reply, nowMs, isWorking === true ? this.#lingering.add(call, machine, nowMs) : undefined);
    } catch (error) {
      call.fail({
        code: "executor_crashed",
        message: "the worker machine sent a reply that cannot be read",
      });
      throw error;
    }
  }

  #forget(call: FleetCall): void {
    this.#calls.delete(call.callNumber);
    this.#host.release([call]);
    const job = call.carrier;
    if (job === null) return;
    // The call keeps its carrier: the reason for its end may depend on the machine.
    job.open.delete(call.callNumber);
    if (job.open.size > 0) return;
    this.#jobs.delete(job.id);
    if (job.machine === null) this.#host.withdraw(job);
  }

  /** The calls of a job that have not ended. */
  #openCalls(job: FleetJob): readonly FleetCall[] {
    return Array.from(job.open).flatMap((callNumber) => this.#calls.get(callNumber) ?? []);
  }
}
