import type { FastifyInstance, FastifyReply } from "fastify";
import { sendJson, sendRefusal } from "./answers.ts";
import { callerOf, type Door, refuseOthers } from "./door.ts";

const NAME_SHOWN_MAX = 128;
const TENANT_MAX = 256;

/** Adds the routes that tell which tools there are. */
export function addTools(app: FastifyInstance, { gate }: Door): void {
  app.get("/v1/tools", { config: { role: "execute" } }, (request, reply) =>
    sendJson(reply, 200, gate.list(callerOf(request))),
  );
  refuseOthers(app, "/v1/tools", ["GET", "HEAD"]);

  app.get<{ Params: { name: string } }>("/v1/tools/:name", { config: { role: "execute" } }, (request, reply) => {
    const info = gate.get(callerOf(request), request.params.name);
    if (info !== undefined) return sendJson(reply, 200, info);
    return sendNoTool(reply, request.params.name);
  });
  refuseOthers(app, "/v1/tools/:name", ["GET", "HEAD"]);

  const explanation = "/v1/tools/:name/explanation";
  app.get<{ Params: { name: string }; Querystring: { tenant?: unknown } }>(
    explanation,
    { config: { role: "execute" } },
    (request, reply) => {
      const { tenant = "" } = request.query;
      if (typeof tenant !== "string" || tenant.length > TENANT_MAX) {
        return sendRefusal(reply, "invalid_arguments", `tenant is one text of at most ${TENANT_MAX} characters`);
      }
      const explained = gate.explain(callerOf(request), request.params.name, tenant);
      return explained === undefined ? sendNoTool(reply, request.params.name) : sendJson(reply, 200, explained);
    },
  );
  refuseOthers(app, explanation, ["GET", "HEAD"]);
}

function sendNoTool(reply: FastifyReply, name: string): FastifyReply {
  const tool = name.slice(0, NAME_SHOWN_MAX);
  return sendRefusal(reply, "tool_not_found", `there is no tool "${tool}"`, { tool });
}
