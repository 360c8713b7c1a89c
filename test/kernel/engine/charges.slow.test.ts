import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createEngine, defineCapability, type Engine, type ToolDefinition } from "../../../src/glovebox/index.ts";
import { byLength } from "../../length.ts";
import { executors } from "../../processes.ts";

/** By number, not by time: beside other work, less of what is measured would be calls. */
const WARM_CALLS = byLength(500, 2_000);
const LOAD_CALLS = byLength(1_500, 10_000);
const TENANTS = 4;
const AT_ONCE = 16;
/** Plain calls are more than the others. Each call takes the next one. */
const MIX = ["plain", "plain", "plain", "spins", "kv", "fetches", "files", "sums"];
const SERVER = `require("node:http").createServer((request, response) => response.end("x".repeat(2000)))
  .listen(0, "127.0.0.1", function () { console.log(this.address().port); });`;

const folder = mkdtempSync(join(tmpdir(), "glovebox-charges-"));
let server: ChildProcess;
let engine: Engine;

const sums = defineCapability({
  name: "sums",
  methods: { sum: { handler: (list: unknown) => JSON.stringify(list).length } },
});

beforeAll(async () => {
  server = spawn(process.execPath, ["-e", SERVER], { stdio: ["ignore", "pipe", "inherit"] });
  if (server.stdout === null) throw new Error("the server has no output");
  const [port] = (await once(server.stdout, "data")) as [Buffer];
  const origin = `http://127.0.0.1:${port.toString().trim()}`;
  const capabilities = {
    sums: true,
    kv: true as const,
    fetch: { origins: [origin] },
    fs: { shared: { mode: "rw" as const } },
  };
  const tool = (name: string, body: string): ToolDefinition => ({
    name,
    description: name,
    source: `export default async ({ n }, { host }) => { ${body} }`,
    inputSchema: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
    capabilities,
  });
  engine = await createEngine({
    stateDir: folder,
    workers: 2,
    executor: { kind: "process", spare: false },
    capabilities: [sums],
    policy: {
      rules: [
        {
          allow: {
            ...capabilities,
            fetch: { origins: [], privateOrigins: [origin] },
            fs: { shared: { path: folder, mode: "rw" as const } },
          },
        },
      ],
    },
    limits: { wallMs: 60_000, queueMs: 60_000 },
    tools: [
      tool("plain", "return n * 2;"),
      tool("spins", "let sum = 0; for (let at = 0; at < 3e6; at++) sum = (sum * 31 + at) % 1000003; return sum;"),
      tool(
        "kv",
        "for (let at = 0; at < 10; at++) await host.kv.set('key' + at, 'x'.repeat(500)); return host.kv.list();",
      ),
      tool(
        "fetches",
        `await Promise.all([1, 2, 3, 4].map(() => fetch("${origin}/").then((answer) => answer.text())));`,
      ),
      tool(
        "files",
        "const path = '/shared/' + (n % 10); await host.fs.writeFile(path, 'y'.repeat(5000)); await host.fs.readFile(path);",
      ),
      tool("sums", "for (let at = 0; at < 5; at++) await host.sums.sum(Array.from({ length: 300 }, (_, n) => n));"),
    ],
  });
}, 300_000);

afterAll(async () => {
  await engine.close();
  server.kill();
  rmSync(folder, { recursive: true, force: true });
});

async function load(calls: number): Promise<void> {
  let left = calls;
  const call = async (at: number): Promise<void> => {
    for (let n = at; left-- > 0; n += 7) {
      const name = MIX[n % MIX.length] ?? "";
      const { error } = await engine.execute({ name, arguments: { n } }, { tenant: `tenant-${at % TENANTS}` });
      expect(error).toBe(null);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, (_, at) => call(at)));
}

/** Processor time of a process's threads with such names, in milliseconds. */
function threadsMs(pid: number | "self", names: RegExp): number {
  const tasks = `/proc/${pid}/task`;
  return readdirSync(tasks).reduce((sum, task) => {
    if (!names.test(readFileSync(`${tasks}/${task}/comm`, "latin1"))) return sum;
    return sum + Number(readFileSync(`${tasks}/${task}/schedstat`, "latin1").split(" ")[0]) / 1e6;
  }, 0);
}

/** Processor time that calls have caused: of the executor, of the broker thread, and of the threads that read files. */
function usedMs() {
  return {
    executor: executors().reduce((sum, pid) => sum + threadsMs(pid, /./), 0),
    broker: threadsMs("self", /^glovebox-broker/),
    files: threadsMs("self", /^libuv-worker/),
  };
}

/** Not measured: builds, which are of no tenant, and the dispatch of calls on the main thread, which is counted and not timed. */
test("tenants are charged the processor time that their calls cause", { timeout: 600_000 }, async ({ skip }) => {
  skip(process.platform !== "linux", "only Linux tells the processor time of each thread");
  await load(WARM_CALLS);
  const [before, used] = [engine.usage(), usedMs()];
  await load(LOAD_CALLS);
  const [after, usedAfter] = [engine.usage(), usedMs()];
  const charged = { executor: after.executorMs - before.executorMs, broker: after.brokerMs - before.brokerMs };
  const main = after.mainMs - before.mainMs;
  const caused = {
    executor: usedAfter.executor - used.executor,
    broker: usedAfter.broker - used.broker,
    files: usedAfter.files - used.files,
  };
  const share = (charged.executor + charged.broker + main) / (caused.executor + caused.broker + caused.files + main);
  const round = (part: object) =>
    JSON.stringify(part, (_, value) => (typeof value === "number" ? Math.round(value) : value));
  process.stdout.write(
    `charged ${round({ ...charged, main })} of ${round(caused)} ms: ${(share * 100).toFixed(1)} %\n`,
  );
  expect(Math.abs(charged.broker / caused.broker - 1)).toBeLessThan(0.1);
  expect(Math.abs(charged.executor / caused.executor - 1)).toBeLessThan(0.15);
  expect(Math.abs(share - 1)).toBeLessThan(0.15);
});
