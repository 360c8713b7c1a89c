import type { ErrorCode } from "../base/errors.ts";
import { HostWorkFull, type HostWorkQueue, type WorkPayer } from "../base/host-work-queue.ts";
import { childAnswer, type ChildReply } from "../base/protocol/capability-call.ts";
import { parseForWriting, parseWithBigInts, parseWithDigits } from "../base/exact-json.ts";
import { writeJson } from "../base/json-writer.ts";
import { describeExcess } from "../base/json.ts";
import { compileSchema, type Validator } from "../base/schema/schema.ts";
import { describeViolations } from "../base/schema/violation.ts";
import {
  CallFailure,
  type Capability,
  CapabilityRefusal,
  LimitReached,
  LoginRequired,
  type MethodShape,
  type OpenCapability,
  type Refused,
} from "./capabilities/capability.ts";

/** A method with its schemas compiled. They are compiled when the method is first called. */
interface CheckedMethod {
  /** See `MethodShape`. */
  readonly inputBytes: number;
  readonly input: Validator | null;
  readonly output: Validator | null;
  /** See `MethodShape`. */
  readonly isRead: (args: unknown) => boolean;
  readonly isAnnounced: boolean;
}

/** One call of a capability's method. */
export interface MethodCall {
  readonly capability: Capability;
  readonly method: string;
  /** JSON of the arguments. */
  readonly args: string;
  /** `fetch.request`, for messages. */
  readonly label: string;
  /** Opens the capability for the call, or returns it if it is open. */
  readonly open: () => OpenCapability;
  readonly step: number;
  /** See `CapabilityCall`. */
  readonly reply?: ChildReply | undefined;
  /**
   * Announces the method's effect, which happens once that has resolved. `isLater`: its handler does so itself.
   * `isRepeatable`: see `CallKeep`. Default: the effect is not announced.
   */
  readonly begins?: ((isLater: boolean, isRepeatable: boolean) => Promise<void> | undefined) | undefined;
}

/** End of a method, as data. The broker counts it, and turns it into the response. */
export type MethodOutcome =
  | { readonly kind: "value"; readonly json: string }
  | {
      readonly kind: "refused";
      readonly outcome: "denied" | "limit";
      readonly message: string;
      readonly refused: Refused;
    }
  | { readonly kind: "too_long"; readonly length: number; readonly inputBytes: number }
  /** Too many capability calls of the tenant wait. */
  | { readonly kind: "waiting"; readonly waitingMax: number }
  | { readonly kind: "limit"; readonly code: ErrorCode; readonly message: string }
  /** `code`: default `capability_failed`. */
  | {
      readonly kind: "failed";
      readonly message: string;
      readonly code?: ErrorCode;
      readonly details?: object | undefined;
    };

export type BegunMethod = EndedMethod | RunningMethod;

/** The outcome of a method. `effects`: 1 if its handler was called and may have changed something. */
export interface EndedMethod {
  readonly kind: "ended";
  readonly outcome: MethodOutcome;
  readonly effects: number;
}

/** A method whose handler has returned a promise. `effects`: those to be assumed until it ends. */
export interface RunningMethod {
  readonly kind: "running";
  readonly effects: number;
  /** Never rejects. */
  readonly end: Promise<EndedMethod>;
}

/** Default of `MethodShape.inputBytes`. */
const INPUT_BYTES = 1024 * 1024;
/** Maximum number of values in the arguments of a capability call. */
const VALUES_MAX = 100_000;
/** Maximum length of the part read of a handler's error, in characters. */
const MESSAGE_READ_MAX = 20_000;

/** Calls methods of capabilities: bounds and checks their arguments, and checks and writes the values of handlers. */
export class MethodCaller {
  readonly #work: HostWorkQueue;
  /** By shape, which lives as long as its capability: functions of a program belong to that program alone. */
  readonly #methods = new WeakMap<MethodShape, CheckedMethod>();

  constructor(work: HostWorkQueue) {
    this.#work = work;
  }

  /** Begins a method in its payer's turn: now, or when its turn comes. */
  inTurn(begin: () => BegunMethod, payer: WorkPayer): BegunMethod | Promise<BegunMethod> {
    try {
      return this.#work.run(payer, begin);
    } catch (error) {
      if (!(error instanceof HostWorkFull)) throw error;
      return ended({ kind: "waiting", waitingMax: error.waitingMax });
    }
  }

