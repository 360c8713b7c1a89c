import { type ToolError, toolError } from "../../base/errors.ts";
import type { Failure } from "../../base/protocol/messages.ts";
import type { Inspection, ToolScript } from "../../base/protocol/script.ts";
import type { WorkerConnection } from "./worker-connection.ts";
import { place } from "./placement.ts";

const CPU_MS = 2_000;
const WALL_MS = 15_000;
/** Evaluating a module takes a few milliseconds, most of them for creating its isolate. */
const LOAD = { tenant: null, size: 1, expectedMs: 5, isLong: false, isSlow: false } as const;

/** A module under inspection. */
interface PendingInspection {
  readonly script: ToolScript;
  attempts: number;
  deadlineMs: number;
  readonly resolve: (inspection: Inspection) => void;
}

/** Lets workers evaluate modules and report their exports. */
export class Inspector {
  readonly #connections: ReadonlySet<WorkerConnection>;
  readonly #pending = new Map<number, PendingInspection>();
  readonly #waiting = new Set<number>();

  constructor(connections: ReadonlySet<WorkerConnection>) {
    this.#connections = connections;
  }

  get size(): number {
    return this.#pending.size;
  }

  /** `run` comes from the same series as call numbers, so that a culprit can be either. */
  inspect(run: number, script: ToolScript): Promise<Inspection> {
    return new Promise((resolve) => {
      this.#pending.set(run, { script, attempts: 0, deadlineMs: performance.now() + WALL_MS, resolve });
      this.#waiting.add(run);
      this.startWaiting();
    });
  }

  has(run: number): boolean {
    return this.#pending.has(run);
  }

  runs(): number[] {
    return [...this.#pending.keys()];
  }

  /** Number of starts. */
  attempts(run: number): number {
    return this.#pending.get(run)?.attempts ?? 0;
  }

  restart(run: number): void {
    if (!this.#pending.has(run)) return;
    this.#waiting.add(run);
    this.startWaiting();
  }

  settle(run: number, inspection: Inspection): void {
    const pending = this.#pending.get(run);
    this.#pending.delete(run);
    this.#waiting.delete(run);
    pending?.resolve(inspection);
  }

  fail(run: number, failure: Failure): void {
    this.settle(run, { ok: false, error: inspectionError(failure) });
  }

  startWaiting(): void {
    const nowMs = performance.now();
    for (const run of this.#waiting) {
      const pending = this.#pending.get(run);
      const connection = place(this.#connections, nowMs);
      if (pending === undefined || connection === null) return;
      this.#waiting.delete(run);
      pending.attempts++;
      connection.begin(
        run,
        { runs: [run], script: pending.script, ...LOAD },
        { kind: "inspect", run, cpuMs: CPU_MS, script: pending.script },
        nowMs,
      );
    }
  }

  endOverdue(nowMs: number): void {
    for (const [run, { deadlineMs }] of this.#pending) {
      if (deadlineMs > nowMs) continue;
      this.fail(run, { code: "wall_limit", message: `it took longer than ${WALL_MS} ms to load` });
    }
  }
}

/** An author can fix a module that fails, but not a lost executor or a closed engine. */
export function inspectionError({ code, message }: Failure): ToolError {
  if (code === "executor_lost" || code === "engine_closed") return toolError(code, message);
  return toolError("load_error", `the tool's module could not be evaluated: ${message}`);
}
