import type { Job as BullJob } from "bullmq";
import { valueIn } from "../../kernel/base/deadline.ts";
import type { Executor } from "../../kernel/executor/executor.ts";
import type { FleetCallData, FleetLimits, JobData, MachineMessage, Resumption } from "../wire/messages.ts";
import type { Failure } from "../../kernel/base/protocol/messages.ts";
import type { ToolScript, ToolVersion } from "../../kernel/base/protocol/script.ts";
import { type MachineCallHost, MachineCall } from "./machine-call.ts";
import type { CallEnd, KeyedCalls } from "./keyed-calls.ts";
import type { JobPuller } from "./puller.ts";
import type { Slots } from "./slots.ts";
import type { ToolScripts } from "./tool-scripts.ts";

const UNREADY: Failure = { code: "executor_lost", message: "the worker machine could not fetch the tool's code" };

/** A job's view of its machine. */
export interface JobHost {
  readonly executor: Executor;
  readonly scripts: ToolScripts;
  readonly slots: Slots;
  /** Present if the machine has a ledger. */
  readonly keyed: KeyedCalls | undefined;
  nextCallNumber(): number;
  /** Time in which a server must send `resume` for a job that another machine had started. */
  readonly answerMs: number;
  /** Returns the same object for equal limits: only calls with identical limits share a batch. */
  limits(limits: FleetLimits): FleetLimits;
  send(server: string, message: MachineMessage): void;
  /** Sends a message that is not urgent. */
  sendSoon(server: string, message: MachineMessage): void;
  /** All calls of the job have ended. */
  onEnd(job: MachineJob): void;
}

/** A job as the puller delivers it. */
export interface PulledJob {
  readonly bull: BullJob;
  readonly token: string;
  readonly data: JobData;
  readonly puller: JobPuller;
}

/** A BullMQ job on the machine that runs it: calls of one server. */
export class MachineJob implements MachineCallHost {
  readonly puller: JobPuller;
  readonly server: string;
  readonly start: number;
  #bull: BullJob;
  #token: string;
  /** Whether it needs `resume` from its server before it starts. */
  readonly #needsResumption: boolean;
  readonly #data: JobData;
  readonly #host: JobHost;
  readonly #calls = new Map<number, MachineCall>();
  readonly #cancelled = new Set<number>();
  readonly #resumed = Promise.withResolvers<readonly Resumption[] | null>();
  #waiting = 0;
  #isBusy = true;
  #isOver = false;
  /** Whether its calls have been passed to the executor. */
  #isBegun = false;
  #hasEnded = false;
  readonly #used: string[] = [];

  constructor({ bull, token, data, puller }: PulledJob, host: JobHost) {
    this.#bull = bull;
    this.#token = token;
    this.puller = puller;
    this.server = data.server;
    this.start = bull.attemptsStarted;
    this.#data = data;
    this.#needsResumption = this.start > 1 || data.isAgain === true;
    this.#host = host;
    host.slots.enter();
  }

  get id(): string {
    return this.#bull.id ?? "";
  }

  get bull(): BullJob {
    return this.#bull;
  }

  get token(): string {
    return this.#token;
  }

