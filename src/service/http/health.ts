import type { FastifyInstance } from "fastify";
import { Registry } from "prom-client";
import { sendJson } from "./answers.ts";
import { GET_HEALTH, GET_METRICS, GET_READINESS } from "./api/watch-routes.ts";
import { type Surface, refuseOthers } from "./surface.ts";
import { withProcessMetrics } from "./process-metrics.ts";

/** Adds the routes for those who watch the server: probes, and whatever reads metrics. */
export function addHealth(app: FastifyInstance, { engine, isDraining, processMetrics = true }: Surface): void {
  app.get("/metrics", { config: { role: "metrics", api: GET_METRICS } }, async (_request, reply) => {
    const text = await engine.metrics();
    const all = processMetrics ? await withProcessMetrics(text) : text;
    return reply.header("content-type", Registry.PROMETHEUS_CONTENT_TYPE).send(all);
  });
  refuseOthers(app, "/metrics", ["GET", "HEAD"]);

  app.get("/healthz", { config: { role: "anybody", api: GET_HEALTH } }, (_request, reply) =>
    sendJson(reply, 200, { status: "alive" }),
  );
  refuseOthers(app, "/healthz", ["GET", "HEAD"]);

  app.get("/readyz", { config: { role: "anybody", api: GET_READINESS } }, (_request, reply) => {
    const { state, executor } = engine.stats();
    const { kind, ready, sandbox, fleet } = executor;
    const isOpen = state === "open" && !isDraining();
    const status = isOpen ? (ready ? "ready" : "waiting for an executor") : "draining";
    const problem = isOpen && !ready ? (fleet?.problem ?? null) : null;
    return sendJson(reply, status === "ready" ? 200 : 503, {
      status,
      ...(problem === null ? {} : { reason: problem }),
      executor: { kind, ready, sandbox: sandbox.kind },
    });
  });
  refuseOthers(app, "/readyz", ["GET", "HEAD"]);
}
