import { once } from "node:events";
import type { AddressInfo } from "node:net";
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Machine } from "../../fleet/machine/machine.ts";
import type { MachineStats } from "../../fleet/machine/machine-stats.ts";
import { sendError, sendJson, sendNotFound } from "./answers.ts";
import { answerClientError } from "./client-error.ts";
import { limitConnections } from "./connections.ts";
import { oneAddress } from "./origin-check.ts";
import { refuseOthers } from "./surface.ts";
import { requireSoundHead } from "./head-check.ts";
import { describeGroups, sendMetrics, withProcessMetrics } from "./health.ts";

/** Only probes and scrapers connect. */
const CONNECTIONS_MAX = 256;
const BODY_BYTES = 1_024;
const HEAD_BYTES = 16 * 1024;
const REQUEST_MS = 10_000;
const KEEP_ALIVE_MS = 72_000;

/** The part of a worker machine that its surface uses. */
export interface WatchedMachine {
  /** `null` until it has started. */
  readonly machine: () => Machine | null;
  /** Whether the machine is stopping. */
  readonly isDraining: () => boolean;
}

export interface WorkerSurface extends AsyncDisposable {
  readonly url: string;
}

/**
 * Serves the probes and metrics of a worker machine. No key is required: it exposes only these, without inputs or
 * outputs of tools. Rejects if it cannot listen.
 */
export function openWorkerSurface(watched: WatchedMachine, host: string, port: number): Promise<WorkerSurface> {
  return openSurface((app) => addProbes(app, watched), host, port);
}

/**
 * Serves the probes of a server whose start may take long, at the address of the server: it is live, and all other
 * requests are answered with 503 and the reason. Rejects if it cannot listen.
 */
export function openStartSurface(reason: string, host: string, port: number): Promise<WorkerSurface> {
  const answer = async ({ url }: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> =>
    url === "/healthz"
      ? sendJson(reply, 200, { status: "alive" })
      : sendJson(reply.header("retry-after", "1"), 503, { status: "starting", reason });
  return openSurface((app) => void app.addHook("onRequest", answer), oneAddress(host), port);
}

async function openSurface(addTo: (app: FastifyInstance) => void, host: string, port: number): Promise<WorkerSurface> {
  const app = await createWorkerApp();
  addTo(app);
  await app.ready();
  try {
    const listening = once(app.server, "listening");
    app.server.listen({ host, port });
    await listening;
  } catch (error) {
    await app.close();
    throw error;
  }
  const { address, family, port: bound } = app.server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    app.server.closeAllConnections();
    await app.close();
  };
  return { url: `http://${family === "IPv6" ? `[${address}]` : address}:${bound}`, [Symbol.asyncDispose]: close };
}

async function createWorkerApp(): Promise<FastifyInstance> {
  const { fastify } = await import("fastify");
  const app = fastify({
    bodyLimit: BODY_BYTES,
    connectionTimeout: KEEP_ALIVE_MS,
    requestTimeout: REQUEST_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    forceCloseConnections: true,
    return503OnClosing: false,
    http: { requireHostHeader: false, headersTimeout: REQUEST_MS, maxHeaderSize: HEAD_BYTES },
    clientErrorHandler: (error, socket) => answerClientError(error, socket, () => undefined),
    frameworkErrors: (error, _request, reply) => void sendError(reply, error, BODY_BYTES),
  });
  limitConnections(app.server, CONNECTIONS_MAX, () => undefined);
  requireSoundHead(app);
  app.setNotFoundHandler((_request, reply) => sendNotFound(reply));
  app.setErrorHandler((error: FastifyError, _request, reply) => sendError(reply, error, BODY_BYTES));
  return app;
}

function addProbes(app: FastifyInstance, { machine, isDraining }: WatchedMachine): void {
  const config = { role: "anybody", api: "none" } as const;
  app.get("/metrics", { config }, (request, reply) =>
    sendMetrics(request, reply, withProcessMetrics(machine()?.registry ?? null)),
  );
  app.get("/healthz", { config }, (_request, reply) => sendJson(reply, 200, { status: "alive" }));
  app.get("/readyz", { config }, (_request, reply) => {
    const stats = machine()?.stats() ?? null;
    const status = isDraining() ? "draining" : statusOf(stats);
    const reason = reasonOf(status, stats);
    return sendJson(reply, status === "ready" ? 200 : 503, {
      status,
      ...(reason === null ? {} : { reason }),
      ...(stats === null ? {} : describe(stats)),
      ...describeGroups(),
    });
  });
  for (const url of ["/metrics", "/healthz", "/readyz"]) refuseOthers(app, url, ["GET", "HEAD"]);
}

function statusOf(stats: MachineStats | null): Status {
  if (stats === null) return "starting";
  if (stats.isDraining) return "draining";
  if (!stats.isRedisUp) return "waiting for Redis";
  if (!stats.executor.ready) return "waiting for an executor";
  if (!stats.isReady) return "starting";
  return stats.problem === null ? "ready" : "waiting for a server";
}

type Status =
  "ready" | "starting" | "draining" | "waiting for Redis" | "waiting for an executor" | "waiting for a server";

/** Reason why the machine is not ready, without addresses: it is public. */
function reasonOf(status: Status, stats: MachineStats | null): string | null {
  switch (status) {
    case "ready":
      return null;
    case "starting":
      return "its executor is being started, or Redis has not been reached yet";
    case "draining":
      return `it is about to stop and takes no more jobs; calls that it still has: ${stats?.calls ?? 0}`;
    case "waiting for Redis":
    case "waiting for an executor":
    case "waiting for a server":
      return stats?.problem ?? null;
  }
}

function describe({ id, isRedisUp, slots, busySlots, executor }: MachineStats): object {
  return {
    machine: { id, slots, busySlots },
    redis: { ready: isRedisUp },
    executor: { kind: "process", ready: executor.ready, sandbox: executor.sandbox.kind },
  };
}
