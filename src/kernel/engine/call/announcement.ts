import { within } from "../../base/deadline.ts";
import { mayHaveLongInteger, parseWithDigits } from "../../base/exact-json.ts";
import type { ToolCall } from "../../base/result.ts";
import type { PreEvent } from "../telemetry/events.ts";
import { parentOf } from "./child-call.ts";
import type { EngineCall } from "./engine-call.ts";

const REASON_MAX = 1_000;
const DECISIONS_MAX = 100;

/** The call as the embedder reads it: long integers in its arguments are strings of digits, even if it came as text. */
function readable(call: ToolCall, args: string): ToolCall {
  if (!mayHaveLongInteger(args)) return call;
  return { ...call, arguments: parseWithDigits(args) as ToolCall["arguments"] };
}

/** The decision of the listeners of `tool:pre` on a call. */
export class Announcement {
  readonly event: PreEvent;
  /** The reason for which the call does not run; `null` if it does. */
  blocked: string | null = null;
  /** Arguments to run with in place of the caller's. */
  replaced: object | null = null;
  /** The reason for which a person has to decide; `null` if no listener gives one. */
  approval: string | null = null;
  readonly #decisions: Promise<unknown>[] = [];

  constructor(admitted: EngineCall, call: ToolCall) {
    const { callId, tool, tenant, args } = admitted;
    const block = (reason: string): void => void (this.blocked ??= String(reason).slice(0, REASON_MAX));
    const replaceArguments = (args: Record<string, unknown>): void => {
      if (typeof args !== "object" || args === null || Array.isArray(args)) {
        throw new TypeError("the arguments of a call are an object");
      }
      this.replaced = args;
    };
    const waitFor = (decision: PromiseLike<unknown>): void => {
      if (this.#decisions.length >= DECISIONS_MAX)
        throw new RangeError(`a call waits for ${DECISIONS_MAX} decisions at most`);
      this.#decisions.push(Promise.resolve(decision));
    };
    const requireApproval = (reason: string): void => void (this.approval ??= String(reason).slice(0, REASON_MAX));
    const about = { callId, tool: tool.info.name, tenant, ...parentOf(admitted) };
    this.event = { ...about, call: readable(call, args), block, replaceArguments, waitFor, requireApproval };
  }

  get isOpen(): boolean {
    return this.#decisions.length > 0;
  }

  /** Waits for the listeners' decisions. One that fails, or takes longer than `ms`, blocks the call. Never rejects. */
  async decide(ms: number, signal: AbortSignal | undefined): Promise<void> {
    let isDecided = false;
    const decided = Promise.all(this.#decisions).then(
      () => void (isDecided = true),
      (error: unknown) => {
        isDecided = true;
        this.event.block(`a listener of tool:pre failed: ${error instanceof Error ? error.message : String(error)}`);
      },
    );
    const { promise: aborted, resolve } = Promise.withResolvers<void>();
    const onAbort = (): void => resolve();
    signal?.addEventListener("abort", onAbort);
    if (signal?.aborted === true) onAbort();
    await within(ms, Promise.race([decided, aborted]));
    signal?.removeEventListener("abort", onAbort);
    if (!isDecided && signal?.aborted !== true)
      this.event.block(`the listeners of tool:pre did not decide within ${ms} ms`);
  }
}
