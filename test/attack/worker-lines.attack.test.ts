import { spawn } from "node:child_process";
import type { Duplex } from "node:stream";
import { expect, test } from "vitest";
import type { ToHost } from "../../src/kernel/base/protocol/messages.ts";
import { WorkerConnection } from "../../src/kernel/executor/dispatch/worker-connection.ts";
import { pipeTransport } from "../../src/kernel/executor/process/pipe-transport.ts";
import { TurnMeter } from "../turns.ts";

/** The longest turn of the loop, in processor time: 50 ms on a quiet machine. */
const LOOP_MS = 250;

/** Reads what a process writes into a worker's pipe, until the host gives it up. */
async function readFrom(program: string): Promise<{ error: string; lines: number; loopMaxMs: number; heldMb: number }> {
  const script = `const { writeSync } = require("node:fs");
    const write = (text) => { for (let at = 0; at < text.length;) try { at += writeSync(3, text.slice(at, at + 65_536)); } catch {} };
    ${program}; setInterval(() => undefined, 1_000);`;
  const child = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "ignore", "ignore", "pipe"] });
  const pipe = child.stdio[3] as Duplex;
  using turns = new TurnMeter();
  let lines = 0;
  const { promise: broken, resolve } = Promise.withResolvers<Error>();
  const listener = {
    onMessage: (_connection: WorkerConnection, _message: ToHost) => void lines++,
    onPause: () => undefined,
    onWho: () => undefined,
    onDiverged: () => undefined,
    onBroken: (_connection: WorkerConnection, error: Error) => resolve(error),
  };
  const before = process.memoryUsage().heapUsed;
  const connection = new WorkerConnection(0, pipeTransport(pipe), listener);
  try {
    const { name, message } = await broken;
    const heldMb = (process.memoryUsage().heapUsed - before) / 1024 ** 2;
    turns.stop();
    return { error: `${name}: ${message}`, lines, loopMaxMs: turns.longestMs, heldMb };
  } finally {
    connection.close();
    child.kill("SIGKILL");
  }
}

test("a worker that writes 64 MB without a line end is cut off while it writes", async () => {
  const felt = await readFrom("for (let at = 0; at < 64; at++) write('x'.repeat(1_000_000))");
  console.info(JSON.stringify(felt));
  expect(felt).toMatchObject({ error: "ProtocolError: a message that is too long", lines: 0 });
  expect(felt.loopMaxMs).toBeLessThan(LOOP_MS);
});

test("a worker that writes a million lines of no call is cut off, and the loop has its turns", async () => {
  const felt = await readFrom("for (let at = 0; at < 100; at++) write('m\\t1\\t1\\t1\\t1\\n'.repeat(10_000))");
  console.info(JSON.stringify(felt));
  expect(felt).toMatchObject({ error: "ProtocolError: more messages than its calls can have", lines: 500_000 });
  expect(felt.loopMaxMs).toBeLessThan(LOOP_MS);
});
