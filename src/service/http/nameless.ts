import type { FastifyInstance } from "fastify";
import { sendRefusal } from "./answers.ts";

/** Refuses requests that do not say for whom they are: Node would, without a word. */
export function refuseNameless(app: FastifyInstance): void {
  app.addHook("onRequest", (request, reply, next) => {
    if (request.headers.host !== undefined || request.raw.httpVersion === "1.0") next();
    else sendRefusal(reply.header("connection", "close"), "invalid_arguments", "the request has no header Host");
  });
}
