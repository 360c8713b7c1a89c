import { memberOf } from "../../kernel/base/json.ts";
import { forModels } from "../../kernel/base/result.ts";
import { ContractError } from "../../kernel/tool/contracts/contract.ts";
import { openaiChat } from "../agents/forms/openai-chat.ts";
import { readName, writeName } from "../../kernel/tool/contracts/portable-name.ts";
import { ProviderError } from "./errors.ts";
import type { GenerateOptions, ModelAnswer, ModelCall, ModelMessage } from "./model.ts";

const CALLS_MAX = 128;
const ID_MAX = 256;

/** Body of a request to `chat/completions`. */
export function writeRequest(
  messages: readonly ModelMessage[],
  { tools, model, inference = {} }: GenerateOptions,
): string {
  const { temperature, top_p, max_tokens } = inference;
  return JSON.stringify({
    model,
    // Those that are not set are left out.
    temperature,
    top_p,
    max_tokens,
    messages: messages.map(writeMessage),
    stream: false,
    ...(tools.length === 0 ? {} : { tools: tools.map((tool) => openaiChat.writeTool(tool)) }),
  });
}

function writeMessage(message: ModelMessage): unknown {
  switch (message.role) {
    case "system":
    case "user":
      return { role: message.role, content: message.text };
    case "assistant":
      return {
        role: "assistant",
        content: message.text,
        // Servers refuse an empty list.
        ...(message.calls.length === 0 ? {} : { tool_calls: message.calls.map((call) => openaiChat.writeCall(call)) }),
      };
    case "tool":
      return openaiChat.writeResult(forModels(message.result));
  }
}

/** Parses a response of `chat/completions`, which is untrusted input. Throws a `ProviderError` if it is invalid. */
export function readResponse(body: unknown, options: GenerateOptions): ModelAnswer {
  const choices = memberOf(body, "choices");
  const message = memberOf(Array.isArray(choices) ? choices[0] : undefined, "message");
  if (typeof message !== "object" || message === null) throw new ProviderError("the model's answer holds no message");
  const content = memberOf(message, "content");
  const calls = memberOf(message, "tool_calls") ?? [];
  if (!Array.isArray(calls)) throw new ProviderError("the model's answer has tool_calls that are no list");
  if (calls.length > CALLS_MAX) throw new ProviderError(`the model asks for more than ${CALLS_MAX} calls at once`);
  const tokens = memberOf(memberOf(body, "usage"), "total_tokens");
  return {
    ...(typeof tokens === "number" && tokens >= 0 ? { tokens } : {}),
    text: typeof content === "string" ? content : "",
    calls: calls.map((call: unknown, index) => readCall(call, index, options)),
  };
}

function readCall(call: unknown, index: number, { tools }: GenerateOptions): ModelCall {
  const called = memberOf(call, "function");
  const written = memberOf(called, "name");
  if (typeof written !== "string" || written === "")
    throw new ProviderError("the model asks for a call without a name");
  // A name too long for the protocol was truncated; only the list of tools has the full one.
  const name = tools.find((tool) => writeName(tool.name) === written)?.name ?? readName(written);
  const given = memberOf(call, "id");
  const id = typeof given === "string" && given !== "" && given.length <= ID_MAX ? given : `call_${index + 1}`;
  try {
    const args = writtenArguments(memberOf(called, "arguments"));
    const read = openaiChat.readCall({ id, type: "function", function: { name: written, arguments: args } });
    return { id, name, arguments: read.arguments };
  } catch (error) {
    if (!(error instanceof ContractError)) throw error;
    return { id, name, arguments: {}, problem: error.message };
  }
}

/** Some models omit empty arguments, and some servers send them as an object. */
function writtenArguments(given: unknown): unknown {
  if (given === undefined || given === null) return "";
  return typeof given === "object" ? JSON.stringify(given) : given;
}
