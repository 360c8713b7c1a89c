import { parseWithBigInts } from "../base/exact-json.ts";
import { Entropy } from "./entropy.ts";
import {
  type Checks,
  EMIT_ASK,
  EMIT_DONE,
  EMIT_LOG,
  EMIT_PROGRESS,
  EMIT_TIMER,
  type Emit,
  type Failure,
  NAME_MAX,
  PROGRESS_MESSAGE_MAX,
  type Pure,
} from "./host.ts";
import type { LineWriter } from "./line-writer.ts";
import { Timers } from "./timers.ts";
import { write, writeValue } from "./values.ts";

// Captured before a tool can change them: in an open realm, a tool may replace or delete the functions that end its own
// call.
const { max } = Math;
const { get } = Reflect;
const RealError = Error;

/** Variables of the host's environment that a call was granted. */
export type Environment = Readonly<Record<string, string>>;

/** Node's names as an instance has them. */
export interface NodeNames {
  setEnvironment(env: Environment): void;
}

/** State and functions that all calls of a realm share. */
export interface CallWorld {
  readonly emit: Emit;
  /** `null` if the tool could change the realm, and a line is emitted as it is logged. */
  readonly lines: LineWriter | null;
  readonly pure: Pure;
  readonly turn: TurnState;
  /** Real time in whole milliseconds, hidden from tools. */
  readonly realMs: () => number;
  readonly fetch: (call: GuestCall) => object;
  /** Node's names for instances that use any, and the class of their globals. */
  readonly node: {
    readonly open: (lacksFetch: boolean, env: Environment | undefined) => object;
    readonly globals: () => object;
  };
  readonly createAbort: () => { readonly signal: object; abort(reason?: unknown): void };
}

/** The current turn. The clock does not move within it. */
export interface TurnState {
  nowMs: number;
  call: GuestCall | null;
  /** Number of the call that started last. */
  lastRun: number;
  /** Randomness for code that ended calls left behind in a shared module, and that runs without a call. */
  leftover: Entropy | null;
}

/** The randomness of the turn's call. Code without a call gets no call's, and never a constant. */
export function entropyOf(turn: TurnState, pure: Pure): Entropy {
  return turn.call?.entropy ?? (turn.leftover ??= new Entropy(pure, `after ${turn.lastRun}`));
}

interface Ask {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  readonly capability: string;
  readonly method: string;
}

/** A capability call that was denied or failed. Tools may catch it. */
export class CapabilityError extends Error {
  override readonly name = "CapabilityError";
  readonly code: string;
  readonly capability: string;
  readonly method: string;
  /** Details beyond the code, such as the person who refused. */
  declare details?: object;

  constructor(code: string, message: string, capability: string, method: string) {
    super(message);
    this.code = code;
    this.capability = capability;
    this.method = method;
  }
}

const STEP = /\$(?:begin|next|end)$/;

/** The error of a capability call. No static method of its class, which tools reach by `error.constructor`. */
export function capabilityError(failure: Failure, capability: string, method: string): CapabilityError {
  // A method with progress is called in steps (`$begin`, `$next`, `$end`); the tool sees only the method itself.
  const called = method.replace(STEP, "");
  const message = failure.message.replace(`${capability}.${method}`, () => `${capability}.${called}`);
  const error = new CapabilityError(failure.code, message, capability, called);
  if (failure.details !== undefined) error.details = failure.details;
  issue(error, failure.code);
  return error;
}

const issued = new WeakMap<object, string>();

/** Sets the code with which an uncaught error ends its call. */
export function issue(error: object, code: string): void {
  issued.set(error, code);
}

/**
 * The code of an error that the engine made. In a realm that a tool can change it is no proof: the worker has the
 * proof.
 */
export function issuedCode(thrown: object): string | undefined {
  return issued.get(thrown);
}

const LOADING = "the module asks the host when it is loaded; the host is there for calls only, so do it in the call";

const LOG_LINE_MAX = 16_384;
const ASK_MAX = 64 * 1024 * 1024;
/** Maximum length of a failure as escaped JSON, in characters: message, type and stack. */
const FAILURE_MAX = 128 * 1024;
/** Maximum length of a module's description, in characters. */
const FOUND_MAX = 8 * 1024 * 1024;
/** A constant: in an open realm, a tool may have replaced `JSON.stringify`. */
const TAMPERED = '-{"code":"invalid_output","message":"the tool changed what writes its output"}';

