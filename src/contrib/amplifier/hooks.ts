import { amplifier, type AmplifierEvent } from "./contract/amplifier.ts";
import type { Engine } from "../../kernel/engine/engine.ts";
import type { CallEvent, PreEvent } from "../../kernel/engine/telemetry/events.ts";
import { isObject } from "../../kernel/base/json.ts";
import type { ToolResult } from "../../kernel/base/result.ts";

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

/**
 * Decision of a hook. Without one, or with `continue`, the call proceeds. At `tool:pre`, `deny` refuses the call, and
 * `modify` gives it the arguments `data.input`; at any event, the hooks after it get the modified data.
 */
export type HookResult =
  | { readonly action: "continue" }
  | { readonly action: "deny"; readonly reason?: string }
  | { readonly action: "modify"; readonly data: Readonly<Record<string, unknown>>; readonly reason?: string }
  | ({ readonly action: "inject_context" } & ContextInjection)
  /** Refuses the call at `tool:pre`: there is no user to ask. */
  | { readonly action: "ask_user"; readonly approval_prompt?: string; readonly reason?: string };

/** Text for the agent's conversation. Glovebox has none: the text goes to the option `onContext`. */
export interface ContextInjection {
  readonly context_injection: string;
  /** Default: `system`. */
  readonly context_injection_role?: "system" | "user" | "assistant";
  /** Whether the text is for the next call of the model only. */
  readonly ephemeral?: boolean;
}

/** The call waits for it, and for its promise, up to the `wallMs` of the call. */
export type Hook<Name extends HookEventName = HookEventName> = (
  event: Name,
  data: DataOf<Name>,
) => HookResult | undefined | void | Promise<HookResult | undefined | void>;

export interface HookOptions {
  /**
   * An observer: its return values and exceptions are ignored, and calls do not wait for it. Without `observe`, a hook
   * that fails at `tool:pre` refuses the call, as it may be a guard.
   */
  readonly observe?: boolean;
  /** Hooks of a lower priority come first. Default 0. */
  readonly priority?: number;
}

/** Options of all hooks. */
export interface HooksOptions {
  /** Whether there are `tool:pre:debug` and `tool:post:debug`. Default `false`. */
  readonly debug?: boolean;
  /** Receives the injections of hooks. Without it, a hook that injects at `tool:pre` refuses the call. */
  readonly onContext?: (injection: ContextInjection, event: HookEvent) => void;
}

interface Registered {
  readonly event: HookEventName;
  readonly hook: (event: string, data: unknown) => unknown;
  readonly observe: boolean;
  readonly priority: number;
}

/** Outcome of an event's hooks. */
interface Decision {
  /** Reason of the first refusal; `null` without one. */
  readonly refusal: string | null;
  /** Data of the event, as the last hook left it. */
  readonly data: unknown;
}

/** Amplifier's hooks on the events of an engine: `hooks.attach(engine)`. They run in the host, never in tools. */
export class Hooks {
  readonly #debug: boolean;
  readonly #onContext: HooksOptions["onContext"];
  /** Replaced, never changed, so that it can be iterated while hooks are added and removed. */
  #hooks: readonly Registered[] = [];

  constructor({ debug = false, onContext }: HooksOptions = {}) {
    this.#debug = debug;
    this.#onContext = onContext;
  }

  /** Registers a hook, called after those of its priority registered before. Returns a function that removes it. */
  register<Name extends HookEventName>(
    event: Name,
    hook: Hook<Name>,
    { observe = false, priority = 0 }: HookOptions = {},
  ): () => void {
    const registered: Registered = { event, hook: hook as Registered["hook"], observe, priority };
    this.#hooks = [...this.#hooks, registered].sort((one, other) => one.priority - other.priority);
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
      void this.#tell({ event: "tool:pre:debug", data: about });
    }
    const event = amplifier.writeEvent({ name: "tool:pre", tool, call: { ...call, id: callId } });
    if (event === null) return;
    if (this.#hooks.some((one) => one.event === "tool:pre")) pre.waitFor(this.#decide(pre, event));
  }

  async #decide(pre: PreEvent, event: HookEvent): Promise<void> {
    const { refusal, data } = await this.#tell(event);
    if (refusal !== null) return pre.block(refusal);
    if (data === event.data) return;
    const input = isObject(data) ? data["input"] : undefined;
    if (isObject(input)) pre.replaceArguments(input);
    else pre.block("a hook modified the call, and its data has no object as input");
  }

  #end(name: "tool:post" | "tool:error", { callId, tool, result }: CallEvent): void {
    if (this.#debug && name === "tool:post") {
      void this.#tell({ event: "tool:post:debug", data: { tool_name: tool, tool_call_id: callId, result } });
    }
    const event = amplifier.writeEvent({ name, tool, result });
    if (event !== null) void this.#tell(event);
  }

  /** Calls the hooks of an event one after the other, isolated from each other's failures. Never rejects. */
  async #tell(event: HookEvent): Promise<Decision> {
    let data: unknown = event.data;
    let refusal: string | null = null;
    for (const { event: wanted, hook, observe } of this.#hooks) {
      if (wanted !== event.event) continue;
      if (observe) {
        look(hook, event.event, data);
        continue;
      }
      const answer = await ask(hook, event.event, data);
      if (answer.action === "modify") data = answer.data;
      else refusal ??= this.#refusalOf(answer, event);
    }
    return { refusal, data };
  }

  #refusalOf(answer: Exclude<HookResult, { action: "modify" }>, event: HookEvent): string | null {
    switch (answer.action) {
      case "continue":
        return null;
      case "deny":
        return textOf(answer.reason) ?? "a hook denied it";
      case "ask_user": {
        const prompt = textOf(answer.approval_prompt) ?? textOf(answer.reason);
        return `a hook asks for an approval, which nobody can give here${prompt === null ? "" : `: ${prompt}`}`;
      }
      case "inject_context":
        if (this.#onContext === undefined)
          return "a hook injects context: give Hooks the option onContext to receive it";
        try {
          this.#onContext(answer, event);
          return null;
        } catch (error) {
          return `onContext failed: ${messageOf(error)}`;
        }
      default:
        return `a hook answered with the unknown action ${JSON.stringify(answer satisfies never)}`.slice(0, 200);
    }
  }
}

/** The answer of a hook; a refusal if it fails. */
async function ask(hook: Registered["hook"], event: string, data: unknown): Promise<HookResult> {
  try {
    const answer = await hook(event, data);
    if (!isObject(answer) || typeof answer["action"] !== "string") return { action: "continue" };
    if (answer["action"] === "modify" && !isObject(answer["data"])) {
      return { action: "deny", reason: "a hook modified the event, and its result has no object as data" };
    }
    return answer as unknown as HookResult;
  } catch (error) {
    return { action: "deny", reason: `a hook failed: ${messageOf(error)}` };
  }
}

function look(hook: Registered["hook"], event: string, data: unknown): void {
  try {
    const answer = hook(event, data);
    if (answer instanceof Promise) answer.catch(() => undefined);
  } catch {
    // Observers change nothing.
  }
}

function textOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
