import type { XaiboCall, XaiboTool } from "../../tool/contracts/xaibo.ts";

/** A call that a model asks for: with an id, by which it knows the result. */
export type LLMFunctionCall = XaiboCall & { readonly id: string };

export type LLMMessage =
  | { readonly role: "system" | "user"; readonly content: string }
  | {
      readonly role: "assistant";
      readonly content: string | null;
      readonly tool_calls?: readonly LLMFunctionCall[];
    }
  | {
      readonly role: "function";
      readonly id: string;
      readonly name: string;
      readonly content: string;
    };

/** Makes messages. */
export const LLMMessage = {
  system: (content: string): LLMMessage => ({ role: "system", content }),
  user: (content: string): LLMMessage => ({ role: "user", content }),
  assistant: (content: string | null, tool_calls: readonly LLMFunctionCall[] = []): LLMMessage =>
    tool_calls.length === 0 ? { role: "assistant", content } : { role: "assistant", content, tool_calls },
  /** What came of a call; `text` is the result as the model shall read it. */
  function_result: (id: string, name: string, text: string): LLMMessage => ({
    role: "function",
    id,
    name,
    content: text,
  }),
} as const;

/** What a model is asked for, besides the messages. */
export interface LLMOptions {
  readonly temperature?: number;
  readonly max_tokens?: number;
  /** Tools that it may call. */
  readonly functions?: readonly XaiboTool[];
  /** Nobody waits any more. */
  readonly signal?: AbortSignal;
}

/** A model's answer: text, calls, or both. */
export interface LLMResponse {
  readonly content?: string | null;
  /** `problem`: why a call cannot be made, where its arguments could not be read. The model is told. */
  readonly tool_calls?: readonly (XaiboCall & { readonly problem?: string })[] | null;
}

/** A model. */
export interface LLM {
  generate(messages: readonly LLMMessage[], options?: LLMOptions): Promise<LLMResponse>;
}
