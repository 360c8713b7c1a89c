import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";
import { createKey } from "../../../src/server/access/secret.ts";
import { toFetchHandler } from "../../../src/server/handlers/index.ts";
import { createServer, type Server } from "../../../src/server/http/server.ts";
import type { CallPage, StoredCall } from "../../../src/kernel/store/calls/call-record.ts";
import { createClient } from "../../../src/server/client/client.ts";
import { conformingFetch } from "../mcp/conformance.ts";

const KEYS = {
  all: { tenant: null, roles: ["calls"] },
  acme: { tenant: "acme", roles: ["execute", "calls"] },
  adder: { tenant: "acme", roles: ["calls"], tools: ["ad*"] },
  caller: { tenant: "acme", roles: ["execute", "admin", "metrics"] },
} as const;
type Name = keyof typeof KEYS;
const keys = new Map(Object.keys(KEYS).map((name) => [name, createKey()]));

let engine: Engine;
let server: Server;
beforeAll(async () => {
  engine = await createEngine({ workers: 1, executor: "threads", calls: { path: ":memory:" } });
  await engine.register({ name: "add", description: "Adds.", source: "export default ({ a, b }) => a + b;" });
  const source = "export default ({ why }) => { throw new Error(why); };";
  await engine.register({ name: "fail", description: "Fails.", source });
  server = await createServer(engine, {
    port: 0,
    drainMs: 100,
    keys: Object.entries(KEYS).map(([name, grant]) => ({ name, ...grant, hash: keys.get(name)?.hash ?? "" })),
  });
  for (const tenant of ["acme", "beta"]) {
    await engine.execute({ id: `${tenant}-1`, name: "add", arguments: { a: 1, b: 2 } }, { tenant });
    await engine.execute({ id: `${tenant}-2`, name: "fail", arguments: { why: `rain at ${tenant}` } }, { tenant });
  }
});
afterAll(async () => {
  await server.close();
});

async function get(path: string, key: Name) {
  const headers = { authorization: `Bearer ${keys.get(key)?.secret}` };
  const response = await conformingFetch(`${server.url}/v1/calls${path}`, { headers });
  const type = response.headers.get("content-type");
  return { status: response.status, type, body: (await response.json()) as unknown };
}

async function ids(query: string, key: Name): Promise<readonly string[]> {
  const { status, body } = await get(query, key);
  expect(status).toBe(200);
  return (body as CallPage).calls.map(({ id }) => id);
}

describe("GET /v1/calls", () => {
  test("lists calls, newest first, by filters and in pages", async () => {
    expect(await ids("", "all")).toEqual(["beta-2", "beta-1", "acme-2", "acme-1"]);
    expect(await ids("?tool=fail&code=tool_error", "all")).toEqual(["beta-2", "acme-2"]);
    expect(await ids("?text=RAIN%20AT%20a", "all")).toEqual(["acme-2"]);
    expect(await ids(`?since=${Date.now() + 60_000}`, "all")).toEqual([]);
    expect(await ids(`?until=${new Date().toISOString()}&tenant=beta`, "all")).toEqual(["beta-2", "beta-1"]);
    const { body } = await get("?limit=3", "all");
    const { cursor } = body as CallPage;
    expect(await ids(`?limit=3&cursor=${cursor}`, "all")).toEqual(["acme-1"]);
  });

  test("a key sees calls of its tenant and its tools only, whatever it asks for", async () => {
    expect(await ids("", "acme")).toEqual(["acme-2", "acme-1"]);
    expect(await ids("?tenant=beta", "acme")).toEqual(["acme-2", "acme-1"]);
    expect(await ids("?tool=fail", "adder")).toEqual([]);
    expect(await ids("", "adder")).toEqual(["acme-1"]);
  });

  test("needs the role calls", async () => {
    expect((await get("", "caller")).status).toBe(403);
    expect((await get("/acme-1", "caller")).status).toBe(403);
  });

  test("answers what is no filter with a problem that says what is wrong", async () => {
    const wrong = ["?limit=0", "?limit=1000", "?limit=x", "?since=soon", "?cursor=1'--", "?tol=add", "?tool=a&tool=b"];
    for (const query of wrong) {
      const { status, type, body } = await get(query, "all");
      expect([query, status, type]).toEqual([query, 400, "application/problem+json; charset=utf-8"]);
      expect(body).toMatchObject({ title: "Bad Request", status: 400, detail: expect.any(String) });
    }
    expect((await get("?tol=add", "all")).body).toMatchObject({ detail: expect.stringContaining("tol is no filter") });
  });
});

describe("GET /v1/calls/{id}", () => {
  test("shows a call with what was kept of it", async () => {
    const { body } = await get("/beta-2", "all");
    expect(body).toMatchObject({
      format: "glovebox-call/1",
      id: "beta-2",
      tenant: "beta",
      code: "tool_error",
      detail: { arguments: { why: "rain at beta" }, error: { message: "rain at beta" } },
    } satisfies Partial<Record<keyof StoredCall, unknown>>);
    expect((await get("/acme-1", "acme")).body).toMatchObject({ id: "acme-1", detail: null });
  });

  test("does not know calls of other tenants and tools", async () => {
    expect((await get("/beta-2", "acme")).body).toMatchObject({ status: 404, detail: "there is no such call" });
    expect((await get("/acme-2", "adder")).status).toBe(404);
    expect((await get("/nothing", "all")).status).toBe(404);
  });
});

