import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from "fastify";
import { GloveboxError } from "../../kernel/base/errors.ts";
import { isObject } from "../../kernel/base/json.ts";
import { sendJson, sendNotFound, sendRefusal } from "./answers.ts";
import { CHECK_PROGRAM, GET_DECLARATIONS } from "./api/code-routes.ts";
import { callerOf, refuseOthers, type Surface } from "./surface.ts";

const READ: readonly HTTPMethods[] = ["GET", "HEAD"];
const DECLARATIONS = "/v1/code/declarations";
const CHECK = "/v1/code/check";

/** Adds the routes of code mode: the texts for models, and the checks of a program. Programs run with `/v1/execute`. */
export function addCode(app: FastifyInstance, { engine, gate }: Surface): void {
  // The engine may be reconfigured with code mode, or without.
  const onRequest = async (_request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> =>
    engine.codeMode === undefined ? sendNotFound(reply) : undefined;
  app.get(DECLARATIONS, { config: { role: "execute", api: GET_DECLARATIONS }, onRequest }, async (request, reply) => {
    const mode = gate.codeModeFor(callerOf(request));
    await mode.ready();
    return sendJson(reply, 200, mode.declarations());
  });
  refuseOthers(app, DECLARATIONS, READ);

  app.post(CHECK, { config: { role: "execute", api: CHECK_PROGRAM }, onRequest }, async (request, reply) => {
    const code = isObject(request.body) ? request.body["code"] : undefined;
    if (typeof code !== "string")
      return sendRefusal(reply, "invalid_arguments", "the body is an object with code, a text");
    try {
      return await sendJson(reply, 200, { problems: await gate.codeModeFor(callerOf(request)).check(code) });
    } catch (error) {
      if (!(error instanceof GloveboxError)) throw error;
      return sendRefusal(reply, error.code, error.message);
    }
  });
  refuseOthers(app, CHECK, ["POST"]);
}
