import { Worker } from "node:worker_threads";
import { expect, test } from "vitest";
import { PortBell, portBellBuffer } from "../../../../src/kernel/base/protocol/port-bell.ts";
import { monotonicMs } from "../../../../src/kernel/base/protocol/turn-record.ts";

function pair(): { host: PortBell; worker: PortBell } {
  const buffer = portBellBuffer();
  return { host: new PortBell(buffer), worker: new PortBell(buffer) };
}

test("a worker does not begin once the host has closed, and nobody waits for it", () => {
  const { host, worker } = pair();
  host.close();
  expect(worker.begin()).toBe(false);
  host.awaitEnd(Number.POSITIVE_INFINITY);
});

test("the host waits for a worker that has begun, on a thread of its own", async () => {
  const buffer = portBellBuffer();
  const file = new URL("../../../../src/kernel/base/protocol/port-bell.ts", import.meta.url).href;
  const program = `
    const { workerData, parentPort } = require("node:worker_threads");
    import(${JSON.stringify(file)}).then(({ PortBell }) => {
      const bell = new PortBell(workerData);
      parentPort.postMessage(bell.begin());
      bell.isRungSince(0, 10_000);
      bell.end();
    });`;
  const worker = new Worker(program, { eval: true, workerData: buffer });
  expect(await new Promise((resolve) => void worker.once("message", resolve))).toBe(true);
  const host = new PortBell(buffer);
  host.ring();
  host.awaitEnd(Number.POSITIVE_INFINITY);
  await worker.terminate();
});

test("the host waits no longer than it wants", () => {
  const { host, worker } = pair();
  expect(worker.begin()).toBe(true);
  host.awaitEnd(monotonicMs() + 1);
  worker.end();
});
