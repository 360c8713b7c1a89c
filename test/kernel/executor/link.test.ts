import { MessageChannel } from "node:worker_threads";
import { expect, onTestFinished, test, vi } from "vitest";
import { PortBell, portBellBuffer } from "../../../src/kernel/base/protocol/port-bell.ts";
import { openLink } from "../../../src/kernel/executor/worker/link.ts";

/** Found by a review: a message that came while the timer was set left it behind, and each timer made another. */
test("a link has one timer, however many messages arrive", async () => {
  const { port1: host, port2: port } = new MessageChannel();
  // The link's own timers by name: those of the process include the test runner's, which end when they like.
  const timers = new Set<unknown>();
  const { setTimeout: start, clearTimeout: stop } = globalThis;
  vi.stubGlobal("setTimeout", (sleep: (...args: unknown[]) => void, ms: number, ...args: unknown[]) => {
    const timer = start(() => {
      timers.delete(timer);
      sleep(...args);
    }, ms);
    if (sleep.name === "sleep") timers.add(timer);
    return timer;
  });
  vi.stubGlobal("clearTimeout", (timer: NodeJS.Timeout) => {
    timers.delete(timer);
    stop(timer);
  });
  onTestFinished(() => void vi.unstubAllGlobals());
  const link = openLink({ kind: "port", port, bell: portBellBuffer() }, 0);
  let lines = 0;
  let most = 0;
  link.receive({
    onLine: () => lines++,
    onPause: () => undefined,
    get isIdle() {
      return lines < 12;
    },
  });
  for (let sent = 0; lines < 12;) {
    // Sent in the moment in which the link, awake again, has set its timer.
    if (lines === sent) {
      host.postMessage("a line\n");
      sent++;
    }
    await new Promise((done) => setImmediate(done));
    most = Math.max(most, timers.size);
  }
  expect(most).toBe(1);
  host.close();
  await link.closed;
});

test("a link ends at once when its host closes it, without the host's event loop and before what it sent earlier", async () => {
  const { port1: host, port2: port } = new MessageChannel();
  const buffer = portBellBuffer();
  const link = openLink({ kind: "port", port, bell: buffer }, 0);
  const lines: string[] = [];
  link.receive({ onLine: (line) => void lines.push(line), onPause: () => undefined, isIdle: false });
  host.postMessage("a line\n");
  new PortBell(buffer).close();
  host.postMessage("");
  await link.closed;
  expect(lines).toEqual([]);
});