  /**
   * Adopts a second delivery of the same job, unless another machine may have started it meanwhile: after an outage
   * Redis may have lost the lock. Returns whether it does.
   */
  keep(bull: BullJob, token: string): boolean {
    if (this.#isOver || bull.attemptsStarted > this.start + 1) return false;
    this.#bull = bull;
    this.#token = token;
    return true;
  }

  /** Repeats capability calls without a response: either message may have been lost. */
  repeatCapabilityCalls(): void {
    for (const call of this.#calls.values()) call.repeatCapabilityCalls();
  }

  /** The server's numbers of its calls. */
  get runs(): readonly number[] {
    return this.#data.calls.map(({ callNumber }) => callNumber);
  }

  /** Runs the calls; their results are sent as messages. Never rejects. */
  async begin(): Promise<void> {
    const taken: MachineMessage = { kind: "taken", job: this.id, start: this.start };
    if (this.#needsResumption) this.send(taken);
    else this.sendSoon(taken);
    const resumptions = this.#needsResumption ? await this.#awaitResumptions() : new Map<number, Resumption>();
    const calls = this.#data.calls.filter(({ callNumber }) => !this.#needsResumption || resumptions.has(callNumber));
    const scripts = calls.length === 0 || this.#isOver ? [] : await this.#scripts();
    if (this.#isOver) return;
    for (const data of calls) this.#start(data, scripts[data.script] ?? null, resumptions.get(data.callNumber));
    this.#isBegun = true;
    this.#check();
  }

  /** The server reports which of the calls still have to run. */
  resume(calls: readonly Resumption[]): void {
    this.#resumed.resolve(calls);
    // A server also sends this for a first start that was reported too late.
    if (!this.#needsResumption) for (const callNumber of this.#calls.keys()) this.cancel(callNumber);
  }

  call(callNumber: number): MachineCall | undefined {
    return this.#calls.get(callNumber);
  }

  /** Ends a call without a result. */
  cancel(callNumber: number): void {
    this.#cancelled.add(callNumber);
    const call = this.#calls.get(callNumber);
    if (call === undefined) {
      // The server waits for the processor time of a call that will never start; one that has ended has reported it.
      if (!this.#isBegun) this.send({ kind: "spent", callNumber, start: this.start, cpuMs: 0 });
      return;
    }
    call.end();
    this.#host.executor.cancel(call.callNumber, "cancelled", "the call was cancelled while it ran");
  }

  /** The server requests a report when a call only waits. */
  watch(callNumber: number): void {
    const call = this.#calls.get(callNumber);
    if (call !== undefined) this.#host.executor.watch?.(call.callNumber);
  }

  /** Ends all calls without results: the server is lost, or another machine runs the job. */
  abandon(): void {
    this.#isOver = true;
    this.#resumed.resolve(null);
    for (const callNumber of this.#calls.keys()) this.cancel(callNumber);
    this.#check();
  }

  /**
   * The server is lost. Calls whose results can be stored for others continue; the claims of calls that never started
   * are released.
   */
  orphan(): void {
    if (this.#isBegun) {
      for (const [run, call] of this.#calls) if (!call.orphan()) this.cancel(run);
      return;
    }
    if (this.start === 1) {
      for (const { claim } of this.#data.calls) if (claim !== undefined) this.#host.keyed?.release(claim);
    }
    this.abandon();
  }

  send(message: MachineMessage): void {
    this.#host.send(this.server, message);
  }

  sendSoon(message: MachineMessage): void {
    this.#host.sendSoon(this.server, message);
  }

  onWait(isWaiting: boolean): void {
    this.#waiting += isWaiting ? 1 : -1;
    this.#check();
  }

  refusedForMs(tool: ToolVersion, tenant: string): number {
    return this.#host.executor.refusedForMs(tool, tenant);
  }

  onOrphanRequest({ data }: MachineCall): void {
    this.cancel(data.callNumber);
  }

  onEnd({ data, kept }: MachineCall, end: CallEnd | null): void {
    if (kept !== null) this.#host.keyed?.end(kept, end);
    this.#calls.delete(data.callNumber);
    this.#check();
  }

  async #awaitResumptions(): Promise<ReadonlyMap<number, Resumption>> {
    const calls = (await valueIn(this.#host.answerMs, this.#resumed.promise)) ?? [];
    return new Map(calls.map((call) => [call.callNumber, call]));
  }

  async #scripts(): Promise<readonly (ToolScript | null)[]> {
    return Promise.all(
      this.#data.scripts.map(async (travelled) => {
        try {
          const script = await this.#host.scripts.use(this.server, travelled);
          this.#used.push(script.key);
          // The job may have ended meanwhile; then no later step releases the script.
          if (this.#hasEnded) this.#host.scripts.release(script.key);
          return script;
        } catch {
          return null;
        }
      }),
    );
  }

  #start(data: FleetCallData, script: ToolScript | null, resumption: Resumption | undefined): void {
    if (this.#cancelled.has(data.callNumber)) return;
    const limits = this.#data.limits[data.limits];
    const { claim } = data;
    const kept = claim === undefined ? null : (this.#host.keyed?.begin(this.server, claim) ?? null);
    if (script === null || limits === undefined) {
      if (kept !== null) this.#host.keyed?.end(kept, this.start === 1 ? { kind: "undone" } : null);
      return this.#refuse(data.callNumber, UNREADY);
    }
    const tool = { script, limits: this.#host.limits(limits) };
    const call = new MachineCall(this.#host.nextCallNumber(), { data, ...tool, resumption, kept }, this);
    this.#calls.set(data.callNumber, call);
    if (this.#data.isInspection !== true) return this.#host.executor.run(call);
    const sinceMs = performance.now();
    void this.#host.executor.inspect(script).then((inspection) => {
      const wallMs = performance.now() - sinceMs;
      const outcome = { ok: true, json: JSON.stringify(inspection) } as const;
      call.settle({ outcome, cpuMs: 0, waitedMs: 0, wallMs, heapBytes: 0, attempts: 1, logs: "", dropped: 0 });
    });
  }

  #refuse(callNumber: number, failure: Failure): void {
    const nothing = { cpuMs: 0, waitedMs: 0, wallMs: 0, heapBytes: 0, attempts: 0, logs: "", dropped: 0 };
    const reply = { outcome: { ok: false, failure }, ...nothing } as const;
    this.send({ kind: "done", callNumber, start: this.start, reply });
  }

  /** Updates whether the job needs a slot, and ends it once its calls have ended. */
  #check(): void {
    const isOpen = !this.#isBegun || this.#calls.size > 0;
    if (!isOpen || this.#isOver) return this.#end();
    const isBusy = !this.#isBegun || this.#waiting < this.#calls.size;
    if (isBusy === this.#isBusy) return;
    this.#isBusy = isBusy;
    this.#host.slots.change(isBusy);
  }

  #end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#isOver = true;
    this.#host.slots.leave(this.#isBusy);
    for (const key of this.#used) this.#host.scripts.release(key);
    this.#host.onEnd(this);
  }
}
