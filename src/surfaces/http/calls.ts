import type { ServerResponse } from "node:http";
import type { FastifyInstance } from "fastify";
import { sendRefusal, sendResult } from "./answers.ts";
import { parseCall } from "./call-body.ts";
import { callerOf, type Door, refuseOthers } from "./door.ts";

/** Adds the routes that run tools. */
export function addCalls(app: FastifyInstance, { gate }: Door): void {
  app.post("/v1/execute", { config: { role: "execute" } }, async (request, reply) => {
    const parsed = parseCall(request.body);
    if (typeof parsed === "string") return sendRefusal(reply, "invalid_arguments", parsed);
    const signal = disconnection(reply.raw);
    const result = await gate.execute(callerOf(request), parsed.call, { ...parsed.options, signal });
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
