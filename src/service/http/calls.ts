import type { IncomingMessage, ServerResponse } from "node:http";
import type { FastifyInstance, FastifyReply } from "fastify";
import type { ToolResult } from "../../base/result.ts";
import type { Caller } from "../access/caller.ts";
import type { ScopedEngine } from "../access/scoped-engine.ts";
import { refusal, sendRefusal, sendResult } from "./answers.ts";
import { EXECUTE, EXECUTE_BATCH } from "./api/call-routes.ts";
import { answerBatch, listBatch, streamBatch } from "./call-batch.ts";
import { parseBatch, type ParsedCall, readCall } from "./call-body.ts";
import { type CallListeners, streamCall } from "./call-stream.ts";
import { disconnection } from "./disconnection.ts";
import { callerOf, refuseOthers, type Surface } from "./surface.ts";
import { EVENT_STREAM } from "./event-stream.ts";
import { LINES } from "./line-stream.ts";
import { chooseType } from "./media-type.ts";

const BATCH_CALLS_DEFAULT = 256;
/** Media types of answers; the first is the default. */
export const TYPES = ["application/json", EVENT_STREAM] as const;
const BATCH_TYPES = [...TYPES, LINES] as const;
const BATCH_ANSWERS = { [TYPES[0]]: answerBatch, [EVENT_STREAM]: streamBatch, [LINES]: listBatch };
export const EXECUTE_URL = "/v1/execute";

/** Adds the routes that run tools. */
export function addCalls(app: FastifyInstance, { gate, batchCalls = BATCH_CALLS_DEFAULT }: Surface): void {
  const config = { role: "execute", api: EXECUTE, cutting: "call" } as const;
  app.post(EXECUTE_URL, { config }, async (request, reply) => {
    const { body, headers, raw } = request;
    const sent = { body, caller: callerOf(request), raw };
    const type = chooseType(headers.accept, TYPES);
    if (type === null) return refuseTypes(reply, TYPES);
    if (type !== EVENT_STREAM) return sendResult(reply, await executeBody(gate, sent, reply.raw));
    const parsed = readCall(body, headers);
    if (typeof parsed === "string") return sendRefusal(reply, "invalid_arguments", parsed);
    const run = runner(gate, sent, reply.raw);
    return streamCall(reply, (listeners) => run(parsed, listeners));
  });
  refuseOthers(app, EXECUTE_URL, ["POST"]);

  app.post(
    "/v1/execute/batch",
    { config: { role: "execute", api: EXECUTE_BATCH, cutting: "batch" } },
    async (request, reply) => {
      const type = chooseType(request.headers.accept, BATCH_TYPES);
      if (type === null) return refuseTypes(reply, BATCH_TYPES);
      if (request.headers["idempotency-key"] !== undefined) {
        return sendRefusal(
          reply,
          "invalid_arguments",
          "a batch has no Idempotency-Key: its calls have one each, in options",
        );
      }
      const calls = parseBatch(request.body, batchCalls);
      if (typeof calls === "string") return sendRefusal(reply, "invalid_arguments", calls);
      return BATCH_ANSWERS[type](
        reply,
        calls,
        runner(gate, { caller: callerOf(request), raw: request.raw }, reply.raw),
      );
    },
  );
  refuseOthers(app, "/v1/execute/batch", ["POST"]);
}

/** A request whose body has been read, and who has sent it. */
interface Sent {
  readonly body: unknown;
  readonly caller: Caller;
  readonly raw: IncomingMessage;
}

/** Runs the call in a request's body. */
export async function executeBody(gate: ScopedEngine, sent: Sent, response: ServerResponse): Promise<ToolResult> {
  const parsed = readCall(sent.body, sent.raw.headers);
  if (typeof parsed === "string") return refusal("invalid_arguments", parsed);
  const run = runner(gate, sent, response);
  await untilAllIsRead();
  return run(parsed);
}

/** Runs the calls of a request; a disconnected client cancels them. */
function runner(gate: ScopedEngine, { caller, raw }: Omit<Sent, "body">, response: ServerResponse) {
  const signal = disconnection(raw, response);
  return ({ call, options }: ParsedCall, listeners?: CallListeners) =>
    gate.execute(caller, call, { ...options, ...listeners, signal });
}

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
export function untilAllIsRead(): Promise<void> {
  if (waiting === null) {
    waiting = Promise.withResolvers<void>();
    setImmediate(() => {
      waiting?.resolve();
      waiting = null;
    });
  }
  return waiting.promise;
}
