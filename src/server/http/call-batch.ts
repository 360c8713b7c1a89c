import type { FastifyReply } from "fastify";
import { toolError } from "../../kernel/base/errors.ts";
import { MAX_LIMITS } from "../../kernel/base/limits.ts";
import { failure, type ToolResult } from "../../kernel/base/result.ts";
import { type Answer, NO_HEADERS, refusal, writeResult } from "./answers.ts";
import type { ParsedBatch, ParsedCall } from "./call-body.ts";
import { type CallListeners, listenersFor } from "./call-stream.ts";
import { EventStream } from "./event-stream.ts";
import { LineStream } from "./line-stream.ts";

/** Maximum length of a batch's results together, in UTF-16 units: that of a single result. */
const RESULTS_MAX = MAX_LIMITS.outputBytes;

type Run = (parsed: ParsedCall, listeners?: CallListeners) => Promise<ToolResult>;

/** Counts a text until the returned function is called. */
export type Hold = (length: number) => (() => void) | undefined;

/** The response with all results, in the order of the calls, when every call has ended. `hold`: counts those that wait. */
export async function answerBatch(calls: ParsedBatch, run: Run, hold: Hold): Promise<Answer> {
  const results = new ResultTexts();
  const held: (() => void)[] = [];
  const write = (result: ToolResult): string => {
    const text = results.write(result);
    const release = hold(text.length);
    if (release !== undefined) held.push(release);
    return text;
  };
  const texts = await Promise.all(calls.map((call) => runOne(call, run).then(write)));
  for (const release of held) release();
  return { status: 200, headers: NO_HEADERS, parts: [`{"results":[${texts.join(",")}]}`] };
}

/** Responds to a batch with the events and results of its calls as they occur, each with the index of its call. */
export async function streamBatch(reply: FastifyReply, calls: ParsedBatch, run: Run): Promise<FastifyReply> {
  const stream = new EventStream(reply);
  const results = new ResultTexts();
  let left = calls.length;
  const runInto = async (call: ParsedCall | string, index: number): Promise<void> => {
    const listeners = listenersFor((event, data) => stream.send(event, JSON.stringify({ index, ...data })));
    const data = withIndex(index, results.write(await runOne(call, run, listeners)));
    if (--left > 0) stream.keep("result", data);
    else stream.end("result", [data]);
  };
  await Promise.all(calls.map(runInto));
  return reply;
}

/** Responds to a batch with a line for each result, as its call ends, with the index of the call. */
export async function listBatch(reply: FastifyReply, calls: ParsedBatch, run: Run): Promise<FastifyReply> {
  const stream = new LineStream(reply);
  const results = new ResultTexts();
  const write = (index: number, result: ToolResult): void => stream.send(withIndex(index, results.write(result)));
  await Promise.all(calls.map((call, index) => runOne(call, run).then((result) => write(index, result))));
  stream.end();
  return reply;
}

function withIndex(index: number, result: string): string {
  return `{"index":${index},"result":${result}}`;
}

function runOne(call: ParsedCall | string, run: Run, listeners?: CallListeners): Promise<ToolResult> {
  return typeof call === "string" ? Promise.resolve(refusal("invalid_arguments", call)) : run(call, listeners);
}

/** Serializes the results of a batch. Each result is within its tool's limit, but all together could exhaust memory. */
class ResultTexts {
  #length = 0;

  write(result: ToolResult): string {
    const text = writeResult(result).parts.join("");
    if (this.#length + text.length <= RESULTS_MAX) {
      this.#length += text.length;
      return text;
    }
    const message = `the results of a batch have at most ${RESULTS_MAX} characters together; make it smaller`;
    return writeResult(failure(toolError("output_too_large", message), { ...result.metadata, logs: [] })).parts.join(
      "",
    );
  }
}
