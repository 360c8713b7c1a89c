import { existsSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ScopedEngine } from "../../src/service/access/scoped-engine.ts";
import { createEngine, type Engine } from "../../src/index.ts";
import { createServer, type Server } from "../../src/service/http/server.ts";

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

test("an unknown tool has no explanation, and an invalid tenant gets none", async () => {
  expect((await ask("/v1/tools/nobody/explanation")).status).toBe(404);
  expect((await ask("/v1/tools/reader/explanation?tenant=a&tenant=b")).status).toBe(400);
  expect((await ask(`/v1/tools/reader/explanation?tenant=${"a".repeat(257)}`)).status).toBe(400);
});
