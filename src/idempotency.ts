import type { ExecuteOptions } from "./execute-options.ts";
import { toolError } from "./errors.ts";
import { emptyMetadata, failure, type ToolCall, type ToolResult } from "./result.ts";

/** How long a result is kept for those who ask for the same again, and how many are. */
const KEPT_MS = 10 * 60 * 1_000;
const KEPT_MAX = 10_000;
/** What those kept may come to, as UTF-16 units of JSON. */
const UNITS_MAX = 64 * 1024 * 1024;

interface Kept {
  /** What was asked for: another thing under the same key is a mistake. */
  readonly asked: string;
  readonly tenant: string;
  readonly result: Promise<ToolResult>;
  readonly sinceMs: number;
  /** Ends the call, once nobody waits for it any more. */
  readonly cancel: AbortController;
  waiting: number;
  /** A call that still runs is not forgotten. */
  isOver: boolean;
  units: number;
}

/** What one tenant has of the room that there is. */
interface Share {
  /** Of calls that have ended, the first to end first. */
  readonly keys: Set<string>;
  units: number;
}

/**
 * Calls that say by a key which of them are one. Of those the first runs, and all get its result; it is cancelled when
 * all of them are.
 */
export class Idempotency {
  /** The oldest first. */
  readonly #kept = new Map<string, Kept>();
  readonly #shares = new Map<string, Share>();
  #ended = 0;
  #units = 0;

  /** Runs a call, or answers with the result of the one that had its key before. */
  async run(
    call: ToolCall,
    options: ExecuteOptions,
    run: (options: ExecuteOptions) => Promise<ToolResult>,
  ): Promise<ToolResult> {
    const asked = writeAsked(call);
    const { signal }: { readonly signal?: unknown } = options;
    // What cannot be read is refused by the engine, in its own words.
    if (asked === null || (signal !== undefined && !(signal instanceof AbortSignal))) return run(options);
    const nowMs = performance.now();
    this.#forgetOld(nowMs);
    const { tenant = "", idempotencyKey } = options;
    const key = JSON.stringify([tenant, call.name, idempotencyKey]);
    const known = this.#kept.get(key);
    if (known !== undefined && known.asked !== asked) return conflict(call);
    if (known?.cancel.signal.aborted === true && !known.isOver) {
      // Whether it is still to be run is known when it has ended.
      await known.result;
      return this.run(call, options, run);
    }
    if (known !== undefined) return repeated(await resultFor(call, signal, known));
    const cancel = new AbortController();
    if (signal?.aborted === true) cancel.abort();
    const running = run({ ...options, signal: cancel.signal });
    const result = running.then((ended) => this.#end(key, kept, ended));
    const kept: Kept = { asked, tenant, result, sinceMs: nowMs, cancel, waiting: 0, isOver: false, units: 0 };
    this.#kept.set(key, kept);
    return resultFor(call, signal, kept);
  }

  #end(key: string, kept: Kept, result: ToolResult): ToolResult {
    kept.isOver = true;
    if (isStillToBe(result)) this.#kept.delete(key);
    else this.#keep(key, kept, kept.asked.length + unitsOf(result));
    return result;
  }

  #keep(key: string, kept: Kept, units: number): void {
    kept.units = units;
    const share = this.#shares.get(kept.tenant) ?? { keys: new Set(), units: 0 };
    this.#shares.set(kept.tenant, share);
    share.keys.add(key);
    share.units += units;
    this.#ended++;
    this.#units += units;
    while (this.#ended > KEPT_MAX || this.#units > UNITS_MAX) this.#forgetOne();
  }

  /** Whose calls take most of the room makes room: no tenant can have another one's calls run twice. */
  #forgetOne(): void {
    let heaviest: Share | null = null;
    for (const share of this.#shares.values()) {
      if (heaviest === null || weightOf(share) > weightOf(heaviest)) heaviest = share;
    }
    const [oldest] = heaviest?.keys ?? [];
    if (oldest !== undefined) this.#forget(oldest);
  }

  #forgetOld(nowMs: number): void {
    for (const [key, { sinceMs, isOver }] of this.#kept) {
      if (nowMs - sinceMs < KEPT_MS) return;
      if (isOver) this.#forget(key);
    }
  }

  #forget(key: string): void {
    const { tenant = "", units = 0 } = this.#kept.get(key) ?? {};
    const share = this.#shares.get(tenant);
    this.#kept.delete(key);
    this.#ended--;
    this.#units -= units;
    if (share === undefined) return;
    share.keys.delete(key);
    share.units -= units;
    if (share.keys.size === 0) this.#shares.delete(tenant);
  }
}

function weightOf({ keys, units }: Share): number {
  return Math.max(keys.size / KEPT_MAX, units / UNITS_MAX);
}

/** What a caller waits for: the call's result, unless nobody else waits, or it is not to be waited for any more. */
function resultFor(call: ToolCall, signal: AbortSignal | undefined, kept: Kept): Promise<ToolResult> {
  if (kept.isOver) return kept.result;
  kept.waiting++;
  if (signal === undefined) return kept.result;
  return new Promise((resolve) => {
    const leave = (): void => {
      kept.waiting--;
      // The last one hears of the end of the call itself.
      if (kept.waiting === 0) kept.cancel.abort();
      else resolve(cancelled(call));
    };
    if (signal.aborted) leave();
    else signal.addEventListener("abort", leave, { once: true });
    void kept.result.then((result) => {
      signal.removeEventListener("abort", leave);
      resolve(result);
    });
  });
}

/** What did not come to be, and may yet, may be asked for again. */
function isStillToBe({ error, metadata }: ToolResult): boolean {
  if (error === null) return false;
  if (error.retryable || metadata.attempts === 0) return true;
  // A cancelled call says how many effects it had, if any.
  return error.code === "cancelled" && error.details === undefined;
}

/** A call is hostile input: it may be an object that throws when it is read. */
function writeAsked(call: ToolCall): string | null {
  try {
    const { name, arguments: args, command } = call;
    return JSON.stringify([name, args ?? {}, command ?? null], (_key, value: unknown) => inOrder(value));
  } catch {
    return null;
  }
}

/** Objects are the same in whatever order their members come. */
function inOrder(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function unitsOf(result: ToolResult): number {
  try {
    return JSON.stringify(result).length;
  } catch {
    // Nested too deeply to be written: it counts as one that is too large.
    return UNITS_MAX;
  }
}

function repeated(result: ToolResult): ToolResult {
  return { ...result, metadata: { ...result.metadata, isRepeated: true } };
}

function cancelled({ id, name }: ToolCall): ToolResult {
  const message = "the call was cancelled while another one with its idempotencyKey ran";
  return failure(toolError("cancelled", message), emptyMetadata(String(id ?? ""), name, 0));
}

function conflict({ id, name }: ToolCall): ToolResult {
  const message = "the same idempotencyKey was used with other arguments; give each call a key of its own";
  return failure(toolError("invalid_arguments", message), emptyMetadata(String(id ?? ""), name, 0));
}
