import { openTelemetry } from "../kernel/engine/telemetry/tracing.ts";

/** Maximum length of `traceparent`; above that of every version of W3C Trace Context. */
const PARENT_MAX = 256;
/** Minimum length of `tracestate` that W3C Trace Context requires to be propagated. */
const STATE_MAX = 512;

/**
 * Runs a function below the sender's span, if the process traces and the sender sent W3C's `traceparent` (and
 * `tracestate`). Senders' baggage is ignored, and requests of tools propagate no context: they go to third parties.
 */
export function underSender<Value>(said: { readonly [name: string]: unknown }, run: () => Value): Value {
  const { traceparent, tracestate } = said;
  if (typeof traceparent !== "string" || traceparent.length > PARENT_MAX) return run();
  const api = openTelemetry();
  if (api === null) return run();
  const { context, propagation, ROOT_CONTEXT, trace } = api;
  const active = trace.getActiveSpan()?.spanContext();
  // The process's own instrumentation has already read the header, and its span is the nearer parent.
  if (active !== undefined && active.isRemote !== true) return run();
  const isState = typeof tracestate === "string" && tracestate.length <= STATE_MAX;
  const carrier = isState ? { traceparent, tracestate } : { traceparent };
  return context.with(propagation.extract(ROOT_CONTEXT, carrier), run);
}
