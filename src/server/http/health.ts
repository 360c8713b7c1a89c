import { collectDefaultMetrics, Registry } from "prom-client";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { OPEN_METRICS_TYPE, writeMetrics } from "../../kernel/base/open-metrics.ts";
import { delegation } from "../../kernel/base/os/cgroup.ts";
import { sendJson } from "./answers.ts";
import { GET_HEALTH, GET_METRICS, GET_READINESS, GET_RESOURCE_METADATA } from "./api/watch-routes.ts";
import { chooseType } from "./media-type.ts";
import type { ResourceMetadata } from "./resource-metadata.ts";
import type { FailedReload } from "../../kernel/engine/telemetry/reload-record.ts";
import { refuseOthers, type Surface } from "./surface.ts";

const OPEN_METRICS = "application/openmetrics-text";

/** Adds the metrics. */
export function addMetrics(app: FastifyInstance, { engine, processMetrics = true }: Surface): void {
  app.get("/metrics", { config: { role: "metrics", api: GET_METRICS } }, (request, reply) =>
    sendMetrics(request, reply, processMetrics ? withProcessMetrics(engine.registry) : [engine.registry]),
  );
  refuseOthers(app, "/metrics", ["GET", "HEAD"]);
}

/** Responds with metrics: in Prometheus' own format, or in that of OpenMetrics if the client prefers it. */
export async function sendMetrics(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  registries: readonly Registry[],
): Promise<FastifyReply> {
  const isOpen = chooseType(headers.accept, ["text/plain", OPEN_METRICS]) === OPEN_METRICS;
  const text = await writeMetrics(registries, isOpen ? "openmetrics" : "prometheus");
  return reply.header("content-type", isOpen ? OPEN_METRICS_TYPE : Registry.PROMETHEUS_CONTENT_TYPE).send(text);
}

/** Adds the metadata about the authorization server whose tokens are accepted. */
export function addResourceMetadata(app: FastifyInstance, metadata: ResourceMetadata): void {
  for (const [url, document] of metadata.documents()) {
    const api = url.endsWith("/mcp") ? ("none" as const) : GET_RESOURCE_METADATA;
    app.get(url, { config: { role: "anybody", api } }, (_request, reply) => sendJson(reply, 200, document));
    refuseOthers(app, url, ["GET", "HEAD"]);
  }
}

/** Adds the probes. */
export function addHealth(app: FastifyInstance, { engine, isDraining }: Surface): void {
  app.get("/healthz", { config: { role: "anybody", api: GET_HEALTH } }, (_request, reply) =>
    sendJson(reply, 200, { status: "alive" }),
  );
  refuseOthers(app, "/healthz", ["GET", "HEAD"]);

  app.get("/readyz", { config: { role: "anybody", api: GET_READINESS } }, (_request, reply) => {
    const { state, executor, idempotency, redis, reload } = engine.stats();
    const { needLogin } = engine;
    const keeping = engine.calls.status()?.problem ?? null;
    const { kind, ready, sandbox } = executor;
    const isOpen = state === "open" && !isDraining();
    const status = isOpen ? (ready ? "ready" : "waiting for an executor") : "draining";
    const problem = isOpen && !ready ? executor.problem : null;
    return sendJson(reply, status === "ready" ? 200 : 503, {
      status,
      ...(problem === null ? {} : { reason: problem }),
      executor: { kind, ready, sandbox: sandbox.kind },
      ...(needLogin.length === 0 ? {} : { connectors: { needLogin } }),
      ...(keeping === null ? {} : { calls: { problem: keeping } }),
      ...(idempotency === undefined ? {} : { idempotency }),
      ...(redis === undefined ? {} : { redis: redis.map(({ uses, problem: why }) => ({ uses, problem: why })) }),
      ...(reload === undefined ? {} : { reload: { problem: wordsOfReload(reload) } }),
      ...describeGroups(),
    });
  });
  refuseOthers(app, "/readyz", ["GET", "HEAD"]);
}

/** A refused reload, for unauthenticated clients: its reason may quote the configuration. */
function wordsOfReload({ at, failures, inForceSince }: FailedReload): string {
  const times = failures === 1 ? "" : `, the last of ${failures}`;
  return `the reload of ${at}${times} was refused, and the configuration of ${inForceSince} is in force: the log and GET /v1/stats say why`;
}

/** Whether the kernel limits the processes that this one starts, for a program that may have it do so. */
export function describeGroups(): object {
  const groups = delegation();
  if (groups === null) return {};
  return { cgroup: groups.kind === "off" ? groups : { kind: groups.kind } };
}

/** Gauges with counter names; other metrics sum up to them. */
const MISNAMED = ["nodejs_active_handles_total", "nodejs_active_requests_total", "nodejs_active_resources_total"];
/** Present in a registry that already has the process metrics. */
const SIGN = "process_cpu_seconds_total";

/** One registry for the process: its collectors cannot be stopped. */
let ofProcess: Registry | null = null;

/** A registry, and that of this process (memory, files, event loop delay) unless the first has these metrics. */
export function withProcessMetrics(registry: Registry | null): readonly Registry[] {
  if (registry?.getSingleMetric(SIGN) !== undefined) return [registry];
  ofProcess ??= watchProcess();
  return registry === null ? [ofProcess] : [registry, ofProcess];
}

function watchProcess(): Registry {
  const watched = new Registry();
  collectDefaultMetrics({ register: watched });
  for (const name of MISNAMED) watched.removeSingleMetric(name);
  return watched;
}
