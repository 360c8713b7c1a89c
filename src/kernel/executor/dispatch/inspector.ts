import { type ToolError, toolError } from "../../base/errors.ts";
import type { Failure } from "../../base/protocol/messages.ts";
import type { Inspection, ToolScript } from "../../base/protocol/script.ts";
import type { WorkerConnection } from "./worker-connection.ts";
import { place } from "./placement.ts";

const CPU_MS = 2_000;
const WALL_MS = 15_000;
/** The same with the start of an interpreter: a worker's first one takes a second of a shared processor. */
const INTERPRETED_WALL_MS = 60_000;
/** Evaluating a module takes a few milliseconds, most of them for creating its isolate. */
const LOAD = { tenant: null, size: 1, expectedMs: 5, isLong: false, isSlow: false } as const;

/** A module under inspection. */
interface PendingInspection {
  readonly script: ToolScript;
  attempts: number;
  readonly wallMs: number;
  readonly deadlineMs: number;
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
  inspect(callNumber: number, script: ToolScript): Promise<Inspection> {
    const wallMs = script.isInterpreted === true ? INTERPRETED_WALL_MS : WALL_MS;
    return new Promise((resolve) => {
      this.#pending.set(callNumber, { script, attempts: 0, wallMs, deadlineMs: performance.now() + wallMs, resolve });
      this.#waiting.add(callNumber);
      this.startWaiting();
    });
  }

  has(callNumber: number): boolean {
    return this.#pending.has(callNumber);
  }

  runs(): number[] {
    return [...this.#pending.keys()];
  }

  /** Number of starts. */
  attempts(callNumber: number): number {
    return this.#pending.get(callNumber)?.attempts ?? 0;
  }

  restart(callNumber: number): void {
    if (!this.#pending.has(callNumber)) return;
    this.#waiting.add(callNumber);
    this.startWaiting();
  }

  settle(callNumber: number, inspection: Inspection): void {
    const pending = this.#pending.get(callNumber);
    this.#pending.delete(callNumber);
    this.#waiting.delete(callNumber);
    pending?.resolve(inspection);
  }

  fail(callNumber: number, failure: Failure): void {
    this.settle(callNumber, { ok: false, error: inspectionError(failure) });
  }

  startWaiting(): void {
    if (this.#waiting.size === 0) return;
    const nowMs = performance.now();
    for (const callNumber of this.#waiting) {
      const pending = this.#pending.get(callNumber);
      const connection = place(this.#connections, nowMs);
      if (pending === undefined || connection === null) return;
      this.#waiting.delete(callNumber);
      pending.attempts++;
      connection.begin(
        callNumber,
        { runs: [callNumber], script: pending.script, ...LOAD },
        { kind: "inspect", callNumber, cpuMs: CPU_MS, script: pending.script },
        nowMs,
      );
      connection.flush();
    }
  }

  endOverdue(nowMs: number): void {
    for (const [run, { wallMs, deadlineMs }] of this.#pending) {
      if (deadlineMs > nowMs) continue;
      this.fail(run, { code: "wall_limit", message: `it took longer than ${wallMs} ms to load` });
    }
  }
}

/** An author can fix a module that fails, but not a lost executor or a closed engine. */
export function inspectionError({ code, message }: Failure): ToolError {
  if (code === "executor_lost" || code === "engine_closed") return toolError(code, message);
  return toolError("load_error", `the tool's module could not be evaluated: ${message}`);
}
