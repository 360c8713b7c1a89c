import { activeSpan } from "./tracing.ts";
import type { CallEvent, Events } from "./events.ts";
import type { Logger } from "./log.ts";

/** Maximum length of a name: callers may name a tool anything. */
const NAME_MAX = 128;

/**
 * Writes a line for each ended call and each checked program, at `debug`, and for each capability call, at `trace`:
 * ids, outcome and cost. Lines contain no arguments, outputs, messages or console output. A disabled level costs a call
 * one check.
 */
export function logCalls(events: Events, logger: Logger): void {
  if (logger.debug !== undefined) {
    const write = (event: CallEvent): void => {
      if (isOn(logger, "debug")) logger.debug?.(fieldsOf(event), "a call ended");
    };
    events.on("tool:post", write);
    events.on("tool:error", write);
    events.on("program:check", ({ callId, tenant, outcome, problems, reason, durationMs }) => {
      if (!isOn(logger, "debug")) return;
      const fields = { callId, tenant, outcome, mistakes: problems.length, reason, durationMs, ...spanFields() };
      logger.debug?.(fields, "a program was checked");
    });
  }
  if (logger.trace === undefined) return;
  events.on("capability:call", ({ callId, tool, tenant, capability, method, step, outcome, durationMs }) => {
    if (!isOn(logger, "trace")) return;
    const asked = `${capability}.${method}`.slice(0, NAME_MAX);
    logger.trace?.(
      { callId, tool, tenant, asked, step, outcome, durationMs, ...spanFields() },
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
    ...spanFields(),
  };
}

/** Fields under which log tools correlate lines with traces. */
function spanFields(): object {
  const span = activeSpan();
  return span === undefined ? NO_SPAN : { trace_id: span.traceId, span_id: span.spanId };
}

const NO_SPAN = Object.freeze({});