  /** Calls a method's handler, within the payer's turn. Never throws. */
  begin(call: MethodCall, payer: WorkPayer): BegunMethod {
    const { capability, label, args, reply } = call;
    let effects = 0;
    try {
      const method = this.#methodOf(capability, call.method);
      if (method === undefined) return ended(failure(`${label} does not exist`));
      const { inputBytes } = method;
      if (args.length > inputBytes) return ended({ kind: "too_long", length: args.length, inputBytes });
      const tooMuch = describeExcess(args, VALUES_MAX);
      if (tooMuch !== null) return ended(failure(`the arguments of ${label} are ${tooMuch}`));
      const value = capability.isOfEmbedder === true ? parseWithDigits(args) : parseForWriting(args);
      const violations = method.input?.check(value) ?? [];
      if (violations.length > 0) {
        const problem = `the arguments of ${label} do not match its schema: ${describeViolations(violations)}`;
        return ended(failure(problem));
      }
      const opened = call.open();
      effects = method.isRead(value) ? 0 : 1;
      if (reply !== undefined) {
        if (opened.adopt === undefined) return ended(failure(`${label} has no child calls`));
        opened.adopt(value, reply);
        return ended({ kind: "value", json: childAnswer(reply) }, effects);
      }
      const isRepeatable = opened.isRepeatable?.(call.method) === true;
      const announced = effects > 0 ? call.begins?.(method.isAnnounced, isRepeatable) : undefined;
      const invoke = (): unknown => opened.invoke(call.method, value, call.step);
      const returned = announced === undefined ? invoke() : announced.then(invoke);
      if (!isThenable(returned)) return ended(outcomeOf(label, method, returned), effects);
      return { kind: "running", effects, end: this.#end(returned, { label, method, effects }, payer) };
    } catch (error) {
      return endedBy(error, label, effects);
    }
  }

  /** Waits for a handler, and writes its value in the payer's turn. */
  async #end(
    value: unknown,
    { label, method, effects }: { readonly label: string; readonly method: CheckedMethod; readonly effects: number },
    payer: WorkPayer,
  ): Promise<EndedMethod> {
    try {
      const returned = await value;
      return await this.#work.run(payer, () => ended(outcomeOf(label, method, returned), effects));
    } catch (error) {
      return endedBy(error, label, effects);
    }
  }

  /** `undefined` if the capability has no method of this name. Throws if a schema is invalid. */
  #methodOf({ methods }: Capability, name: string): CheckedMethod | undefined {
    const shape = Object.hasOwn(methods, name) ? methods[name] : undefined;
    if (shape === undefined) return undefined;
    let method = this.#methods.get(shape);
    if (method === undefined) {
      const { input, output, isRead = false, isAnnounced = false, inputBytes = INPUT_BYTES } = shape;
      method = {
        inputBytes,
        isAnnounced,
        isRead: typeof isRead === "function" ? isRead : () => isRead,
        input: input === undefined ? null : compileSchema(input, "inputSchema"),
        output: output === undefined ? null : compileSchema(output, "outputSchema"),
      };
      this.#methods.set(shape, method);
    }
    return method;
  }
}

function ended(outcome: MethodOutcome, effects = 0): EndedMethod {
  return { kind: "ended", outcome, effects };
}

/** End by an error of a handler, or of the value it returned. The error may be any value. */
function endedBy(error: unknown, label: string, effects: number): EndedMethod {
  if (error instanceof CapabilityRefusal) {
    const { outcome, message, refused } = error;
    // A refused method has no effect.
    return ended({ kind: "refused", outcome, message, refused });
  }
  if (error instanceof LimitReached) {
    return ended({ kind: "limit", code: error.code, message: error.message }, effects);
  }
  if (error instanceof CallFailure) {
    const { message, code, details } = error;
    return ended({ kind: "failed", message, code, details }, effects);
  }
  const message = `${label} failed: ${messageOf(error)}`;
  const isLogin = error instanceof LoginRequired;
  return ended({ kind: "failed", message, ...(isLogin && { code: "login_required" }) }, effects);
}

function failure(message: string): MethodOutcome {
  return { kind: "failed", message };
}

function outcomeOf(label: string, { output }: CheckedMethod, value: unknown): MethodOutcome {
  const json = value === undefined ? "null" : writeJson(value);
  if (typeof json !== "string") return failure(`${label} returned no JSON value`);
  if (output !== null && output.check(parseWithBigInts(json)).length > 0) {
    return failure(`${label} returned a value that does not match its schema`);
  }
  return { kind: "value", json };
}

function isThenable(value: unknown): boolean {
  return typeof value === "object" && value !== null && "then" in value;
}

/** Message of a handler's error, without paths of the host. The error may be any value. */
export function messageOf(error: unknown): string {
  try {
    const message: unknown = error instanceof Error ? error.message : error;
    if (typeof message !== "string") return "its handler threw an error without a message";
    return message.slice(0, MESSAGE_READ_MAX).replaceAll(/(?:\/[\w.@-]+){2,}/g, "(path)");
  } catch {
    return "its handler threw an error that cannot be read";
  }
}
