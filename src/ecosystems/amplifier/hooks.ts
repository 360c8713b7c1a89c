import { amplifier, type AmplifierEvent } from "../../tool/contracts/amplifier.ts";
import type { Engine } from "../../engine/engine.ts";
import type { CallEvent, PreEvent } from "../../engine/telemetry/events.ts";
import type { ToolResult } from "../../base/result.ts";

/** The events of a call, and those that tell more and are only made where debugging is on. */
export type HookEvent =
  | AmplifierEvent
  | {
      readonly event: "tool:pre:debug";
      readonly data: {
        readonly tool_name: string;
        readonly tool_call_id: string;
        readonly input: Readonly<Record<string, unknown>>;
        readonly tenant: string;
        /** The call on whose behalf it is made, or nothing. */
        readonly parent_call_id: string | null;
      };
    }
  | {
      readonly event: "tool:post:debug";
      /** The whole result as the engine gives it: times, logs and all. */
      readonly data: { readonly tool_name: string; readonly tool_call_id: string; readonly result: ToolResult };
    };

export type HookEventName = HookEvent["event"];
type DataOf<Name extends HookEventName> = Extract<HookEvent, { event: Name }>["data"];

/** What a hook says: nothing, or `continue`, lets the call go on; `deny` at `tool:pre` refuses it. */
export interface HookResult {
  readonly action: "continue" | "deny";
  readonly reason?: string;
}

/** Called while the call waits: it answers at once. */
export type Hook<Name extends HookEventName = HookEventName> = (
  event: Name,
  data: DataOf<Name>,
) => HookResult | undefined | void;

export interface HookOptions {
  /**
   * A hook that only looks on: what it answers or throws changes nothing. Without it, a hook that throws at `tool:pre`
   * refuses the call, as it may be a guard; so does one that answers with a promise, whose answer would come too late.
   */
  readonly observe?: boolean;
}

interface Registered {
  readonly event: HookEventName;
  readonly hook: (event: string, data: unknown) => unknown;
  readonly observe: boolean;
}

/** Hooks of Amplifier's, on the events of an engine: `hooks.attach(engine)`. Tools have no part in it. */
export class Hooks {
  readonly #debug: boolean;
  /** Replaced and never changed, so that it can be walked while hooks come and go. */
  #hooks: readonly Registered[] = [];

  constructor({ debug = false }: { readonly debug?: boolean } = {}) {
    this.#debug = debug;
  }

  /** Registers a hook; it is called after those that were registered before. Answers what takes it away again. */
  register<Name extends HookEventName>(
    event: Name,
    hook: Hook<Name>,
    { observe = false }: HookOptions = {},
  ): () => void {
    const registered: Registered = { event, hook: hook as Registered["hook"], observe };
    this.#hooks = [...this.#hooks, registered];
    return () => {
      this.#hooks = this.#hooks.filter((one) => one !== registered);
    };
  }

  /** Listens to an engine until what is answered is disposed of. */
  attach(engine: Pick<Engine, "on" | "off">): Disposable {
    const onPre = (event: PreEvent): void => this.#pre(event);
    const onPost = (event: CallEvent): void => this.#end("tool:post", event);
    const onError = (event: CallEvent): void => this.#end("tool:error", event);
    engine.on("tool:pre", onPre).on("tool:post", onPost).on("tool:error", onError);
    return {
      [Symbol.dispose]: () => void engine.off("tool:pre", onPre).off("tool:post", onPost).off("tool:error", onError),
    };
  }

  #pre(pre: PreEvent): void {
    const { callId, tool, tenant, parentId, call } = pre;
    if (this.#debug) {
      const about = {
        tool_name: tool,
        tool_call_id: callId,
        input: call.arguments,
        tenant,
        parent_call_id: parentId ?? null,
      };
      this.#tell({ event: "tool:pre:debug", data: about });
    }
    const event = amplifier.writeEvent({ name: "tool:pre", tool, call: { ...call, id: callId } });
    if (event === null) return;
    for (const reason of this.#tell(event)) pre.block(reason);
  }

  #end(name: "tool:post" | "tool:error", { callId, tool, result }: CallEvent): void {
    if (this.#debug && name === "tool:post") {
      this.#tell({ event: "tool:post:debug", data: { tool_name: tool, tool_call_id: callId, result } });
    }
    const event = amplifier.writeEvent({ name, tool, result });
    if (event !== null) this.#tell(event);
  }

  /** Calls the hooks of an event, one of which may fail without the others; answers why they refuse it. */
  #tell({ event, data }: HookEvent): readonly string[] {
    const reasons: string[] = [];
    for (const { event: wanted, hook, observe } of this.#hooks) {
      if (wanted !== event) continue;
      const reason = ask(hook, event, data);
      if (reason !== null && !observe) reasons.push(reason);
    }
    return reasons;
  }
}

/** Why a hook refuses, where it does. */
function ask(hook: Registered["hook"], event: string, data: unknown): string | null {
  try {
    const answer = hook(event, data);
    if (answer instanceof Promise) {
      answer.catch(() => undefined);
      return "a hook answered with a promise, which is too late to let a call go on";
    }
    if (typeof answer !== "object" || answer === null || Reflect.get(answer, "action") !== "deny") return null;
    const reason: unknown = Reflect.get(answer, "reason");
    return typeof reason === "string" && reason !== "" ? reason : "a hook denied it";
  } catch (error) {
    return `a hook failed: ${error instanceof Error ? error.message : String(error)}`;
  }
}
