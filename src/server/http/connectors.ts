import type { FastifyInstance, FastifyReply } from "fastify";
import { GloveboxError } from "../../kernel/base/errors.ts";
import { sendJson, sendRefusal } from "./answers.ts";
import { FINISH_LOGIN, LIST_CONNECTORS, LOGIN_CONNECTOR, REFRESH_CONNECTOR } from "./api/connector-routes.ts";
import { LOGGED_IN, notLoggedIn } from "./login-page.ts";
import { refuseOthers, type Surface } from "./surface.ts";

const ADMIN = { role: "admin", needsKey: true } as const;
const CONNECTORS = "/v1/connectors";
const REFRESH = "/v1/connectors/:name/refresh";

/** Statuses of connectors that cannot be read: the document, and the server. */
const STATUSES = new Map([
  ["load_error", 422],
  ["capability_failed", 502],
  ["login_required", 502],
]);

const LOGIN = "/v1/connectors/:name/login";
const CALLBACK = "/v1/connectors/callback";

/** Adds the routes that list connectors, that read the tools of one again, and that log one in. */
export function addConnectors(app: FastifyInstance, surface: Surface): void {
  const { engine } = surface;
  app.get(CONNECTORS, { config: { ...ADMIN, api: LIST_CONNECTORS } }, (_request, reply) =>
    sendJson(reply, 200, engine.connectors()),
  );
  refuseOthers(app, CONNECTORS, ["GET", "HEAD"]);

  app.post<{ Params: { name: string } }>(REFRESH, { config: { ...ADMIN, api: REFRESH_CONNECTOR } }, (request, reply) =>
    send(reply, engine.refreshConnector(request.params.name)),
  );
  refuseOthers(app, REFRESH, ["POST"]);
  addLogin(app, surface);
}

/** A browser starts with the link of an administrator, and returns with a state that is secret between the two. */
function addLogin(app: FastifyInstance, { engine, publicUrl, basePathOf = () => "" }: Surface): void {
  app.post<{ Params: { name: string }; Querystring: { tenant?: unknown } }>(
    LOGIN,
    { config: { ...ADMIN, api: LOGIN_CONNECTOR } },
    async (request, reply) => {
      const { tenant = "" } = request.query;
      if (typeof tenant !== "string") return sendRefusal(reply, "invalid_arguments", "tenant is one name");
      const base = publicUrl?.replace(/\/+$/, "") ?? `${request.protocol}://${request.host}${basePathOf(request)}`;
      return send(reply, engine.loginConnector(request.params.name, { redirectUri: base + CALLBACK, tenant }));
    },
  );
  refuseOthers(app, LOGIN, ["POST"]);

  app.get(CALLBACK, { config: { role: "anybody", api: FINISH_LOGIN } }, async (request, reply) => {
    const page = await engine.finishConnectorLogin(new URL(request.url, "http://localhost")).then(
      () => LOGGED_IN,
      (error: unknown) => notLoggedIn(error instanceof GloveboxError ? error.message : "it could not be stored"),
    );
    return reply
      .code(page === LOGGED_IN ? 200 : 400)
      .headers(page.headers)
      .send(page.text);
  });
  refuseOthers(app, CALLBACK, ["GET", "HEAD"]);
}

async function send(reply: FastifyReply, answer: Promise<object>): Promise<FastifyReply> {
  try {
    return await sendJson(reply, 200, await answer);
  } catch (error) {
    if (!(error instanceof GloveboxError)) throw error;
    const status = STATUSES.get(error.code);
    return sendRefusal(reply, error.code, error.message, status === undefined ? {} : { status });
  }
}
