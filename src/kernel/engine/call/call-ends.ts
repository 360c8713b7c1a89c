import { toolError } from "../../base/errors.ts";
import { DIVERGED } from "../../base/protocol/capability-call.ts";
import { failure, type ToolResult, withMetadata } from "../../base/result.ts";
import type { CallReply } from "../../executor/executor.ts";
import type { ToolRegistry } from "../../tool/registry.ts";
import type { DurableStage } from "../durable/durable-stage.ts";
import type { ExecuteOptions } from "../execute-options.ts";
import type { InstalledTools } from "../installed-tools.ts";
import { endOf, type Events } from "../telemetry/events.ts";
import type { CallTrace, Tracing } from "../telemetry/tracing.ts";
import { tenantOf } from "./arguments.ts";
import type { CallKeeper } from "./call-keeper.ts";
import type { CallWaiting } from "./call-waiting.ts";
import type { EngineCall } from "./engine-call.ts";

interface EndParts {
  readonly registry: ToolRegistry;
  readonly tools: InstalledTools;
  readonly tracing: Tracing;
  readonly events: Events;
  readonly keeper: CallKeeper | null;
  readonly durable: Pick<DurableStage, "end">;
}

/** The last stage of a call: it is kept, its events are emitted, and its caller gets the result. */
export class CallEnds {
  readonly #parts: EndParts;

  constructor(parts: EndParts) {
    this.#parts = parts;
  }

  /** Ends a call that admission rejected. */
  rejected(result: ToolResult, options: ExecuteOptions, parent: EngineCall | null, begun: CallTrace | null): void {
    const { registry, tracing } = this.#parts;
    const tenant = tenantOf(options);
    const { callId, tool } = result.metadata;
    // A tool name made up by the caller must not become a span name.
    const name = registry.get(tool, tenant) === undefined ? "" : tool;
    this.unrun(
      begun ?? tracing.begin(callId, name, tenant, parent?.trace ?? null),
      result,
      options,
      parent?.callId ?? null,
    );
  }

  /** Ends a call, or a run of it that waits. `reply`: the executor's last one, if it ran. */
  end(call: EngineCall, given: ToolResult, reply: CallReply | null = null): void {
    const { waits } = call;
    if (waits === null) return this.#endAs(call, given, reply);
    const result = waits.explain(given);
    waits.release();
    if (waits.isPaused && result.error?.code === "paused") {
      const { message } = result.error;
      return this.paused(call, failure(toolError("paused", message, { id: waits.id }), result.metadata));
    }
    if (waits.isStored || waits.isStoring) return void this.#endStored(call, waits, result, reply);
    this.#endAs(call, result, reply);
  }

  /** Stores the end before it is reported elsewhere. */
  async #endStored(
    call: EngineCall,
    { id: durableId }: CallWaiting,
    given: ToolResult,
    reply: CallReply | null,
  ): Promise<void> {
    const ended = told(call.tool.program?.finish(given) ?? given);
    const result = withMetadata(ended, { ...ended.metadata, durableId });
    const end = await this.#parts.durable.end(call, result);
    if (end.error?.code === "paused") this.paused(call, end);
    else this.#endAs(call, end, reply);
  }

  /** The call has not ended: it is kept, and its caller gets its id. */
  paused(call: EngineCall, result: ToolResult): void {
    call.trace?.end(result);
    // The broker's part of its record is in the store.
    void call.session?.take(false);
    this.#parts.tools.release(call.tool);
    call.resolve(result);
  }

  #endAs(call: EngineCall, result: ToolResult, reply: CallReply | null): void {
    this.#parts.keeper?.keep(call, result, reply);
    this.#emitEnd(call.trace, result, call.tenant, call.parentCallId);
    this.#parts.tools.release(call.tool);
    call.resolve(result);
  }

  /** Ends a call that ran nothing. */
  unrun(trace: CallTrace | null, result: ToolResult, options: ExecuteOptions, parentId: string | null): void {
    this.#parts.keeper?.keepUnrun(result, options, parentId);
    this.#emitEnd(trace, result, tenantOf(options), parentId);
  }

  /** Emits a call's end while its span is active, and ends the span. */
  #emitEnd(trace: CallTrace | null, result: ToolResult, tenant: string, parentId: string | null): void {
    if (trace === null) return this.#emitResult(result, tenant, parentId);
    trace.within(() => this.#emitResult(result, tenant, parentId));
    trace.end(result);
  }

  #emitResult(result: ToolResult, tenant: string, parentId: string | null): void {
    const { events } = this.#parts;
    if (result.success) events.emit("tool:post", endOf(result, tenant, parentId ?? undefined));
    else events.emit("tool:error", endOf(result, tenant, parentId ?? undefined));
  }
}

/** A run that diverges from an earlier one is the end of the call. */
function told(result: ToolResult): ToolResult {
  const { error, metadata } = result;
  if (error?.code !== "executor_lost" || !error.message.startsWith(DIVERGED)) return result;
  return failure(toolError("diverged", error.message), metadata);
}
