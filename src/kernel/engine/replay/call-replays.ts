import PQueue from "p-queue";
import { inTime } from "../../base/deadline.ts";
import type { Prelude } from "../../base/protocol/prelude.ts";
import { StoreError } from "../../base/errors.ts";
import type { ToolResult } from "../../base/result.ts";
import { type KeptRun, NotKeptError } from "../../store/calls/call-record.ts";
import type { CallStore } from "../../store/calls/call-store.ts";
import type { Difference } from "../../store/calls/differences.ts";
import type { ToolRegistry } from "../../tool/registry.ts";
import type { RegisteredTool } from "../../tool/registered-tool.ts";
import type { DetailWriter } from "../call/detail-writer.ts";
import { OUTSIDE, type RecordedRun } from "./recording.ts";
import { Replayer, type ReplayEnd } from "./replayer.ts";

/** Maximum replays that run at once, and that wait. */
const AT_ONCE = 2;
const WAITING_MAX = 16;
/** Maximum time for the start of an executor, and for a call. */
const START_MS = 15_000;
const RUN_MS = 60_000;
/** Time without replays after which their executor ends. */
const IDLE_MS = 10_000;

/** The result of a kept call that was run again, compared with the kept result. */
export interface CallReplay {
  readonly verdict: "same" | "different";
  /** The first 100. `left` is the kept value. */
  readonly differences: readonly Difference[];
  readonly result: ToolResult;
}

export interface ReplayParts {
  readonly store: Pick<CallStore, "keptRun" | "judge">;
  readonly registry: Pick<ToolRegistry, "get">;
  readonly writer: DetailWriter;
  readonly prelude: Prelude;
  /** Charges processor time to the tenant. */
  readonly charge: (tenant: string, cpuMs: number) => void;
}

/** Runs kept calls again, in an executor of their own that starts with the first and ends after the last. */
export class CallReplays {
  readonly #parts: ReplayParts;
  readonly #line = new PQueue({ concurrency: AT_ONCE });
  /** Number of those that have not ended. */
  #begun = 0;
  #replayer: Promise<Replayer> | null = null;
  #idle: NodeJS.Timeout | undefined;

  constructor(parts: ReplayParts) {
    this.#parts = parts;
  }

  /**
   * Resolves with `undefined` if there is no such call. Rejects with a `TypeError` with the reason if a call cannot be
   * replayed, and with a `StoreError` if the store cannot be read, or too many replays wait. `onCpu`: as in call
   * options.
   */
  async replay(
    id: string,
    tenant: string | null,
    mayRead: (tool: string) => boolean,
    onCpu?: (cpuMs: number) => void,
  ): Promise<CallReplay | undefined> {
    if (this.#begun >= AT_ONCE + WAITING_MAX) {
      throw new StoreError(`${WAITING_MAX} replays wait already: try again later`);
    }
    this.#begun++;
    try {
      return await this.#replay(id, tenant, mayRead, onCpu);
    } finally {
      this.#begun--;
    }
  }

  async #replay(
    id: string,
    tenant: string | null,
    mayRead: (tool: string) => boolean,
    onCpu?: (cpuMs: number) => void,
  ): Promise<CallReplay | undefined> {
    const kept = await this.#parts.store.keptRun(id, tenant);
    if (kept === undefined || !mayRead(kept.tool)) return undefined;
    const run = requireRun(kept);
    const tool = this.#toolOf(kept);
    const { result, reply, asked } = await this.#line.add(() => this.#run(kept, run, tool));
    this.#parts.charge(kept.tenant, reply.cpuMs);
    onCpu?.(reply.cpuMs);
    const differences = await this.#parts.store.judge(
      kept.place,
      this.#parts.writer.writeEnd(tool, result, reply),
      asked,
    );
    return { verdict: differences.length === 0 ? "same" : "different", differences, result };
  }

  /** Ends the executor. */
  async close(): Promise<void> {
    clearTimeout(this.#idle);
    const replayer = this.#replayer;
    this.#replayer = null;
    await replayer?.then((one) => one[Symbol.asyncDispose]()).catch(() => undefined);
  }

  #toolOf({ tool: name, tenant, digest }: KeptRun): RegisteredTool {
    const tool = this.#parts.registry.get(name, tenant);
    if (tool === undefined) throw new NotKeptError(`its tool "${name}" is not registered any more`);
    if (tool.info.digest === digest) return tool;
    throw new NotKeptError(`its tool "${name}" is another version now: register that of the digest ${digest} again`);
  }

  async #run(kept: KeptRun, run: RecordedRun, tool: RegisteredTool): Promise<ReplayEnd> {
    clearTimeout(this.#idle);
    const opening = (this.#replayer ??= Replayer.open(AT_ONCE, this.#parts.prelude));
    const late = (): Error => new StoreError("the replay took too long");
    const limits = { ...run.limits, wallMs: Math.min(run.limits.wallMs, RUN_MS) };
    const call = { id: kept.id, tenant: kept.tenant, arguments: kept.arguments, command: kept.command };
    try {
      const replayer = await inTime(START_MS, opening, late);
      const end = await inTime(START_MS + limits.wallMs, replayer.run(tool, call, { ...run, limits }), late);
      // The next replay gets a new process: this one may be damaged.
      if (!end.reply.outcome.ok && end.reply.outcome.failure.code !== "tool_error") void this.close();
      return end;
    } catch (error) {
      void this.close();
      throw error;
    } finally {
      if (this.#replayer !== null) this.#idle = setTimeout(() => void this.close(), IDLE_MS).unref();
    }
  }
}

/** The inputs of a kept call. Throws a `TypeError` with the reason if it has no inputs. */
function requireRun({ run, hasDetail, code, omitted, attempts }: KeptRun): RecordedRun {
  if (run !== null) return JSON.parse(run) as RecordedRun;
  if (attempts === 0) throw new NotKeptError("it was refused before it ran");
  if (!hasDetail) throw new NotKeptError("its values were not kept, or not for so long");
  if (OUTSIDE.has(code)) throw new NotKeptError(`it was ended from outside: ${code}`);
  if (omitted.length > 0) throw new NotKeptError(`parts of it were not kept: ${omitted.join(", ")}`);
  throw new NotKeptError(
    "its tool ran in a shared module or was a program, or its values are redacted: it is no function of what was kept",
  );
}
