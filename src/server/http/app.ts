import type { IncomingMessage } from "node:http";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { sendError, sendExpectation, sendNotFound, sendOverBudget, SILENCE_MS } from "./answers.ts";
import { BODIES_BYTES_DEFAULT, limitBodies, OverBudgetError } from "./body-budget.ts";
import { type Access, addAccess } from "./access.ts";
import { answerClientError } from "./client-error.ts";
import { CONNECTION_LIMITS, type ConnectionLimits, limitConnections } from "./connections.ts";
import { addDrain } from "./drain.ts";
import { answerErrors } from "./failure.ts";
import { addTraffic, type Traffic } from "./traffic.ts";
import { addJsonBodies, type ParsedBody } from "./json-body.ts";
import { requireSoundHead } from "./head-check.ts";
import { limitPipelining } from "./pipelining.ts";
import { limitUnread } from "./unread-budget.ts";

/** Interval of the check for slow requests, in milliseconds. */
const LOOK_EVERY_MS = 5_000;
const HEAD_MAX_BYTES = 16 * 1024;
/** Above any name that fits into a request's first line: impossible tool names get the response of unknown ones. */
const NAME_LENGTH_MAX = 65_536;

export interface AppOptions {
  readonly limits?: ConnectionLimits;
  /** Memory budget for the bodies of all requests in progress. */
  readonly bodiesBytes?: number;
  /** Counter of requests. Default: none. */
  readonly traffic?: Traffic;
  /** Options of an app without a listener, which receives requests from another server. */
  readonly mount?: Mount;
}

/** The server in which an app is mounted. It guards its connections itself. */
export interface Mount {
  /** Gives a request without a route back to the server; `false` if the server does not take it. */
  readonly passOn: (request: IncomingMessage) => boolean;
  /** Adds the routes and hooks before the checks of bodies. */
  readonly addTo: (app: FastifyInstance) => void;
  /** A body that the server has read and parsed before. */
  readonly parsedBodyOf: (request: FastifyRequest) => ParsedBody | null;
}

/** Creates an app without routes: access control, request parsing, limits, and responses to unknown addresses. */
export async function createApp(
  bodyBytes: number,
  access: Access,
  { limits = CONNECTION_LIMITS, bodiesBytes = BODIES_BYTES_DEFAULT, traffic, mount }: AppOptions = {},
): Promise<FastifyInstance> {
  const { fastify } = await import("fastify");
  const { headersMs, requestMs, keepAliveMs, unreadMs, unreadChars, maxConnections } = limits;
  const app = fastify({
    bodyLimit: bodyBytes,
    connectionTimeout: SILENCE_MS,
    requestTimeout: requestMs,
    keepAliveTimeout: keepAliveMs,
    http: {
      // `requireSoundHead` refuses it in the form of a result, which Node would not do.
      requireHostHeader: false,
      headersTimeout: headersMs,
      maxHeaderSize: HEAD_MAX_BYTES,
      connectionsCheckingInterval: Math.min(LOOK_EVERY_MS, headersMs, requestMs),
    },
    clientErrorHandler: (error, socket) =>
      answerClientError(error, socket, (status) => traffic?.countNowhere("", status)),
    // While the server closes, the engine refuses calls itself, in the form of a result.
    return503OnClosing: false,
    routerOptions: { maxParamLength: NAME_LENGTH_MAX },
    // Fastify runs no hooks for these errors.
    frameworkErrors: (error, { method, raw }, reply) => {
      if (mount?.passOn(raw) === true) return void reply.hijack();
      traffic?.countNowhere(method, 400);
      void sendError(reply, error, bodyBytes);
    },
  });
  addJsonBodies(app, mount === undefined ? undefined : (request) => mount.parsedBodyOf(request));
  // Without a CORS preflight, a page of another site may send text/plain, but not JSON.
  app.removeContentTypeParser("text/plain");
  app.decorate("unreadMs", unreadMs);
  if (mount !== undefined) {
    app.addHook("onRequest", (request, reply, next) => {
      if (request.is404 && mount.passOn(request.raw)) reply.hijack();
      else next();
    });
  }
  if (traffic !== undefined) addTraffic(app, traffic);
  if (mount === undefined) guardConnections(app, maxConnections, traffic);
  addAccess(app, access);
  mount?.addTo(app);
  limitBodies(app, bodiesBytes, bodyBytes);
  limitUnread(app, unreadChars);
  app.setNotFoundHandler((_request, reply) => sendNotFound(reply));
  app.decorate("tellFailure", (failure) => access.engine.emit("request:failed", failure));
  answerErrors(app, (reply, error) =>
    error instanceof OverBudgetError ? sendOverBudget(reply) : sendError(reply, error, bodyBytes),
  );
  return app;
}

/** Guards the connections of an app with a listener of its own. */
function guardConnections(app: FastifyInstance, max: number, traffic: Traffic | undefined): void {
  limitConnections(app.server, max, (change) => {
    if (traffic !== undefined) traffic.connections += change;
  });
  app.server.on("checkExpectation", ({ method = "" }, response) => {
    traffic?.countNowhere(method, 417);
    sendExpectation(response);
  });
  addDrain(app);
  limitPipelining(app);
  requireSoundHead(app);
}
