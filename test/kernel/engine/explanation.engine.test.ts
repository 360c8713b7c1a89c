import { existsSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ScopedEngine } from "../../../src/server/access/scoped-engine.ts";
import { createEngine, DEFAULT_LIMITS, type Engine } from "../../../src/glovebox/index.ts";
import { createServer, type Server } from "../../../src/server/http/server.ts";

const READER = {
  name: "reader",
  description: "Reads the web.",
  source: "export default () => 1;",
  capabilities: { fetch: { origins: ["https://a.example", "https://b.example"] } },
  limits: { cpuMs: 123 },
};

let engine: Engine;
let server: Server;

beforeAll(async () => {
  engine = await createEngine({
    workers: 1,
    executor: "threads",
    tools: [READER],
    policy: { rules: [{ tenants: ["acme"], allow: { fetch: { origins: ["https://a.example"] } } }] },
  });
  server = await createServer(engine, { port: 0 });
});
afterAll(() => server.close());

function ask(path: string): Promise<Response> {
  return fetch(server.url + path, { signal: AbortSignal.timeout(10_000) });
}

test("a tool's explanation says what it is granted for a tenant, within which limits, and its denied requests", async () => {
  const response = await ask("/v1/tools/reader/explanation?tenant=acme");
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual(engine.explain("reader", { tenant: "acme" }));
  expect(engine.explain("reader", { tenant: "acme" })).toMatchObject({
    grants: [{ capability: "fetch", from: "policy.rules[0]" }],
    findings: [{ pointer: "/capabilities/fetch/origins/1" }],
  });
});

test("it says whether the system measures the processor time of each thread", () => {
  const expected = existsSync("/proc/thread-self/schedstat") ? "measured" : "estimated";
  expect(engine.explain("reader")?.processorTime).toBe(expected);
});

test("without a tenant it is that of whoever names none", async () => {
  expect(await (await ask("/v1/tools/reader/explanation")).json()).toMatchObject({ tenant: "", grants: [] });
});

test("a caller that has a tenant gets no other's", () => {
  const caller = { key: null, tenant: "other", roles: new Set(["execute"] as const) };
  expect(new ScopedEngine(engine).explain(caller, "reader", "acme")).toMatchObject({ tenant: "other", grants: [] });
});

const byLimit = (one: unknown, other: unknown): number => JSON.stringify(one).localeCompare(JSON.stringify(other));
const GREEDY = {
  name: "greedy",
  description: "Declares much.",
  source: "export default () => 'x'.repeat(2_000_000);",
  limits: {
    inputBytes: 9e6,
    outputBytes: 9e6,
    logBytes: 1e6,
    capabilityCalls: 9_000,
    capabilityBytes: 99e6,
    cpuMs: 3_000,
  },
};

test("a tool that declares more than the operator gives gets the operator's limits, and its explanation and the log say so", async () => {
  const warned: unknown[] = [];
  const log = (): void => undefined;
  const logger = { trace: log, debug: log, info: log, warn: (fields: object) => void warned.push(fields) };
  await using logged = await createEngine({ workers: 1, executor: "threads", logger });
  await logged.register(GREEDY);
  const { cpuMs: _, ...cut } = GREEDY.limits;
  const expected = Object.entries(cut).map(([limit, declared]) => {
    return { tool: "greedy", limit, declared, value: DEFAULT_LIMITS[limit as keyof typeof cut] };
  });
  expect(warned.toSorted(byLimit)).toEqual(expected.toSorted(byLimit));

  await engine.register(GREEDY);
  const lines = engine.explain("greedy")?.limits ?? [];
  for (const [limit, declared] of Object.entries(GREEDY.limits)) {
    const value = DEFAULT_LIMITS[limit as keyof typeof GREEDY.limits];
    const line = lines.find((one) => one.limit === limit);
    if (limit === "cpuMs") expect(line).toEqual({ limit, value: declared, from: "tool" });
    else expect(line).toEqual({ limit, value, from: "default", declared });
  }
  const { error } = await engine.execute({ name: "greedy", arguments: {} });
  expect(error?.code).toBe("output_too_large");
  expect(await (await ask("/v1/tools/greedy/explanation")).json()).toEqual(engine.explain("greedy"));
});

test("a tool may raise a limit of the host up to the ceiling that the operator has set", async () => {
  await using own = await createEngine({
    workers: 1,
    executor: "threads",
    limits: { capabilityCalls: 50 },
    maxLimits: { outputBytes: 4_000_000, capabilityBytes: 10e6 },
    tools: [GREEDY],
  });
  const lines = own.explain("greedy")?.limits;
  expect(lines).toContainEqual({ limit: "outputBytes", value: 4_000_000, from: "maxLimits", declared: 9e6 });
  expect(lines).toContainEqual({ limit: "capabilityBytes", value: 10e6, from: "maxLimits", declared: 99e6 });
  expect(lines).toContainEqual({ limit: "capabilityCalls", value: 50, from: "limits", declared: 9_000 });
  expect((await own.execute({ name: "greedy", arguments: {} })).success).toBe(true);
});

test("a call of the embedder may raise a limit of the host up to maxLimits, as before", async () => {
  await engine.register(GREEDY);
  const { success } = await engine.execute({ name: "greedy", arguments: {} }, { limits: { outputBytes: 3e6 } });
  expect(success).toBe(true);
});

test("an unknown tool has no explanation, and an invalid tenant gets none", async () => {
  expect((await ask("/v1/tools/nobody/explanation")).status).toBe(404);
  expect((await ask("/v1/tools/reader/explanation?tenant=a&tenant=b")).status).toBe(400);
  expect((await ask(`/v1/tools/reader/explanation?tenant=${"a".repeat(257)}`)).status).toBe(400);
});

test("it names what a tool uses of Node, and what to use instead of what refuses", async () => {
  const source = `import { exec } from "node:child_process"; export default () => exec(Buffer.from("ls").toString());`;
  await engine.register({ name: "shell", description: "Runs a command.", source });
  const instead = 'use context.host.exec, with a grant of the capability "exec"';
  const found = await (await ask("/v1/tools/shell/explanation")).json();
  expect(found).toMatchObject({ node: [{ name: "node:child_process.exec", instead }, { name: "Buffer" }] });
});
