import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as turn, setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEngine } from "../../src/glovebox/index.ts";
import { createServer, type Server, type ServerOptions } from "../../src/server/http/server.ts";
import { executors, isAlive } from "../processes.ts";
import { keepSending, type Tally } from "../server/http/http-clients.ts";
import { serve, SERVE } from "../server/served.ts";

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
  const untilMs = performance.now() + 120_000;
  while (!isTrue()) {
    if (performance.now() > untilMs) throw new Error("it did not come to that");
    await delay(10);
  }
}

describe("a server that closes", () => {
  interface Bench extends AsyncDisposable {
    readonly server: Server;
    /** How many calls have begun. */
    readonly begun: () => number;
    readonly line: Socket;
    /** Everything that came on the line. */
    readonly read: () => string;
  }

  async function startBench(options: ServerOptions = {}): Promise<Bench> {
    const engine = await createEngine({ workers: 1, executor: "threads", tools: [join(folder, "work.js")] });
    let [count, text] = [0, ""];
    engine.on("tool:pre", () => count++);
    const server = await createServer(engine, { port: 0, ...options });
    const line = connect(server.port, "127.0.0.1").setEncoding("utf8");
    line.on("data", (part: string) => (text += part)).on("error", () => undefined);
    await once(line, "connect");
    const end = async (): Promise<void> => {
      line.destroy();
      await server.close();
    };
    return { server, begun: () => count, line, read: () => text, [Symbol.asyncDispose]: end };
  }

  /** A server stops two turns after it is told to, and closes connections that are idle for 250 ms then. */
  const begun = async (): Promise<void> => {
    for (let turns = 0; turns < 4; turns++) await turn();
  };
  const streams = "accept: text/event-stream\r\n";
  const post = (path: string, text: string, header = ""): string =>
    `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n${header}content-length: ${text.length}\r\n\r\n${text}`;
  const request = (ms: number): string => post("/v1/execute", body(ms));
  const answers = (read: string): number => read.split('{"success":true').length - 1;

  test("answers all requests that stand in a line, says with the last that it was, and begins none behind it", async () => {
    await using bench = await startBench();
    bench.line.write(request(400) + request(300) + request(400));
    await until(() => bench.begun() === 3);
    const closed = bench.server.close();
    await delay(50);
    bench.line.write(request(0) + request(0));
    await once(bench.line, "close");
    await closed;
    expect(answers(bench.read())).toBe(3);
    const closing = bench.read().split(/^connection: close$/im);
    expect(closing.map(answers)).toEqual([2, 1]);
    expect(bench.begun()).toBe(3);
  });

  test.each([
    ["a stream", post("/v1/execute", body(300), streams)],
    ["a batch", post("/v1/execute/batch", `{"calls":[${body(300)}]}`)],
    ["a batch that is streamed", post("/v1/execute/batch", `{"calls":[${body(300)}]}`, streams)],
  ])("answers what stands behind %s that ends first", async (_, first) => {
    await using bench = await startBench();
    bench.line.write(first + request(900));
    await until(() => bench.begun() === 2);
    const closed = bench.server.close();
    await once(bench.line, "close");
    await closed;
    expect(answers(bench.read())).toBe(2);
  });

  test("answers also what waits until others of its connection are answered", async () => {
    await using bench = await startBench();
    bench.line.write(request(200).repeat(40));
    await until(() => bench.begun() >= 16);
    const closed = bench.server.close();
    await once(bench.line, "close");
    await closed;
    expect(answers(bench.read())).toBe(40);
  });

  test.each(["/v1/stats", "/mcp"])("does not wait for the end of a stream that came too late: %s", async (path) => {
    await using bench = await startBench({ drainMs: 60_000 });
    bench.line.write(request(0));
    await until(() => answers(bench.read()) === 1);
    const closed = bench.server.close();
    await begun();
    bench.line.write(`GET ${path} HTTP/1.1\r\nhost: localhost\r\n${streams}\r\n`);
    await closed;
    expect(bench.read()).toContain(path === "/mcp" ? "HTTP/1.1 503" : "content-type: text/event-stream");
  });

  test("lets a client that goes on sending read its last answer", async () => {
    await using bench = await startBench();
    bench.line.write(request(200));
    await until(() => bench.begun() === 1);
    bench.line.pause();
    const closed = bench.server.close();
    await delay(50);
    // What comes at a connection that is closed is answered with a reset, after which a client reads no more.
    for (let sent = 0; sent < 40; sent++) {
      bench.line.write(request(0));
      await delay(20);
    }
    bench.line.resume();
    await closed;
    await until(() => bench.line.destroyed);
    expect(answers(bench.read())).toBe(1);
    expect(bench.begun()).toBe(1);
  });

  test("takes the request that is on its way on a connection without any", async () => {
    await using bench = await startBench();
    bench.line.write(request(0));
    await until(() => answers(bench.read()) === 1);
    const closed = bench.server.close();
    await begun();
    bench.line.write(request(0));
    await closed;
    expect(answers(bench.read())).toBe(2);
    expect(bench.read()).toMatch(/connection: close/i);
  });

  test("says so before it does, and takes calls meanwhile", async () => {
    await using bench = await startBench({ drainDelayMs: 2_000 });
    const closed = bench.server.close();
    const ready = await fetch(`${bench.server.url}/readyz`);
    expect([ready.status, await ready.json()]).toMatchObject([503, { status: "draining" }]);
    const options = { method: "POST", body: body(0), headers: { "content-type": "application/json" } };
    expect(await (await fetch(`${bench.server.url}/v1/execute`, options)).json()).toMatchObject({ success: true });
    await closed;
    await expect(fetch(`${bench.server.url}/readyz`)).rejects.toThrow();
  });

  test("may have another one on its port, which takes over", async () => {
    await using first = await startBench({ reusePort: true });
    const { port } = first.server;
    await using second = await startBench({ port, reusePort: true });
    await first.server.close();
    expect((await fetch(`${second.server.url}/readyz`)).status).toBe(200);
    expect(second.server.port).toBe(port);
  });
});