test("a server that keeps no calls says so", async () => {
  const bare = await createEngine({ workers: 1, executor: "threads" });
  await using other = await createServer(bare, { port: 0 });
  const response = await conformingFetch(`${other.url}/v1/calls`);
  expect(response.status).toBe(404);
  expect(await response.json()).toMatchObject({ detail: expect.stringContaining("keeps no calls") });
});

test("a handler that anybody may call does not show the calls of all", () => {
  const open = () => toFetchHandler(engine, { allowAnybody: true, routes: ["execute", "calls"] });
  expect(open).toThrow("anybody could read the calls of all");
});

async function post(path: string, key: Name) {
  const headers = { authorization: `Bearer ${keys.get(key)?.secret}`, "content-type": "application/json" };
  const response = await conformingFetch(`${server.url}/v1/calls${path}`, { method: "POST", headers, body: "{}" });
  return { status: response.status, body: (await response.json()) as Readonly<Record<string, unknown>> };
}

describe("POST /v1/calls/{id}/replay", () => {
  test("runs a kept call again and says how it differs", async () => {
    const { status, body } = await post("/acme-2/replay", "acme");
    expect(status).toBe(200);
    expect(body).toMatchObject({ verdict: "same", differences: [], result: { success: false, output: null } });
    expect(body["result"]).toMatchObject({ error: { code: "tool_error", message: "rain at acme" } });
  });

  test("refuses calls of others, calls without values, and keys without the role", async () => {
    expect((await post("/beta-2/replay", "acme")).status).toBe(404);
    expect((await post("/acme-2/replay", "adder")).status).toBe(404);
    expect((await post("/acme-2/replay", "caller")).status).toBe(403);
    const { status, body } = await post("/acme-1/replay", "acme");
    expect(status).toBe(409);
    expect(body).toMatchObject({ detail: expect.stringContaining("its values were not kept") });
  });
});

test("GET /v1/calls/{id}/comparison tells the differences of two calls", async () => {
  const { body } = await get("/acme-2/comparison?with=beta-2", "all");
  const { isSame, differences } = body as { isSame: boolean; differences: readonly unknown[] };
  expect(isSame).toBe(false);
  expect(differences[0]).toEqual({ pointer: "/error/message", left: "rain at acme", right: "rain at beta" });
  expect((await get("/acme-2/comparison?with=beta-2", "acme")).status).toBe(404);
  expect((await get("/acme-2/comparison", "acme")).status).toBe(400);
  expect((await get("/acme-2/comparison?with=acme-1", "acme")).status).toBe(409);
});

describe("GET /v1/calls as a stream", () => {
  const open = async (query: string, key: Name) => {
    const headers = { authorization: `Bearer ${keys.get(key)?.secret}`, accept: "text/event-stream" };
    return fetch(`${server.url}/v1/calls${query}`, { headers });
  };

  test("tells calls of the caller's tenant and tools as they end", async () => {
    const response = await open("?code=ok", "adder");
    expect(response.headers.get("content-type")).toContain("text/event-stream");
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    await engine.execute({ id: "s1", name: "add", arguments: {} }, { tenant: "beta" });
    await engine.execute({ id: "s2", name: "fail", arguments: {} }, { tenant: "acme" });
    await engine.execute({ id: "s3", name: "add", arguments: { a: 1, b: 2 } }, { tenant: "acme" });
    let text = "";
    while (!text.includes("\n\n")) text += (await reader?.read())?.value ?? "";
    expect(text).toMatch(/^event: call\nid: 1\ndata: \{"id":"s3",/);
    await reader?.cancel();
  });

  test("says what is wrong before it begins", async () => {
    expect((await open("?code=1&code=2", "all")).status).toBe(400);
    expect((await open("", "caller")).status).toBe(403);
  });
});

test("a client lists, shows and replays kept calls", async () => {
  const { calls } = createClient({ url: server.url, key: keys.get("acme")?.secret ?? "" });
  const since = new Date(Date.now() - 60_000);
  const page = await calls.list({ code: "tool_error", since, limit: 1, tool: "fail", text: "rain" });
  expect(page.calls).toMatchObject([{ id: "acme-2" }]);
  expect(await calls.get("acme-2")).toMatchObject({ id: "acme-2", detail: { arguments: { why: "rain at acme" } } });
  expect(await calls.replay("acme-2")).toMatchObject({ verdict: "same" });
  expect(await calls.get("beta-2")).toBeUndefined();
  await expect(calls.replay("acme-1")).rejects.toThrow("its values were not kept");
  await expect(calls.list({ limit: 1_000 })).rejects.toThrow("limit is an integer");
});
