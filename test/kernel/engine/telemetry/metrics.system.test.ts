// needs: prometheus
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { collectDefaultMetrics, Registry } from "prom-client";
import { expect, test } from "vitest";
import {
  createEngine,
  defineCapability,
  type EngineOptions,
  type ToolDefinition,
} from "../../../../src/glovebox/index.ts";
import { createServer, type ServerOptions } from "../../../../src/server/http/server.ts";
import { promtool } from "./promtool.ts";

const MODULES = fileURLToPath(new URL("../../../../bench/modules", import.meta.url));

const world = defineCapability({
  name: "world",
  methods: {
    look: { handler: () => "seen" },
    fail: {
      handler: () => {
        throw new Error("no");
      },
    },
  },
});

/** Ends its executor: V8 cannot interrupt it. */
const WEDGE = "export default () => { for (;;) [].indexOf.call({ length: 2 ** 53 - 1 }, 1); }";

function tool(name: string, source: string, more: Partial<ToolDefinition> = {}): ToolDefinition {
  return { name, description: "d", source, capabilities: { world: true, kv: true, tools: ["*"] }, ...more };
}

const TOOLS: readonly ToolDefinition[] = [
  tool("add", "export default ({ a, b }) => a + b;"),
  tool("look", "export default (i, { host }) => host.world.look();"),
  tool("fail", "export default (i, { host }) => host.world.fail();"),
  tool("denied", "export default (i, { host }) => host.vault.open({});"),
  tool("parent", "export default (i, { host }) => host.tools.call('look', {});"),
  tool("throw", "export default () => { throw new Error('no'); };"),
  tool("wedge", WEDGE, { limits: { cpuMs: 20 } }),
  tool("context", "export default () => { Array.prototype.extra = 1; return 1; };", { isolation: "context" }),
];
/** The same tool, as other contracts want it. */
const FOREIGN = ["add_strands", "add_xaibo", "add_amplifier"];

async function startServer(options: EngineOptions = {}, serverOptions: ServerOptions = {}) {
  const engine = await createEngine({
    workers: 1,
    executor: { kind: "process", spare: false },
    tools: [...TOOLS, ...FOREIGN.map((name) => join(MODULES, `${name}.js`))],
    capabilities: [world],
    kv: { path: ":memory:" },
    policy: { rules: [{ allow: { world: true, kv: true, tools: ["*"] } }] },
    ...options,
  });
  return createServer(engine, { port: 0, ...serverOptions });
}

async function execute(url: string, name: string, args: unknown = {}): Promise<number> {
  const body = JSON.stringify({ name, arguments: args });
  const headers = { "content-type": "application/json" };
  const response = await fetch(`${url}/v1/execute`, { method: "POST", headers, body });
  await response.arrayBuffer();
  return response.status;
}

async function scrape(url: string): Promise<string> {
  const response = await fetch(`${url}/metrics`);
  return response.text();
}

test("the metrics of a server that has seen everything are what promtool wants them to be", async () => {
  await using server = await startServer();
  for (const { name } of TOOLS) await execute(server.url, name, { a: 1, b: 2 });
  for (const name of FOREIGN) await execute(server.url, name, { a: 1, b: 2 });
  await execute(server.url, "there-is-no-such-tool");
  await execute(server.url, "add", "not an object");
  await fetch(`${server.url}/nowhere/"at\\all`);
  const metrics = await scrape(server.url);
  for (const shown of [
    /^glovebox_calls_total\{tool="add",code="ok"\} 1$/m,
    /^glovebox_calls_total\{tool="wedge",code="cpu_limit"\} 1$/m,
    /^glovebox_calls_total\{tool="other",code="tool_not_found"\} 1$/m,
    /^glovebox_calls_total\{tool="add_strands",code="ok"\} 1$/m,
    /^glovebox_capability_calls_total\{capability="world",outcome="failed"\} 1$/m,
    /^glovebox_capability_calls_total\{capability="other",outcome="denied"\} 1$/m,
    /^glovebox_executor_restarts_total\{reason="overrun"\} 1$/m,
    /^glovebox_quarantined_tools 1$/m,
    /^glovebox_http_requests_total\{route="\/v1\/execute",method="POST",status="200"\} 11$/m,
    /^glovebox_http_requests_total\{route="\/v1\/execute",method="POST",status="404"\} 1$/m,
    /^glovebox_http_requests_total\{route="other",method="GET",status="404"\} 1$/m,
    /^glovebox_http_request_duration_seconds_count\{route="\/v1\/execute"\} 13$/m,
    /^glovebox_http_connections [1-9]/m,
    /^nodejs_eventloop_lag_p99_seconds \d/m,
    /^process_resident_memory_bytes \d/m,
    /^process_open_fds \d/m,
    /^process_max_fds \d/m,
  ]) {
    expect(metrics).toMatch(shown);
  }
  expect(await promtool(["check", "metrics"], metrics)).toEqual({ code: 0, said: "" });
});

test("promtool finds what is wrong with metrics that are not in order", async () => {
  const { code, said } = await promtool(
    ["check", "metrics"],
    "# HELP a_total A gauge.\n# TYPE a_total gauge\na_total 1\n",
  );
  expect(code).not.toBe(0);
  expect(said).toContain("a_total");
});

test("a registry that tells of its process already is not told of it twice", async () => {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  await using server = await startServer({ registry, tools: [] });
  const metrics = await scrape(server.url);
  expect(metrics.match(/^# TYPE process_cpu_seconds_total /gm)).toHaveLength(1);
});

test("a server can leave its process out", async () => {
  await using server = await startServer({ tools: [] }, { processMetrics: false });
  const metrics = await scrape(server.url);
  expect(metrics).not.toMatch(/^(?:process|nodejs)_/m);
  expect(metrics).toMatch(/^# TYPE glovebox_calls_total counter$/m);
});
