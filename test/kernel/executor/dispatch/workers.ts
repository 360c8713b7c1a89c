import { Dispatcher } from "../../../../src/kernel/executor/dispatch/dispatcher.ts";
import type { Job, CallReply } from "../../../../src/kernel/executor/executor.ts";
import { type Transport, WorkerConnection } from "../../../../src/kernel/executor/dispatch/worker-connection.ts";
import { DEFAULT_LIMITS } from "../../../../src/kernel/base/limits.ts";
import { NO_CHECKS, type ToolScript } from "../../../../src/kernel/base/protocol/script.ts";
import { encodeToHost } from "../../../../src/kernel/base/protocol/wire.ts";

/** A worker that is nothing but what the test sends in its name. */
export interface FakeWorker {
  readonly lane: WorkerConnection;
  /** What the host has sent, write by write. */
  readonly sent: string[];
  readonly say: (text: string) => void;
  /** Answers a turn in which all of its calls ended with this output. */
  readonly answer: (callNumber: number, turnMs: number, ...outputs: readonly string[]) => void;
}

/** A dispatcher with as many workers, and what it complained of. */
export function dispatch(workers = 1) {
  const broken: string[] = [];
  const left: WorkerConnection[] = [];
  const interrupted: number[] = [];
  let runs = 100;
  const dispatcher = new Dispatcher(
    {
      emit: () => undefined,
      onLeft: (lane) => void left.push(lane),
      onInterrupt: (_lane, callNumber) => void interrupted.push(callNumber),
      onBroken: (_lane, error) => void broken.push(error.name),
    },
    () => ++runs,
  );
  const fakes = Array.from({ length: workers }, (_, worker) => fakeWorker(dispatcher, worker));
  const [first] = fakes;
  if (first === undefined) throw new Error("there is no worker");
  return { dispatcher, broken, left, interrupted, workers: fakes, ...first };
}

/** Attaches a worker to a dispatcher. */
export function fakeWorker(dispatcher: Dispatcher, worker: number): FakeWorker {
  let hear: (text: string) => void = () => undefined;
  const sent: string[] = [];
  const channel: Transport = {
    write: (text) => void sent.push(text),
    onText: (handler) => {
      hear = handler;
    },
    close: () => undefined,
  };
  const lane = new WorkerConnection(worker, channel, dispatcher);
  dispatcher.attach(lane);
  const say = (text: string) => hear(text);
  return {
    lane,
    sent,
    say,
    answer: (callNumber, turnMs, ...outputs) => {
      const outcomes = outputs.map((output) => `+${output}\t`).join("");
      say(
        encodeToHost({
          kind: "ran",
          callNumber,
          cpuMs: turnMs,
          lastCpuMs: turnMs / (outcomes.split("\t").length - 1),
          heapBytes: 1,
          outcomes,
        }),
      );
    },
  };
}

export function tool(name: string): ToolScript {
  return {
    key: name,
    name,
    version: "1",
    runtime: "javascript",
    isolation: "instance",
    memoryMb: 64,
    config: "null",
    checks: NO_CHECKS,
    contract: "glovebox",
    text: "",
  };
}

/** The tool of calls that name none. */
export const TOOL = tool("t");

export function job(callNumber: number, script: ToolScript, waitMs = DEFAULT_LIMITS.queueMs) {
  const { promise, resolve } = Promise.withResolvers<CallReply>();
  return {
    reply: promise,
    settle: resolve,
    callNumber,
    script,
    tenant: "",
    callId: "c",
    args: "{}",
    limits: waitMs === DEFAULT_LIMITS.queueMs ? DEFAULT_LIMITS : { ...DEFAULT_LIMITS, queueMs: waitMs },
    waitMs,
    stream: false,
    ask: (_, respond) => respond({ kind: "value", nowMs: 0, json: "1" }),
    onLog: () => undefined,
  } satisfies Job & { reply: Promise<CallReply> };
}

/** Lets what is sent at the end of this turn of the event loop be sent. */
export function nextTurn(): Promise<void> {
  return new Promise((done) => setImmediate(done));
}

/** Sends calls off, and answers the promises of their replies. */
export async function sendOff(dispatcher: Dispatcher, runs: readonly number[], script = TOOL) {
  const jobs = runs.map((run) => job(run, script));
  for (const each of jobs) dispatcher.run(each);
  await nextTurn();
  return jobs.map(({ reply }) => reply);
}

/** The calls that a worker was sent, in order: those that went together as one text. */
export function startsOf({ sent }: FakeWorker): string[] {
  return [...sent.join("").matchAll(/^r\t([\d,]+)\t/gm)].map(([, runs = ""]) => runs);
}
