import { ContractError } from "../../kernel/tool/contracts/contract.ts";
import type { ModelOptions } from "../../kernel/tool/contracts/runner.ts";
import { xaibo, type XaiboResult, type XaiboTool } from "./contract/xaibo.ts";
import { READ_OUTPUT } from "../../kernel/tool/program/program.ts";
import { wordsOf } from "./errors.ts";
import { describeUnwritable } from "./json-value.ts";
import { type LLM, type LLMFunctionCall, LLMMessage, type LLMOptions, type LLMResponse } from "./llm.ts";
import { awaited } from "./patience.ts";
import type { ToolProviderProtocol } from "./protocol.ts";

export interface ConversationOptions extends ModelOptions {
  readonly llm: LLM;
  readonly provider: ToolProviderProtocol;
  /** Messages so far; the list is not changed. */
  readonly messages: readonly LLMMessage[];
  /** Options of each model request. Default of `functions`: the provider's tools. */
  readonly options?: LLMOptions;
  /** Maximum number of model responses. Default 10. */
  readonly maxTurns?: number;
  /** Timeout of one model response, in milliseconds. Default 120,000. */
  readonly llmMs?: number;
  /** Timeout of one call, in addition to an engine's limits, in milliseconds. Default 120,000. */
  readonly callMs?: number;
  /** Maximum size of one result for the model, in characters; a longer one becomes an error. Default 100,000. */
  readonly resultChars?: number;
  readonly signal?: AbortSignal;
}

/**
 * Result of a conversation. `answer`: the model made no more calls. `turns`: `maxTurns` was reached. `cancelled`: the
 * signal was aborted.
 */
export interface Conversation {
  readonly ended: "answer" | "turns" | "cancelled";
  /** All messages. Every call has its result. */
  readonly messages: readonly LLMMessage[];
  /** Last text of the model. */
  readonly content: string | null;
  /** Number of model responses. */
  readonly turns: number;
}

/** Thrown if the model fails. */
export class ConversationError extends Error {
  override readonly name = "ConversationError";
  /** Messages before the failure. Every call has its result. */
  readonly messages: readonly LLMMessage[];

  constructor(message: string, messages: readonly LLMMessage[], cause: unknown) {
    super(message, { cause });
    this.messages = messages;
  }
}

/** Maximum number of calls per response; further ones get an error as their result. */
const CALLS_MAX = 64;
const MAX_TURNS_DEFAULT = 10;
const WAIT_DEFAULT_MS = 120_000;
const RESULT_CHARS_DEFAULT = 100_000;

/**
 * Lets a model call tools until it responds without calls. Calls of one response run in parallel; their results are
 * sent in the order of the calls. A failed or malformed call, or a call of an unknown tool, is reported to the model,
 * so that it can correct it. A long output of an engine's tool is cut, and `read_output` reads further parts. Rejects
 * with a `ConversationError` if the model fails or times out, and with errors of `list_tools`.
 */
export async function runConversation(whole: ConversationOptions): Promise<Conversation> {
  const { modelChars } = whole;
  const provider = whole.provider.forModels?.(modelChars === undefined ? {} : { modelChars }) ?? whole.provider;
  const given = { ...whole, provider };
  const { llm, maxTurns = MAX_TURNS_DEFAULT, llmMs = WAIT_DEFAULT_MS, signal } = given;
  const messages = [...given.messages];
  let content: string | null = null;
  const end = (ended: Conversation["ended"], turns: number): Conversation => ({ ended, messages, content, turns });
  const list = () => awaited(() => provider.list_tools(), { ms: WAIT_DEFAULT_MS, what: "list_tools" });
  let functions = given.options?.functions ?? (await list());
  for (let turn = 1; turn <= maxTurns; turn++) {
    if (isCancelled(given)) return end("cancelled", turn - 1);
    let response: LLMResponse;
    const options = { ...given.options, functions, ...(signal === undefined ? {} : { signal }) };
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
    // Once an output was cut, the provider has `read_output`, too.
    if (provider !== whole.provider && functions.every(isNoReader))
      functions = [...functions, ...(await list()).filter((tool) => !isNoReader(tool))];
  }
  return end("turns", maxTurns);
}

function isNoReader({ name }: XaiboTool): boolean {
  return name !== READ_OUTPUT;
}

function isCancelled({ signal }: ConversationOptions): boolean {
  return signal?.aborted === true;
}

/** A requested call, and its problem if it is malformed. */
interface AskedCall {
  readonly call: LLMFunctionCall;
  readonly problem: string | null;
}

/** Parses requested calls, which are untrusted input: each gets an id and a name for its result. */
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

/** Runs a call and returns its result as a message. Never rejects. */
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

/** Result as text for the model: strings unchanged, other values as JSON. */
function textOf({ success, result = null, error }: XaiboResult): string {
  if (success !== true) return `Error: ${error ?? "the tool failed, and gave no error"}`;
  if (typeof result === "string") return result;
  const wrong = describeUnwritable(result);
  if (wrong !== null) throw new TypeError(`the result cannot be written as JSON: ${wrong}`);
  return JSON.stringify(result);
}
