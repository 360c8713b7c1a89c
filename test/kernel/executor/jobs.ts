import type {
  CapabilityResponse,
  CapabilityCall,
  Executor,
  ExecutorEvents,
  Job,
  Recycling,
  CallReply,
  EmitExecutorEvent,
} from "../../../src/kernel/executor/executor.ts";
import { PRELUDE_PARTS } from "../../../src/standard/plugins.ts";
import { loadPrelude } from "../../../src/kernel/tool/runtimes/prelude.ts";
import { ProcessExecutor, type ProcessOptions } from "../../../src/kernel/executor/process/process-executor.ts";
import { QueueExecutor } from "../../../src/fleet/server/queue-executor.ts";
import { resolveTrust } from "../../../src/kernel/executor/trust-groups.ts";
import { ThreadsExecutor } from "../../../src/kernel/executor/threads/threads-executor.ts";
import { DEFAULT_LIMITS, type Limits } from "../../../src/kernel/base/limits.ts";
import { startFleet, type TestFleet, TIMINGS } from "../../fleet/fleet.ts";
import {
  NO_CHECKS,
  type Isolation,
  SCRIPT_EXPORTS,
  type ToolScript,
} from "../../../src/kernel/base/protocol/script.ts";

/** An executor under test, with what it told and a way to make jobs for it. */
export interface Bench extends AsyncDisposable {
  readonly executor: Executor;
  readonly events: TestEvent[];
  /** How many calls went together, batch by batch. */
  readonly batches: number[];
  job(script: ToolScript, args?: unknown, extra?: JobExtra): TestJob;
  /** Runs a job and waits for its reply. */
  run(job: TestJob): Promise<CallReply>;
}

/** What an executor told: the event, and its name. */
export type TestEvent = { readonly name: keyof ExecutorEvents } & { readonly [key: string]: unknown };

/** A job whose reply can be waited for. */
interface TestJob extends Job {
  readonly reply: Promise<CallReply>;
}

interface JobExtra {
  readonly limits?: Partial<Limits>;
  readonly tenant?: string;
  readonly ask?: (ask: CapabilityCall) => Promise<CapabilityResponse>;
  readonly onLog?: (line: string) => void;
}

export type Kind = "threads" | "process" | "queue";

/** Processes that never make room. */
export const NEVER: Recycling = { ageMs: Infinity, calls: Infinity, rssMb: Infinity };

export async function startExecutor(kind: Kind, workers = 1, more: Partial<ProcessOptions> = {}): Promise<Bench> {
  const events: TestEvent[] = [];
  const batches: number[] = [];
  let lastRun = 0;
  const nextCallNumber = () => ++lastRun;
  const emit: EmitExecutorEvent = (name, event) => {
    if ("size" in event) batches.push(event.size);
    else events.push({ name, ...event });
  };
  const common = {
    workers,
    prelude: await loadPrelude(PRELUDE_PARTS),
    entropyKey: "a key for tests",
    warmIsolates: 16,
    spinMs: 0,
    nextCallNumber,
    emit,
  };
  const fleet = kind === "queue" ? await startFleet(3) : null;
  const executor = ((): Executor => {
    if (fleet !== null) return new QueueExecutor({ ...common, ...queueOptions(fleet) });
    if (kind === "threads") return new ThreadsExecutor(common);
    const main = { rssMaxMb: 2_048, spare: true, recycle: NEVER, sandbox: "auto", trust: resolveTrust() } as const;
    return new ProcessExecutor({ ...common, ...main, ...more });
  })();
  await executor.start();
  return {
    executor,
    events,
    batches,
    run: (job) => {
      executor.run(job);
      return job.reply;
    },
    job: (script, args = {}, { limits, tenant = "", ask = refuse, onLog } = {}) => ({
      ...settling(),
      callNumber: nextCallNumber(),
      script,
      tenant,
      callId: "call",
      args: JSON.stringify(args),
      limits: limitsOf(limits),
      waitMs: limitsOf(limits).queueMs,
      stream: onLog !== undefined,
      ask: (asked, respond) => void ask(asked).then(respond),
      onLog: onLog ?? (() => undefined),
    }),
    [Symbol.asyncDispose]: async () => {
      await executor.close();
      await fleet?.[Symbol.asyncDispose]();
    },
  };
}

/** How a server reaches a test's fleet. */
export function queueOptions({ url, name }: Pick<TestFleet, "url" | "name">) {
  const caps = { perTool: Infinity, perTenant: Infinity };
  return {
    url,
    fleet: name,
    secret: undefined,
    store: undefined,
    lostMs: 10_000,
    codeMaxBytes: 16 * 1024 ** 2,
    timings: TIMINGS,
    ...caps,
  };
}

const known = new WeakMap<Partial<Limits>, Limits>();

/** The same object for the same wishes, as calls of a tool have it: only such calls go together. */
function limitsOf(limits: Partial<Limits> | undefined): Limits {
  if (limits === undefined) return DEFAULT_LIMITS;
  const whole = known.get(limits) ?? { ...DEFAULT_LIMITS, ...limits };
  known.set(limits, whole);
  return whole;
}

function settling() {
  const { promise, resolve } = Promise.withResolvers<CallReply>();
  return { reply: promise, settle: resolve };
}

let keys = 0;

/** A script whose default export is this function, as a bundle would hold it. */
export function script(
  body: string,
  { isolation = "instance" as Isolation, before = "", memoryMb = 64, checks = NO_CHECKS } = {},
): ToolScript {
  return {
    key: `${++keys}`,
    name: `tool-${keys}`,
    version: "1.0.0",
    runtime: "javascript",
    isolation,
    memoryMb,
    config: '{"unit":"m"}',
    checks,
    contract: "glovebox",
    text: `${before}\nvar ${SCRIPT_EXPORTS} = { default: ${body}, spec: { name: "spec-name" } };`,
  };
}

function refuse(): Promise<CapabilityResponse> {
  const failure = { code: "capability_denied", message: "not in this test" } as const;
  return Promise.resolve({ kind: "failure", nowMs: Date.now(), failure });
}
