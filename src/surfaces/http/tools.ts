import type { FastifyInstance } from "fastify";
import { sendJson, sendUnregistered } from "./answers.ts";
import { GET_TOOL, LIST_TOOLS } from "./api/tool-routes.ts";
import { callerOf, type Door, refuseOthers } from "./door.ts";
import { addToolAdmin, etagOf, namesEtag } from "./tool-admin.ts";

/** Adds the routes that tell which tools there are, and those that change it. */
export function addTools(app: FastifyInstance, door: Door): void {
  const { gate } = door;
  app.get("/v1/tools", { config: { role: "execute", api: LIST_TOOLS } }, (request, reply) =>
    sendJson(reply, 200, gate.list(callerOf(request))),
  );
  refuseOthers(app, "/v1/tools", ["GET", "HEAD"]);

  app.get<{ Params: { name: string } }>(
    "/v1/tools/:name",
    { config: { role: "execute", api: GET_TOOL } },
    (request, reply) => {
      const { name } = request.params;
      const info = gate.get(callerOf(request), name);
      if (info === undefined) return sendUnregistered(reply, name);
      const etag = etagOf(info);
      reply.header("etag", etag);
      if (namesEtag(request.headers["if-none-match"] ?? "", etag)) return reply.code(304).send();
      return sendJson(reply, 200, info);
    },
  );
  addToolAdmin(app, door);
  refuseOthers(app, "/v1/tools/:name", ["GET", "HEAD", "PUT", "DELETE"]);
}
