import { CallIds } from "../../base/call-ids.ts";
import { mayHaveLongInteger, parseForWriting } from "../../base/exact-json.ts";
import { writeAny } from "../../base/json-writer.ts";
import { describeExcess, isObject, parseWithin } from "../../base/json.ts";
import {
  type CapabilityCall,
  childAnswer,
  type ChildReply,
  isContinuation,
} from "../../base/protocol/capability-call.ts";
import {
  type CapabilityCallMessage,
  type ChildTicket,
  type ChildTickets,
  cpuMsOf,
  type DoneMessage,
  type RanMessage,
  type RunMessage,
  type SettleMessage,
  type ToHost,
} from "../../base/protocol/messages.ts";
import { NAME_MAX } from "../../guest/host.ts";
import type { BrokerOutbox } from "./broker-outbox.ts";
import type { Deliveries } from "./deliveries.ts";
import { isOneLine } from "./outcome.ts";
import type { AskedChild, WorkerCall } from "./worker-call.ts";

/** Maximum time for which child calls run before the worker reads the host's messages, in milliseconds. */
const SLICE_MS = 2;
/** Maximum processor time of child calls that share a turn, in milliseconds: the host places longer ones. */
const TURN_MS = 20;
/** Mean processor time of a child call from which other workers should get some of them, in milliseconds. */
const SLOW_MS = 1;
/** Number of consecutive turns with slow calls of a tool after which the host gets all of them, and for how long. */
const SLOW_TURNS_MAX = 5;
const SLOW_FOR_MS = 10_000;
/** Maximum length of arguments, and of an output, in characters; and of the arguments of a turn. */
const TEXT_MAX = 64 * 1024;
/** Maximum number of child calls that start in one turn. */
const TOGETHER_MAX = 128;
/** Bytes that a character may take. */
const BYTES_MAX = 3;
/** Child calls are numbered between their parent's number and the next one, while numbers are exact enough. */
const STEPS_MAX = 2 ** 16;
const PARENTS_MAX = 2 ** 36;
/** Maximum number of tools with a known duration. */
const TOOLS_MAX = 1_024;

/** The worker, as its child calls need it. */
export interface ChildCallHost {
  readonly calls: ReadonlyMap<number, WorkerCall>;
  readonly scripts: ReadonlyMap<string, unknown>;
  /** Starts calls; their messages are passed to `hears`. */
  start(message: RunMessage): void;
  /** Ends a call that continues after its first turn. */
  end(callNumber: number): void;
  readonly broker: Pick<BrokerOutbox, "ask" | "add">;
  readonly deliveries: Pick<Deliveries, "take" | "flush">;
  /** Calls `run` after the messages that the host has sent meanwhile. */
  later(): void;
}

/** The end of a child call that ran here: an outcome, with its logs and usage. */
type End = Pick<ChildReply, "output" | "cpuMs" | "heapBytes" | "logs" | "dropped">;

/** Child calls that may still run here for a call. */
interface Share {
  readonly tickets: ReadonlyMap<string, ChildTicket>;
  readonly capability: string;
  leftMs: number;
}

/**
 * Child calls that the worker of their parent runs itself, after the turn that made them and within the share that the
 * host gave the parent. The host gets the end of each, in order. A child call that fails, continues or takes long has
 * had no effect outside, so the host runs it again, like all others.
 */
export class ChildCalls {
  readonly #host: ChildCallHost;
  readonly #due = new Set<WorkerCall>();
  readonly #shares = new WeakMap<WorkerCall, Share>();
  /** The running child calls: their numbers, their ends so far, and the processor time of all. */
  #numbers: readonly number[] = [];
  readonly #ends = new Map<number, End>();
  #usedMs = 0;
  /** Slow turns by script: their number, and the time until which they count. */
  readonly #slow = new Map<string, { readonly turns: number; readonly untilMs: number }>();
  /** Ids of child calls, as the host makes them. */
  readonly #ids = new CallIds();

  constructor(host: ChildCallHost) {
    this.#host = host;
  }

  /**
   * Makes a capability call, with untrusted values. It goes to the host, unless it is a child call that may run here.
   * Returns its step; 0 beyond the limits.
   */
  ask(call: WorkerCall, asked: Pick<CapabilityCall, "capability" | "method" | "args">, guestMs: number): number {
    const { capability, method, args } = asked;
    if (capability.length > NAME_MAX || method.length > NAME_MAX || !isOneLine(args)) return 0;
    const step = call.nextAsk(args.length, isContinuation(capability, method));
    if (step === 0) return 0;
    const { callNumber, deliveredCount, message } = call;
    const nowMs = Number.isFinite(guestMs) ? guestMs : 0;
    const ask = { kind: "ask", callNumber, attempt: message.attempt, step, nowMs, deliveredCount, ...asked } as const;
    const child = this.#childOf(call, ask);
    if (child === null) {
      this.leave(call);
      this.#send(call, ask);
    } else {
      call.children.push(child);
      this.#due.add(call);
    }
    return step;
  }

