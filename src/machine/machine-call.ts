import type { Answer, Ask, Job, Reply } from "../executor/executor.ts";
import type { FleetCallData, FleetLimits, FleetReply, MachineMessage, Resumption } from "../fleet/messages.ts";
import type { ToolScript } from "../protocol/script.ts";
import type { Progress } from "../result.ts";
import type { Portable } from "../capabilities/capability.ts";
import type { Delegate, Done } from "./delegate.ts";
import { HeardAnswers } from "./heard-answers.ts";

/** What a call needs of the machine that runs it. */
export interface CallHost {
  /** Says something to the call's server, which may wait for it or not. */
  send(message: MachineMessage, isUrgent?: boolean): void;
  /** It waits for its server, and needs no slot; or no longer. */
  onWait(isWaiting: boolean): void;
  /** How long the executor refuses a tool's calls for a tenant. */
  refusedForMs(tool: string, tenant: string): number;
  /** Who carries out here what it asks, where its server leaves that to machines. */
  delegate(): Delegate | null;
  /** Whether its server hears all that was said by now before it hears of another machine that has the call. */
  isHeard(): Promise<boolean>;
  onEnd(call: MachineCall): void;
}

/** What was not begun. */
const NOT_DONE: Done = { answer: null, outcome: "failed", durationMs: 0 };

/** A call of a server as this machine's executor takes it: what it asks, its server answers, or leaves to it. */
export class MachineCall implements Job {
  /** Its number here. */
  readonly run: number;
  readonly script: ToolScript;
  readonly limits: FleetLimits;
  readonly data: FleetCallData;
  readonly isResumed: boolean;
  readonly #start: number;
  readonly #before: number;
  readonly #host: CallHost;
  readonly #heard: HeardAnswers;
  readonly #delegate: Delegate | null;
  /** Asks that are not answered yet, by attempt and step. */
  readonly #asks = new Map<string, (answer: Answer) => void>();
  #isWaiting = false;
  isOver = false;

  constructor(
    run: number,
    tool: { readonly script: ToolScript; readonly limits: FleetLimits },
    data: FleetCallData,
    start: number,
    resumption: Resumption | undefined,
    host: CallHost,
  ) {
    this.run = run;
    this.script = tool.script;
    this.limits = tool.limits;
    this.data = data;
    this.isResumed = resumption !== undefined;
    this.#start = start;
    this.#before = resumption?.attempts ?? 0;
    this.#heard = new HeardAnswers(resumption?.asked ?? 0, resumption?.plan ?? "");
    this.#delegate = host.delegate();
    this.#host = host;
  }

  get tenant(): string {
    return this.data.tenant;
  }

  get callId(): string {
    return this.data.callId;
  }

  get args(): string {
    return this.data.args;
  }

  get command(): string | undefined {
    return this.data.command;
  }

  get seed(): string {
    return this.data.seed;
  }

  get nowMs(): number {
    return this.data.nowMs;
  }

  get stream(): boolean {
    return this.data.stream;
  }

  get waitMs(): number {
    return this.limits.queueMs;
  }

  ask(asked: Ask): Promise<Answer> {
    const { step, heard, capability } = asked;
    const attempt = this.#before + asked.attempt;
    const portable = this.#heard.isNew(attempt, step) ? (this.#delegate?.take(asked) ?? null) : null;
    this.#heard.noteAsk(step, heard);
    const used = this.#delegate?.used(capability);
    const more = { ...(portable === null ? {} : { isDelegated: true }), ...(used === undefined ? {} : { used }) };
    const isUrgent = portable === null;
    this.#host.send({ kind: "ask", run: this.data.run, start: this.#start, ...asked, attempt, ...more }, isUrgent);
    const answer = new Promise<Answer>((resolve) => {
      this.#asks.set(`${attempt} ${step}`, resolve);
      this.#noteWait();
    });
    if (portable !== null) void this.#carryOut({ ...asked, attempt }, portable);
    return answer;
  }

