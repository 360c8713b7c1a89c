import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createEngine, type Engine, type ToolInfo, type ToolResult } from "../../../src/glovebox/index.ts";
import { createServer, type Server } from "../../../src/server/http/server.ts";
import { conformingFetch } from "../mcp/conformance.ts";

const ADD = { name: "add", description: "Adds.", source: "export default ({ a, b }) => a + b;" };

describe("an administrator", () => {
  let engine: Engine;
  let server: Server;

  beforeEach(async () => {
    engine = await createEngine({ workers: 1, executor: "threads" });
    server = await createServer(engine, { port: 0, drainMs: 100, admin: "open" });
  });

  afterEach(() => server.close());

  const send = async (method: string, name: string, body?: unknown, headers: Record<string, string> = {}) => {
    const response = await conformingFetch(`${server.url}/v1/tools/${name}`, {
      method,
      headers: { ...headers, ...(body === undefined ? {} : { "content-type": "application/json" }) },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const answer = (text === "" ? null : JSON.parse(text)) as (ToolInfo & ToolResult) | null;
    return { status: response.status, etag: response.headers.get("etag"), answer };
  };
  const put = (body: unknown, headers?: Record<string, string>, name = "add") => send("PUT", name, body, headers);

  test("puts a tool in, replaces it, and takes it out", async () => {
    const created = await put({ ...ADD, version: "1.0.0" });
    expect(created).toMatchObject({ status: 201, answer: { name: "add", version: "1.0.0" } });
    const call = { name: "add", arguments: { a: 1, b: 2 } };
    expect((await engine.execute(call)).output).toBe(3);
    const replaced = await put({ ...ADD, source: "export default ({ a, b }) => a * 10 + b;" });
    expect(replaced.status).toBe(200);
    expect((await engine.execute(call)).output).toBe(12);
    expect(await send("DELETE", "add")).toMatchObject({ status: 204, answer: null });
    expect((await engine.execute(call)).error?.code).toBe("tool_not_found");
    expect(await send("DELETE", "add")).toMatchObject({ status: 404, answer: { error: { code: "tool_not_found" } } });
  });

  test.each([
    ["no object", "[]"],
    ["no JSON", "{"],
    ["an object of nothing", {}],
    ["no source", { name: "add", description: "Adds." }],
    ["a file of the server", { name: "add", description: "Adds.", entry: "/etc/hosts" }],
    ["a file of the server beside the source", { ...ADD, entry: "/etc/hosts" }],
    ["a folder of the server", { path: "/etc" }],
    ["a folder of the server beside the source", { ...ADD, path: "/etc" }],
    ["a record", { ...ADD, record: {} }],
    ["something that definitions do not have", { ...ADD, sources: [] }],
    ["another name", { ...ADD, name: "subtract" }],
    ["a name that is a number", { ...ADD, name: 1 }],
  ])("is refused with 400 where the body has %s", async (_, body) => {
    expect(await put(body)).toMatchObject({ status: 400, answer: { error: { code: "invalid_arguments" } } });
    expect(engine.list()).toEqual([]);
  });

  test.each([
    ["does not parse", "export default ("],
    ["throws when it is loaded", "throw new Error('no');"],
    ["exports nothing", "export const a = 1;"],
    ["imports a file of the server", 'import hosts from "/etc/hosts"; export default () => hosts;'],
    ["imports a file beside the server", 'import all from "./package.json"; export default () => all;'],
    ["imports a package of the server", 'import { z } from "zod"; export default () => z;'],
    ["requires a file of the server", 'const hosts = require("/etc/hosts"); export default () => hosts;'],
  ])("is answered 422 with what to mend where the module %s, and the old one stays", async (_, source) => {
    await put(ADD);
    const { status, answer } = await put({ ...ADD, source });
    expect({ status, code: answer?.error?.code }).toEqual({ status: 422, code: "load_error" });
    expect(answer?.error?.message).toMatch(/^tool "add" /);
    expect(JSON.stringify(answer)).not.toMatch(/localhost|node_modules|\/src\/|\/tmp\//);
    expect((await engine.execute({ name: "add", arguments: { a: 1, b: 2 } })).output).toBe(3);
  });

  test("changes a tool only where it is the one that the conditions name", async () => {
    const { etag } = await put(ADD, { "if-none-match": "*" });
    expect(etag).toMatch(/^"[\w-]{43}"$/);
    expect((await put(ADD, { "if-none-match": "*" })).status).toBe(412);
    expect((await put(ADD, { "if-match": '"other"' })).status).toBe(412);
    const second = await put({ ...ADD, version: "2.0.0" }, { "if-match": `"other", ${etag}` });
    expect(second.status).toBe(200);
    expect(second.etag).not.toBe(etag);
    expect((await send("DELETE", "add", undefined, { "if-match": etag ?? "" })).status).toBe(412);
    expect((await send("DELETE", "add", undefined, { "if-match": "*" })).status).toBe(204);
    expect((await put(ADD, { "if-match": "*" })).status).toBe(412);
  });

  test("is told with 304 that a tool is what it was", async () => {
    const { etag } = await put(ADD);
    const get = (one: string) => send("GET", "add", undefined, { "if-none-match": one });
    expect(await get('"other"')).toMatchObject({ status: 200, etag, answer: { name: "add" } });
    expect(await get(etag ?? "")).toMatchObject({ status: 304, etag, answer: null });
    await put({ ...ADD, description: "Adds two numbers." });
    expect((await get(etag ?? "")).status).toBe(200);
  });

  test("is told with 409 where two registrations of a name meet, and each other is done", async () => {
    const puts = await Promise.all(Array.from({ length: 4 }, (_, at) => put({ ...ADD, version: `${at}.0.0` })));
    const statuses = puts.map(({ status }) => status);
    expect(statuses.filter((status) => status === 201).length).toBe(1);
    expect(statuses.every((status) => [200, 201, 409].includes(status))).toBe(true);
    expect((await put(ADD)).status).toBe(200);
  });

  test("is no page of another site", async () => {
    const { host } = new URL(server.url);
    expect((await put(ADD, { origin: "https://example.com" })).answer?.error?.code).toBe("forbidden");
    expect((await put(ADD, { "sec-fetch-site": "cross-site" })).status).toBe(403);
    expect((await put(ADD, { origin: `http://${host}` })).status).toBe(201);
    expect((await send("DELETE", "add", undefined, { origin: "null" })).status).toBe(403);
  });

  test("is answered 503 once the engine is closed", async () => {
    await engine.close();
    expect(await put(ADD)).toMatchObject({ status: 503, answer: { error: { code: "engine_closed" } } });
  });
});

describe("without keys", () => {
  test("nobody registers or removes tools, unless administration is open", async () => {
    const engine = await createEngine({ workers: 1, executor: "threads", tools: [ADD] });
    await using server = await createServer(engine, { port: 0, drainMs: 100 });
    const refusals: unknown[] = [];
    engine.on("request:refused", ({ code, key }) => refusals.push([code, key]));
    const headers = { "content-type": "application/json" };
    for (const init of [{ method: "PUT", body: JSON.stringify(ADD), headers }, { method: "DELETE" }]) {
      const response = await conformingFetch(`${server.url}/v1/tools/add`, init);
      const { error } = (await response.json()) as ToolResult;
      expect([response.status, error?.code]).toEqual([403, "forbidden"]);
      expect(error?.message).toContain('set admin to "open"');
    }
    expect(refusals).toEqual([
      ["forbidden", null],
      ["forbidden", null],
    ]);
    expect(engine.list().map(({ name }) => name)).toEqual(["add"]);
    expect((await conformingFetch(`${server.url}/v1/tools/add`)).status).toBe(200);
  });

  test("administration is open on loopback addresses only", async () => {
    await using engine = await createEngine({ workers: 1, executor: "threads" });
    const opening = createServer(engine, { port: 0, host: "0.0.0.0", allowAnybody: true, admin: "open" });
    await expect(opening).rejects.toThrow(
      /^admin is "open", which needs a loopback address, and 0\.0\.0\.0 is not one/,
    );
  });
});
