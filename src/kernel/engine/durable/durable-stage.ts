import { valueIn } from "../../base/deadline.ts";
import type { JsonValue } from "../../base/json.ts";
import type { OnDemand } from "../../base/on-demand.ts";
import type { ToolResult } from "../../base/result.ts";
import type { AskedPause, ChildCallEnd } from "../../broker/capabilities/capability.ts";
import type { Policy } from "../../broker/policy.ts";
import type { Decision, DurableCall, DurableCallDetail } from "../../store/calls/durable/durable-call.ts";
import type { CallStanding, DurablePage, TakeDurable } from "../../store/calls/durable/durable-step.ts";
import type { RegisteredTool } from "../../tool/registered-tool.ts";
import type { ChildRunEnd, ChildWaits, KeptTarget } from "../call/child-call.ts";
import type { EngineCall } from "../call/engine-call.ts";
import type { ExecuteOptions } from "../execute-options.ts";
import type { Durable, Gated } from "./durable.ts";
import {
  type Decider,
  type DurableCalls,
  type DurableFilter,
  type DurableOfWhom,
  type EndWait,
  type UndoReport,
  type UndoWait,
  type LinkedCall,
  WAIT_MAX_MS,
} from "./durable-calls.ts";
import { isDurable, mayNeedApproval } from "./gate.ts";
import { Readmissions, type Readmit } from "./readmission.ts";
import type { Resumer } from "./resumer.ts";

/** Parts that are loaded for the first call that may have to wait, or the first reader of waiting calls. */
export interface LoadedDurable {
  readonly durable: Durable;
  readonly calls: DurableCalls;
  readonly resumer: Resumer;
  readonly take: TakeDurable;
  close(): Promise<void>;
}

/** Time for the store to answer a reader of metrics: less than the interval of a scraper that reads each second. */
const STANDING_MS = 500;

/** Waiting calls, for the pipeline and for readers. Nothing of it is loaded for calls that never wait. */
export class DurableStage implements DurableCalls, ChildWaits {
  readonly #loaded: OnDemand<LoadedDurable>;
  readonly #policy: () => Policy;
  /** Whether there are targets of notifications, which may have links. */
  readonly #hasTargets: boolean;
  readonly #readmissions: Readmissions;

  constructor(
    loaded: OnDemand<LoadedDurable>,
    policy: () => Policy,
    hasTargets = false,
    readmissions = new Readmissions(),
  ) {
    this.#hasTargets = hasTargets;
    this.#loaded = loaded;
    this.#policy = policy;
    this.#readmissions = readmissions;
  }

  /** Has a server checked whether the key of a call is still valid, before the call continues. */
  readmitWith(readmit: Readmit): Disposable {
    const asked = this.#readmissions.add(readmit);
    void this.#loaded.made?.then(({ resumer }) => resumer.lookAgain()).catch(() => undefined);
    return asked;
  }

