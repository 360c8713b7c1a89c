import { createRequire } from "node:module";
import type * as Api from "@opentelemetry/api";
import type { Attributes, Context, Span, SpanContext, Tracer } from "@opentelemetry/api";
import type { Capability } from "../../broker/capabilities/capability.ts";
import type { SessionTrace } from "../../broker/thread/host-session.ts";
import type { ToldOutcome } from "../../broker/thread/messages.ts";
import { GloveboxError } from "../../base/errors.ts";
import { type CapabilityCall, isContinuation } from "../../base/protocol/capability-call.ts";
import type { ToolResult } from "../../base/result.ts";

/** Global symbol under which OpenTelemetry's API stores its registrations. */
const REGISTERED = Symbol.for("opentelemetry.js.api.1");
const require = createRequire(import.meta.url);
let api: typeof Api | null = null;

/** OpenTelemetry's API, loaded when something in this process has registered with it; `null` until then. */
export function openTelemetry(): typeof Api | null {
  if (api === null && REGISTERED in globalThis) api = require("@opentelemetry/api") as typeof Api;
  return api;
}

/** Names of the active span and its trace. */
export function activeSpan(): SpanContext | undefined {
  return openTelemetry()?.trace.getActiveSpan()?.spanContext();
}

/** Answers a protocol's request by a call. If the process traces, its span is a server's, with more attributes. */
export function describeCall<Value>(attributes: () => Attributes, call: () => Value): Value {
  const { context } = openTelemetry() ?? {};
  return context === undefined ? call() : context.with(context.active().setValue(MORE, attributes()), call);
}

/** ID of the active trace, if it is recorded. */
export function recordedTrace(): string | undefined {
  const span = activeSpan();
  return span !== undefined && (span.traceFlags & SAMPLED) !== 0 ? span.traceId : undefined;
}

/** Key of a context under which the attributes of `describeCall` are. */
const MORE = Symbol("attributes of a call");
/** `SpanKind.INTERNAL` and `SpanKind.SERVER` */
const [INTERNAL, SERVER] = [0, 1];
/** `TraceFlags.SAMPLED` */
const SAMPLED = 1;
const SCOPE = "glovebox";
/** Maximum number of capability spans per call; further ones are only counted. */
const ASKS_MAX = 256;
/** Maximum length of a name that a tool made up. */
const NAME_MAX = 128;
/** `SpanStatusCode.ERROR` */
const ERROR = 2;
/** Maximum drift of the monotonic clock from the wall clock before the offset is corrected, in milliseconds. */
const DRIFT_MAX_MS = 5;

type AskedMethod = Pick<CapabilityCall, "capability" | "method" | "step">;

/** Facts about a call in its trace. */
interface TracedCall {
  readonly callId: string;
  /** Empty if there is no such tool: a name made up by a caller must not name a span. */
  readonly tool: string;
  readonly tenant: string;
  /** Trace of the call on whose behalf it is made. */
  readonly parent: CallTrace | null;
}

/**
 * Spans of calls, for a provider registered with OpenTelemetry's API. Without a provider `begin` returns `null`, which
 * is a call's whole cost.
 */
export class Tracing {
  readonly #capabilities: ReadonlyMap<string, Pick<Capability, "methods">>;
  /** Offset from `performance.now()` to milliseconds since the epoch. */
  #epochMs = performance.timeOrigin;

  /** `capabilities`: the existing ones, because a tool may request any name. */
  constructor(capabilities: ReadonlyMap<string, Pick<Capability, "methods">>) {
    this.#capabilities = capabilities;
  }

