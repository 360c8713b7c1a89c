import { once } from "node:events";
import type { AddressInfo } from "node:net";
import type { FastifyError, FastifyInstance } from "fastify";
import { Registry } from "prom-client";
import type { Machine } from "../../fleet/machine/machine.ts";
import type { MachineStats } from "../../fleet/machine/machine-stats.ts";
import { sendError, sendJson, sendNotFound } from "./answers.ts";
import { answerClientError } from "./client-error.ts";
import { limitConnections } from "./connections.ts";
import { refuseOthers } from "./surface.ts";
import { requireOneHost } from "./sites.ts";
import { withProcessMetrics } from "./health.ts";

/** Those who watch a machine are few, and say little. */
const CONNECTIONS_MAX = 256;
const BODY_BYTES = 1_024;
const HEAD_BYTES = 16 * 1024;
const REQUEST_MS = 10_000;
const KEEP_ALIVE_MS = 72_000;

/** Whom a door speaks of. */
export interface WatchedMachine {
  /** `null` as long as it is not there yet. */
  readonly machine: () => Machine | null;
  /** Whether it is about to stop. */
  readonly isDraining: () => boolean;
}

export interface WorkerDoor extends AsyncDisposable {
  readonly url: string;
}

/**
 * Listens for those who watch a worker machine: probes, and whatever reads metrics. There is nothing else to be had
 * here, and nothing of what tools are given or say, so nobody is asked for a key. Rejects where it cannot listen.
 */
export async function openWorkerDoor(watched: WatchedMachine, host: string, port: number): Promise<WorkerDoor> {
  const app = await createDoor();
  addProbes(app, watched);
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

async function createDoor(): Promise<FastifyInstance> {
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
  requireOneHost(app);
  app.setNotFoundHandler((_request, reply) => sendNotFound(reply));
  app.setErrorHandler((error: FastifyError, _request, reply) => sendError(reply, error, BODY_BYTES));
  return app;
}

function addProbes(app: FastifyInstance, { machine, isDraining }: WatchedMachine): void {
  const config = { role: "anybody", api: "none" } as const;
  app.get("/metrics", { config }, async (_request, reply) => {
    const text = (await machine()?.metrics()) ?? "";
    return reply.header("content-type", Registry.PROMETHEUS_CONTENT_TYPE).send(await withProcessMetrics(text));
  });
  app.get("/healthz", { config }, (_request, reply) => sendJson(reply, 200, { status: "alive" }));
  app.get("/readyz", { config }, (_request, reply) => {
    const stats = machine()?.stats() ?? null;
    const status = isDraining() ? "draining" : statusOf(stats);
    const reason = reasonOf(status, stats);
    return sendJson(reply, status === "ready" ? 200 : 503, {
      status,
      ...(reason === null ? {} : { reason }),
      ...(stats === null ? {} : describe(stats)),
    });
  });
  for (const url of ["/metrics", "/healthz", "/readyz"]) refuseOthers(app, url, ["GET", "HEAD"]);
}

function statusOf(stats: MachineStats | null): Status {
  if (stats === null) return "starting";
  if (stats.isDraining) return "draining";
  if (!stats.isRedisUp) return "waiting for Redis";
  if (!stats.executor.ready) return "waiting for an executor";
  return stats.isReady ? "ready" : "starting";
}

type Status = "ready" | "starting" | "draining" | "waiting for Redis" | "waiting for an executor";

/** Why it is not ready, in plain words: without addresses, as anybody may ask. */
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
