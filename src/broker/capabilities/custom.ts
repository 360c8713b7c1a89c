import type { JsonSchema } from "../../base/json.ts";
import { count } from "../../base/limits.ts";
import {
  type Capability,
  type CapabilityCaller,
  CapabilityRefusal,
  type GrantKind,
  type MethodShape,
  type OpenCall,
  type OpenCapability,
} from "./capability.ts";
import { type RateLimit, RateLimiter } from "./rate-limit.ts";

/** One method of a capability: its schemas, and its handler in the host. */
export interface CapabilityMethod {
  /** Schema of the arguments. By default any arguments are accepted. */
  readonly input?: JsonSchema;
  readonly output?: JsonSchema;
  /**
   * Maximum length of the arguments' JSON, in UTF-16 units: then `capability_limit`. The host's main thread parses them.
   * Default 256 KiB.
   */
  readonly inputBytes?: number;
  // The embedder's schema determines the type of the arguments, so the handler declares it.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly handler: (args: any, call: HandlerCall) => unknown;
}

/** The second argument of a handler. */
export interface HandlerCall extends CapabilityCaller {
  /** Reports progress, a JSON value, to the tool's `onProgress`. Does nothing where the tool has none. */
  readonly progress: (value: unknown) => void;
  /**
   * Replaces the engine's secrets in a text by their placeholders, in the forms in which servers echo them: for
   * handlers that use a secret themselves, and return or throw what a server answered. Nothing else that a handler
   * returns is searched for secrets.
   */
  readonly redact: (text: string) => string;
}

/** A capability of the embedder's own. */
export interface CustomCapability {
  readonly name: string;
  readonly methods: { readonly [method: string]: CapabilityMethod };
  /**
   * Maximum rate of each tenant's calls, over all methods; calls above it fail with `capability_limit`. Default: no
   * limit.
   */
  readonly rateLimit?: RateLimit;
}

const NAME = /^[A-Za-z][A-Za-z0-9_]{0,63}$/;

/** Names of built-in capabilities, and names with a special meaning on JavaScript objects. */
const RESERVED: ReadonlySet<string> = new Set([
  "exec",
  "fetch",
  "fs",
  "kv",
  "native",
  "secrets",
  "tools",
  "env",
  "then",
  "toJSON",
]);

/**
 * Defines a capability of the embedder's own. Tools request it, and policies allow it, by its name: `capabilities: {
 * counter: true }`. A tool then calls `await context.host.counter.add({ by: 1 })`. With `{ onProgress }` as the second
 * argument it receives the values that the handler reports by `call.progress(value)`. Where values arrive faster than
 * the tool takes them, the latest are kept, and `onProgress(value, { missed })` gives the number of values dropped
 * before this one. Throws a `TypeError` if a name is invalid or a handler is missing, and a `RangeError` if the rate
 * limit is invalid.
 */
export function defineCapability(capability: CustomCapability): CustomCapability {
  if (typeof capability !== "object" || capability === null || typeof capability.name !== "string") {
    throw new TypeError("a capability is { name, methods }");
  }
  if (!NAME.test(capability.name) || RESERVED.has(capability.name)) {
    throw new TypeError(`"${capability.name}" cannot be the name of a capability`);
  }
  const methods = Object.entries(capability.methods ?? {});
  if (methods.length === 0) throw new TypeError(`capability "${capability.name}" has no methods`);
  for (const [name, method] of methods) {
    if (!NAME.test(name)) throw new TypeError(`"${capability.name}.${name}" cannot be the name of a method`);
    if (typeof method?.handler !== "function") {
      throw new TypeError(`capability "${capability.name}.${name}" has no handler`);
    }
    count(`"${capability.name}.${name}" inputBytes`, method.inputBytes, INPUT_BYTES, 1);
  }
  const { name, rateLimit } = capability;
  if (rateLimit !== undefined) new RateLimiter(rateLimit);
  const limited = rateLimit === undefined ? {} : { rateLimit: Object.freeze({ ...rateLimit }) };
  return Object.freeze({ name, methods: Object.freeze({ ...capability.methods }), ...limited });
}

/** Grants all methods, or no method. */
const wholeGrants: GrantKind<true> = {
  read: (value) => {
    // A truthy value such as "no" or an empty list is not a grant.
    if (value === true) return true;
    throw new TypeError(": is true");
  },
  meet: (_asked, allowed) => allowed,
  uncovered: (_asked, granted) => (granted.length > 0 ? [] : [{ pointer: "", asked: "the capability" }]),
  describe: () => "all of its methods",
};

/** Default of a method's `inputBytes`. */
const INPUT_BYTES = 256 * 1024;

/** Suffixes of the capability calls for a handler with progress: begin, next values, end. */
const [BEGIN, NEXT, END] = ["$begin", "$next", "$end"];
/** Maximum number of handlers with progress that run at once in one call. */
const STREAMS_MAX = 16;
const STREAM: JsonSchema = { type: "object", properties: { stream: { type: "integer" } }, required: ["stream"] };

/**
 * Converts a capability of the embedder for the broker. Validates it as `defineCapability` does, which embedders may
 * skip.
 */
