import { parseWithDigits } from "../../base/exact-json.ts";
import { OPERATOR } from "../../broker/policy.ts";
import { hash } from "node:crypto";
import { CALL_ID_MAX, isName } from "../../base/call-ids.ts";
import { adoptResult } from "./conclude.ts";
import { writeAny } from "../../base/json-writer.ts";
import { NOT_PLAIN, TOO_LARGE, writePlain } from "./plain-json.ts";
import type { RegisteredTool } from "../../tool/registered-tool.ts";
import type { ToolRegistry } from "../../tool/registry.ts";
import { type ErrorCode, toolError } from "../../base/errors.ts";
import type { ExecuteOptions } from "../execute-options.ts";
import { type CallLedger, type ClaimResult, DOUBTED, type KeyedCall } from "../../store/calls/ledger.ts";
import { isObject } from "../../base/json.ts";
import { DEFAULT_LIMITS } from "../../base/limits.ts";
import {
  readResult,
  refusedCall,
  resultText,
  type ToolCall,
  type ToolResult,
  withMetadata,
} from "../../base/result.ts";
import { StoreError } from "../../base/errors.ts";
import type { LedgerClaimOf } from "../../base/ledger-claim.ts";

/** Retry advice for a call that another process runs, in milliseconds. */
const RETRY_AFTER_MS = 1_000;
/** Maximum callers that wait for the result of one running call. */
const WAITING_MAX = 1_000;

interface KeyedResult {
  readonly result: ToolResult;
  /** Whether the result is that of an earlier call. */
  readonly isRepeated: boolean;
  /** Whether nothing ran, because of the key or of the ledger. */
  readonly isRefused?: boolean;
}

/** A call of this engine that has not ended. */
interface Running {
  /** Tool, arguments and command as JSON: a different request under the same key is an error. */
  readonly asked: string;
  readonly answer: Promise<KeyedResult>;
  /** Cancels the call when its last caller has cancelled. */
  readonly cancel: AbortController;
  waiting: number;
}

type Cancellable = ExecuteOptions & { readonly signal: AbortSignal };
/** Runs a keyed call, with the options of the run that its callers share. */
export type Run = (options: ExecuteOptions, claimOf?: LedgerClaimOf) => Promise<ToolResult>;

/**
 * Calls with an idempotency key. The first call with a key runs; all later ones get its result, from this object while
 * it runs and then from the ledger. The run is cancelled when all its callers have cancelled.
 */
export class Idempotency {
  readonly #ledger: CallLedger;
  readonly #registry: ToolRegistry;
  readonly #onRefuse: (result: ToolResult, options: ExecuteOptions) => void;
  readonly #running = new Map<string, Running>();
  #isClosed = false;

  /** `onRefuse`: called if a caller gets a refusal that no run has reported. */
  constructor(
    ledger: CallLedger,
    registry: ToolRegistry,
    onRefuse: (result: ToolResult, options: ExecuteOptions) => void,
  ) {
    this.#ledger = ledger;
    this.#registry = registry;
    this.#onRefuse = onRefuse;
  }

  /** The reason for which calls with a new key are refused now; `null` if they are not. */
  get problem(): string | null {
    return this.#ledger.problem;
  }

  /** Runs a call, or returns the result of the earlier call with its key. */
  async run(given: ToolCall, options: ExecuteOptions, run: Run): Promise<ToolResult> {
    const keyed = this.#isClosed ? null : readKeyed(given, options, this.#registry);
    // The engine refuses unreadable calls, and those that are too large, with its own error.
    if (keyed === null) return run(options);
    const { call, place, asked } = keyed;
    const { signal } = options;
    const known = this.#running.get(place);
    if (known !== undefined && known.asked !== asked) return this.#refuse(conflict(call), options);
    if (known?.cancel.signal.aborted === true) {
      // A cancelled run's end decides whether the key may run again.
      await known.answer;
      return this.run(given, options, run);
    }
    // Callers that wait for a result are in no queue.
    if (known !== undefined && known.waiting >= WAITING_MAX) return this.#refuse(crowded(call), options);
    const running = known ?? this.#start(keyed, options, run);
    const { result, isRepeated, isRefused = false } = await answerFor(call, signal, running);
    if (isRefused) return this.#refuse(result, options);
    return isRepeated || known !== undefined ? repeated(result) : result;
  }

