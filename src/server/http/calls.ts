import type { IncomingMessage, ServerResponse } from "node:http";
import type { FastifyInstance, FastifyReply } from "fastify";
import { StoreError } from "../../kernel/base/errors.ts";
import type { ToolResult } from "../../kernel/base/result.ts";
import { type EndWait, WAIT_MAX_MS } from "../../kernel/engine/durable/durable-calls.ts";
import type { Caller } from "../access/caller.ts";
import type { ScopedEngine } from "../access/scoped-engine.ts";
import { type Answer, answerOf, refusal, sendAnswer, sendRefusal } from "./answers.ts";
import { EXECUTE, EXECUTE_BATCH } from "./api/call-routes.ts";
import { answerBatch, type Hold, listBatch, streamBatch } from "./call-batch.ts";
import { NO_OPTIONS, parseBatch, type ParsedBatch, type ParsedCall, readCall } from "./call-body.ts";
import { type CallListeners, streamCall } from "./call-stream.ts";
import { disconnection } from "./disconnection.ts";
import { callerOf, refuseOthers, type Surface } from "./surface.ts";
import { EVENT_STREAM } from "./event-stream.ts";
import { LINES } from "./line-stream.ts";
import { chooseType } from "./media-type.ts";

const BATCH_CALLS_DEFAULT = 256;
/** Media types of answers; the first is the default. */
export const TYPES = ["application/json", EVENT_STREAM] as const;
export const BATCH_TYPES = [...TYPES, LINES] as const;
export const EXECUTE_URL = "/v1/execute";
export const BATCH_URL = "/v1/execute/batch";
const NO_BATCH_KEY = "a batch has no Idempotency-Key: its calls have one each, in options";

/** Adds the routes that run tools. */
export function addCalls(app: FastifyInstance, { gate, batchCalls, basePathOf = () => "" }: Surface): void {
  const config = { role: "execute", api: EXECUTE, cutting: "call" } as const;
  app.post(EXECUTE_URL, { config }, async (request, reply) => {
    const { body, headers, raw } = request;
    const sent = { body, caller: callerOf(request), raw };
    const type = chooseType(headers.accept, TYPES);
    if (type === null) return refuseTypes(reply, TYPES);
    const basePath = basePathOf(request);
    if (type !== EVENT_STREAM) return sendAnswer(reply, await executeBody(gate, sent, reply.raw, basePath));
    const parsed = readCall(body, headers);
    if (typeof parsed === "string") return sendRefusal(reply, "invalid_arguments", parsed);
    const run = runner(gate, sent, reply.raw);
    return streamCall(reply, (listeners) => run(parsed, listeners));
  });
  refuseOthers(app, EXECUTE_URL, ["POST"]);

  const batchConfig = { role: "execute", api: EXECUTE_BATCH, cutting: "batch" } as const;
  app.post(BATCH_URL, { config: batchConfig }, async (request, reply) => {
    const { body, headers, raw } = request;
    const sent = { body, caller: callerOf(request), raw };
    const type = chooseType(headers.accept, BATCH_TYPES);
    if (type === null) return refuseTypes(reply, BATCH_TYPES);
    if (type === TYPES[0]) {
      const hold: Hold = (length) => app.unread?.hold(request, length);
      return sendAnswer(reply, await executeBatch(gate, sent, reply.raw, { batchCalls, hold }));
    }
    const calls = readBatch(sent, batchCalls);
    if (typeof calls === "string") return sendRefusal(reply, "invalid_arguments", calls);
    const run = runner(gate, sent, reply.raw);
    return type === LINES ? listBatch(reply, calls, run) : streamBatch(reply, calls, run);
  });
  refuseOthers(app, BATCH_URL, ["POST"]);
}

/** A request whose body has been read, and its sender. */
interface Sent {
  readonly body: unknown;
  readonly caller: Caller;
  readonly raw: IncomingMessage;
}