  /** Starts to look for calls that an earlier process has left, or that others decide. */
  async start(): Promise<void> {
    (await this.#loaded.get()).resumer.look();
  }

  /** Stops taking up calls, as the engine is about to close. */
  async stop(): Promise<void> {
    (await this.#loaded.made)?.resumer.stop();
  }

  async close(): Promise<void> {
    await (await this.#loaded.made)?.close();
  }

  /** Takes a step in the store of waiting calls. */
  readonly take: TakeDurable = async (step) => (await this.#loaded.get()).take(step);

  /** Numbers of waiting calls; `null` if no call has waited yet, or the store does not answer in time. */
  async standing(): Promise<CallStanding | null> {
    const loaded = await this.#loaded.made?.catch(() => null);
    const asked = loaded?.take({ kind: "standing", nowMs: Date.now() }).catch(() => null);
    const answer = await valueIn(STANDING_MS, asked ?? Promise.resolve(null));
    return answer?.kind === "standing" ? answer : null;
  }

  /** Whether a call may have to be stored before it begins: without a look at its arguments. */
  mayNeedStore({ tool, tenant, options }: Pick<EngineCall, "tool" | "tenant" | "options">): boolean {
    return isDurable(options) || mayNeedApproval(tool, this.#policy(), tenant);
  }

  mayNeedApproval({ tool, tenant }: Pick<EngineCall, "tool" | "tenant">): boolean {
    return mayNeedApproval(tool, this.#policy(), tenant);
  }

  async gate(call: EngineCall, asked: string | null): Promise<Gated> {
    return (await this.#loaded.get()).durable.gate(call, asked);
  }

  async admit(call: EngineCall, asked: string | null): Promise<Gated> {
    return (await this.#loaded.get()).durable.admit(call, asked);
  }

  async child(
    parent: EngineCall,
    tool: RegisteredTool | undefined,
    args: Record<string, unknown>,
    step: number,
    run: (args: Record<string, unknown>) => Promise<ChildRunEnd>,
  ): Promise<ChildCallEnd> {
    const isPlain =
      parent.waits === null && (tool === undefined || !mayNeedApproval(tool, this.#policy(), parent.tenant));
    if (!isPlain) return (await this.#loaded.get()).durable.child(parent, tool, args, step, run);
    const { pausedId, ...end } = await run(args);
    return pausedId === undefined ? end : (await this.#loaded.get()).durable.endOfChild(parent, step, pausedId);
  }

  async undoKept(parent: EngineCall, target: KeptTarget, step: number): Promise<ChildCallEnd> {
    return (await this.#loaded.get()).durable.undoKept(parent, target, step);
  }

  readonly pause = async (call: EngineCall, step: number, asked: AskedPause): Promise<unknown> =>
    (await this.#loaded.get()).durable.pause(call, step, asked);

  /** See `Durable.end`. */
  async end(call: EngineCall, result: ToolResult): Promise<ToolResult> {
    return (await this.#loaded.get()).durable.end(call, result);
  }

  /** The present result of a paused call, or the one after the wait of its caller. */
  async latest(
    running: Promise<ToolResult>,
    { pause, waitMs = WAIT_MAX_MS, signal }: ExecuteOptions,
  ): Promise<ToolResult> {
    const result = await running;
    if (result.error?.code !== "paused") return result;
    const id = result.error.details?.id ?? "";
    const wait = pause === "wait" ? { waitMs, ...(signal === undefined ? {} : { signal }) } : {};
    return (await this.result(id, {}, wait).catch(() => undefined)) ?? result;
  }

  async list(filter?: DurableFilter): Promise<DurablePage> {
    return (await this.#calls()).list(filter);
  }

  async get(id: string, whose?: DurableOfWhom): Promise<DurableCallDetail | undefined> {
    return (await this.#calls()).get(id, whose);
  }

  async result(id: string, whose?: DurableOfWhom, options?: EndWait): Promise<ToolResult | undefined> {
    return (await this.#calls()).result(id, whose, options);
  }

  async decide(id: string, decisions: Decision | readonly Decision[], by?: Decider): Promise<DurableCall | undefined> {
    return (await this.#calls()).decide(id, decisions, by);
  }

  async signal(id: string, name: string, payload?: JsonValue, by?: Decider): Promise<DurableCall | undefined> {
    return (await this.#calls()).signal(id, name, payload, by);
  }

  async cancel(id: string, reason?: string, by?: Decider): Promise<DurableCall | undefined> {
    return (await this.#calls()).cancel(id, reason, by);
  }

  async undo(id: string, by?: Decider, options?: UndoWait): Promise<UndoReport | undefined> {
    return (await this.#calls()).undo(id, by, options);
  }

  async byLink(token: string): Promise<LinkedCall | undefined> {
    return this.#hasTargets ? (await this.#calls()).byLink(token) : undefined;
  }

  async #calls(): Promise<DurableCalls> {
    return (await this.#loaded.get()).calls;
  }
}

/** Whether a caller may get the result of a call that has waited: it waits, or repeats the call with its key. */
export function mayOutlast(options: ExecuteOptions): boolean {
  return options?.pause === "wait" || options?.idempotencyKey !== undefined;
}
