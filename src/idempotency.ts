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
  readonly result: Promise<ToolResult>;
  readonly sinceMs: number;
  units: number;
}

/** Calls that say by a key which of them are one. Of those the first runs, and all get its result. */
export class Idempotency {
  /** The oldest first. */
  readonly #kept = new Map<string, Kept>();
  #units = 0;

  /** Runs a call, or answers with the result of the one that had its key before. */
  async run(call: ToolCall, options: ExecuteOptions, run: () => Promise<ToolResult>): Promise<ToolResult> {
    const asked = writeAsked(call);
    // What cannot be read is refused by the engine, in its own words.
    if (asked === null) return run();
    const nowMs = performance.now();
    this.#forgetOld(nowMs);
    const key = JSON.stringify([options.tenant ?? "", call.name, options.idempotencyKey]);
    const known = this.#kept.get(key);
    if (known !== undefined && known.asked !== asked) return conflict(call);
    if (known !== undefined) return repeated(await known.result);
    const kept: Kept = { asked, result: run(), sinceMs: nowMs, units: asked.length };
    this.#kept.set(key, kept);
    this.#units += kept.units;
    const result = await kept.result;
    // What did not come to be, and may yet, may be asked for again.
    if (result.error?.retryable === true || result.metadata.attempts === 0) this.#forget(key, kept);
    else this.#weigh(kept, result);
    return result;
  }

  #weigh(kept: Kept, result: ToolResult): void {
    const units = unitsOf(result);
    kept.units += units;
    this.#units += units;
    this.#forgetOld(performance.now());
  }

  #forgetOld(nowMs: number): void {
    for (const [key, kept] of this.#kept) {
      const isOver = this.#kept.size > KEPT_MAX || this.#units > UNITS_MAX;
      if (!isOver && nowMs - kept.sinceMs < KEPT_MS) return;
      this.#forget(key, kept);
    }
  }

  #forget(key: string, kept: Kept): void {
    if (this.#kept.get(key) !== kept) return;
    this.#kept.delete(key);
    this.#units -= kept.units;
  }
}

/** A call is hostile input: it may be an object that throws when it is read. */
function writeAsked(call: ToolCall): string | null {
  try {
    const { name, arguments: args, command } = call;
    return JSON.stringify([name, args ?? {}, command ?? null]);
  } catch {
    return null;
  }
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

function conflict({ id, name }: ToolCall): ToolResult {
  const message = "the same idempotencyKey was used with other arguments; give each call a key of its own";
  return failure(toolError("invalid_arguments", message), emptyMetadata(String(id ?? ""), name, 0));
}
