import { isObject } from "../../base/json.ts";
import type { ToolResult } from "../../base/result.ts";
import type { AskLogging } from "../../broker/ask-log.ts";
import type { CallReply } from "../../executor/executor.ts";
import type { CallCells, DetailTexts, Keep } from "../../store/calls/call-record.ts";
import type { CallStore } from "../../store/calls/call-store.ts";
import type { CallOrigin, ExecuteOptions } from "../execute-options.ts";
import type { DetailWriter } from "./detail-writer.ts";
import { tenantOf } from "./arguments.ts";
import type { EngineCall } from "./engine-call.ts";
import { CallWatchers } from "./call-watchers.ts";
import { KeepRate } from "./keep-rate.ts";

const NAME_MAX = 256;
const SURFACE_MAX = 64;
const ERROR_MAX = 1_000;
/** Maximum details that wait for the broker's part of their calls; those of further calls are kept without it. */
const WAITING_MAX = 256;
const WAITING_CHARS = 4 * 1024 * 1024;

interface KeeperOptions {
  readonly keep: Keep;
  readonly writer: DetailWriter;
  readonly store: Pick<CallStore, "keep" | "skip" | "watch">;
}

/** Cells of a row that its result does not have. */
interface RowFacts {
  readonly options: Pick<ExecuteOptions, "tenant" | "origin">;
  readonly parentCallId: string | null;
  readonly version: string | null;
  readonly digest: string | null;
  readonly beginMs: number;
  readonly bytes: number;
  readonly sampled: number;
}