  /**
   * The server hears of it before anything that comes of it, so that another machine does not take another way: of what is only
   * read some time, of a write before it is done.
   */
  async #carryOut(ask: Ask, portable: Portable): Promise<void> {
    const { step, attempt } = ask;
    const mayBegin = portable.kind !== "write" || (await this.#host.isHeard());
    if (this.isOver) return;
    const done = mayBegin ? await this.#delegate?.carryOut(ask, portable) : NOT_DONE;
    if (this.isOver || done === undefined) return;
    const isAwaited = done.answer !== null && this.#asks.has(`${attempt} ${step}`);
    const when = isAwaited ? { heard: this.#heard.given(attempt) } : {};
    const told = { ...done, ...when, answer: done.answer === null ? null : JSON.stringify(done.answer) };
    this.#host.send({ kind: "told", run: this.data.run, start: this.#start, step, attempt, ...told }, !isAwaited);
    if (done.answer !== null) this.#answer(attempt, step, done.answer);
  }

  /** What its server says to something that it has asked. */
  answer(attempt: number, step: number, answer: Answer): void {
    if (answer.kind === "value") this.#delegate?.noteAnswer(answer.json);
    this.#answer(attempt, step, answer);
  }

  #answer(attempt: number, step: number, answer: Answer): void {
    const key = `${attempt} ${step}`;
    const resolve = this.#asks.get(key);
    if (resolve === undefined) return;
    this.#asks.delete(key);
    if (answer.kind !== "diverged") this.#heard.noteAnswer(attempt, step, answer.nowMs);
    this.#noteWait();
    resolve(answer);
  }

  plan(): string {
    return this.#heard.plan();
  }

  onTimed(step: number, nowMs: number): void {
    this.#heard.noteTime(step, nowMs);
    this.#host.send({ kind: "timed", run: this.data.run, start: this.#start, step, nowMs });
  }

  onLog(line: string): void {
    this.#host.send({ kind: "log", run: this.data.run, start: this.#start, line });
  }

  onProgress({ progress, total, message }: Progress): void {
    const payload = JSON.stringify([progress, total ?? null, message ?? null]);
    this.#host.send({ kind: "progress", run: this.data.run, start: this.#start, payload });
  }

  onRestart(attempts: number): void {
    // Nobody waits for what an earlier start has asked.
    this.#asks.clear();
    this.#noteWait();
    this.#host.send({ kind: "restart", run: this.data.run, start: this.#start, attempts });
  }

  settle(reply: Reply): void {
    if (this.isOver) return;
    this.#host.send({ kind: "done", run: this.data.run, start: this.#start, reply: this.#write(reply) });
    this.end();
  }

  /** Nobody wants to know any more what comes of it. */
  end(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#delegate?.[Symbol.dispose]();
    this.#asks.clear();
    this.#noteWait();
    this.#host.onEnd(this);
  }

  #noteWait(): void {
    const isWaiting = this.#asks.size > 0;
    if (isWaiting === this.#isWaiting) return;
    this.#isWaiting = isWaiting;
    this.#host.onWait(isWaiting);
  }

  #write({ outcome, heard, ...used }: Reply): FleetReply {
    const { cpuMs, waitedMs, wallMs, heapBytes, attempts, logs, dropped } = used;
    const payload = outcome.ok ? outcome.json : JSON.stringify(outcome.failure);
    const isRefused = !outcome.ok && outcome.failure.code === "tool_quarantined";
    return {
      ok: outcome.ok,
      payload,
      cpuMs,
      waitedMs,
      wallMs,
      heapBytes,
      attempts,
      logs,
      dropped,
      ...(heard === undefined ? {} : { heard }),
      ...(isRefused ? { refusedForMs: this.#host.refusedForMs(this.script.name, this.tenant) } : {}),
    };
  }
}