export function asCapability(
  given: CustomCapability,
  redact: HandlerCall["redact"] = (text) => text,
): Capability<true> {
  const custom = defineCapability(given);
  const methods: [string, MethodShape][] = Object.entries(custom.methods).flatMap(([name, method]) => {
    const { input, output, inputBytes = INPUT_BYTES } = method;
    const takes = { inputBytes, ...(input === undefined ? {} : { input }) };
    const gives = output === undefined ? {} : { output };
    return [
      [name, { ...takes, ...gives }],
      [`${name}${BEGIN}`, takes],
      [`${name}${NEXT}`, { input: STREAM, isRead: true }],
      [`${name}${END}`, { input: STREAM, isRead: true, ...gives }],
    ];
  });
  const limiter = custom.rateLimit === undefined ? null : new RateLimiter(custom.rateLimit);
  return {
    name: custom.name,
    grants: wholeGrants,
    methods: Object.fromEntries(methods),
    open: (call) => new CustomSession(custom, limiter, call, redact),
  };
}

/** A custom capability as it serves one call. */
class CustomSession implements OpenCapability {
  readonly #custom: CustomCapability;
  readonly #limiter: RateLimiter | null;
  readonly #call: OpenCall;
  readonly #streams = new Map<number, HandlerProgress>();
  readonly #redact: HandlerCall["redact"];
  #lastStream = 0;

  constructor(custom: CustomCapability, limiter: RateLimiter | null, call: OpenCall, redact: HandlerCall["redact"]) {
    this.#custom = custom;
    this.#limiter = limiter;
    this.#call = call;
    this.#redact = redact;
  }

  invoke(method: string, args: unknown): unknown {
    const [name = "", step] = method.split("$");
    switch (step) {
      case undefined:
        return this.#handle(name, args, () => undefined);
      case "begin":
        return this.#begin(name, args);
      case "next":
        return this.#stream(args).next();
      default:
        return this.#end(args);
    }
  }

  #handle(method: string, args: unknown, progress: (value: unknown) => void): unknown {
    this.#limit();
    const { callId, tool, tenant } = this.#call;
    const signal = () => this.#call.signal;
    const call: HandlerCall = {
      callId,
      tool,
      get signal() {
        return signal();
      },
      progress,
      redact: this.#redact,
      ...(tenant === undefined ? {} : { tenant }),
    };
    return this.#custom.methods[method]?.handler(args, call);
  }

  #begin(method: string, args: unknown): { readonly stream: number } {
    if (this.#streams.size >= STREAMS_MAX) {
      throw new CapabilityRefusal("limit", `a call may follow the progress of ${STREAMS_MAX} handlers at once`, {
        asked: `${this.#custom.name}.${method}`,
        granted: `${STREAMS_MAX} at once`,
        remedy: "wait until one of them ends",
      });
    }
    const stream = ++this.#lastStream;
    this.#streams.set(stream, new HandlerProgress((emit) => this.#handle(method, args, emit)));
    return { stream };
  }

  #end(args: unknown): Promise<unknown> {
    const { result } = this.#stream(args);
    this.#streams.delete((args as { readonly stream: number }).stream);
    return result;
  }

  #stream(args: unknown): HandlerProgress {
    const progress = this.#streams.get((args as { readonly stream: number }).stream);
    if (progress === undefined) throw new Error("no handler with that number is running");
    return progress;
  }

  #limit(): void {
    const { name, rateLimit } = this.#custom;
    const waitMs = this.#limiter?.take(this.#call.tenant ?? "", performance.now()) ?? 0;
    if (waitMs === 0 || rateLimit === undefined) return;
    throw new CapabilityRefusal("limit", `"${name}" is called too often; call it again in ${waitMs} ms`, {
      asked: `one more call of ${name}`,
      granted: `${rateLimit.calls} calls of each tenant in ${rateLimit.perMs} ms`,
      remedy: `wait, or raise the capability's rateLimit`,
    });
  }
}

/**
 * Maximum number of progress values waiting for the tool, and of their JSON's total length. The oldest are dropped
 * first.
 */
const VALUES_MAX = 1_000;
const LENGTH_MAX = 1024 * 1024;

/** Progress and result of one call of a handler. */
class HandlerProgress {
  #values: { readonly value: unknown; readonly length: number }[] = [];
  #length = 0;
  #missed = 0;
  #isOver = false;
  #wake: () => void = () => undefined;
  readonly #result: Promise<unknown>;

  /** Calls `work` at once. */
  constructor(work: (emit: (value: unknown) => void) => unknown) {
    this.#result = new Promise((resolve) => resolve(work((value) => this.#emit(value))));
    const over = () => {
      this.#isOver = true;
      this.#wake();
    };
    this.#result.then(over, over);
  }

  /** Values reported since the last call, and the number dropped before them. Waits for the first value. */
  async next(): Promise<{ readonly values: readonly unknown[]; readonly missed: number; readonly more: boolean }> {
    if (this.#values.length === 0 && !this.#isOver) await new Promise<void>((resolve) => (this.#wake = resolve));
    const values = this.#values.map(({ value }) => value);
    const missed = this.#missed;
    this.#values = [];
    this.#length = 0;
    this.#missed = 0;
    return { values, missed, more: !this.#isOver };
  }

  /** The handler's result; rejects where the handler failed. */
  get result(): Promise<unknown> {
    return this.#result;
  }

  #emit(value: unknown): void {
    if (this.#isOver) return;
    const json = JSON.stringify(value);
    if (typeof json !== "string") throw new TypeError("progress must be a JSON value");
    if (json.length > LENGTH_MAX)
      throw new RangeError(`a value of progress has at most ${LENGTH_MAX} characters of JSON`);
    // Copied, because the handler may change its object afterwards.
    this.#values.push({ value: JSON.parse(json) as unknown, length: json.length });
    this.#length += json.length;
    while (this.#values.length > VALUES_MAX || this.#length > LENGTH_MAX) {
      this.#length -= this.#values.shift()?.length ?? 0;
      this.#missed++;
    }
    this.#wake();
  }
}
