import type { Answer, Ask, Executor, ExecutorEvent, Job } from "../../src/executor/executor.ts";
import { bundlePrelude } from "../../src/executor/prelude.ts";
import { ProcessExecutor } from "../../src/executor/process/process-executor.ts";
import { ThreadsExecutor } from "../../src/executor/threads/threads-executor.ts";
import { DEFAULT_LIMITS, type Limits } from "../../src/limits.ts";
import { type Isolation, SCRIPT_EXPORTS, type ToolScript } from "../../src/protocol/script.ts";

/** An executor under test, with what it told and a way to make jobs for it. */
export interface Bench extends AsyncDisposable {
  readonly executor: Executor;
  readonly events: ExecutorEvent[];
  job(script: ToolScript, args?: unknown, extra?: JobExtra): Job;
}

interface JobExtra {
  readonly limits?: Partial<Limits>;
  readonly tenant?: string;
  readonly ask?: (ask: Ask) => Promise<Answer>;
  readonly onLog?: (line: string) => void;
}

export type Kind = "threads" | "process";

export async function startExecutor(kind: Kind, workers = 1): Promise<Bench> {
  const events: ExecutorEvent[] = [];
  let lastRun = 0;
  const nextRun = () => ++lastRun;
  const common = {
    workers,
    prelude: await bundlePrelude(),
    entropyKey: "a key for tests",
    warmIsolates: 16,
    nextRun,
    onEvent: (event: ExecutorEvent) => void (event.kind === "batch" || events.push(event)),
  };
  const executor =
    kind === "threads" ? new ThreadsExecutor(common) : new ProcessExecutor({ ...common, rssMaxMb: 2_048, spare: true });
  await executor.start();
  return {
    executor,
    events,
    job: (script, args = {}, { limits, tenant = "", ask = refuse, onLog } = {}) => ({
      run: nextRun(),
      script,
      tenant,
      callId: "call",
      args: JSON.stringify(args),
      limits: { ...DEFAULT_LIMITS, ...limits },
      stream: onLog !== undefined,
      ask,
      onLog: onLog ?? (() => undefined),
    }),
    [Symbol.asyncDispose]: () => executor.close(),
  };
}

let keys = 0;

/** A script whose default export is this function, as a bundle would hold it. */
export function script(
  body: string,
  { isolation = "instance" as Isolation, before = "", memoryMb = 64 } = {},
): ToolScript {
  return {
    key: `${++keys}`,
    name: `tool-${keys}`,
    version: "1.0.0",
    isolation,
    memoryMb,
    config: '{"unit":"m"}',
    text: `${before}\nvar ${SCRIPT_EXPORTS} = { default: ${body}, spec: { name: "spec-name" } };`,
  };
}

function refuse(): Promise<Answer> {
  const failure = { code: "capability_denied", message: "not in this test" } as const;
  return Promise.resolve({ kind: "failure", nowMs: Date.now(), failure });
}