/** Runs the call in a request's body. `basePath`: the path below which the routes are mounted. */
export async function executeBody(
  gate: ScopedEngine,
  sent: Sent,
  response: ServerResponse,
  basePath = "",
): Promise<Answer> {
  const parsed = readCall(sent.body, sent.raw.headers);
  if (typeof parsed === "string") return answerOf(refusal("invalid_arguments", parsed));
  const run = runner(gate, sent, response);
  await untilAllIsRead();
  return answerOf(await run(parsed), basePath);
}

interface BatchOptions {
  /** Maximum number of calls. */
  readonly batchCalls: number | undefined;
  /** Counts a result that waits for the others. */
  readonly hold: Hold;
}

/** Runs the calls of the batch in a request's body. */
export async function executeBatch(
  gate: ScopedEngine,
  sent: Sent,
  response: ServerResponse,
  { batchCalls, hold }: BatchOptions,
): Promise<Answer> {
  const calls = readBatch(sent, batchCalls);
  if (typeof calls === "string") return answerOf(refusal("invalid_arguments", calls));
  return answerBatch(calls, runner(gate, sent, response), hold);
}

function readBatch({ body, raw }: Sent, batchCalls = BATCH_CALLS_DEFAULT): ParsedBatch | string {
  return raw.headers["idempotency-key"] === undefined ? parseBatch(body, batchCalls) : NO_BATCH_KEY;
}

/** Runs the calls of a request; a disconnected client cancels them. */
function runner(gate: ScopedEngine, { caller, raw }: Omit<Sent, "body">, response: ServerResponse) {
  const signal = disconnection(raw, response);
  const origin = caller.key === null ? OF_HTTP : { ...OF_HTTP, key: caller.key };
  const plain = { signal, origin };
  return ({ call, options }: ParsedCall, listeners?: CallListeners): Promise<ToolResult> => {
    if (options === NO_OPTIONS && listeners === undefined) return gate.execute(caller, call, plain);
    const { pause, waitMs = WAIT_MAX_MS, ...others } = options;
    const { onPause, ...heard } = listeners ?? {};
    const all = { ...others, ...(pause === "refuse" ? { pause } : {}), ...heard, signal, origin };
    const running = gate.execute(caller, call, all);
    if (onPause === undefined && pause !== "wait") return running;
    return running.then((result) => {
      if (result.error?.code !== "paused") return result;
      onPause?.(result.error);
      return pause === "wait" ? awaitEnd(gate, caller, result, { waitMs, signal }) : result;
    });
  };
}

/** The end of a call that has paused, or that it waits still. A client that leaves ends the waiting, and not the call. */
async function awaitEnd(gate: ScopedEngine, caller: Caller, paused: ToolResult, wait: EndWait): Promise<ToolResult> {
  const id = paused.error?.code === "paused" ? paused.error.details?.id : undefined;
  if (id === undefined) return paused;
  try {
    return (await gate.durableFor(caller).result(id, wait)) ?? paused;
  } catch (error) {
    // It is kept all the same.
    if (error instanceof StoreError) return paused;
    throw error;
  }
}

const OF_HTTP = { surface: "http" } as const;

function refuseTypes(reply: FastifyReply, types: readonly string[]): FastifyReply {
  return sendRefusal(reply, "invalid_arguments", `the answer is one of ${types.join(", ")}`, { status: 406 });
}

/** Shared promise for the end of this turn of the event loop. */
let waiting: { readonly promise: Promise<void>; readonly resolve: () => void } | null = null;

/**
 * Resolves when all data that the system holds for this process has been read. Concurrent requests of many connections
 * are read one after the other, each in its own microtask phase: calls that wait for this start together and reach the
 * executor as one message.
 */
function untilAllIsRead(): Promise<void> {
  if (waiting === null) {
    waiting = Promise.withResolvers<void>();
    setImmediate(() => {
      waiting?.resolve();
      waiting = null;
    });
  }
  return waiting.promise;
}