  /** Leaves child calls that have not run to the host, in the order of their requests. */
  leave(call: WorkerCall): void {
    if (call.children.length === 0) return;
    this.#due.delete(call);
    for (const { ask } of call.children.splice(0)) this.#send(call, ask);
  }

  #send(call: WorkerCall, ask: CapabilityCallMessage): void {
    // The order of responses is known as long as they all come from one side.
    if (call.message.tickets !== "") call.awaited.add(ask.step);
    this.#host.broker.ask(call, ask);
  }

  #childOf(call: WorkerCall, ask: CapabilityCallMessage): AskedChild | null {
    if (call.message.tickets === "" || call.awaited.size > 0 || !call.hasRoomFor(0)) return null;
    const { tickets, capability, leftMs } = this.#shareOf(call);
    const { args, step } = ask;
    if (ask.capability !== capability || ask.method !== "call" || leftMs < 1) return null;
    if (args.length > TEXT_MAX || args.includes("\t") || step >= STEPS_MAX || ask.callNumber >= PARENTS_MAX)
      return null;
    const said = readRequest(args);
    const ticket = said === null ? undefined : tickets.get(said.name);
    if (said === null || ticket === undefined || said.args.length * BYTES_MAX > ticket.inputBytes) return null;
    const askedMs = performance.now();
    const slow = this.#slow.get(ticket.key);
    if (slow !== undefined && slow.turns >= SLOW_TURNS_MAX && slow.untilMs > askedMs) return null;
    return { ask, ticket, args: said.args, askedMs };
  }

  #shareOf(call: WorkerCall): Share {
    let share = this.#shares.get(call);
    if (share === undefined) {
      const { capability, cpuMs, tools } = JSON.parse(call.message.tickets) as ChildTickets;
      share = { capability, leftMs: cpuMs, tickets: new Map(tools.map((ticket) => [ticket.name, ticket])) };
      this.#shares.set(call, share);
    }
    return share;
  }

  /** Runs the child calls that are due, and those that calls make after their answers. */
  run(): void {
    const startMs = performance.now();
    for (const call of this.#due) {
      this.#due.delete(call);
      if (this.#host.calls.get(call.callNumber) === call) this.#runAll(call, startMs);
      if (this.#due.size > 0 && performance.now() - startMs > SLICE_MS) return this.#host.later();
    }
  }

  #runAll(call: WorkerCall, startMs: number): void {
    const responses: SettleMessage[] = [];
    while (call.children.length > 0) {
      if (responses.length > 0 && performance.now() - startMs > SLICE_MS) {
        this.#due.add(call);
        break;
      }
      const batch = this.#takeBatch(call);
      const answered = this.#runBatch(call, batch);
      for (const { child, end, times } of answered) responses.push(this.#answer(call, child, end, times));
      if (answered.length === batch.length) continue;
      call.children.unshift(...batch.slice(answered.length));
      this.leave(call);
    }
    for (const response of responses) this.#host.deliveries.take(response);
    this.#host.deliveries.flush();
  }

  /** The next child calls of one tool. */
  #takeBatch({ children }: WorkerCall): readonly AskedChild[] {
    const [first] = children;
    let [count, length] = [0, 0];
    for (const { ticket, args } of children) {
      length += args.length;
      if (count > 0 && (count === TOGETHER_MAX || ticket !== first?.ticket || length > TEXT_MAX)) break;
      count++;
    }
    return children.splice(0, count);
  }

  /** Runs child calls in one turn. Returns the first ones that have ended well. */
  #runBatch(call: WorkerCall, batch: readonly AskedChild[]) {
    const [first] = batch;
    const share = this.#shareOf(call);
    // The host withdraws the scripts of tools that are replaced.
    if (first === undefined || !this.#host.scripts.has(first.ticket.key) || share.leftMs < 1) return [];
    const { ticket } = first;
    const startMs = performance.timeOrigin + performance.now();
    const ids = batch.map(() => this.#ids.next());
    const numbers = batch.map(({ ask }) => call.callNumber + ask.step / STEPS_MAX);
    const { outputBytes, logBytes } = ticket;
    const clockMs = Date.now();
    const calls = batch
      .map(({ args }, at) => `[${numbers[at]},"${ids[at]}",${clockMs},${outputBytes},${args}]`)
      .join(",");
    this.#numbers = numbers;
    this.#ends.clear();
    this.#usedMs = 0;
    this.#host.start({
      kind: "run",
      callNumber: numbers[0] ?? 0,
      runs: numbers.join(","),
      terms: {
        key: ticket.key,
        tenant: call.terms.tenant,
        cpuMs: Math.min(ticket.cpuMs, share.leftMs, TURN_MS),
        outputBytes,
        logBytes,
        capabilityCalls: 0,
        capabilityBytes: 0,
        stream: false,
        asksHost: true,
        tellsTurns: false,
        ownIsolate: false,
      },
      attempt: 1,
      hasLongIntegers: mayHaveLongInteger(calls),
      plan: "",
      tickets: "",
      parent: call.callNumber,
      calls: `[${calls}]`,
    });
    for (const callNumber of numbers) if (this.#host.calls.has(callNumber)) this.#host.end(callNumber);
    const wallMs = performance.timeOrigin + performance.now() - startMs;
    share.leftMs -= this.#usedMs;
    this.#weigh(ticket.key, this.#usedMs / batch.length);
    const answered = [];
    for (const [at, child] of batch.entries()) {
      const end = this.#ends.get(numbers[at] ?? 0);
      if (end === undefined || end.output.length * BYTES_MAX > outputBytes) break;
      const { length } = childAnswer(end);
      if (!call.hasRoomFor(length)) break;
      call.answeredLength += length;
      answered.push({ child, end, times: { callId: ids[at] ?? "", startMs, wallMs } });
      this.#usedMs -= end.cpuMs;
    }
    // The time of the others, which the host runs again, is charged to their parent.
    call.cpuMs += Math.max(0, this.#usedMs);
    return answered;
  }

  #weigh(key: string, callMs: number): void {
    if (callMs < SLOW_MS || this.#slow.size >= TOOLS_MAX) return void this.#slow.delete(key);
    const turns = (this.#slow.get(key)?.turns ?? 0) + 1;
    this.#slow.set(key, { turns, untilMs: performance.now() + SLOW_FOR_MS });
  }

  /** Reports a child call to the host, and returns the response to its parent. */
  #answer(
    call: WorkerCall,
    { ask, askedMs }: AskedChild,
    end: End,
    times: Pick<ChildReply, "callId" | "startMs" | "wallMs">,
  ): SettleMessage {
    const answeredMs = ask.nowMs + Math.round(performance.now() - askedMs);
    this.#host.broker.add(call, { ...ask, reply: { ...end, ...times, answeredMs } });
    const { callNumber, message } = call;
    const { attempt } = message;
    return {
      kind: "settle",
      callNumber,
      attempt,
      step: ask.step,
      ok: true,
      nowMs: answeredMs,
      payload: childAnswer(end),
    };
  }

  /** Takes a message of a call that runs here; returns whether it is one. */
  hears(message: ToHost): boolean {
    if (!("callNumber" in message) || Number.isInteger(message.callNumber)) return false;
    if (message.kind === "ran") this.#onRan(message);
    else if (message.kind === "cut") this.#usedMs += message.cpuMs;
    else if (message.kind === "done" && message.ok) this.#onDone(message);
    return true;
  }

  #onRan(message: RanMessage): void {
    const { cpuMs, outcomes, heapBytes } = message;
    this.#usedMs += cpuMs;
    const ended = outcomes.split("\t").slice(0, -1);
    for (const [at, outcome] of ended.entries()) {
      const callMs = cpuMsOf(message, at, ended.length);
      if (outcome.startsWith("+"))
        this.#end(this.#numbers[at], { output: outcome.slice(1), cpuMs: callMs, heapBytes, logs: "", dropped: 0 });
    }
  }

  #onDone({ callNumber, payload: output, cpuMs, heapBytes, logs, dropped }: DoneMessage): void {
    this.#end(callNumber, { output, cpuMs, heapBytes, logs, dropped });
  }

  #end(callNumber = 0, end: End): void {
    const { output, logs } = end;
    const isShort = output.length <= TEXT_MAX && describeExcess(output) === null;
    if (isShort && !output.includes("\t") && !logs.includes("\t")) this.#ends.set(callNumber, end);
  }
}

/** The tool and the arguments of a request; `null` for one that the host has to refuse. */
function readRequest(args: string): { readonly name: string; readonly args: string } | null {
  try {
    const parsed = parseWithin(args, parseForWriting);
    if ("excess" in parsed || !isObject(parsed.value)) return null;
    const { name, arguments: given } = parsed.value;
    if (typeof name !== "string" || !isObject(given)) return null;
    // An integer of too many digits would keep the isolate from reading the calls beside this one.
    return { name, args: parsed.hasLongIntegers ? writeAny(given) : JSON.stringify(given) };
  } catch {
    return null;
  }
}
