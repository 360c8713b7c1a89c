import { openTelemetry } from "./tracing.ts";
import type { CallEvent, Events } from "./events.ts";
import type { Logger } from "./log.ts";

/** A caller may ask for a tool by any name. */
const NAME_MAX = 128;

/**
 * Writes a line for each call that has ended, at `debug`, and for each thing that calls ask the host for, at `trace`:
 * who, what, how it ended and what it cost. Nothing of arguments, outputs, messages and what tools write is in them.
 * Where a level is off, a call pays for the question whether it is.
 */
export function logCalls(events: Events, logger: Logger): void {
  if (logger.debug !== undefined) {
    const write = (event: CallEvent): void => {
      if (isOn(logger, "debug")) logger.debug?.(fieldsOf(event), "a call ended");
    };
    events.on("tool:post", write);
    events.on("tool:error", write);
  }
  if (logger.trace === undefined) return;
  events.on("capability:call", ({ callId, tool, tenant, capability, method, step, outcome, durationMs }) => {
    if (!isOn(logger, "trace")) return;
    const asked = `${capability}.${method}`.slice(0, NAME_MAX);
    logger.trace?.(
      { callId, tool, tenant, asked, step, outcome, durationMs, ...activeSpan() },
      "a call made a capability call",
    );
  });
}

function isOn(logger: Logger, level: string): boolean {
  return logger.isLevelEnabled?.(level) ?? true;
}

function fieldsOf({ callId, parentId, tool, tenant, result }: CallEvent): object {
  const { queueMs, wallMs, cpuMs, heapBytes, attempts } = result.metadata;
  return {
    callId,
    ...(parentId === undefined ? {} : { parentId }),
    tool: tool.slice(0, NAME_MAX),
    tenant,
    code: result.error?.code ?? "ok",
    queueMs,
    wallMs,
    cpuMs,
    heapBytes,
    attempts,
    ...activeSpan(),
  };
}

/** By the names under which logs are found from traces. */
function activeSpan(): object {
  const span = openTelemetry()?.trace.getActiveSpan()?.spanContext();
  return span === undefined ? NO_SPAN : { trace_id: span.traceId, span_id: span.spanId };
}

const NO_SPAN = Object.freeze({});