const TAMPERED_MODULE = '-{"code":"load_error","message":"the module changed what writes its description"}';

/**
 * The text, or `otherwise` if it is not a string or exceeds `max`: the worker would copy an oversized text and keep that
 * memory after the call.
 */
function within(max: number, text: unknown, otherwise = TAMPERED): string {
  return typeof text === "string" && text.length <= max ? text : otherwise;
}

/** An inspection's findings as an outcome. */
export function describeFound(found: {
  readonly contract: string;
  readonly described: string;
  readonly spec: string;
  readonly defaultExport: string;
}): string {
  return within(FOUND_MAX, `+${write(found)}`, TAMPERED_MODULE);
}

/** One call inside a realm: its pending capability calls, timers and randomness. Dead once it is settled. */
export class GuestCall {
  readonly run: number;
  readonly id: string;
  readonly originMs: number;
  readonly outputMax: number;
  /** Seed of the call's randomness, unless the worker derives it. */
  readonly #seed: string | undefined;
  /** The global of the instance that works for this call. */
  global: object | null = null;
  /** Node's names as that instance has them, if it uses any. */
  node: object | null = null;
  /** Variables of the host's environment for `process.env`; `undefined` if the tool has requested none. */
  env: Environment | undefined = undefined;
  readonly #world: CallWorld;
  #seenMs: number;
  // Created on first use: most calls need none of these, and they cost more to make than a short call.
  #asks: Map<number, Ask> | null = null;
  #timers: Timers | null = null;
  #entropy: Entropy | null = null;
  #requests = 0;
  #abort: { readonly signal: object; abort(reason?: unknown): void } | null = null;
  #cancelled: (() => void)[] | null = null;
  /** Progress has no listener, so the call no longer emits it. */
  #isUnheard = false;
  settled = false;

  constructor(world: CallWorld, run: number, id: string, outputMax: number, seed?: string) {
    this.#world = world;
    this.#seed = seed;
    this.run = run;
    this.id = id;
    this.originMs = world.turn.nowMs;
    this.#seenMs = world.turn.nowMs;
    this.outputMax = outputMax;
  }

  /** Whether it only describes the tool's module. */
  get isLoading(): boolean {
    return this.id === "";
  }

