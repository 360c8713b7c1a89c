import { callTools } from "../forms/call-tools.ts";
import { type OpenAiInputImage, type OpenAiInputText, openaiResponses } from "../forms/openai-responses.ts";
import { isObject, memberOf } from "../../../kernel/base/json.ts";
import type { Engine } from "../../../kernel/engine/engine.ts";
import { findName } from "../../../kernel/tool/contracts/portable-name.ts";
import {
  type OfferOptions,
  offeredTools,
  type RunOptions,
  type ToolRunner,
} from "../../../kernel/tool/contracts/runner.ts";
import { approvedRunner, decisionOf, engineOf, type ModelCall, StoredApprovals } from "./stored-approvals.ts";

/** A function tool of `@openai/agents`. */
export interface OpenAiAgentTool {
  type: "function";
  name: string;
  description: string;
  parameters: OpenAiAgentParameters;
  strict: boolean;
  /** Resolves with a text, or with a list if the output has images. */
  invoke(context: unknown, input: string, details?: OpenAiAgentCall): Promise<string | OpenAiAgentOutput[]>;
  /** Whether a person has to decide about the call: then it is stored. */
  needsApproval(context?: unknown, input?: unknown, callId?: string): Promise<boolean>;
  isEnabled(): Promise<boolean>;
}

export interface OpenAiAgentParameters {
  type: "object";
  properties: Record<string, unknown>;
  required: string[];
  additionalProperties: boolean;
}

/** A part of an output: a text, or an image as a `data:` URL. */
export type OpenAiAgentOutput = { type: "text"; text: string } | { type: "image"; image: string };

export interface OpenAiAgentCall {
  toolCall?: { callId: string };
  signal?: AbortSignal;
}

/** The state of a run, as far as its interruptions are answered. */
export interface OpenAiAgentState<Item extends OpenAiAgentInterruption = OpenAiAgentInterruption> {
  getInterruptions(): readonly Item[];
  approve(item: Item): void;
  reject(item: Item, options?: { message?: string }): void;
}

export interface OpenAiAgentInterruption {
  rawItem: object;
}

/**
 * The tools of an engine for `@openai/agents`: `new Agent({ tools: toolsForOpenAIAgents(engine) })`. The run's abort
 * signal cancels calls. The model reads the output as text, sees its images, or reads `Error: ` and the message of a
 * call that failed. A call that a person has to approve is stored, and interrupts the run: `approvalsForOpenAIAgents`
 * answers after the decision.
 */
export function toolsForOpenAIAgents(
  runner: ToolRunner,
  { names, modelChars, ...options }: OfferOptions = {},
): OpenAiAgentTool[] {
  const engine = engineOf(runner);
  const approvals = engine === null ? null : new StoredApprovals(engine, options);
  /** Calls whose approval another process has requested, while they run here. */
  const resumed = new Set<string>();
  const chars = modelChars === undefined ? {} : { modelChars };
  const tools = approvedRunner(runner, approvals, chars, ({ id }) => resumed.has(id));
  return offeredTools(tools, names).map((tool) => {
    const { type, name, description, parameters, strict } = openaiResponses.writeTool(tool);
    const invoke = async (context: unknown, input: string, { toolCall, signal }: OpenAiAgentCall = {}) => {
      const callId = toolCall?.callId ?? "";
      const call = { type: "function_call", call_id: callId, name, arguments: input };
      const called = signal === undefined ? options : { ...options, signal };
      if (isApproved(context, name, callId)) resumed.add(callId);
      const [answer] = await callTools(tools, "openai-responses", [call], called);
      resumed.delete(callId);
      const output = answer?.output ?? "";
      if (typeof output === "string") return output;
      const parts = output.map(writePart);
      return parts.some(({ type: kind }) => kind === "image")
        ? parts
        : parts.map((part) => (part.type === "text" ? part.text : "")).join("\n\n");
    };
    return {
      type,
      name,
      description,
      parameters: parametersOf(parameters),
      strict,
      invoke,
      needsApproval: async (_context, input, callId) => {
        if (approvals === null || callId === undefined || !isObject(input)) return false;
        return approvals.isNeeded({ id: callId, name: tool.name, arguments: input });
      },
      isEnabled: () => Promise.resolve(true),
    };
  });
}

/**
 * Answers all interruptions of a run by an engine's tools, from the engine's store. Resolves with whether all of them
 * are decided: `run(agent, state)` then continues the run. The state decides nothing.
 */
export async function approvalsForOpenAIAgents<Item extends OpenAiAgentInterruption>(
  engine: Engine,
  state: OpenAiAgentState<Item>,
  options: Pick<RunOptions, "tenant"> = {},
): Promise<boolean> {
  const approvals = new StoredApprovals(engine, options);
  let isDecided = true;
  for (const item of state.getInterruptions()) {
    const call = readCall(engine, item.rawItem);
    const stored = call && (await approvals.find(call));
    // It is for a tool outside the engine.
    if (stored === undefined) continue;
    const decision = decisionOf(stored);
    if (decision === null) isDecided = false;
    else if (decision.approved) state.approve(item);
    else state.reject(item, decision.reason === undefined ? {} : { message: decision.reason });
  }
  return isDecided;
}

function writePart(part: OpenAiInputText | OpenAiInputImage): OpenAiAgentOutput {
  return part.type === "input_text" ? { type: "text", text: part.text } : { type: "image", image: part.image_url };
}

function readCall(tools: ToolRunner, item: object): ModelCall | undefined {
  if (memberOf(item, "type") !== "function_call") return undefined;
  const { id = "", ...call } = openaiResponses.readCall({ ...item, call_id: memberOf(item, "callId") });
  return { ...call, id, name: findName(tools, call.name) };
}

/** Whether the run has an approval of a call. This is only a hint: the store decides whether there is one. */
function isApproved(context: unknown, toolName: string, callId: string): boolean {
  return isDecider(context) && context.isToolApproved({ toolName, callId }) === true;
}

function isDecider(
  context: unknown,
): context is { isToolApproved(call: { readonly toolName: string; readonly callId: string }): boolean | undefined } {
  return typeof context === "object" && context !== null && "isToolApproved" in context;
}

/** The package's types demand these members, which JSON Schema has as defaults. */
function parametersOf(schema: Record<string, unknown>): OpenAiAgentParameters {
  const { properties = {}, required = [], additionalProperties = true } = schema;
  const members = { properties, required, additionalProperties } as Omit<OpenAiAgentParameters, "type">;
  return { ...schema, type: "object", ...members };
}