describe("glovebox serve", () => {
  test.each([
    ["at once", []],
    ["after having said so for a while", ["--drain-delay-ms", "400"]],
  ])("ends %s under load, and answers every request that it has taken", async (_, args) => {
    await using server = await serve(["--tools", folder, ...args]);
    const { tally, stop } = startClients(server.port);
    await until(() => tally.answered > 500);
    server.signal("SIGTERM");
    expect(await server.exit).toBe(0);
    await stop();
    expect(tally.failed).toEqual([]);
  });

  test("ends well where nobody reads any more what it says", async () => {
    const service = spawn(process.execPath, [...SERVE, "--tools", folder], { stdio: ["ignore", "pipe", "pipe"] });
    const exit = once(service, "exit");
    await once(service.stdout, "data");
    service.stderr.destroy();
    service.kill("SIGTERM");
    expect(await exit).toEqual([0, null]);
  });

  test("loses no call when its executor is killed under load", async () => {
    await using server = await serve(["--tools", folder]);
    const { tally, stop } = startClients(server.port);
    for (let wave = 1; wave <= 3; wave++) {
      const before = tally.answered;
      await until(() => tally.answered > before + 300);
      await until(() => executors(server.pid).length > 0);
      // The one that works: a spare was started after it.
      const oldest = Math.min(...executors(server.pid));
      process.kill(oldest, "SIGKILL");
      await until(() => !isAlive(oldest));
      await until(() => tally.answered > before + 600);
    }
    await stop();
    expect(tally.failed).toEqual([]);
    const metrics = await (await fetch(`${server.url}/metrics`)).text();
    const restarts = [...metrics.matchAll(/^glovebox_executor_restarts_total\{[^}]*\} (\d+)$/gm)].map(([, count]) =>
      Number(count),
    );
    expect(restarts.reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(3);
  });
});
