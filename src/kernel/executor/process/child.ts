import { holdingsBuffer } from "../../base/protocol/holdings.ts";
import { turnRecordBuffer } from "../../base/protocol/turn-record.ts";
import type { ChildInit, FromChild, ToChild } from "../../base/protocol/control.ts";
import { type TurnReports, TurnWatch } from "../watch.ts";
import { WorkerPool } from "../worker-pool.ts";

/**
 * The executor process. Its main thread starts the workers, watches them, and reports to the supervisor; it never runs
 * tool code. It ends only by SIGKILL: nothing else ends a process with a wedged isolate.
 */

const BEAT_EVERY_MS = 250;
/** Time for the supervisor to kill this process, in milliseconds, before it kills itself. */
const LAST_RESORT_MS = 1_000;
const ERROR_MAX = 1_000;

let watch: TurnWatch | undefined;
process.on("message", (message: ToChild) => {
  if (message.kind === "interrupt") watch?.interrupt(message.callNumber);
  else if (message.kind === "shed") watch?.shedIdle();
  else watch ??= start(message);
});
// The supervisor decides when this process ends, even if the whole process group gets a signal.
process.on("SIGTERM", () => undefined);
process.on("SIGINT", () => undefined);
process.on("disconnect", end);

function start(init: ChildInit): TurnWatch {
  const { workers, prelude, entropyKey, warmIsolates, spinMs, mirrorFd } = init;
  const turnRecord = turnRecordBuffer(workers);
  const holdings = holdingsBuffer(workers);
  const settings = { prelude, entropyKey, turnRecord, holdings, warmIsolates, spinMs };
  const pool = new WorkerPool({
    workers,
    settings: mirrorFd === null ? settings : { ...settings, mirrorFd },
    onEnd: (worker, error) => {
      const lost = { kind: "worker-lost", worker } as const;
      emit(error === null ? lost : { ...lost, error: error.message.slice(0, ERROR_MAX) }, true);
    },
  });
  for (let worker = 0; worker < workers; worker++) {
    const [fd, hello] = [init.firstPipeFd + worker, init.hellos[worker] ?? null];
    const broker = hello === null ? null : ({ kind: "pipe", fd: fd + workers, hello } as const);
    pool.serve({ worker, link: { kind: "pipe", fd }, broker });
  }
  setInterval(() => emit({ kind: "beat", rssBytes: process.memoryUsage.rss() }, false), BEAT_EVERY_MS);
  const reports: TurnReports = {
    overrun: (callNumber, cpuMs) => emit({ kind: "overrun", callNumber, cpuMs }, true),
    memory: (turns, rssMb) => emit({ kind: "memory", turns, rssMb }, true),
  };
  return new TurnWatch(turnRecord, reports, { holdings, rssMaxMb: init.rssMaxMb });
}

let hasEnded = false;

function emit(message: FromChild, last: boolean): void {
  if (hasEnded) return;
  hasEnded = last;
  process.send?.(message, undefined, undefined, () => undefined);
  if (last) setTimeout(end, LAST_RESORT_MS);
}

function end(): void {
  process.kill(process.pid, "SIGKILL");
}
