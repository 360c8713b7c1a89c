import { xaibo } from "./contract/xaibo.ts";
import { emptyMetadata, success } from "../../kernel/base/result.ts";
import type { ModelCall, ModelMessage, ModelProvider } from "../strands/model.ts";
import type { LLM, LLMFunctionCall, LLMMessage } from "./llm.ts";

/**
 * Adapts a model provider of the Strands ecosystem to an LLM: `chatProvider` for servers with chat completions,
 * `scriptedProvider` for tests. Ignores `temperature` and `max_tokens`: the server sets them.
 */
export function modelLLM(provider: ModelProvider, model: string): LLM {
  return {
    generate: async (messages, { functions = [], signal } = {}) => {
      const tools = functions.map((tool) => xaibo.readTool(tool));
      const { text, calls } = await provider.generate(messages.map(toModel), { tools, model, signal });
      return { content: text, tool_calls: calls };
    },
  };
}

function toModel(message: LLMMessage): ModelMessage {
  switch (message.role) {
    case "system":
    case "user":
      if ((message.images ?? []).length > 0) throw new TypeError("this model takes no images; give another LLM");
      return { role: message.role, text: message.content };
    case "assistant":
      return { role: "assistant", text: message.content ?? "", calls: (message.tool_calls ?? []).map(toCall) };
    case "function": {
      const { id, name, content } = message;
      // The text itself shows whether it is an error.
      const result = success(content, emptyMetadata(id, name, 0));
      return { role: "tool", call: { id, name, arguments: {} }, result };
    }
  }
}

function toCall({ id, name, arguments: args }: LLMFunctionCall): ModelCall {
  return { id, name, arguments: { ...args } };
}