/** Hands ended calls to the store, without copies: arguments and output stay text, which the store's thread reads. */
export class CallKeeper {
  readonly #store: Pick<CallStore, "keep" | "skip" | "watch">;
  readonly #rate = new KeepRate();
  readonly #keep: Keep;
  readonly #writer: DetailWriter;
  /** Readers of calls as they are kept. */
  readonly watchers: CallWatchers;
  readonly #waiting = new Set<Promise<void>>();
  #waitingChars = 0;
  /** Time of calls that are accepted at once: one reading for all, as it takes longer than an assignment. */
  #nowMs: number | null = null;
  readonly #forgetNow = (): void => {
    this.#nowMs = null;
  };

  constructor({ keep, store, writer }: KeeperOptions) {
    this.#keep = keep;
    this.#store = store;
    this.#writer = writer;
    this.watchers = new CallWatchers((isWatched) => store.watch(isWatched));
  }

  /** Records that a call is accepted. */
  accept(call: EngineCall): void {
    if (this.#nowMs === null) {
      this.#nowMs = Date.now();
      queueMicrotask(this.#forgetNow);
    }
    call.begunMs = this.#nowMs;
    call.tellsTurns = this.#keep !== "summaries";
  }

  /** The logging of a call's capability calls; `undefined` if its record has none. */
  loggingOf({ begunMs, tool }: EngineCall): AskLogging | undefined {
    if (this.#keep === "summaries") return undefined;
    return { beginMs: begunMs, hasValues: this.#writer.mayShow(tool) };
  }

  /** `reply`: the executor's last one, if the call ran. */
  keep(call: EngineCall, result: ToolResult, reply: CallReply | null): void {
    const { tool, tenant, args, begunMs, parentCallId, options, session } = call;
    const sampled = this.#rate.standsFor(tenant, !result.success, begunMs);
    const isDetailed = sampled > 0 && (this.#keep === "everything" || (this.#keep === "failures" && !result.success));
    const isTaken = isDetailed && this.#waiting.size < WAITING_MAX && this.#waitingChars < WAITING_CHARS;
    const taken = session?.take(isTaken) ?? null;
    if (sampled === 0) return this.#store.skip();
    const { version, digest } = tool.info;
    const output = reply?.outcome.ok === true ? reply.outcome.json : null;
    const error = this.#writer.describe(result, tool, output);
    const bytes = args.length + (output === null ? 0 : output.length);
    const cells = cellsOf(result, error, { options, parentCallId, version, digest, beginMs: begunMs, bytes, sampled });
    if (!isDetailed) return this.#put(cells, null, null);
    const detail = this.#writer.write(call, { output, error, reply, isTaken: isTaken || session === null });
    if (taken instanceof Promise && detail !== null) this.#keepLater(cells, detail, taken);
    else this.#put(cells, detail, taken instanceof Promise ? null : taken);
  }

  /** Keeps the summary of a call that was not accepted, or that the host has answered itself. */
  keepUnrun(result: ToolResult, given: ExecuteOptions, parentCallId: string | null): void {
    const tenant = tenantOf(given).slice(0, NAME_MAX);
    const beginMs = Date.now() - Math.round(result.metadata.wallMs);
    const sampled = this.#rate.standsFor(tenant, !result.success, beginMs);
    if (sampled === 0) return this.#store.skip();
    // Options that admission refused may hold any value.
    const origin = isObject(given?.origin) ? given.origin : {};
    const facts = {
      options: { tenant, origin },
      parentCallId,
      version: null,
      digest: null,
      beginMs,
      bytes: 0,
      sampled,
    };
    this.#put(cellsOf(result, result.error, facts), null, null);
  }

  /** Resolves when all calls that have ended by now are with the store. */
  async settled(): Promise<void> {
    await Promise.all(this.#waiting);
  }

  #keepLater(cells: CallCells, detail: DetailTexts, taken: Promise<DetailTexts["told"]>): void {
    const chars = lengthOf(detail);
    this.#waitingChars += chars;
    const waiting = taken.then((told) => {
      this.#waiting.delete(waiting);
      this.#waitingChars -= chars;
      // The broker ended, and its part is lost.
      const lost = told === null ? { run: null, omitted: [...detail.omitted, "asks" as const] } : {};
      this.#put(cells, { ...detail, ...lost }, told);
    });
    this.#waiting.add(waiting);
  }

  #put(cells: CallCells, detail: DetailTexts | null, told: DetailTexts["told"]): void {
    const row = detail && { ...detail, told };
    this.watchers.tell(cells);
    this.#store.keep([cells, row], row === null ? 0 : lengthOf(row));
  }
}

function cellsOf(
  { metadata }: ToolResult,
  error: ToolResult["error"],
  { options, parentCallId, version, digest, beginMs, bytes, sampled }: RowFacts,
): CallCells {
  const { callId, tool, queueMs, wallMs, cpuMs, attempts } = metadata;
  const { surface, key } = originOf(options.origin);
  return [
    callId.slice(0, NAME_MAX),
    tool.slice(0, NAME_MAX),
    version,
    digest,
    options.tenant ?? "",
    parentCallId,
    surface,
    key,
    error === null ? "ok" : error.code,
    error === null ? null : error.message.slice(0, ERROR_MAX),
    beginMs,
    queueMs,
    wallMs,
    cpuMs,
    bytes,
    attempts,
    sampled,
  ];
}

function originOf(origin: CallOrigin | undefined): { readonly surface: string; readonly key: string | null } {
  if (origin === undefined) return LIBRARY;
  const { surface, key }: { readonly surface?: unknown; readonly key?: unknown } = origin;
  return {
    surface: typeof surface === "string" ? surface.slice(0, SURFACE_MAX) : LIBRARY.surface,
    key: typeof key === "string" ? key.slice(0, NAME_MAX) : null,
  };
}

const LIBRARY = { surface: "library", key: null } as const;

function lengthOf({
  arguments: args,
  output,
  error,
  logs,
  schemas,
  told,
  turns,
  explanation,
  run,
}: DetailTexts): number {
  const texts = [args, output, error, logs, schemas, turns.told, explanation, run];
  return texts.reduce((sum, text) => sum + (text?.length ?? 0), told?.byteLength ?? 0);
}
