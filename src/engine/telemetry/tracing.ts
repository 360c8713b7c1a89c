import { createRequire } from "node:module";
import type * as Api from "@opentelemetry/api";
import type { Attributes, Context, Span, Tracer } from "@opentelemetry/api";
import type { Capability } from "../../broker/capabilities/capability.ts";
import type { CapabilityCall, CapabilityResponse, Diverged } from "../../executor/executor.ts";
import { isContinuation } from "../../base/protocol/capability-call.ts";
import type { ToolResult } from "../../base/result.ts";

/** The global symbol under which OpenTelemetry's API stores its registrations. */
const REGISTERED = Symbol.for("opentelemetry.js.api.1");
const require = createRequire(import.meta.url);
let api: typeof Api | null = null;

/** OpenTelemetry's API, loaded once something has been registered with it in this process; `null` until then. */
export function openTelemetry(): typeof Api | null {
  if (api === null && Reflect.has(globalThis, REGISTERED)) api = require("@opentelemetry/api") as typeof Api;
  return api;
}

const SCOPE = "glovebox";
/** Capability calls of one call that get a span; of the others their number is told. */
const ASKS_MAX = 256;
/** A name that somebody made up is cut to this. */
const NAME_MAX = 128;
/** The key that OpenTelemetry's SDK and instrumentations look for. */
const SUPPRESSED = Symbol.for("OpenTelemetry SDK Context Key SUPPRESS_TRACING");
/** `SpanStatusCode.ERROR` */
const ERROR = 2;
/** How far the clock that never goes back may be off the time of day before it is set again, in milliseconds. */
const DRIFT_MAX_MS = 5;

/** What a trace says of its call. */
interface TracedCall {
  readonly callId: string;
  /** Empty where there is no such tool: what a caller made up does not name a span. */
  readonly tool: string;
  readonly tenant: string;
  /** That of the call on whose behalf it is made. */
  readonly parent: CallTrace | null;
}

/**
 * Spans of calls, for whoever has registered a provider with OpenTelemetry's API. Where nobody has, `begin` answers
 * `null`, and that is all that a call pays for it.
 */
export class Tracing {
  readonly #capabilities: ReadonlyMap<string, Pick<Capability, "methods">>;
  /** What turns `performance.now()` into milliseconds since the epoch. */
  #epochMs = performance.timeOrigin;

  /** `capabilities`: those that there are, because a tool may ask for anything. */
  constructor(capabilities: ReadonlyMap<string, Pick<Capability, "methods">>) {
    this.#capabilities = capabilities;
  }

