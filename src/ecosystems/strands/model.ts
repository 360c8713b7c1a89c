import type { ToolDescription } from "../../tool/contracts/contract.ts";
import type { ToolCall, ToolResult } from "../../base/result.ts";
import { ProviderError } from "./errors.ts";

/** One message of a conversation, in our own words. */
export type ModelMessage =
  | { readonly role: "system" | "user"; readonly text: string }
  | { readonly role: "assistant"; readonly text: string; readonly calls: readonly ModelCall[] }
  | { readonly role: "tool"; readonly call: ModelCall; readonly result: ToolResult };

/** A call that a model asks for. */
export interface ModelCall extends ToolCall {
  readonly id: string;
  /** Why it cannot be made, where its arguments could not be read: it is answered with this instead. */
  readonly problem?: string;
}

/** What a model answers: it is done where it asks for no calls. */
export interface ModelAnswer {
  readonly text: string;
  readonly calls: readonly ModelCall[];
}

export interface GenerateOptions {
  readonly tools: readonly ToolDescription[];
  readonly model: string;
  readonly signal?: AbortSignal | undefined;
}

/** Who answers for a model. Rejects with a `ProviderError` where it cannot. */
export interface ModelProvider {
  generate(messages: readonly ModelMessage[], options: GenerateOptions): Promise<ModelAnswer>;
}

/** What a scripted model answers: a text, calls, or what it makes of the conversation so far. */
export type ScriptedTurn =
  | string
  | { readonly text?: string; readonly calls: readonly ToolCall[] }
  | ((messages: readonly ModelMessage[]) => ScriptedTurn);

/** A model for tests: no network, and the same every time. */
export interface ScriptedProvider extends ModelProvider {
  /** What it was asked, in order. */
  readonly requests: readonly { readonly messages: readonly ModelMessage[]; readonly options: GenerateOptions }[];
}

/** Answers with one turn after the other; asked for more than there are, it rejects with a `ProviderError`. */
export function scriptedProvider(turns: readonly ScriptedTurn[]): ScriptedProvider {
  const requests: { messages: readonly ModelMessage[]; options: GenerateOptions }[] = [];
  let calls = 0;
  const play = (turn: ScriptedTurn, messages: readonly ModelMessage[]): ModelAnswer => {
    if (typeof turn === "function") return play(turn(messages), messages);
    if (typeof turn === "string") return { text: turn, calls: [] };
    return { text: turn.text ?? "", calls: turn.calls.map((call) => ({ id: `call_${++calls}`, ...call })) };
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
