import { ContractError } from "../../tool/contracts/contract.ts";
import { xaibo, type XaiboResult } from "../../tool/contracts/xaibo.ts";
import { wordsOf } from "./errors.ts";
import { describeUnwritable } from "./json-value.ts";
import { type LLM, type LLMFunctionCall, LLMMessage, type LLMOptions, type LLMResponse } from "./llm.ts";
import { awaited } from "./patience.ts";
import type { ToolProviderProtocol } from "./protocol.ts";

export interface ConversationOptions {
  readonly llm: LLM;
  readonly provider: ToolProviderProtocol;
  /** What was said so far; it is not changed. */
  readonly messages: readonly LLMMessage[];
  /** For each question to the model. `functions` are the provider's tools where nothing else is said. */
  readonly options?: LLMOptions;
  /** Answers of the model, at most. Default 10. */
  readonly maxTurns?: number;
  /** Longest time for one answer of the model, in milliseconds. Default 120,000. */
  readonly llmMs?: number;
  /** Longest time for one call, besides the limits that an engine has for it, in milliseconds. Default 120,000. */
  readonly callMs?: number;
  /** Characters of one result that the model gets at most; what is longer is an error that says so. Default 100,000. */
  readonly resultChars?: number;
  readonly signal?: AbortSignal;
}

/** How a conversation ended: the model answered without calling, had no more turns, or nobody waited any more. */
export interface Conversation {
  readonly ended: "answer" | "turns" | "cancelled";
  /** All messages. Every call in them has its result. */
  readonly messages: readonly LLMMessage[];
  /** The model's last text. */
  readonly content: string | null;
  /** Answers of the model. */
  readonly turns: number;
}

/** The model failed. */
export class ConversationError extends Error {
  override readonly name = "ConversationError";
  /** What was said until then. Every call in them has its result. */
  readonly messages: readonly LLMMessage[];

  constructor(message: string, messages: readonly LLMMessage[], cause: unknown) {
    super(message, { cause });
    this.messages = messages;
  }
}

/** Calls of one answer that are made; those beyond get an error as their result. */
const CALLS_MAX = 64;
const MAX_TURNS_DEFAULT = 10;
const WAIT_DEFAULT_MS = 120_000;
const RESULT_CHARS_DEFAULT = 100_000;

/**
 * Lets a model call tools until it answers without: asks it, makes the calls of its answer side by side, tells it the
 * results in the order of the calls, and asks again. A call that fails, that is malformed, or that names no tool is told
 * to the model, so that it can do better.
 * Rejects with a `ConversationError` where the model fails or does not answer in time, and with what `list_tools` throws.
 */
export async function runConversation(given: ConversationOptions): Promise<Conversation> {
  const { llm, provider, maxTurns = MAX_TURNS_DEFAULT, llmMs = WAIT_DEFAULT_MS, signal } = given;
  const messages = [...given.messages];
  let content: string | null = null;
  const end = (ended: Conversation["ended"], turns: number): Conversation => ({ ended, messages, content, turns });
  const functions =
    given.options?.functions ??
    (await awaited(() => provider.list_tools(), { ms: WAIT_DEFAULT_MS, what: "list_tools" }));
  const options = { ...given.options, functions, ...(signal === undefined ? {} : { signal }) };
  for (let turn = 1; turn <= maxTurns; turn++) {
    if (isCancelled(given)) return end("cancelled", turn - 1);
    let response: LLMResponse;
    try {
      const ask = () => llm.generate([...messages], options);
      response = await awaited(ask, { ms: llmMs, what: "the model's answer", signal });
    } catch (error) {
      if (isCancelled(given)) return end("cancelled", turn - 1);
      throw new ConversationError(`the model failed in turn ${turn}: ${wordsOf(error)}`, messages, error);
    }
    const calls = callsOf(response, turn);
    content = typeof response?.content === "string" ? response.content : null;
    messages.push(
      LLMMessage.assistant(
        content,
        calls.map(({ call }) => call),
      ),
    );
    if (calls.length === 0) return end("answer", turn);
    messages.push(...(await Promise.all(calls.map((call, at) => resultOf(call, at, given)))));
  }
  return end("turns", maxTurns);
}

function isCancelled({ signal }: ConversationOptions): boolean {
  return signal?.aborted === true;
}

/** A call, and what is wrong with it. */
interface AskedCall {
  readonly call: LLMFunctionCall;
  readonly problem: string | null;
}

/** What a model asks for is hostile input: each call gets an id, and a name, by which it can be answered. */
function callsOf(response: LLMResponse, turn: number): readonly AskedCall[] {
  const asked: unknown = response?.tool_calls ?? [];
  if (!Array.isArray(asked)) return [];
  return asked.map((one: unknown, at): AskedCall => {
    const id = `call_${turn}_${at + 1}`;
    try {
      const { problem }: { readonly problem?: unknown } = Object(one);
      return { call: { id, ...xaibo.readCall(one) }, problem: typeof problem === "string" ? problem : null };
    } catch (error) {
      if (!(error instanceof ContractError)) throw error;
      const { id: ownId, name }: { readonly id?: unknown; readonly name?: unknown } = Object(one);
      const known = { id: typeof ownId === "string" ? ownId : id, name: typeof name === "string" ? name : "unknown" };
      return { call: { ...known, arguments: {} }, problem: `the call cannot be read: ${error.message}` };
    }
  });
}

/** Makes a call and writes down what came of it. Never rejects. */
async function resultOf({ call, problem }: AskedCall, at: number, given: ConversationOptions): Promise<LLMMessage> {
  const { provider, callMs = WAIT_DEFAULT_MS, resultChars = RESULT_CHARS_DEFAULT, signal } = given;
  const { id, name } = call;
  const failed = (why: string) => LLMMessage.function_result(id, name, `Error: ${why}`);
  if (problem !== null) return failed(problem);
  if (at >= CALLS_MAX) return failed(`only ${CALLS_MAX} calls of one answer are made; make this one again`);
  try {
    const context = { id, ...(signal === undefined ? {} : { signal }) };
    const execute = () => provider.execute_tool(name, call.arguments, context);
    const result = await awaited(execute, { ms: callMs, what: `Tool '${name}'`, signal });
    const text = textOf(result);
    if (text.length <= resultChars) return LLMMessage.function_result(id, name, text);
    return failed(`the result has ${text.length} characters, the limit is ${resultChars}; ask for less`);
  } catch (error) {
    return failed(wordsOf(error));
  }
}

/** What the model reads: text as it is, anything else as JSON. */
function textOf({ success, result = null, error }: XaiboResult): string {
  if (success !== true) return `Error: ${error ?? "the tool failed, and gave no error"}`;
  if (typeof result === "string") return result;
  const wrong = describeUnwritable(result);
  if (wrong !== null) throw new TypeError(`the result cannot be written as JSON: ${wrong}`);
  return JSON.stringify(result);
}
