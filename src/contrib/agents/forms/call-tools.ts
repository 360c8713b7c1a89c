import { memberOf } from "../../../kernel/base/json.ts";
import { toolError } from "../../../kernel/base/errors.ts";
import { emptyMetadata, failure, forModels, type ToolResult, withMetadata } from "../../../kernel/base/result.ts";
import { anthropic, type AnthropicToolResult } from "./anthropic.ts";
import { type Contract, ContractError } from "../../../kernel/tool/contracts/contract.ts";
import { gemini, type GeminiResponsePart } from "./gemini.ts";
import { openaiChat, type OpenAiToolMessage } from "./openai-chat.ts";
import { type OpenAiCallOutput, openaiResponses } from "./openai-responses.ts";
import { findName, readName } from "../../../kernel/tool/contracts/portable-name.ts";
import {
  forModel,
  type ModelOptions,
  type RunOptions,
  type ToolRunner,
} from "../../../kernel/tool/contracts/runner.ts";

/** The results of a model's calls, by contract: messages or items to append to the conversation. */
export interface Answers {
  readonly "openai-chat": OpenAiToolMessage;
  readonly "openai-responses": OpenAiCallOutput;
  readonly anthropic: { role: "user"; content: AnthropicToolResult[] };
  readonly gemini: { role: "user"; parts: GeminiResponsePart[] };
}

/** The form in which a contract's model calls several tools in one message. */
interface Turn<Answer> {
  readonly contract: Contract;
  /** The calls in a message, which may be any value. */
  readonly find: (message: unknown) => readonly unknown[];
  /** The id and the name of a call that may otherwise be invalid. */
  readonly identify: (call: unknown) => { readonly id: unknown; readonly name: unknown };
  /** The messages for results in the form for models. */
  readonly answer: (results: readonly ToolResult[]) => Answer[];
}

const TURNS: { readonly [Name in keyof Answers]: Turn<Answers[Name]> } = {
  "openai-chat": {
    contract: openaiChat,
    find: (message) => listOf(message, "tool_calls"),
    identify: (call) => ({ id: memberOf(call, "id"), name: memberOf(memberOf(call, "function"), "name") }),
    answer: (results) => results.map((result) => openaiChat.writeResult(result)),
  },
  "openai-responses": {
    contract: openaiResponses,
    find: (message) => (Array.isArray(message) ? message : listOf(message, "output")).filter(isOf("function_call")),
    identify: (call) => ({ id: memberOf(call, "call_id"), name: memberOf(call, "name") }),
    answer: (results) => results.map((result) => openaiResponses.writeResult(result)),
  },
  anthropic: {
    contract: anthropic,
    find: (message) => listOf(message, "content").filter(isOf("tool_use")),
    identify: (call) => ({ id: memberOf(call, "id"), name: memberOf(call, "name") }),
    answer: (results) => [{ role: "user", content: results.map((result) => anthropic.writeResult(result)) }],
  },
  gemini: {
    contract: gemini,
    find: (message) => listOf(message, "parts").filter((part) => memberOf(part, "functionCall") !== undefined),
    identify: (part) => {
      const call = memberOf(part, "functionCall");
      return { id: memberOf(call, "id"), name: memberOf(call, "name") };
    },
    answer: (results) => [{ role: "user", parts: results.map((result) => gemini.writeResult(result)) }],
  },
};

/**
 * Runs all calls of a model's message concurrently and returns the results to append: for OpenAI's chat a message for
 * each call, for OpenAI's responses an item for each (`message` is the response or its `output`), for Anthropic and
 * Gemini one message with all results. Empty if the message has no calls. Every call gets a result: a call that is
 * malformed or names an unknown tool gets an error. A long output is cut, and calls of `read_output` read on in it: offer
 * the model the tools of `engine.forModels()`, which have it.
 */
export async function callTools<Name extends keyof Answers>(
  runner: ToolRunner,
  contract: Name,
  message: unknown,
  { modelChars, ...options }: Pick<RunOptions, "tenant" | "signal"> & ModelOptions = {},
): Promise<Answers[Name][]> {
  if (!Object.hasOwn(TURNS, contract)) {
    const shown = JSON.stringify(String(contract).slice(0, 100));
    throw new TypeError(`callTools knows no form ${shown}; give one of ${Object.keys(TURNS).join(", ")}`);
  }
  const turn: Turn<Answers[Name]> = TURNS[contract];
  const tools = forModel(runner, modelChars === undefined ? {} : { modelChars });
  const results = await Promise.all(turn.find(message).map((call) => run(tools, turn, call, options)));
  return results.length === 0 ? [] : turn.answer(results.map(forModels));
}

async function run(
  runner: ToolRunner,
  { contract, identify }: Turn<unknown>,
  message: unknown,
  options: RunOptions,
): Promise<ToolResult> {
  const { id, name } = identify(message);
  // The result carries the id that the model gave the call, or none.
  const callId = typeof id === "string" ? id : "";
  try {
    const call = contract.readCall(message);
    const result = await runner.execute({ ...call, name: findName(runner, call.name) }, options);
    return withMetadata(result, { ...result.metadata, callId });
  } catch (error) {
    if (!(error instanceof ContractError)) throw error;
    const tool = typeof name === "string" ? readName(name) : "";
    return failure(toolError("invalid_arguments", error.message), emptyMetadata(callId, tool, 0));
  }
}

function listOf(value: unknown, name: string): readonly unknown[] {
  const list = memberOf(value, name);
  return Array.isArray(list) ? list : [];
}

function isOf(type: string): (value: unknown) => boolean {
  return (value) => memberOf(value, "type") === type;
}
