import type { ServerResponse } from "node:http";
import type { FastifyInstance } from "fastify";
import { sendRefusal, sendResult } from "./answers.ts";
import { parseCall } from "./call-body.ts";
import { callerOf, type Door, refuseOthers } from "./door.ts";
import { withHeaderKey } from "./idempotency-key.ts";

/** Adds the routes that run tools. */
export function addCalls(app: FastifyInstance, { gate, isDraining }: Door): void {
  app.post("/v1/execute", { config: { role: "execute" } }, async (request, reply) => {
    const parsed = parseCall(request.body);
    if (typeof parsed === "string") return sendRefusal(reply, "invalid_arguments", parsed);
    const options = withHeaderKey(parsed.options, request.headers["idempotency-key"]);
    if (typeof options === "string") return sendRefusal(reply, "invalid_arguments", options);
    const signal = disconnection(reply.raw);
    const result = await gate.execute(callerOf(request), parsed.call, { ...options, signal });
    // Where the server began to stop while the call ran, its client has to send the next one elsewhere.
    if (isDraining()) reply.header("connection", "close");
    return sendResult(reply, result);
  });
  refuseOthers(app, "/v1/execute", ["POST"]);
}

/** A signal that is aborted when the client goes away before it has its answer. */
function disconnection(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  response.once("close", () => {
    if (!response.writableEnded) controller.abort();
  });
  return controller.signal;
}
