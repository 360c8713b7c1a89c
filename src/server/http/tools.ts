import type { FastifyInstance, HTTPMethods } from "fastify";
import { sendJson, sendJsonText, sendRefusal, sendUnregistered } from "./answers.ts";
import { declareInTurns } from "../../kernel/tool/declarations/declare-tools.ts";
import { EXPLAIN_TOOL, GET_TOOL, GET_TYPES, LIST_TOOLS } from "./api/tool-routes.ts";
import type { RouteGroup } from "./route-groups.ts";
import { callerOf, type Surface, refuseOthers } from "./surface.ts";
import { etagOf, namesEtag, toolText } from "./etag.ts";
import { addToolAdmin } from "./tool-admin.ts";

const TENANT_MAX = 256;

/** A person who decides about a call has to see its tool. */
const READERS = ["execute", "approve"] as const;
const READ: readonly HTTPMethods[] = ["GET", "HEAD"];
const CHANGE: readonly HTTPMethods[] = ["PUT", "DELETE"];

/** Adds the routes that list and explain tools (the group `tools`), and those that change them (`admin`). */
export function addTools(app: FastifyInstance, surface: Surface, groups: ReadonlySet<RouteGroup>): void {
  if (groups.has("tools")) addReading(app, surface);
  if (groups.has("admin")) addToolAdmin(app, surface);
  const allowed = [...(groups.has("tools") ? READ : []), ...(groups.has("admin") ? CHANGE : [])];
  refuseOthers(app, "/v1/tools/:name", allowed);
}

function addReading(app: FastifyInstance, { gate }: Surface): void {
  app.get("/v1/tools", { config: { role: READERS, api: LIST_TOOLS } }, (request, reply) =>
    sendJsonText(reply, 200, `[${gate.list(callerOf(request)).map(toolText).join(",")}]`),
  );
  refuseOthers(app, "/v1/tools", READ);

  app.get<{ Params: { name: string } }>(
    "/v1/tools/:name",
    { config: { role: READERS, api: GET_TOOL } },
    (request, reply) => {
      const { name } = request.params;
      const info = gate.get(callerOf(request), name);
      if (info === undefined) return sendUnregistered(reply, name);
      const etag = etagOf(info);
      reply.header("etag", etag);
      if (namesEtag(request.headers["if-none-match"] ?? "", etag)) return reply.code(304).send();
      return sendJsonText(reply, 200, toolText(info));
    },
  );

  app.get<{ Querystring: { register?: unknown } }>(
    "/v1/types",
    { config: { role: "execute", api: GET_TYPES } },
    async (request, reply) => {
      const { register = "false" } = request.query;
      if (register !== "true" && register !== "false") {
        return sendRefusal(reply, "invalid_arguments", "register is true or false");
      }
      const text = await declareInTurns(gate.list(callerOf(request)), { register: register === "true" });
      return reply.header("content-type", "text/plain; charset=utf-8").send(text);
    },
  );
  refuseOthers(app, "/v1/types", READ);

  const explanation = "/v1/tools/:name/explanation";
  app.get<{ Params: { name: string }; Querystring: { tenant?: unknown } }>(
    explanation,
    { config: { role: "execute", api: EXPLAIN_TOOL } },
    (request, reply) => {
      const { tenant = "" } = request.query;
      if (typeof tenant !== "string" || tenant.length > TENANT_MAX) {
        return sendRefusal(reply, "invalid_arguments", `tenant is one text of at most ${TENANT_MAX} characters`);
      }
      const explained = gate.explain(callerOf(request), request.params.name, tenant);
      return explained === undefined ? sendUnregistered(reply, request.params.name) : sendJson(reply, 200, explained);
    },
  );
  refuseOthers(app, explanation, READ);
}
