import { toolError } from "../../kernel/base/errors.ts";
import { emptyMetadata, failure, type ToolResult } from "../../kernel/base/result.ts";
import type { ToolDescription } from "../../kernel/tool/contracts/contract.ts";
import { TurnLimitError } from "./errors.ts";
import type { Inference } from "./workflow.ts";
import type { ModelAnswer, ModelCall, ModelMessage, ModelProvider } from "./model.ts";

/** Tools of an agent. */
export interface AgentTools {
  /** They may become more with a call: a long output is read on with `read_output`. */
  readonly descriptions: readonly ToolDescription[];
  /** Never rejects: the result reports a failed or forbidden tool to the model. */
  call(call: ModelCall, signal: AbortSignal | undefined): Promise<ToolResult>;
}

export interface AgentOptions {
  readonly provider: ModelProvider;
  readonly model: string;
  readonly inference?: Inference;
  readonly tools: AgentTools;
  /** Maximum number of requests to the model. */
  readonly maxTurns: number;
  readonly signal?: AbortSignal | undefined;
}

/** Final text of an agent, with the turns and calls that led to it. */
export interface AgentAnswer {
  readonly text: string;
  readonly turns: number;
  readonly calls: readonly { readonly name: string; readonly success: boolean }[];
}

/** Maximum number of calls per turn. */
const CALLS_MAX = 32;
/** Maximum size of tool outputs in one step, in UTF-16 units of JSON: all of it is sent to the model in each turn. */
const ANSWERS_MAX = 16 * 1024 * 1024;

/**
 * Requests turns from a model and runs its calls in parallel, until it makes no more calls. Rejects with a
 * `TurnLimitError` if that takes too many turns or too much text, and with the provider's errors.
 */
export async function askAgent(prompt: string, input: string, options: AgentOptions): Promise<AgentAnswer> {
  const { provider, model, inference, tools, maxTurns, signal } = options;
  const generation = { model, signal, ...(inference === undefined ? {} : { inference }) };
  const messages: ModelMessage[] = [
    { role: "system", text: prompt },
    { role: "user", text: input },
  ];
  let answered = 0;
  const made: { name: string; success: boolean }[] = [];
  for (let turns = 1; turns <= maxTurns; turns++) {
    const answer: ModelAnswer = await provider.generate(messages, { tools: tools.descriptions, ...generation });
    // A provider may ignore the signal.
    signal?.throwIfAborted();
    if (answer.calls.length === 0) return { text: answer.text, turns, calls: made };
    messages.push({ role: "assistant", text: answer.text, calls: answer.calls });
    const results = await Promise.all(answer.calls.map((call, index) => answerCall(call, index, tools, signal)));
    signal?.throwIfAborted();
    for (const [index, call] of answer.calls.entries()) {
      const result = results[index];
      if (result === undefined) continue;
      answered += JSON.stringify(result.output)?.length ?? 0;
      if (answered > ANSWERS_MAX) throw new TurnLimitError("the agent's tools answered more than a model can be told");
      messages.push({ role: "tool", call, result });
      made.push({ name: call.name, success: result.success });
    }
  }
  throw new TurnLimitError(`the agent had no answer after ${maxTurns} turns`);
}

async function answerCall(
  call: ModelCall,
  index: number,
  tools: AgentTools,
  signal: AbortSignal | undefined,
): Promise<ToolResult> {
  const refuse = (message: string) =>
    failure(toolError("invalid_arguments", message), emptyMetadata(call.id, call.name, 0));
  if (call.problem !== undefined) return refuse(call.problem);
  if (index >= CALLS_MAX) return refuse(`no more than ${CALLS_MAX} calls can be made in one turn`);
  return tools.call(call, signal);
}
