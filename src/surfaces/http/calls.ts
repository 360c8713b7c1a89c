import type { FastifyInstance } from "fastify";
import { sendRefusal, sendResult } from "./answers.ts";
import { parseCall } from "./call-body.ts";
import { streamCall } from "./call-stream.ts";
import { disconnection } from "./disconnection.ts";
import { callerOf, type Door, refuseOthers } from "./door.ts";
import { EVENT_STREAM } from "./event-stream.ts";
import { chooseType } from "./media-type.ts";

const TYPES = ["application/json", EVENT_STREAM] as const;

/** Adds the routes that run tools. */
export function addCalls(app: FastifyInstance, { gate, isDraining }: Door): void {
  app.post("/v1/execute", { config: { role: "execute" } }, async (request, reply) => {
    const type = chooseType(request.headers.accept, TYPES);
    if (type === null) {
      return sendRefusal(reply, "invalid_arguments", `the answer is one of ${TYPES.join(", ")}`, { status: 406 });
    }
    const parsed = parseCall(request.body);
    if (typeof parsed === "string") return sendRefusal(reply, "invalid_arguments", parsed);
    const { call, options } = parsed;
    const signal = disconnection(request.raw, reply.raw);
    const caller = callerOf(request);
    if (type === EVENT_STREAM) {
      return streamCall(reply, (told) => gate.execute(caller, call, { ...options, ...told, signal }), isDraining);
    }
    const result = await gate.execute(caller, call, { ...options, signal });
    // Where the server began to stop while the call ran, its client has to send the next one elsewhere.
    if (isDraining()) reply.header("connection", "close");
    return sendResult(reply, result);
  });
  refuseOthers(app, "/v1/execute", ["POST"]);
}
