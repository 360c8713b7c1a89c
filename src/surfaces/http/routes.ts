import type { ServerResponse } from "node:http";
import type { FastifyInstance, HTTPMethods } from "fastify";
import { Registry } from "prom-client";
import type { Engine } from "../../engine.ts";
import { sendJson, sendRefusal, sendResult } from "./answers.ts";
import { parseCall } from "./call-body.ts";

const METHODS: readonly HTTPMethods[] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"];

/** Adds the routes of an engine. `isDraining` answers whether the server is about to stop. */
export function addRoutes(app: FastifyInstance, engine: Engine, isDraining: () => boolean): void {
  addCalls(app, engine, isDraining);
  addTools(app, engine);
  addHealth(app, engine, isDraining);
}

function addCalls(app: FastifyInstance, engine: Engine, isDraining: () => boolean): void {
  app.post("/v1/execute", async (request, reply) => {
    const parsed = parseCall(request.body);
    if (typeof parsed === "string") return sendRefusal(reply, "invalid_arguments", parsed);
    const signal = disconnection(reply.raw);
    const result = await engine.execute(parsed.call, { ...parsed.options, signal });
    // Where the server began to stop while the call ran, its client has to send the next one elsewhere.
    if (isDraining()) reply.header("connection", "close");
    return sendResult(reply, result);
  });
  refuseOthers(app, "/v1/execute", ["POST"]);
}

function addTools(app: FastifyInstance, engine: Engine): void {
  app.get("/v1/tools", (_request, reply) => sendJson(reply, 200, engine.list()));
  refuseOthers(app, "/v1/tools", ["GET", "HEAD"]);

  app.get<{ Params: { name: string } }>("/v1/tools/:name", ({ params: { name } }, reply) => {
    const info = engine.get(name);
    if (info !== undefined) return sendJson(reply, 200, info);
    return sendRefusal(reply, "tool_not_found", `there is no tool "${name.slice(0, 128)}"`, {
      tool: name.slice(0, 128),
    });
  });
  refuseOthers(app, "/v1/tools/:name", ["GET", "HEAD"]);
}

function addHealth(app: FastifyInstance, engine: Engine, isDraining: () => boolean): void {
  app.get("/metrics", async (_request, reply) => {
    const text = await engine.metrics();
    return reply.header("content-type", Registry.PROMETHEUS_CONTENT_TYPE).send(text);
  });
  refuseOthers(app, "/metrics", ["GET", "HEAD"]);

  app.get("/healthz", (_request, reply) => sendJson(reply, 200, { status: "alive" }));
  refuseOthers(app, "/healthz", ["GET", "HEAD"]);

  app.get("/readyz", (_request, reply) => {
    const { state, executor } = engine.stats();
    const { kind, ready, sandbox } = executor;
    const isOpen = state === "open" && !isDraining();
    const status = isOpen ? (ready ? "ready" : "waiting for an executor") : "draining";
    return sendJson(reply, status === "ready" ? 200 : 503, {
      status,
      executor: { kind, ready, sandbox: sandbox.kind },
    });
  });
  refuseOthers(app, "/readyz", ["GET", "HEAD"]);
}

/** Answers the methods that an address does not have: before the body is read, which nobody asked for. */
function refuseOthers(app: FastifyInstance, url: string, allowed: readonly HTTPMethods[]): void {
  const allow = allowed.join(", ");
  app.route({
    url,
    method: METHODS.filter((method) => !allowed.includes(method)),
    onRequest: async (_request, reply) => {
      reply.header("allow", allow);
      return sendRefusal(reply, "invalid_arguments", `this address takes ${allow}`, { status: 405 });
    },
    handler: (_request, reply) => reply,
  });
}

/** A signal that is aborted when the client goes away before it has its answer. */
function disconnection(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  response.once("close", () => {
    if (!response.writableEnded) controller.abort();
  });
  return controller.signal;
}
