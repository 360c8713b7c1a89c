import { Gauge, Registry } from "prom-client";
import { Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openWorkerSurface, type WorkerSurface } from "../../../src/server/http/worker-surface.ts";
import type { Machine } from "../../../src/fleet/machine/machine.ts";
import type { MachineStats } from "../../../src/fleet/machine/machine-stats.ts";
import { READY as IDLE } from "../../fleet/machine/ready-machine.ts";

const READY: MachineStats = { ...IDLE, busySlots: 3, calls: 5 };

let stats: MachineStats | null;
let isDraining: boolean;
let door: WorkerSurface;

function machine(): Machine | null {
  if (stats === null) return null;
  const now = stats;
  const nothing = (): Promise<void> => Promise.resolve();
  const registry = new Registry();
  new Gauge({ name: "glovebox_machine_slots", help: "Slots.", registers: [registry] }).set(8);
  return { stats: () => now, registry, drain: nothing, close: nothing, [Symbol.asyncDispose]: nothing };
}

async function get(path: string, method = "GET"): Promise<{ readonly status: number; readonly body: string }> {
  const response = await fetch(`${door.url}${path}`, { method });
  return { status: response.status, body: await response.text() };
}

async function readiness(): Promise<readonly [number, unknown]> {
  const { status, body } = await get("/readyz");
  return [status, (JSON.parse(body) as { status: unknown }).status];
}

beforeEach(async () => {
  stats = READY;
  isDraining = false;
  door = await openWorkerSurface({ machine, isDraining: () => isDraining }, "127.0.0.1", 0);
});

afterEach(() => door[Symbol.asyncDispose]());

describe("the door of a worker machine", () => {
  test("says that the machine is ready, and what it has to do", async () => {
    const { status, body } = await get("/readyz");
    expect(status).toBe(200);
    expect(JSON.parse(body)).toEqual({
      status: "ready",
      machine: { id: "m1", slots: 8, busySlots: 3 },
      redis: { ready: true },
      executor: { kind: "process", ready: true, sandbox: "bubblewrap" },
    });
  });

  test.each<[string, MachineStats | null]>([
    ["starting", null],
    ["starting", { ...READY, isReady: false }],
    ["waiting for Redis", { ...READY, isRedisUp: false }],
    ["waiting for an executor", { ...READY, executor: { ...READY.executor, ready: false } }],
    ["waiting for a server", { ...READY, problem: "1 servers cannot be read" }],
    ["draining", { ...READY, isDraining: true }],
  ])("says that the machine is not ready while it is %s", async (status, now) => {
    stats = now;
    expect(await readiness()).toEqual([503, status]);
  });

  test("says in plain words what it waits for", async () => {
    const reason = async () => (JSON.parse((await get("/readyz")).body) as { reason?: unknown }).reason;
    expect(await reason()).toBeUndefined();
    const problem = "Redis has not been reached since 2026-01-01T00:00:00Z (ECONNREFUSED)";
    stats = { ...READY, isRedisUp: false, isReady: false, problem };
    expect(await reason()).toBe(problem);
    stats = { ...READY, isReady: false, isDraining: true };
    expect(await reason()).toBe("it is about to stop and takes no more jobs; calls that it still has: 5");
    stats = null;
    expect(await reason()).toMatch(/^its executor is being started/);
  });

  test("says that the machine drains from the moment at which it is told to stop", async () => {
    isDraining = true;
    expect(await readiness()).toEqual([503, "draining"]);
  });

  test("says that the process is alive, whatever it waits for", async () => {
    for (const now of [null, { ...READY, isRedisUp: false }]) {
      stats = now;
      expect(await get("/healthz")).toEqual({ status: 200, body: '{"status":"alive"}' });
    }
  });

  test("shows the machine's metrics and those of its process", async () => {
    const { status, body } = await get("/metrics");
    expect(status).toBe(200);
    expect(body).toMatch(/^glovebox_machine_slots 8$/m);
    expect(body).toMatch(/^process_cpu_seconds_total /m);
    stats = null;
    expect(await get("/metrics")).toMatchObject({
      status: 200,
      body: expect.stringMatching(/^process_cpu_seconds_total /m),
    });
  });

  test("has nothing else, and takes nothing", async () => {
    expect((await get("/v1/execute")).status).toBe(404);
    expect((await get("/metrics", "POST")).status).toBe(405);
    expect((await get("/readyz", "HEAD")).status).toBe(200);
  });

  test("closes while a probe's connection is open", async () => {
    const { port, hostname } = new URL(door.url);
    const socket = new Socket().connect(Number(port), hostname);
    const closed = new Promise((resolve) => socket.once("close", resolve));
    await new Promise((resolve) => socket.once("connect", resolve));
    await get("/healthz");
    await door[Symbol.asyncDispose]();
    await closed;
  });
});

test("a door rejects where it cannot listen", async () => {
  const taken = openWorkerSurface({ machine, isDraining: () => false }, "127.0.0.1", Number(new URL(door.url).port));
  await expect(taken).rejects.toMatchObject({ code: "EADDRINUSE" });
});