  /** Begins a call's span, below the one that is active. Without a `tool`: one that there is not. */
  begin(callId: string, tool: string, tenant: string, parent: CallTrace | null): CallTrace | null {
    const api = openTelemetry();
    const tracer = api === null ? null : findTracer(api);
    if (api === null || tracer === null) return null;
    return new CallTrace({ callId, tool, tenant, parent }, api, tracer, this.#capabilities, this.#epoch(parent));
  }

  /** A call and those on its behalf have one clock, so that theirs lie within its own. */
  #epoch(parent: CallTrace | null): number {
    if (parent !== null) return parent.epochMs;
    const seenMs = Date.now() - performance.now();
    if (Math.abs(seenMs - this.#epochMs) > DRIFT_MAX_MS) this.#epochMs = seenMs;
    return this.#epochMs;
  }
}

/**
 * The spans of one call: its own, the wait for a worker, the run, and what the run asks of the host. What is in them is
 * for whoever may see traces: no arguments, no output, and no message, which may hold something of either.
 */
export class CallTrace {
  readonly epochMs: number;
  readonly #api: typeof Api;
  readonly #tracer: Tracer;
  readonly #capabilities: ReadonlyMap<string, Pick<Capability, "methods">>;
  readonly #startMs: number;
  readonly #span: Span;
  readonly #context: Context;
  #run: Span | null = null;
  #runContext: Context;
  readonly #asks = new Set<Span>();
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
    this.#startMs = performance.now();
    const { context, trace } = api;
    const active = context.active();
    // Without a manager of contexts nothing is active, and the parent is known all the same.
    const above = parent !== null && trace.getSpan(active) === undefined ? parent.#runContext : active;
    const attributes = {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.type": "function",
      "gen_ai.tool.call.id": callId,
      ...(tool === "" ? {} : { "gen_ai.tool.name": tool }),
      ...(tenant === "" ? {} : { "glovebox.tenant": tenant }),
    };
    const name = tool === "" ? "glovebox.call" : `glovebox.call ${tool}`;
    this.#span = tracer.startSpan(name, { attributes, startTime: this.#time(this.#startMs) }, above);
    this.#context = trace.setSpan(above, this.#span);
    this.#runContext = this.#context;
  }

  /** It went to a worker. When it is tried again its run goes on. */
  start(startMs: number): void {
    if (this.#run !== null || !this.#span.isRecording()) return;
    this.#noteWait(startMs);
    this.#run = this.#tracer.startSpan("glovebox.run", { startTime: this.#time(startMs) }, this.#context);
    this.#runContext = this.#api.trace.setSpan(this.#context, this.#run);
  }

  /** Something happened to its run. */
  note(event: string, attributes: Attributes): void {
    this.#run?.addEvent(event, attributes, this.#time(performance.now()));
  }

  /** Has something done for the call with its span the active one. */
  within<Value>(run: () => Value): Value {
    return this.#api.context.with(this.#context, run);
  }

  /**
   * Has an ask answered, below a span of its own, which is the active one for whoever answers. `isKnown`: the answer
   * is from the journal, so that nothing is done.
   */
  ask<Response extends CapabilityResponse | Diverged>(
    ask: CapabilityCall,
    isKnown: boolean,
    answer: () => Promise<Response>,
  ): Promise<Response> {
    const { context, trace } = this.#api;
    const isPlain = isKnown || isContinuation(ask.capability, ask.method) || this.#run === null;
    if (isPlain || ++this.#asked > ASKS_MAX) return context.with(contextFor(ask, this.#runContext), answer);
    const startTime = this.#time(performance.now());
    const { name, attributes } = this.#describe(ask);
    const span = this.#tracer.startSpan(name, { attributes, startTime }, this.#runContext);
    this.#asks.add(span);
    const answering = context.with(contextFor(ask, trace.setSpan(this.#runContext, span)), answer);
    void answering.then((given) => this.#endAsk(span, codeOf(given), performance.now()));
    return answering;
  }

  /** The call has ended: all its spans have. */
  end({ error, metadata }: ToolResult): void {
    if (!this.#span.isRecording()) return;
    const endMs = performance.now();
    // What is still answered after its call is answered to nobody.
    for (const span of this.#asks) this.#endAsk(span, "cancelled", endMs);
    const { attempts, cpuMs, heapBytes, queueMs } = metadata;
    if (this.#run === null && queueMs > 0) this.#noteWait(endMs);
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

  #noteWait(untilMs: number): void {
    const startTime = this.#time(this.#startMs);
    this.#tracer.startSpan("glovebox.queue", { startTime }, this.#context).end(this.#time(untilMs));
  }

  #endAsk(span: Span, code: string | null, endMs: number): void {
    if (!this.#asks.delete(span)) return;
    if (code !== null) fail(span, code);
    span.end(this.#time(endMs));
  }

  /** Tools may ask for what there is not, under any name: only what there is names a span. */
  #describe({ capability, method, step }: CapabilityCall): { readonly name: string; readonly attributes: Attributes } {
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

/** The stand-in that the API has before a provider is registered gives no tracer. */
function findTracer({ ProxyTracerProvider, trace }: typeof Api): Tracer | null {
  const provider = trace.getTracerProvider();
  if (!(provider instanceof ProxyTracerProvider)) return provider.getTracer(SCOPE);
  return provider.getDelegateTracer(SCOPE) ?? null;
}

/**
 * What is active while an ask is answered. A tool's requests go to third parties, who are told of no trace: the SDK's own
 * switch keeps instrumentations of the process, which would tell, from them.
 */
function contextFor({ capability }: CapabilityCall, active: Context): Context {
  return capability === "fetch" ? active.setValue(SUPPRESSED, true) : active;
}

function codeOf(answer: CapabilityResponse | Diverged): string | null {
  switch (answer.kind) {
    case "value":
      return null;
    case "failure":
      return answer.failure.code;
    case "diverged":
      return "executor_lost";
  }
}

function fail(span: Span, code: string): void {
  span.setStatus({ code: ERROR });
  span.setAttribute("error.type", code);
}