  get timers(): Timers {
    const { emit, turn } = this.#world;
    return (this.#timers ??= new Timers(
      () => turn.nowMs,
      (dueMs) => {
        if (!this.settled) emit(EMIT_TIMER, this.run, dueMs, "", "", turn.nowMs);
      },
    ));
  }

  get entropy(): Entropy {
    return (this.#entropy ??= new Entropy(this.#world.pure, this.run, this.#seed));
  }

  /** The `fetch` function of tools; in a module that several calls share, the call's own. */
  get fetch(): object {
    return this.#world.fetch(this);
  }

  /** A tool's own value under a symbol on the global object of the call's instance. */
  own(key: symbol): unknown {
    // A realm that is not hardened is the call's own.
    return (this.global === null ? undefined : get(this.global, key)) ?? get(globalThis, key);
  }

  /** Number of the call's next request, starting at 1. */
  nextRequest(): number {
    return ++this.#requests;
  }

  /** The time of a later turn. Host and worker both time turns, so the maximum keeps a call's clock from going back. */
  advance(nowMs: number): number {
    this.#seenMs = max(this.#seenMs, nowMs);
    return this.#seenMs;
  }

  get signal(): object {
    this.#abort ??= this.#world.createAbort();
    return this.#abort.signal;
  }

  abort(reason: unknown): void {
    for (const tell of this.#cancelled ?? []) tell();
    this.#cancelled = null;
    this.#abort?.abort(reason);
  }

  /** Registers a function of the realm to run when the call is cancelled. */
  onCancel(tell: () => void): void {
    (this.#cancelled ??= []).push(tell);
  }

  log(level: string, message: string): void {
    if (!this.settled) this.#writeLine(level, message);
  }

  #writeLine(level: string, message: string): void {
    const { emit, lines } = this.#world;
    if (lines?.write(this.run, level, message) === true) return;
    const line = message.length > LOG_LINE_MAX ? `(a line of ${message.length} characters)` : message;
    emit(EMIT_LOG, this.run, level.length > NAME_MAX ? "log" : level, line, "", 0);
  }

  /** `false` once it is known that progress has no listener. */
  get isHeard(): boolean {
    return !this.#isUnheard;
  }

  /** Emits progress. A `progress` that is not finite is ignored; an invalid `total` or `message` is left out. */
  progress(progress: unknown, total: unknown, message: unknown): void {
    if (typeof progress !== "number") throw new TypeError("context.progress takes a number");
    if (this.settled || this.#isUnheard || !isFinite(progress)) return;
    const whole = typeof total === "number" && isFinite(total) ? `${total}` : "";
    const text = typeof message === "string" ? message.slice(0, PROGRESS_MESSAGE_MAX) : "";
    this.#isUnheard = this.#world.emit(EMIT_PROGRESS, this.run, progress, whole, text, 0) === 0;
  }

  ask(capability: string, method: string, args: unknown): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.settled) return;
      if (capability.length > NAME_MAX || method.length > NAME_MAX) {
        throw new TypeError(`names of capabilities and methods have at most ${NAME_MAX} characters`);
      }
      const payload = args === undefined ? "null" : writeValue(args);
      if (typeof payload !== "string") throw new TypeError(`host.${capability}.${method} takes a JSON value`);
      const { emit, turn } = this.#world;
      const sent = payload.length > ASK_MAX ? "" : payload;
      const ask = emit(EMIT_ASK, this.run, capability, method, sent, turn.nowMs);
      if (ask === 0) {
        const used =
          `the call has used up what it may ask of the host; asked for: ${payload.length} characters more; ` +
          "granted: its limits.capabilityCalls and limits.capabilityBytes; to grant it, raise them";
        const message = `host.${capability}.${method}: ${this.isLoading ? LOADING : used}`;
        reject(capabilityError({ code: "capability_limit", message }, capability, method));
        return;
      }
      this.#asks ??= new Map();
      this.#asks.set(ask, { resolve, reject, capability, method });
    });
  }

  /** Answers a capability call: its number is negative if it failed. */
  answer(signed: number, payload: string): void {
    const ask = signed < 0 ? -signed : signed;
    const asked = this.#asks?.get(ask);
    if (asked === undefined) return;
    this.#asks?.delete(ask);
    const value = parseWithBigInts(payload);
    if (signed > 0) asked.resolve(value);
    else asked.reject(capabilityError(value as Failure, asked.capability, asked.method));
  }

  /**
   * The outcome: `+` and the output's JSON, or `-` and a failure's; empty if the call has already ended. `check` gets
   * the JSON, which is exactly the caller's result.
   */
  finish(value: unknown, check: Checks["output"]): string {
    if (this.settled) return "";
    this.end();
    if (typeof value === "string" && value.length > this.outputMax) return this.#tooLarge(value.length);
    let text: string | undefined;
    try {
      text = value === undefined ? "null" : writeValue(value);
    } catch (error) {
      return fail("invalid_output", `the tool returned a value that JSON cannot hold: ${messageOf(error)}`);
    }
    if (typeof text !== "string")
      return fail("invalid_output", `the tool returned a ${typeof value}, which JSON cannot hold`);
    if (text.length > this.outputMax) return this.#tooLarge(text.length);
    const refusal = check === null ? "" : check(text);
    if (refusal === "") return `+${text}`;
    if (refusal.startsWith("+")) return refusal;
    if (!refusal.startsWith("~")) return `-${refusal}`;
    this.#writeLine("warn", refusal.slice(1));
    return `+${text}`;
  }

  /** Ends the call with a failure that is JSON already. */
  failAs(failure: string): string {
    this.end();
    return `-${failure}`;
  }

  failWith(failure: Failure): string {
    if (this.settled) return "";
    this.end();
    return within(FAILURE_MAX, `-${write(failure)}`);
  }

  /** Emits an outcome that is reached after the synchronous part of the call's first turn. */
  emitOutcome(outcome: string): void {
    if (outcome === "") return;
    this.#world.emit(EMIT_DONE, this.run, within(this.outputMax + FAILURE_MAX, outcome), "", "", 0);
  }

  end(): void {
    this.settled = true;
    this.#asks = null;
    this.#timers?.end();
  }

  #tooLarge(length: number): string {
    return fail(
      "output_too_large",
      `the output has ${length} characters of JSON, the limit is ${this.outputMax} bytes (limits.outputBytes)`,
    );
  }
}

function fail(code: Failure["code"], message: string): string {
  return `-${write({ code, message })}`;
}

function messageOf(error: unknown): string {
  const message: unknown = error instanceof RealError ? error.message : undefined;
  return typeof message === "string" && message.length < 1_000 ? message : "it cannot be written";
}
