import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { executors, isAlive } from "../processes.ts";
import { keepSending, type Tally } from "./http-clients.ts";
import { serve } from "./served.ts";

const TOOL = `
export const spec = { name: "work", description: "Answers after a while." };
export default async ({ ms = 0 }) => {
  if (ms > 0) await new Promise((done) => setTimeout(done, ms));
  return { worked: ms };
};
`;

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "glovebox-drain-"));
  writeFileSync(join(folder, "work.js"), TOOL);
});

afterAll(() => rmSync(folder, { recursive: true }));

const body = (ms: number): string => JSON.stringify({ name: "work", arguments: { ms } });

/** Clients of all sorts: patient and hurried ones, and some that send several requests at once. */
function startClients(port: number): { readonly tally: Tally; readonly stop: () => Promise<unknown> } {
  const tally: Tally = { answered: 0, unbegun: 0, failed: [] };
  let isStopped = false;
  const isOver = (): boolean => isStopped;
  const sorts = [
    { body: body(0) },
    { body: body(20) },
    { body: body(0), pauseMs: 7 },
    { body: body(5), pauseMs: 40 },
    { body: body(0), pipelined: 4 },
    { body: body(3), pipelined: 8 },
  ];
  const clients = Array.from({ length: 30 }, (_, at) =>
    keepSending({ body: "", ...sorts[at % sorts.length], port, tally, isOver }),
  );
  const stop = (): Promise<unknown> => {
    isStopped = true;
    return Promise.all(clients);
  };
  return { tally, stop };
}

async function until(isTrue: () => boolean): Promise<void> {
  const untilMs = performance.now() + 20_000;
  while (!isTrue()) {
    if (performance.now() > untilMs) throw new Error("it did not come to that");
    await delay(10);
  }
}

describe("glovebox serve", () => {
  test.each([
    ["at once", []],
    ["after having said so for a while", ["--drain-delay-ms", "400"]],
  ])("ends %s under load, and answers every request that it has taken", { timeout: 60_000 }, async (_, args) => {
    await using server = await serve(["--port", "0", "--tools", folder, ...args]);
    const { tally, stop } = startClients(server.port);
    await until(() => tally.answered > 500);
    server.signal("SIGTERM");
    expect(await server.exit).toBe(0);
    await stop();
    expect(tally.failed).toEqual([]);
  });

  test("loses no call when its executor is killed under load", { timeout: 60_000 }, async () => {
    await using server = await serve(["--port", "0", "--tools", folder]);
    const { tally, stop } = startClients(server.port);
    for (let wave = 1; wave <= 3; wave++) {
      const before = tally.answered;
      await until(() => tally.answered > before + 300);
      await until(() => executors(server.pid).length === 2);
      // The one that works: the spare was started after it.
      const oldest = Math.min(...executors(server.pid));
      process.kill(oldest, "SIGKILL");
      await until(() => !isAlive(oldest));
      await until(() => tally.answered > before + 600);
    }
    await stop();
    expect(tally.failed).toEqual([]);
    const metrics = await (await fetch(`${server.url}/metrics`)).text();
    expect(Number(/^glovebox_executor_restarts_total\{[^}]*\} (\d+)$/m.exec(metrics)?.[1])).toBeGreaterThanOrEqual(3);
  });
});
