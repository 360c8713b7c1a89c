import { callTools } from "../forms/call-tools.ts";
import { openaiResponses } from "../forms/openai-responses.ts";
import { forModel, type OfferOptions, offeredTools, type ToolRunner } from "../../../kernel/tool/contracts/runner.ts";

/** A function tool of `@openai/agents`. */
export interface OpenAiAgentTool {
  type: "function";
  name: string;
  description: string;
  parameters: OpenAiAgentParameters;
  strict: boolean;
  invoke(context: unknown, input: string, details?: OpenAiAgentCall): Promise<string>;
  needsApproval(): Promise<boolean>;
  isEnabled(): Promise<boolean>;
}

export interface OpenAiAgentParameters {
  type: "object";
  properties: Record<string, unknown>;
  required: string[];
  additionalProperties: boolean;
}

export interface OpenAiAgentCall {
  toolCall?: { callId: string };
  signal?: AbortSignal;
}

/**
 * The tools of an engine for `@openai/agents`: `new Agent({ tools: toolsForOpenAIAgents(engine) })`. The run's abort
 * signal cancels calls. The model reads the output as text, or `Error: ` and the message of a call that failed.
 */
export function toolsForOpenAIAgents(
  runner: ToolRunner,
  { names, modelChars, ...options }: OfferOptions = {},
): OpenAiAgentTool[] {
  const tools = forModel(runner, modelChars === undefined ? {} : { modelChars });
  return offeredTools(tools, names).map((tool) => {
    const { type, name, description, parameters, strict } = openaiResponses.writeTool(tool);
    const invoke = async (_context: unknown, input: string, { toolCall, signal }: OpenAiAgentCall = {}) => {
      const call = { type: "function_call", call_id: toolCall?.callId ?? "", name, arguments: input };
      const called = signal === undefined ? options : { ...options, signal };
      const [answer] = await callTools(tools, "openai-responses", [call], called);
      const output = answer?.output ?? "";
      return typeof output === "string" ? output : output.map(({ text }) => text).join("\n\n");
    };
    return {
      type,
      name,
      description,
      parameters: parametersOf(parameters),
      strict,
      invoke,
      needsApproval: () => Promise.resolve(false),
      isEnabled: () => Promise.resolve(true),
    };
  });
}

/** The package's types demand these members, which JSON Schema has as defaults. */
function parametersOf(schema: Record<string, unknown>): OpenAiAgentParameters {
  const { properties = {}, required = [], additionalProperties = true } = schema;
  const members = { properties, required, additionalProperties } as Omit<OpenAiAgentParameters, "type">;
  return { ...schema, type: "object", ...members };
}
