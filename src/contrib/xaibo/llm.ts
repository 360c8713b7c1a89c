import type { XaiboCall, XaiboTool } from "./contract/xaibo.ts";

/** A call requested by a model, with the id by which it recognizes the result. */
export type LLMFunctionCall = XaiboCall & { readonly id: string };

export type LLMMessage =
  | {
      readonly role: "system" | "user";
      readonly content: string;
      /** URLs of images, `data:` among them. */
      readonly images?: readonly string[];
    }
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

/** Constructors of messages. */
export const LLMMessage = {
  system: (content: string): LLMMessage => ({ role: "system", content }),
  user: (content: string): LLMMessage => ({ role: "user", content }),
  assistant: (content: string | null, tool_calls: readonly LLMFunctionCall[] = []): LLMMessage =>
    tool_calls.length === 0 ? { role: "assistant", content } : { role: "assistant", content, tool_calls },
  /** Result of a call; `text` is the model's part. */
  function_result: (id: string, name: string, text: string): LLMMessage => ({
    role: "function",
    id,
    name,
    content: text,
  }),
} as const;

/** Options of a model request. */
export interface LLMOptions {
  readonly temperature?: number;
  readonly max_tokens?: number;
  /** Tools that the model may call. */
  readonly functions?: readonly XaiboTool[];
  /** Aborted when the response is no longer needed. */
  readonly signal?: AbortSignal;
}

/** Response of a model: text, calls, or both. */
export interface LLMResponse {
  readonly content?: string | null;
  /** `problem`: the reason why a call with unreadable arguments is not made. The model gets this text. */
  readonly tool_calls?: readonly (XaiboCall & { readonly problem?: string })[] | null;
}

/** A model. */
export interface LLM {
  generate(messages: readonly LLMMessage[], options?: LLMOptions): Promise<LLMResponse>;
}