  #refuse(result: ToolResult, options: ExecuteOptions): ToolResult {
    this.#onRefuse(result, options);
    return result;
  }

  /** Cancels all runs, waits for them to end, and closes the ledger. Later calls run without a key. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { cancel } of this.#running.values()) cancel.abort();
    await Promise.all(Array.from(this.#running.values(), ({ answer }) => answer));
    await this.#ledger.close();
  }

  #start({ call, place, asked, tenant }: Keyed, options: ExecuteOptions, run: Run): Running {
    const cancel = new AbortController();
    if (options.signal?.aborted === true) cancel.abort();
    const mayRepeat = isRepeatable(this.#registry.get(call.name, tenant));
    const keyed = { digest: digestOf(place), tenant: digestOf(tenant), asked: digestOf(asked), mayRepeat };
    const answering = this.#answer(call, keyed, { ...options, signal: cancel.signal }, run);
    const answer = answering.finally(() => this.#running.delete(place));
    const running: Running = { asked, answer, cancel, waiting: 0 };
    this.#running.set(place, running);
    return running;
  }

  async #answer(call: ReadCall, keyed: KeyedCall, options: Cancellable, run: Run): Promise<KeyedResult> {
    const known = await this.#recall(call, keyed, options);
    // A call that waited for another process while the engine closed gets the engine's own refusal.
    if (known !== null && (known.isRepeated || !this.#isClosed)) return known;
    const result = await run(options, known === null ? (tool) => this.#ledger.claimOf(keyed, tool) : undefined);
    if (known === null) await this.#keep(keyed, result);
    return { result, isRepeated: false };
  }

  /** Stored result of a call, or the reason not to run it; `null` if the call may run. */
  async #recall(call: ReadCall, keyed: KeyedCall, options: Cancellable): Promise<KeyedResult | null> {
    const { limits, signal } = options;
    try {
      const claim = await this.#ledger.claim(keyed, signal, limits?.queueMs);
      if (claim.kind === "mine") return null;
      if (claim.kind === "kept") return { result: readResult(claim.result), isRepeated: true };
      if (claim.kind === "left") {
        const result = adoptResult(claim.end, this.#registry.get(call.name, options.tenant));
        if (result !== null) return { result, isRepeated: true };
      }
      const result = signal.aborted ? cancelled(call) : refusal(call, claim);
      return { result, isRepeated: false, isRefused: true };
    } catch (error) {
      const result = signal.aborted ? cancelled(call) : unusable(call, error);
      return { result, isRepeated: false, isRefused: true };
    }
  }

  async #keep(keyed: KeyedCall, result: ToolResult): Promise<void> {
    try {
      if (isStillToBe(result)) await this.#ledger.release(keyed);
      else await this.#ledger.settle(keyed, write(result));
    } catch {
      // The caller gets the result all the same; later calls with the key get `outcome_unknown`.
    }
  }
}

/**
 * Whether a call may run twice: a tool without capabilities has no effects, others declare it by annotations. A snippet
 * has a capability of its own for its tool calls.
 */
export function isRepeatable(tool: RegisteredTool | undefined): boolean {
  if (tool === undefined) return false;
  const { idempotent = false, readOnly = false } = tool.info.annotations;
  return idempotent || readOnly || (tool.own === undefined && Object.keys(tool.capabilities).length === 0);
}

/** A call as it was read once, of valid form, for which this object may answer. */
interface ReadCall {
  readonly id: string | undefined;
  readonly name: string;
  readonly command: string | undefined;
}

/** A keyed call, and its text forms. */
interface Keyed {
  readonly call: ReadCall;
  readonly place: string;
  readonly tenant: string;
  readonly asked: string;
}

/** `null` for calls that admission refuses. A call is hostile input: it may be an object that throws at a read. */
function readKeyed(given: ToolCall, options: ExecuteOptions, registry: ToolRegistry): Keyed | null {
  const { signal, tenant = "", idempotencyKey: key }: { readonly [Name in keyof ExecuteOptions]?: unknown } = options;
  if (typeof tenant !== "string" || typeof key !== "string" || key.length > CALL_ID_MAX) return null;
  if (signal !== undefined && !(signal instanceof AbortSignal)) return null;
  try {
    const { name, arguments: args, command, ...rest }: { readonly [Name in keyof ToolCall]?: unknown } = given;
    const id = rest.id ?? undefined;
    if (!isName(name) || !isAbsentOrName(command) || !isAbsentOrName(id)) return null;
    const tool = registry.get(name, tenant);
    const least = tool?.limits.inputBytes ?? DEFAULT_LIMITS.inputBytes;
    const registrant = tool?.info.registrant ?? OPERATOR;
    // A name that changes its registrant is another tool.
    const parts = registrant === OPERATOR ? [tenant, name, key] : [registrant, tenant, name, key];
    const copy = copyOf(args ?? {}, Math.max(least, options.limits?.inputBytes ?? 0));
    if (copy === TOO_LARGE) return null;
    const asked = JSON.stringify([name, inOrder(copy), command ?? null]);
    return { call: { id, name, command }, place: JSON.stringify(parts), tenant, asked };
  } catch {
    return null;
  }
}