  /** Begins a call's span below the active one. `tool` is empty for an unknown tool. */
  begin(callId: string, tool: string, tenant: string, parent: CallTrace | null): CallTrace | null {
    const api = openTelemetry();
    const tracer = api === null ? null : findTracer(api);
    if (api === null || tracer === null) return null;
    return new CallTrace({ callId, tool, tenant, parent }, api, tracer, this.#capabilities, this.#epoch(parent));
  }

  /** Clock offset. A child call uses its parent's, so that its spans lie within the parent's. */
  #epoch(parent: CallTrace | null): number {
    if (parent !== null) return parent.epochMs;
    const seenMs = Date.now() - performance.now();
    if (Math.abs(seenMs - this.#epochMs) > DRIFT_MAX_MS) this.#epochMs = seenMs;
    return this.#epochMs;
  }
}

/**
 * Spans of one call: the call, its wait for a worker, its run, and the run's capability calls. Spans contain no
 * arguments, output or messages: a message may quote either, and traces have readers of their own.
 */
export class CallTrace implements SessionTrace {
  readonly epochMs: number;
  readonly #api: typeof Api;
  readonly #tracer: Tracer;
  readonly #capabilities: ReadonlyMap<string, Pick<Capability, "methods">>;
  /** Time at which the call was ready to wait for a worker. */
  #waitMs: number;
  readonly #span: Span;
  readonly #context: Context;
  #run: Span | null = null;
  #runContext: Context;
  /** Spans of handlers that run, by the steps of their capability calls; `null` for those that have none. */
  readonly #asks = new Map<number, Span | null>();
  #asked = 0;

  constructor(
    { callId, tool, tenant, parent }: TracedCall,
    api: typeof Api,
    tracer: Tracer,
    capabilities: ReadonlyMap<string, Pick<Capability, "methods">>,
    epochMs: number,
  ) {
    this.#api = api;
    this.#tracer = tracer;
    this.#capabilities = capabilities;
    this.epochMs = epochMs;
    this.#waitMs = performance.now();
    const { context, trace } = api;
    const given = context.active();
    // They belong to this call, not to its child calls.
    const active = given.deleteValue(MORE);
    // Without a context manager no span is active, but the parent is known.
    const above = parent !== null && trace.getSpan(active) === undefined ? parent.#runContext : active;
    const asked = given.getValue(MORE) as Attributes | undefined;
    const kind = asked === undefined ? INTERNAL : SERVER;
    const attributes = {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.type": "function",
      "gen_ai.tool.call.id": callId,
      ...(tool === "" ? {} : { "gen_ai.tool.name": tool }),
      ...(tenant === "" ? {} : { "glovebox.tenant": tenant }),
      ...asked,
    };
    // Named after the conventions for the execution of a tool, and for a server's span of a request by MCP.
    const method = asked?.["mcp.method.name"];
    const operation = typeof method === "string" ? method : "execute_tool";
    const name = tool === "" ? operation : `${operation} ${tool}`;
    this.#span = tracer.startSpan(name, { attributes, kind, startTime: this.#time(this.#waitMs) }, above);
    this.#context = trace.setSpan(above, this.#span);
    this.#runContext = this.#context;
  }

  /** Does a part of the host's work for the call, before it waits for a worker, with a span of its own active. */
  async step<Value>(name: string, work: () => Promise<Value>): Promise<Value> {
    const startTime = this.#time(performance.now());
    const span = this.#tracer.startSpan(`glovebox.${name}`, { startTime }, this.#context);
    try {
      return await this.#api.context.with(this.#api.trace.setSpan(this.#context, span), work);
    } catch (error) {
      fail(span, error instanceof GloveboxError ? error.code : "failed");
      throw error;
    } finally {
      span.end(this.#time(performance.now()));
    }
  }

  beginWait(): void {
    this.#waitMs = performance.now();
  }

  /** Begins the run's span when a worker starts the call. A retry continues the same span. */
  start(startMs: number): void {
    if (this.#run !== null || !this.#span.isRecording()) return;
    this.#recordWait(startMs);
    this.#run = this.#tracer.startSpan("glovebox.run", { startTime: this.#time(startMs) }, this.#context);
    this.#runContext = this.#api.trace.setSpan(this.#context, this.#run);
  }

  /** Adds an event to the run's span. */
  addEvent(event: string, attributes: Attributes): void {
    this.#run?.addEvent(event, attributes, this.#time(performance.now()));
  }

  /** Runs a function with the call's span active. */
  within<Value>(run: () => Value): Value {
    return this.#api.context.with(this.#context, run);
  }

  /** Runs a handler of this thread with the span of its capability call active. */
  handle(ask: AskedMethod, run: () => void): void {
    const { context, trace } = this.#api;
    const span = this.#beginAsk(ask, isContinuation(ask.capability, ask.method), performance.now() + this.epochMs);
    this.#asks.set(ask.step, span);
    if (span === null) return context.with(this.#runContext, run);
    context.with(trace.setSpan(this.#runContext, span), run);
  }

  /** Makes the span of a capability call that has ended on the broker thread, or ends the one of its handler. */
  record({ record, isContinuation: isPlain, code, atMs }: ToldOutcome, tell: () => void): void {
    const { context, trace } = this.#api;
    // Responses of the journal have no span.
    const isKnown = record.outcome === "replayed";
    const begun = isKnown ? null : this.#asks.get(record.step);
    const span = begun === undefined ? this.#beginAsk(record, isPlain, atMs - record.durationMs) : begun;
    if (!isKnown) this.#asks.delete(record.step);
    if (span === null) return context.with(this.#runContext, tell);
    context.with(trace.setSpan(this.#runContext, span), tell);
    endAsk(span, record.outcome === "diverged" ? "executor_lost" : code, atMs);
  }

  /** `null` for a capability call without a span. */
  #beginAsk(ask: AskedMethod, isPlain: boolean, startTime: number): Span | null {
    if (isPlain || this.#run === null || ++this.#asked > ASKS_MAX) return null;
    const { name, attributes } = this.#describe(ask);
    return this.#tracer.startSpan(name, { attributes, startTime }, this.#runContext);
  }

  /** Ends all spans of the call. */
  end({ error, metadata }: ToolResult): void {
    if (!this.#span.isRecording()) return;
    const endMs = performance.now();
    // Close spans of pending capability calls: their responses are no longer delivered.
    for (const span of this.#asks.values()) if (span !== null) endAsk(span, "cancelled", this.#time(endMs));
    this.#asks.clear();
    const { attempts, cpuMs, heapBytes, queueMs } = metadata;
    if (this.#run === null && queueMs > 0) this.#recordWait(endMs);
    const dropped = Math.max(0, this.#asked - ASKS_MAX);
    this.#span.setAttributes({
      "glovebox.attempts": attempts,
      "glovebox.cpu_ms": cpuMs,
      "glovebox.heap_bytes": heapBytes,
      ...(dropped === 0 ? {} : { "glovebox.capability_spans_dropped": dropped }),
    });
    for (const span of this.#run === null ? [this.#span] : [this.#run, this.#span]) {
      if (error !== null) fail(span, error.code);
      span.end(this.#time(endMs));
    }
  }

  #recordWait(untilMs: number): void {
    const startTime = this.#time(this.#waitMs);
    this.#tracer.startSpan("glovebox.queue", { startTime }, this.#context).end(this.#time(untilMs));
  }

  /** Name and attributes of a span. Only existing capabilities name a span, because a tool may request any name. */
  #describe({ capability, method, step }: AskedMethod): { readonly name: string; readonly attributes: Attributes } {
    const methods = this.#capabilities.get(capability)?.methods;
    const isKnown = methods !== undefined && Object.hasOwn(methods, method);
    const label = `${capability}.${method.replace(/\$begin$/, "")}`.slice(0, NAME_MAX);
    const attributes = { "glovebox.capability": label, "glovebox.capability.step": step };
    return { name: isKnown ? `glovebox.capability ${label}` : "glovebox.capability", attributes };
  }

  #time(ms: number): number {
    return this.epochMs + ms;
  }
}

/** The tracer, or `null` without a provider: the API's proxy provider then has no delegate. */
function findTracer({ ProxyTracerProvider, trace }: typeof Api): Tracer | null {
  const provider = trace.getTracerProvider();
  if (!(provider instanceof ProxyTracerProvider)) return provider.getTracer(SCOPE);
  return provider.getDelegateTracer(SCOPE) ?? null;
}

function endAsk(span: Span, code: string | null, atMs: number): void {
  if (code !== null) fail(span, code);
  span.end(atMs);
}

function fail(span: Span, code: string): void {
  span.setStatus({ code: ERROR });
  span.setAttribute("error.type", code);
}
