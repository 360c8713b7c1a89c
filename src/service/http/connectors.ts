import type { FastifyInstance } from "fastify";
import { GloveboxError } from "../../base/errors.ts";
import { sendJson, sendRefusal } from "./answers.ts";
import { LIST_CONNECTORS, REFRESH_CONNECTOR } from "./api/connector-routes.ts";
import { refuseOthers, type Surface } from "./surface.ts";

const ADMIN = { role: "admin", needsKey: true } as const;
const CONNECTORS = "/v1/connectors";
const REFRESH = "/v1/connectors/:name/refresh";

/** Statuses of connectors that cannot be read: the document, and the server. */
const STATUSES = new Map([
  ["load_error", 422],
  ["capability_failed", 502],
]);

/** Adds the routes that list connectors, and that read the tools of one again. */
export function addConnectors(app: FastifyInstance, { engine }: Surface): void {
  app.get(CONNECTORS, { config: { ...ADMIN, api: LIST_CONNECTORS } }, (_request, reply) =>
    sendJson(reply, 200, engine.connectors()),
  );
  refuseOthers(app, CONNECTORS, ["GET", "HEAD"]);

  app.post<{ Params: { name: string } }>(
    REFRESH,
    { config: { ...ADMIN, api: REFRESH_CONNECTOR } },
    async (request, reply) => {
      try {
        return await sendJson(reply, 200, await engine.refreshConnector(request.params.name));
      } catch (error) {
        if (!(error instanceof GloveboxError)) throw error;
        const status = STATUSES.get(error.code);
        return sendRefusal(reply, error.code, error.message, status === undefined ? {} : { status });
      }
    },
  );
  refuseOthers(app, REFRESH, ["POST"]);
}
