import type { ToolDescription } from "../../contracts/contract.ts";
import type { ToolResult } from "../../result.ts";
import { ProviderError } from "./errors.ts";
import type { GenerateOptions, ModelAnswer, ModelCall, ModelMessage } from "./model.ts";

const CALLS_MAX = 128;
const ID_MAX = 256;

/** What is sent to `chat/completions`. */
export function writeRequest(messages: readonly ModelMessage[], { tools, model }: GenerateOptions): string {
  return JSON.stringify({
    model,
    messages: messages.map(writeMessage),
    stream: false,
    ...(tools.length === 0 ? {} : { tools: tools.map(writeTool) }),
  });
}

function writeMessage(message: ModelMessage): unknown {
  switch (message.role) {
    case "system":
    case "user":
      return { role: message.role, content: message.text };
    case "assistant":
      return { role: "assistant", content: message.text, tool_calls: message.calls.map(writeCall) };
    case "tool":
      return { role: "tool", tool_call_id: message.call.id, content: writeContent(message.result) };
  }
}

function writeTool({ name, description, inputSchema }: ToolDescription): unknown {
  return { type: "function", function: { name, description, parameters: inputSchema } };
}

function writeCall({ id, name, arguments: args }: ModelCall): unknown {
  return { id, type: "function", function: { name, arguments: JSON.stringify(args) } };
}

function writeContent({ success, output, error }: ToolResult): string {
  if (!success) return `Error: ${error?.message ?? "the tool failed"}`;
  return typeof output === "string" ? output : JSON.stringify(output ?? null);
}

/** What `chat/completions` answered: hostile input. Throws a `ProviderError` where it is no answer. */
export function readResponse(body: unknown): ModelAnswer {
  const choices = field(body, "choices");
  const message = field(Array.isArray(choices) ? choices[0] : undefined, "message");
  if (typeof message !== "object" || message === null) throw new ProviderError("the model's answer holds no message");
  const content = field(message, "content");
  const calls = field(message, "tool_calls") ?? [];
  if (!Array.isArray(calls)) throw new ProviderError("the model's answer has tool_calls that are no list");
  if (calls.length > CALLS_MAX) throw new ProviderError(`the model asks for more than ${CALLS_MAX} calls at once`);
  return { text: typeof content === "string" ? content : "", calls: calls.map(readCall) };
}

function readCall(call: unknown, index: number): ModelCall {
  const name = field(field(call, "function"), "name");
  if (typeof name !== "string" || name === "") throw new ProviderError("the model asks for a call without a name");
  const given = field(call, "id");
  const id = typeof given === "string" && given !== "" && given.length <= ID_MAX ? given : `call_${index + 1}`;
  const args = readArguments(field(field(call, "function"), "arguments"));
  return args === null
    ? { id, name, arguments: {}, problem: "the arguments are not a JSON object" }
    : { id, name, arguments: args };
}

/** Some models answer with an empty text where there are none, some with the object itself. */
function readArguments(given: unknown): Record<string, unknown> | null {
  if (given === undefined || given === null || given === "") return {};
  if (isRecord(given)) return given;
  try {
    const value: unknown = typeof given === "string" ? JSON.parse(given) : null;
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}

/** An object's own property. */
export function field(value: unknown, key: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
  return Reflect.get(value, key);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
