import { fastify, type FastifyError, type FastifyInstance } from "fastify";
import { describeExcess } from "../../json.ts";
import { sendError, sendNotFound } from "./answers.ts";
import { type Access, addAccess } from "./access.ts";
import { SILENCE_MS } from "./unread.ts";

const HEADERS_MS = 15_000;
const REQUEST_MS = 120_000;
/** Longer than the 60 seconds after which most load balancers give an idle connection up, so that they do so first. */
const KEEP_ALIVE_MS = 72_000;
/** Longer than any that fits into a request's first line: names that no tool can have are answered like unknown ones. */
const NAME_LENGTH_MAX = 65_536;

/** An app without routes: who is let in, how requests are read, for how long, and what is answered where there is nothing. */
export function createApp(bodyBytes: number, access: Access): FastifyInstance {
  const app = fastify({
    bodyLimit: bodyBytes,
    connectionTimeout: SILENCE_MS,
    requestTimeout: REQUEST_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    http: { headersTimeout: HEADERS_MS },
    // Keys such as __proto__ are data like others: `JSON.parse` makes them a body's own, nothing here copies by
    // assignment, and on their way into the isolate they are text again.
    onProtoPoisoning: "ignore",
    onConstructorPoisoning: "ignore",
    // While the server closes, the engine says so itself, in the form of a result.
    return503OnClosing: false,
    routerOptions: { maxParamLength: NAME_LENGTH_MAX },
    frameworkErrors: (error, _request, reply) => void sendError(reply, error, bodyBytes),
  });
  // A body of nothing but brackets would hold this thread for seconds, and take thirty times its size.
  const readJson = app.getDefaultJsonParser("ignore", "ignore");
  app.addContentTypeParser<string>("application/json", { parseAs: "string" }, (request, body, done) => {
    if (describeExcess(body) === null) return void readJson(request, body, done);
    done(Object.assign(new Error("the body has too many values, or too deep ones"), { statusCode: 400 }));
  });
  // A page of another site may send text without asking, JSON it may not.
  app.removeContentTypeParser("text/plain");
  addAccess(app, access);
  app.setNotFoundHandler((_request, reply) => sendNotFound(reply));
  app.setErrorHandler((error: FastifyError, _request, reply) => sendError(reply, error, bodyBytes));
  return app;
}
