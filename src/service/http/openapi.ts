import type { FastifyInstance } from "fastify";
import { sendJsonText } from "./answers.ts";
import { type DescribedRoute, openApiDocument } from "./api/document.ts";
import { GET_OPENAPI } from "./api/watch-routes.ts";
import { refuseOthers } from "./surface.ts";

/** Adds the route that describes all others: those that are added after it. */
export function addOpenApi(app: FastifyInstance): void {
  const routes: DescribedRoute[] = [];
  app.addHook("onRoute", ({ method, url, config }) => {
    const { api, role = "anybody" } = config ?? {};
    if (api === undefined || api === "none") return;
    const methods = [method].flat().filter((one) => one !== "HEAD");
    routes.push(...methods.map((one) => ({ method: one, url, role, description: api })));
  });
  let text: string | undefined;
  app.get("/openapi.json", { config: { role: "anybody", api: GET_OPENAPI } }, (_request, reply) =>
    sendJsonText(reply, 200, (text ??= JSON.stringify(openApiDocument(routes)))),
  );
  refuseOthers(app, "/openapi.json", ["GET", "HEAD"]);
}