function isAbsentOrName(value: unknown): value is string | undefined {
  return value === undefined || isName(value);
}

/** A copy like that of admission; `TOO_LARGE` for arguments that admission refuses. */
function copyOf(args: unknown, maxBytes: number): unknown {
  const text = writePlain(args, maxBytes);
  return text === TOO_LARGE ? text : parseWithDigits(text === NOT_PLAIN ? writeAny(args) : text);
}

/**
 * Result of a run for one caller. A caller that cancels stops waiting; the last one cancels the run and gets its
 * result.
 */
function answerFor(call: ReadCall, signal: AbortSignal | undefined, running: Running): Promise<KeyedResult> {
  running.waiting++;
  if (signal === undefined) return running.answer;
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      running.waiting--;
      // The last caller gets the result of the cancelled run itself.
      if (running.waiting === 0) running.cancel.abort();
      else resolve({ result: cancelled(call), isRepeated: false, isRefused: true });
    };
    if (signal.aborted) leave();
    else signal.addEventListener("abort", leave, { once: true });
    running.answer.finally(() => signal.removeEventListener("abort", leave)).then(resolve, reject);
  });
}

/** Whether the call did not run to an end, so that its key may run again. */
function isStillToBe({ error, metadata }: ToolResult): boolean {
  // A paused call keeps its key, and continues later.
  if (error === null || error.code === "paused") return false;
  if (error.retryable || metadata.attempts === 0) return true;
  // Details of a cancelled call count its effects; without details it had none.
  return error.code === "cancelled" && error.details === undefined;
}

/** Sorts members of JSON data, so that objects with the same members in any order are equal. */
function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder);
  if (!isObject(value)) return value;
  const names = Object.keys(value).toSorted();
  return Object.fromEntries(names.map((name) => [name, inOrder(value[name])]));
}

function digestOf(text: string): Uint8Array {
  return hash("sha256", text, "buffer");
}

/** Stored form of a result; `null` if it is nested too deeply for JSON. */
function write(result: ToolResult): string | null {
  try {
    return resultText(result);
  } catch {
    return null;
  }
}

function repeated(result: ToolResult): ToolResult {
  return withMetadata(result, { ...result.metadata, isRepeated: true });
}

function refusal(call: ReadCall, claim: Exclude<ClaimResult, { readonly kind: "mine" | "kept" }>): ToolResult {
  if (claim.kind === "left") {
    const message =
      "the call with this idempotencyKey has run, with another version of the tool than the one registered here";
    return refused(call, "outcome_unknown", message, { hasEnded: true });
  }
  if (claim.kind === "conflict") return conflict(call);
  if (claim.kind === "running") {
    const message = "the call with this idempotencyKey is still running in another process";
    return refused(call, "in_progress", message, { retryAfterMs: RETRY_AFTER_MS });
  }
  if (claim.kind === "doubted") return refused(call, "store_failed", DOUBTED);
  const message = claim.hasEnded
    ? "the call with this idempotencyKey has run, but its result was too large to be stored"
    : "the process that ran the call with this idempotencyKey ended before the call; the call may have had effects";
  return refused(call, "outcome_unknown", message, { hasEnded: claim.hasEnded });
}

function unusable(call: ReadCall, error: unknown): ToolResult {
  const reason = error instanceof StoreError ? error.message : "the store contains an unreadable entry";
  return refused(call, "store_failed", `the idempotency store cannot be used: ${reason}`);
}

function cancelled(call: ReadCall): ToolResult {
  return refused(call, "cancelled", "the call was cancelled while another one with its idempotencyKey ran");
}

function crowded(call: ReadCall): ToolResult {
  const message = `the call with this idempotencyKey is still running, and ${WAITING_MAX} callers wait for its result`;
  return refused(call, "in_progress", message, { retryAfterMs: RETRY_AFTER_MS });
}

function conflict(call: ReadCall): ToolResult {
  const message = "the idempotencyKey was used before with other arguments; use one key for each distinct call";
  return refused(call, "invalid_arguments", message);
}

function refused({ id = "", name }: ReadCall, code: ErrorCode, message: string, details?: unknown): ToolResult {
  return refusedCall({ id, name }, toolError(code, message, details));
}
