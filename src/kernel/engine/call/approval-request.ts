import type { ToolCall } from "../../base/result.ts";
import type { BrokerClient } from "../../broker/thread/broker-client.ts";
import type { DurableCall } from "../../store/calls/durable/durable-call.ts";
import type { DurableStage } from "../durable/durable-stage.ts";
import type { ExecuteOptions } from "../execute-options.ts";
import type { Scheduler } from "../schedule/scheduler.ts";
import type { ToolRegistry } from "../../tool/registry.ts";
import type { Events } from "../telemetry/events.ts";
import type { Admission } from "./admission.ts";
import { Announcement } from "./announcement.ts";
import { writeArguments } from "./arguments.ts";
import { type CallStages, EngineCall } from "./engine-call.ts";

interface ApprovalParts {
  readonly registry: ToolRegistry;
  readonly admission: Admission;
  readonly broker: Pick<BrokerClient, "accounts">;
  readonly events: Events;
  readonly scheduler: Pick<Scheduler, "stats">;
  readonly nextCallNumber: () => number;
  readonly durable: DurableStage;
}

/** Requests approvals of calls before these are made, by the same checks as for calls that are made. */
export class ApprovalRequests {
  readonly #parts: ApprovalParts;
  readonly #stages: CallStages;
  /** Requests in progress. */
  #open = 0;

  constructor(parts: ApprovalParts, stages: CallStages) {
    this.#parts = parts;
    this.#stages = stages;
  }

  /** Whether calls of a tool may need an approval: without a look at their arguments. */
  mayNeed(name: string, tenant: string): boolean {
    const { registry, durable } = this.#parts;
    const tool = registry.get(name, tenant);
    return tool !== undefined && durable.mayNeedApproval({ tool, tenant });
  }

  /** Whether calls of a tool may need an approval, or wait during their run. */
  mayWait(name: string, tenant: string): boolean {
    return this.#parts.registry.get(name, tenant)?.capabilities["pause"] !== undefined || this.mayNeed(name, tenant);
  }

  /** The stored call, which waits; `null` if it needs no approval, or cannot be made: then `execute` reports why. */
  async request(given: ToolCall, options: ExecuteOptions): Promise<DurableCall | null> {
    const { admission, broker, durable, nextCallNumber, scheduler } = this.#parts;
    const admitted = admission.admit(given, options, true, null);
    if ("success" in admitted) return null;
    const call = new EngineCall(admitted, nextCallNumber(), this.#stages);
    if (!durable.mayNeedApproval(call) || this.#open >= scheduler.stats().maxQueued) return null;
    broker.accounts.of(call.tenant).countGiven(call.args.length);
    this.#open++;
    try {
      const asked = await this.#announce(call, given);
      if (asked.kind === "ended") return null;
      const gated = await durable.gate(call, asked.approval);
      if (gated.kind !== "paused" || gated.error.code !== "paused") return null;
      return (await durable.get(gated.error.details?.id ?? "")) ?? null;
    } finally {
      this.#open--;
    }
  }

  /** The decision of the listeners of `tool:pre` on the call. */
  async #announce(
    call: EngineCall,
    given: ToolCall,
  ): Promise<{ readonly kind: "ended" } | { readonly kind: "open"; readonly approval: string | null }> {
    const { events } = this.#parts;
    if (!events.has("tool:pre")) return { kind: "open", approval: null };
    const announcement = new Announcement(call, given);
    events.emit("tool:pre", announcement.event);
    if (announcement.isOpen) await announcement.decide(call.limits.wallMs, call.options.signal);
    const { blocked, replaced, approval } = announcement;
    if (blocked !== null || call.options.signal?.aborted === true) return { kind: "ended" };
    if (replaced !== null) {
      const args = writeArguments(replaced, call.limits);
      if (typeof args !== "string") return { kind: "ended" };
      call.args = args;
    }
    return { kind: "open", approval };
  }
}
