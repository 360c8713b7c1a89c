import type { JsonSchema } from "../../base/json.ts";
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

/** One method of a capability: its schemas, and what does the work in the host. */
export interface CapabilityMethod {
  /** Schema of the arguments. By default any arguments are accepted. */
  readonly input?: JsonSchema;
  readonly output?: JsonSchema;
  // The embedder knows what its own schema lets through, so the handler's argument is its to declare.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly handler: (args: any, call: HandlerCall) => unknown;
}

/** What a handler gets besides its arguments. */
export interface HandlerCall extends CapabilityCaller {
  /** Reports progress to the tool's `onProgress`: a JSON value. Does nothing where the tool has none. */
  readonly progress: (value: unknown) => void;
}

/** A capability of the embedder's own. */
export interface CustomCapability {
  readonly name: string;
  readonly methods: { readonly [method: string]: CapabilityMethod };
  /** How often each tenant's calls may ask, over all methods: then `capability_limit`. Default: as often as they like. */
  readonly rateLimit?: RateLimit;
}

const NAME = /^[A-Za-z][A-Za-z0-9_]{0,63}$/;

/** Names whose meaning is the engine's. */
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
 * Declares a capability of the embedder's own. Tools ask for it, and policies allow it, by its name:
 * `capabilities: { counter: true }`; a tool then calls `await context.host.counter.add({ by: 1 })`.
 * With `{ onProgress }` as the second argument it hears what the handler tells by `call.progress(value)`; of values that
 * come faster than it takes them the latest are kept, and `onProgress(value, { missed })` says how many before are not.
 * Throws a `TypeError` if a name is invalid or a handler is missing, and a `RangeError` if the rate limit is invalid.
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
  }
  const { name, rateLimit } = capability;
  if (rateLimit !== undefined) new RateLimiter(rateLimit);
  const limited = rateLimit === undefined ? {} : { rateLimit: Object.freeze({ ...rateLimit }) };
  return Object.freeze({ name, methods: Object.freeze({ ...capability.methods }), ...limited });
}

/** Grants all methods, or none. */
const wholeGrants: GrantKind<true> = {
  read: (value) => {
    // Whoever writes "no", or an empty list, does not mean to give it.
    if (value === true) return true;
    throw new TypeError(": is true");
  },
  meet: (_asked, allowed) => allowed,
  uncovered: (_asked, granted) => (granted.length > 0 ? [] : [{ pointer: "", asked: "the capability" }]),
  describe: () => "all of its methods",
};

/** The asks of which a method's progress is made, besides its name: it begins, goes on, and answers. */
const [BEGIN, NEXT, END] = ["$begin", "$next", "$end"];
/** Calls of handlers with progress that one call may have under way. */
const STREAMS_MAX = 16;
const STREAM: JsonSchema = { type: "object", properties: { stream: { type: "integer" } }, required: ["stream"] };

/** The broker's view of it. Throws as `defineCapability` does, through which not everything has come. */
export function asCapability(given: CustomCapability): Capability<true> {
  const custom = defineCapability(given);
  const methods: [string, MethodShape][] = Object.entries(custom.methods).flatMap(([name, { input, output }]) => {
    const takes = input === undefined ? {} : { input };
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
    open: (call) => new CustomSession(custom, limiter, call),
  };
}

/** A capability of the embedder's, as it serves one call. */
class CustomSession implements OpenCapability {
  readonly #custom: CustomCapability;
  readonly #limiter: RateLimiter | null;
  readonly #call: OpenCall;
  readonly #streams = new Map<number, HandlerProgress>();
  #lastStream = 0;

  constructor(custom: CustomCapability, limiter: RateLimiter | null, call: OpenCall) {
    this.#custom = custom;
    this.#limiter = limiter;
    this.#call = call;
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
    this.#streams.set(stream, new HandlerProgress((tell) => this.#handle(method, args, tell)));
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

/** Values that wait for the tool to take them, and their JSON's length together: the oldest go first. */
const VALUES_MAX = 1_000;
const LENGTH_MAX = 1024 * 1024;

/** The progress that a handler reports during one call of it, and how it ends. */
class HandlerProgress {
  #values: { readonly value: unknown; readonly length: number }[] = [];
  #length = 0;
  #missed = 0;
  #isOver = false;
  #wake: () => void = () => undefined;
  readonly #result: Promise<unknown>;

  /** `work` is called at once. */
  constructor(work: (tell: (value: unknown) => void) => unknown) {
    this.#result = new Promise((resolve) => resolve(work((value) => this.#tell(value))));
    const over = () => {
      this.#isOver = true;
      this.#wake();
    };
    this.#result.then(over, over);
  }

  /** The values reported since the last call of this, and how many were dropped before; waits for the first. */
  async next(): Promise<{ readonly values: readonly unknown[]; readonly missed: number; readonly more: boolean }> {
    if (this.#values.length === 0 && !this.#isOver) await new Promise<void>((resolve) => (this.#wake = resolve));
    const values = this.#values.map(({ value }) => value);
    const missed = this.#missed;
    this.#values = [];
    this.#length = 0;
    this.#missed = 0;
    return { values, missed, more: !this.#isOver };
  }

  /** The handler's result; rejects where it failed. */
  get result(): Promise<unknown> {
    return this.#result;
  }

  #tell(value: unknown): void {
    if (this.#isOver) return;
    const json = JSON.stringify(value);
    if (typeof json !== "string") throw new TypeError("progress must be a JSON value");
    if (json.length > LENGTH_MAX)
      throw new RangeError(`a value of progress has at most ${LENGTH_MAX} characters of JSON`);
    // Copied: what the handler does with its object afterwards is not what it told.
    this.#values.push({ value: JSON.parse(json) as unknown, length: json.length });
    this.#length += json.length;
    while (this.#values.length > VALUES_MAX || this.#length > LENGTH_MAX) {
      this.#length -= this.#values.shift()?.length ?? 0;
      this.#missed++;
    }
    this.#wake();
  }
}
