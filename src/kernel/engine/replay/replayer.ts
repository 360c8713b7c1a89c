import { RecordedSession } from "../../broker/recorded-session.ts";
import type { CallReply, Executor } from "../../executor/executor.ts";
import type { ToolResult } from "../../base/result.ts";
import type { RegisteredTool } from "../../tool/registered-tool.ts";
import type { Prelude } from "../../base/protocol/prelude.ts";
import { concludeCall, withEnd } from "../call/conclude.ts";
import { loadExecutor } from "../create-executor.ts";
import { resolveOptions } from "../options.ts";
import type { RecordedCall, RecordedRun } from "./recording.ts";

/** The end of a replay. */
export interface ReplayEnd {
  readonly result: ToolResult;
  readonly reply: CallReply;
  /** Number of capability calls of the recorded call that it has made. */
  readonly asked: number;
}

/**
 * Runs recorded calls in executor processes of its own, with the recorded clock, randomness and responses. No
 * capability is invoked, and the current policy does not apply.
 */
export class Replayer implements AsyncDisposable {
  readonly #executor: Executor;
  readonly #nextCallNumber: () => number;

  private constructor(executor: Executor, nextCallNumber: () => number) {
    this.#executor = executor;
    this.#nextCallNumber = nextCallNumber;
  }

  static async open(workers: number, prelude: Prelude): Promise<Replayer> {
    const { executor: options } = resolveOptions({ executor: { kind: "process", spare: false } });
    let lastRun = 0;
    const nextCallNumber = () => ++lastRun;
    const createExecutor = await loadExecutor(options);
    const executor = createExecutor({ workers, prelude, entropyKey: "", nextCallNumber, emit: () => undefined });
    const replayer = new Replayer(executor, nextCallNumber);
    try {
      await executor.start();
      return replayer;
    } catch (error) {
      await replayer[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Runs a call again, with the executor's whole `wallMs`: its capability calls are answered at once. */
  run(tool: RegisteredTool, call: RecordedCall, run: RecordedRun): Promise<ReplayEnd> {
    const { limits, startMs, seed } = run;
    const session = new RecordedSession(run, run.refusal);
    const { id: callId, tenant, arguments: args } = call;
    const command = call.command ?? undefined;
    const end = session.end();
    const { lastRefusal } = end;
    const ended = { callId, tool, tenant, limits, queueMs: 0, attempts: 0, effects: 0, lastRefusal };
    let asked = 0;
    return new Promise((resolve) => {
      this.#executor.run({
        callNumber: this.#nextCallNumber(),
        script: tool.script,
        tenant,
        callId,
        args,
        command,
        limits,
        waitMs: limits.queueMs,
        stream: false,
        ask: (request, respond) => {
          asked = Math.max(asked, request.step);
          session.invoke(request, respond);
        },
        onLog: () => undefined,
        settle: (given) => {
          const reply = withEnd(given, end);
          resolve({ result: concludeCall(reply, ended, this.#executor), reply, asked });
        },
        replay: {
          plan: () => session.journal.plan(),
          onTimed: (step, nowMs) => session.journal.recordTime(step, nowMs),
          onLate: (fired, nowMs) => session.journal.recordLate(fired, nowMs),
          onTogether: (at, count) => session.journal.recordTogether(at, count),
          seed,
          nowMs: startMs,
        },
      });
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#executor.close();
  }
}
