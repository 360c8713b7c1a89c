import { WAITS_MAX } from "../../kernel/store/calls/durable/durable-call.ts";
import { undoIds } from "../../kernel/store/calls/durable/undone-calls.ts";
import { awaitedOf, type CallStep, idOf, madeOf, needOf, scriptOf } from "../../kernel/store/calls/sealed/call-step.ts";
import type { LoadedCall, StepView, TenantBooks } from "../../kernel/store/calls/sealed/private-tables.ts";
import type { SealedCalls } from "../../kernel/store/calls/sealed/sealed-calls.ts";
import { type OpenedCall, openStored, type StoredCall } from "./stored-call.ts";

/** A difference of clocks below this one is the way of a step. */
const CLOCKS_DIFFER_MS = 1_000;

/** Characters of the long texts of a step. */
export function charsOf(step: CallStep): number {
  return "call" in step ? step.call.journal.length + step.call.plan.length : 0;
}

/**
 * Arguments of the script that loads the calls of a step. `room`: ended calls of a tenant, and bytes, from which it
 * makes room. `mostBytes`: of long parts; `null` for any.
 */
export function loadArgs(
  step: CallStep,
  calls: SealedCalls,
  room: readonly [calls: number, bytes: number],
  mostBytes: number | null,
): readonly (string | number)[] {
  const need = needOf(step);
  const made = madeOf(step);
  const script = scriptOf(step);
  return [
    idOf(step),
    made === null ? "" : calls.digest("tenant", made.tenant),
    made?.parent?.id ?? "",
    need === "head" ? "head" : "whole",
    need === "family" ? 1 : 0,
    ...room,
    script === null ? "" : calls.digest("script", script.hash),
    step.kind === "claim" ? 1 : 0,
    mostBytes ?? "",
    ...awaitedOf(step).slice(0, WAITS_MAX),
    ...(step.kind === "undo" ? undoIds(step.id) : []),
  ];
}

type CallReply = readonly [
  id: string,
  version: string,
  past: string,
  n: string,
  head: string,
  body: string,
  run: string,
  made: number,
  seenMs: number,
];
type Reply = readonly [nowMs: number] | LoadedReply;
type LoadedReply = readonly [
  nowMs: number,
  books: readonly [calls: number, bytes: number, ended: number, endedBytes: number],
  script: string,
  calls: readonly CallReply[],
];

/** Thrown if calls are longer than requested. */
export class TooLongError extends Error {
  override readonly name = "TooLongError";
}

/** The calls that a step concerns, as Redis has them. */
export class LoadedFamily {
  readonly nowMs: number;
  readonly view: StepView;
  /** Whether Redis already has the step's script. */
  readonly hasScript: boolean;
  readonly #stored: ReadonlyMap<string, StoredCall>;
  readonly #opened: ReadonlyMap<string, OpenedCall>;

  private constructor(
    nowMs: number,
    view: StepView,
    hasScript: boolean,
    stored: readonly StoredCall[],
    opened: readonly OpenedCall[],
  ) {
    this.nowMs = nowMs;
    this.view = view;
    this.hasScript = hasScript;
    this.#stored = new Map(stored.map((call) => [call.id, call]));
    this.#opened = new Map(opened.map((call) => [call.id, call]));
  }

  /** Throws a `TooLongError`, and a `SealError` if a call differs from the stored one. */
  static read(step: CallStep, reply: unknown, calls: SealedCalls): LoadedFamily {
    const loaded = reply as Reply;
    if (loaded.length === 1) throw new TooLongError("what is kept of the calls is too long to be loaded beside others");
    const [nowMs, [ofTenant, bytes, ended, endedBytes], text, found] = loaded;
    const stored = found.map(([id, version, past, n, head, body, run, made, seenMs]): StoredCall => {
      return { id, version, past, n: Number(n), head, body, run, made, seenMs };
    });
    const opened = stored.filter(({ version }) => version !== "").map((call) => openStored(calls, call));
    const root = opened.find(({ id }) => id === idOf(step));
    const { tenant, script } = root === undefined ? NO_ROW : rowOf(root);
    const isTold = step.kind === "claim" && script !== null && text !== "";
    const books: TenantBooks = { calls: ofTenant, bytes, ended, endedBytes };
    const view = {
      calls: opened,
      tenant: madeOf(step)?.tenant ?? tenant,
      books,
      script: isTold ? { hash: script, text: calls.openScript(script, text) } : null,
    };
    return new LoadedFamily(nowMs, view, text !== "", stored, opened);
  }

  /** Whether a version of a call was written. */
  has(id: string, version: string): boolean {
    const call = this.#stored.get(id);
    return call?.version === version || call?.past.split(" ").includes(version) === true;
  }

  headOf(id: string): OpenedCall["head"] | undefined {
    return this.#opened.get(id)?.head;
  }

  /** The calls that must be unchanged, except removed ones. */
  checks(removed: readonly string[]): readonly (string | number)[] {
    const left = [...this.#stored.values()].filter(({ id }) => !removed.includes(id));
    return [left.length, ...left.flatMap(({ id, version, made }) => [id, version, made])];
  }
}

interface NamedRow {
  readonly tenant: string;
  readonly script: string | null;
}

const NO_ROW: NamedRow = { tenant: "", script: null };

function rowOf({ parts }: LoadedCall): NamedRow {
  return (JSON.parse(parts.head ?? "") as { readonly row: NamedRow }).row;
}

/** A step by the clock of Redis: a server with a wrong clock does no harm. */
export function inTimeOfStore(step: CallStep, nowMs: number): CallStep {
  if (step.kind === "get" || step.kind === "effects") return step;
  const aheadMs = nowMs - step.nowMs;
  if (!("call" in step) || Math.abs(aheadMs) < CLOCKS_DIFFER_MS) return { ...step, nowMs };
  const { call } = step;
  const later = (ms: number | null): number | null => (ms === null ? null : ms + aheadMs);
  const { made } = call;
  const begun = made?.begun;
  return {
    ...step,
    nowMs,
    call: {
      ...call,
      made: made && {
        ...made,
        createdMs: made.createdMs + aheadMs,
        expiresMs: made.expiresMs + aheadMs,
        ...(begun && { begun: { ...begun, atMs: begun.atMs + aheadMs } }),
      },
      wakeMs: later(call.wakeMs),
      waits: call.waits.map((wait) => ({
        ...wait,
        openedMs: wait.openedMs + aheadMs,
        expiresMs: later(wait.expiresMs),
      })),
    },
  };
}
