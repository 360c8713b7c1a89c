import type { FastifyInstance } from "fastify";
import { sendJson, sendRefusal } from "./answers.ts";
import { callerOf, type Door, refuseOthers } from "./door.ts";

const NAME_SHOWN_MAX = 128;

/** Adds the routes that tell which tools there are. */
export function addTools(app: FastifyInstance, { gate }: Door): void {
  app.get("/v1/tools", { config: { role: "execute" } }, (request, reply) =>
    sendJson(reply, 200, gate.list(callerOf(request))),
  );
  refuseOthers(app, "/v1/tools", ["GET", "HEAD"]);

  app.get<{ Params: { name: string } }>("/v1/tools/:name", { config: { role: "execute" } }, (request, reply) => {
    const info = gate.get(callerOf(request), request.params.name);
    if (info !== undefined) return sendJson(reply, 200, info);
    const tool = request.params.name.slice(0, NAME_SHOWN_MAX);
    return sendRefusal(reply, "tool_not_found", `there is no tool "${tool}"`, { tool });
  });
  refuseOthers(app, "/v1/tools/:name", ["GET", "HEAD"]);
}
