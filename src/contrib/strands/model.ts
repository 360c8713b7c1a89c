import type { ToolDescription } from "../../kernel/tool/contracts/contract.ts";
import type { ToolCall, ToolResult } from "../../kernel/base/result.ts";
import { ProviderError } from "./errors.ts";
import type { Inference } from "./workflow.ts";

/** One message of a conversation, in a provider-neutral form. */
export type ModelMessage =
  | { readonly role: "system" | "user"; readonly text: string }
  | { readonly role: "assistant"; readonly text: string; readonly calls: readonly ModelCall[] }
  | { readonly role: "tool"; readonly call: ModelCall; readonly result: ToolResult };

/** A call requested by a model. */
export interface ModelCall extends ToolCall {
  readonly id: string;
  /** Problem of unreadable arguments: the call is not made, and the model gets this text. */
  readonly problem?: string;
}

/** Response of a model: final if it contains no calls. */
export interface ModelAnswer {
  readonly text: string;
  readonly calls: readonly ModelCall[];
  /** Tokens of the request and the response, as far as the model's server reports them. */
  readonly tokens?: number;
}

export interface GenerateOptions {
  readonly tools: readonly ToolDescription[];
  readonly model: string;
  /** Parameters of the request. Default: those of the model's server. */
  readonly inference?: Inference;
  readonly signal?: AbortSignal | undefined;
}

/** Access to a model. Rejects with a `ProviderError` if the model cannot respond. */
export interface ModelProvider {
  generate(messages: readonly ModelMessage[], options: GenerateOptions): Promise<ModelAnswer>;
}

/** Response of a scripted model: a text, calls, or a function of the conversation so far. */
export type ScriptedTurn =
  | string
  | { readonly text?: string; readonly calls: readonly ToolCall[]; readonly tokens?: number }
  | ((messages: readonly ModelMessage[]) => ScriptedTurn);

/** Model for tests: deterministic and without a network. */
export interface ScriptedProvider extends ModelProvider {
  /** Requests received, in order. */
  readonly requests: readonly { readonly messages: readonly ModelMessage[]; readonly options: GenerateOptions }[];
}

/** Responds with the given turns in order; a request beyond the last rejects with a `ProviderError`. */
export function scriptedProvider(turns: readonly ScriptedTurn[]): ScriptedProvider {
  const requests: { messages: readonly ModelMessage[]; options: GenerateOptions }[] = [];
  let calls = 0;
  const play = (turn: ScriptedTurn, messages: readonly ModelMessage[]): ModelAnswer => {
    if (typeof turn === "function") return play(turn(messages), messages);
    if (typeof turn === "string") return { text: turn, calls: [] };
    const spent = turn.tokens === undefined ? {} : { tokens: turn.tokens };
    return { ...spent, text: turn.text ?? "", calls: turn.calls.map((call) => ({ id: `call_${++calls}`, ...call })) };
  };
  return {
    requests,
    async generate(messages, options) {
      options.signal?.throwIfAborted();
      const turn = turns[requests.length];
      requests.push({ messages: [...messages], options });
      if (turn === undefined) throw new ProviderError("the scripted model has no more turns");
      return play(turn, messages);
    },
  };
}
