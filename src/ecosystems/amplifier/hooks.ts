import { amplifier, type AmplifierEvent } from "../../tool/contracts/amplifier.ts";
import type { Engine } from "../../engine/engine.ts";
import type { CallEvent, PreEvent } from "../../engine/telemetry/events.ts";
import type { ToolResult } from "../../base/result.ts";

/** Events of a call, and more detailed ones that exist only with debugging on. */
export type HookEvent =
  | AmplifierEvent
  | {
      readonly event: "tool:pre:debug";
      readonly data: {
        readonly tool_name: string;
        readonly tool_call_id: string;
        readonly input: Readonly<Record<string, unknown>>;
        readonly tenant: string;
        /** Id of the calling call, or `null`. */
        readonly parent_call_id: string | null;
      };
    }
  | {
      readonly event: "tool:post:debug";
      /** Complete result of the engine, with times and logs. */
      readonly data: { readonly tool_name: string; readonly tool_call_id: string; readonly result: ToolResult };
    };

export type HookEventName = HookEvent["event"];
type DataOf<Name extends HookEventName> = Extract<HookEvent, { event: Name }>["data"];

/** Decision of a hook: nothing, or `continue`, lets the call proceed; `deny` at `tool:pre` refuses it. */
export interface HookResult {
  readonly action: "continue" | "deny";
  readonly reason?: string;
}

/** Called synchronously: the call waits for it. */
export type Hook<Name extends HookEventName = HookEventName> = (
  event: Name,
  data: DataOf<Name>,
) => HookResult | undefined | void;

export interface HookOptions {
  /**
   * An observer: its return values and exceptions are ignored. Without `observe`, a hook that throws at `tool:pre`
   * refuses the call, as it may be a guard; so does one that returns a promise, whose value would come too late.
   */
  readonly observe?: boolean;
}

interface Registered {
  readonly event: HookEventName;
  readonly hook: (event: string, data: unknown) => unknown;
  readonly observe: boolean;
}

/** Amplifier's hooks on the events of an engine: `hooks.attach(engine)`. They run in the host, never in tools. */
export class Hooks {
  readonly #debug: boolean;
  /** Replaced, never changed, so that it can be iterated while hooks are added and removed. */
  #hooks: readonly Registered[] = [];

  constructor({ debug = false }: { readonly debug?: boolean } = {}) {
    this.#debug = debug;
  }

  /** Registers a hook, called after those registered before. Returns a function that removes it. */
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

  /** Subscribes to an engine until the returned object is disposed of. */
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

  /** Calls the hooks of an event, isolated from each other's failures; returns the reasons of refusals. */
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

/** Reason of a hook's refusal, or `null`. */
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
