import { randomUUID } from "node:crypto";
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { parseForWriting } from "../../base/exact-json.ts";
import type { JsonSchema } from "../../base/json.ts";
import { writeJson } from "../../base/json-writer.ts";
import { count } from "../../base/limits.ts";
import { describeSchema, isStandardSchema } from "../../base/schema/describe-schema.ts";
import type { Schema, StandardSchema } from "../../base/schema/standard-schema.ts";
import {
  type Capability,
  CapabilityRefusal,
  effectName,
  type MethodShape,
  type OpenCall,
  type OpenCapability,
} from "./capability.ts";
import type {
  CapabilityDefinition,
  CapabilityMethod,
  CustomCapability,
  DefinedCapability,
  HandlerCall,
  SchemasByMethod,
} from "./custom-types.ts";
import { RateLimiter } from "./rate-limit.ts";
import { wholeGrants } from "./names.ts";

const NAME = /^[A-Za-z][A-Za-z0-9_]{0,63}$/;
const NAME_RULE = "use a letter, and after it at most 63 letters, digits and _";

/** Names of built-in capabilities, and names with a special meaning on JavaScript objects. */
const RESERVED: ReadonlySet<string> = new Set([
  "connector",
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
 * argument it receives the values that the handler reports by `call.progress(value)`. If values arrive faster than
 * the tool takes them, the latest are kept, and `onProgress(value, { missed })` gives the number of values dropped
 * before this one. The types of `args` and of the answer follow from the schemas. Throws a `TypeError` if a name is
 * invalid, a handler is missing, or a schema cannot write itself as JSON Schema, and a `RangeError` if the rate limit is
 * invalid.
 */
export function defineCapability<
  const Name extends string,
  const Ins extends SchemasByMethod,
  const Outs extends SchemasByMethod,
>(capability: CapabilityDefinition<Name, Ins, Outs>): DefinedCapability<Name, Ins, Outs>;
export function defineCapability(capability: CustomCapability): CustomCapability {
  return checkCapability(capability);
}

function checkCapability(capability: CustomCapability): CustomCapability {
  if (typeof capability !== "object" || capability === null || typeof capability.name !== "string") {
    throw new TypeError("a capability is { name, methods }");
  }
  if (!NAME.test(capability.name) || RESERVED.has(capability.name)) {
    const rule = RESERVED.has(capability.name) ? "the engine keeps that name for itself" : NAME_RULE;
    throw new TypeError(`"${capability.name}" cannot be the name of a capability: ${rule}`);
  }
  const methods = Object.entries(capability.methods ?? {});
  if (methods.length === 0) throw new TypeError(`capability "${capability.name}" has no methods`);
  for (const [name, method] of methods) {
    if (!NAME.test(name))
      throw new TypeError(`"${capability.name}.${name}" cannot be the name of a method: ${NAME_RULE}`);
    if (typeof method?.handler !== "function") {
      throw new TypeError(`capability "${capability.name}.${name}" has no handler`);
    }
    for (const flag of ["isRead", "isRepeatable"] as const)
      if (!["boolean", "undefined"].includes(typeof method[flag]))
        throw new TypeError(`"${capability.name}.${name}" ${flag} is true or false`);
    count(`"${capability.name}.${name}" inputBytes`, method.inputBytes, INPUT_BYTES, 1);
  }
  const { name, rateLimit } = capability;
  if (rateLimit !== undefined) new RateLimiter(rateLimit);
  const limited = rateLimit === undefined ? {} : { rateLimit: Object.freeze({ ...rateLimit }) };
  const described = methods.map(([method, given]) => [method, withJsonSchemas(`${name}.${method}`, given)] as const);
  return Object.freeze({ name, methods: Object.freeze(Object.fromEntries(described)), ...limited });
}

/** A method with JSON Schemas. A schema with checks beyond its JSON Schema is applied around the handler. */
function withJsonSchemas(label: string, method: CapabilityMethod): CapabilityMethod {
  const { input, output, handler } = method;
  const [takes, gives] = [describedAs(label, input, "input"), describedAs(label, output, "output")];
  if (takes === undefined && gives === undefined) return method;
  const reads = parserOf(`the arguments of ${label} do`, input, takes?.more);
  const writes = parserOf(`the answer of ${label} does`, output, gives?.more);
  return Object.freeze({
    ...method,
    ...(takes === undefined ? {} : { input: takes.check }),
    ...(gives === undefined ? {} : { output: gives.schema }),
    handler: reads === null && writes === null ? handler : around(handler, reads, writes),
  });
}

/** `undefined` for a JSON Schema, and without a schema. */
function describedAs(label: string, schema: Schema | undefined, side: "input" | "output") {
  if (!isStandardSchema(schema)) return undefined;
  try {
    return describeSchema(schema, side);
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    throw new TypeError(`capability "${label}", ${side}: ${problem}`, { cause: error });
  }
}

type Parse = (value: unknown) => unknown;

/** Parser of a value with a schema of a library; `null` if its JSON Schema is complete. */
function parserOf(what: string, schema: Schema | undefined, more: string | null | undefined): Parse | null {
  if (more === null || more === undefined || typeof schema === "boolean" || schema === undefined) return null;
  const { validate } = (schema as StandardSchema)["~standard"];
  const valueOf = (result: Awaited<ReturnType<typeof validate>>): unknown => {
    if (result.issues === undefined) return result.value;
    throw new TypeError(`${what} not match the schema: ${describeIssues(result.issues)}`);
  };
  return (value) => {
    const result = validate(value);
    return result instanceof Promise ? result.then(valueOf) : valueOf(result);
  };
}

function around(handler: CapabilityMethod["handler"], reads: Parse | null, writes: Parse | null) {
  const write: Parse = writes ?? ((answer) => answer);
  return (args: unknown, call: HandlerCall): unknown => {
    const read = reads === null ? args : reads(args);
    const answer: unknown = read instanceof Promise ? read.then((value) => handler(value, call)) : handler(read, call);
    return answer instanceof Promise ? answer.then(write) : write(answer);
  };
}

function describeIssues(issues: readonly StandardSchemaV1.Issue[]): string {
  // Copies: a library's list may be of a class of its own, whose `map` makes another one.
  const shown = Array.from(issues)
    .slice(0, ISSUES_MAX)
    .map(({ message, path = [] }) => {
      const keys = Array.from(path, (part) => `/${String(typeof part === "object" ? part.key : part)}`);
      return keys.length === 0 ? message : `${keys.join("")}: ${message}`;
    });
  return shown.join("; ");
}

/** Maximum number of issues in an error's message. */
const ISSUES_MAX = 5;

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
  const custom = checkCapability(given);
  const methods: [string, MethodShape][] = Object.entries(custom.methods).flatMap(([name, method]) => {
    const { input, output, inputBytes = INPUT_BYTES, isRead = false } = method;
    // `checkCapability` has made JSON Schemas of them.
    const takes = { inputBytes, isRead, ...(input === undefined ? {} : { input: input as JsonSchema }) };
    const gives = output === undefined ? {} : { output: output as JsonSchema };
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
    isOfEmbedder: true,
    grants: wholeGrants,
    methods: Object.fromEntries(methods),
    open: (call) => new CustomSession(custom, limiter, call, redact),
  };
}

/** One call of a method. */
interface Asked {
  readonly method: string;
  readonly args: unknown;
  readonly step: number;
}

/** A custom capability as it serves one call. */
class CustomSession implements OpenCapability {
  readonly #custom: CustomCapability;
  readonly #limiter: RateLimiter | null;
  readonly #call: OpenCall;
  readonly #streams = new Map<number, HandlerProgress>();
  readonly #redact: HandlerCall["redact"];
  #lastStream = 0;
  /** For a call whose effects are never repeated: made at a handler's first use. */
  #effectsId: string | undefined;

  constructor(custom: CustomCapability, limiter: RateLimiter | null, call: OpenCall, redact: HandlerCall["redact"]) {
    this.#custom = custom;
    this.#limiter = limiter;
    this.#call = call;
    this.#redact = redact;
  }

  invoke(method: string, args: unknown, step: number): unknown {
    const [name = "", part] = method.split("$");
    switch (part) {
      case undefined:
        return this.#handle({ method: name, args, step }, () => undefined);
      case "begin":
        return this.#begin({ method: name, args, step });
      case "next":
        return this.#stream(args).next();
      default:
        return this.#end(args);
    }
  }

  isRepeatable(method: string): boolean {
    const [name = ""] = method.split("$");
    return this.#custom.methods[name]?.isRepeatable === true;
  }

  #handle({ method, args, step }: Asked, progress: (value: unknown) => void): unknown {
    this.#limit();
    const { callId, tool, tenant } = this.#call;
    const signal = () => this.#call.signal;
    const once = () => effectName((this.#effectsId ??= this.#call.effectsId ?? randomUUID()), step);
    const call: HandlerCall = {
      callId,
      tool,
      get signal() {
        return signal();
      },
      get once() {
        return once();
      },
      progress,
      redact: this.#redact,
      ...(tenant === undefined ? {} : { tenant }),
    };
    return this.#custom.methods[method]?.handler(args, call);
  }

  #begin(asked: Asked): { readonly stream: number } {
    if (this.#streams.size >= STREAMS_MAX) {
      throw new CapabilityRefusal("limit", `a call may follow the progress of ${STREAMS_MAX} handlers at once`, {
        asked: `${this.#custom.name}.${asked.method}`,
        granted: `${STREAMS_MAX} at once`,
        remedy: "wait until one of them ends",
      });
    }
    const stream = ++this.#lastStream;
    this.#streams.set(stream, new HandlerProgress((emit) => this.#handle(asked, emit)));
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

  /** The handler's result; rejects if the handler failed. */
  get result(): Promise<unknown> {
    return this.#result;
  }

  #emit(value: unknown): void {
    if (this.#isOver) return;
    const json = writeJson(value);
    if (typeof json !== "string") throw new TypeError("progress must be a JSON value");
    if (json.length > LENGTH_MAX)
      throw new RangeError(`a value of progress has at most ${LENGTH_MAX} characters of JSON`);
    // Copied, because the handler may change its object afterwards.
    this.#values.push({ value: parseForWriting(json), length: json.length });
    this.#length += json.length;
    while (this.#values.length > VALUES_MAX || this.#length > LENGTH_MAX) {
      this.#length -= this.#values.shift()?.length ?? 0;
      this.#missed++;
    }
    this.#wake();
  }
}
