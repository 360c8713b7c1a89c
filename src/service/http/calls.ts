import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { sendRefusal, sendResult } from "./answers.ts";
import { EXECUTE, EXECUTE_BATCH } from "./api/call-routes.ts";
import { answerBatch, streamBatch } from "./call-batch.ts";
import { parseBatch, parseCall, type ParsedCall, withHeaderKey } from "./call-body.ts";
import { type CallListeners, streamCall } from "./call-stream.ts";
import { disconnection } from "./disconnection.ts";
import { callerOf, refuseOthers, type Surface } from "./surface.ts";
import { EVENT_STREAM } from "./event-stream.ts";
import { chooseType } from "./media-type.ts";

const BATCH_CALLS_DEFAULT = 256;
const TYPES = ["application/json", EVENT_STREAM] as const;

/** Adds the routes that run tools. */
export function addCalls(app: FastifyInstance, { gate, batchCalls = BATCH_CALLS_DEFAULT }: Surface): void {
  /** Runs the calls of a request; a disconnected client cancels them. */
  const runner = (request: FastifyRequest, reply: FastifyReply) => {
    const caller = callerOf(request);
    const signal = disconnection(request.raw, reply.raw);
    return ({ call, options }: ParsedCall, listeners?: CallListeners) =>
      gate.execute(caller, call, { ...options, ...listeners, signal });
  };

  app.post("/v1/execute", { config: { role: "execute", api: EXECUTE, cutting: "call" } }, async (request, reply) => {
    const type = chooseType(request.headers.accept, TYPES);
    if (type === null) return refuseTypes(reply);
    const parsed = parseCall(request.body);
    if (typeof parsed === "string") return sendRefusal(reply, "invalid_arguments", parsed);
    const options = withHeaderKey(parsed.options, request.headers["idempotency-key"]);
    if (typeof options === "string") return sendRefusal(reply, "invalid_arguments", options);
    const run = runner(request, reply);
    const keyed = { ...parsed, options };
    if (type === EVENT_STREAM) return streamCall(reply, (listeners) => run(keyed, listeners));
    await untilAllIsRead();
    const result = await run(keyed);
    return sendResult(reply, result);
  });
  refuseOthers(app, "/v1/execute", ["POST"]);

  app.post(
    "/v1/execute/batch",
    { config: { role: "execute", api: EXECUTE_BATCH, cutting: "batch" } },
    async (request, reply) => {
      const type = chooseType(request.headers.accept, TYPES);
      if (type === null) return refuseTypes(reply);
      if (request.headers["idempotency-key"] !== undefined) {
        return sendRefusal(
          reply,
          "invalid_arguments",
          "a batch has no Idempotency-Key: its calls have one each, in options",
        );
      }
      const calls = parseBatch(request.body, batchCalls);
      if (typeof calls === "string") return sendRefusal(reply, "invalid_arguments", calls);
      const answer = type === EVENT_STREAM ? streamBatch : answerBatch;
      return answer(reply, calls, runner(request, reply));
    },
  );
  refuseOthers(app, "/v1/execute/batch", ["POST"]);
}

function refuseTypes(reply: FastifyReply): FastifyReply {
  return sendRefusal(reply, "invalid_arguments", `the answer is one of ${TYPES.join(", ")}`, { status: 406 });
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
