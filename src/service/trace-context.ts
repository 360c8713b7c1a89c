import { openTelemetry } from "../engine/telemetry/tracing.ts";

/** Longer than `traceparent` is in any version of the standard. */
const PARENT_MAX = 256;
/** What the standard asks of those who pass it on. */
const STATE_MAX = 512;

/**
 * Does something below the span of whoever asked for it: where the process traces, and W3C's `traceparent` and
 * `tracestate` are among what the sender said.
 * Baggage is not taken from strangers, and tools' own requests pass nothing on: they go to third parties.
 */
export function underSender<Value>(said: { readonly [name: string]: unknown }, run: () => Value): Value {
  const { traceparent, tracestate } = said;
  if (typeof traceparent !== "string" || traceparent.length > PARENT_MAX) return run();
  const api = openTelemetry();
  if (api === null) return run();
  const { context, propagation, ROOT_CONTEXT, trace } = api;
  const active = trace.getActiveSpan()?.spanContext();
  // An instrumentation of the process's own has read it already, and its span is the nearer one.
  if (active !== undefined && active.isRemote !== true) return run();
  const isState = typeof tracestate === "string" && tracestate.length <= STATE_MAX;
  const carrier = isState ? { traceparent, tracestate } : { traceparent };
  return context.with(propagation.extract(ROOT_CONTEXT, carrier), run);
}
