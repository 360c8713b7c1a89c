import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { createEngine } from "../../../src/glovebox/index.ts";
import { createRegistry } from "../../../src/contrib/agentspace/index.ts";
import type { KeyGrant, KeyOptions, ServerOptions } from "../../../src/server/http/server.ts";
import { createServer } from "../../../src/server/http/server.ts";
import { moduleFile } from "../../contrib/agentspace/bench.ts";
import { conformingFetch } from "../mcp/conformance.ts";

const RECORD = JSON.parse(
  readFileSync(
    fileURLToPath(new URL("../../../fixtures/contracts/agentspace/greeting-tool-v1/tool.json", import.meta.url)),
    "utf8",
  ),
) as Record<string, unknown>;
const FAR = "https://assets.example.com/tools/greeting-tool.zip";
const GREETING = { ...RECORD, tool_source_code_link: FAR };
const TOOLS = "/v1/agentspace/tools";
const ONE = `${TOOLS}/greeting-tool-v1`;

/** A key's text, which is made of its name. */
const textOf = (name: string): string => `gbx_${name.padEnd(40, "0")}`;
const keyOf = (grant: Partial<KeyGrant> & { readonly name: string }): KeyOptions => ({
  tenant: null,
  roles: ["execute", "admin"],
  hash: `sha256:${createHash("sha256").update(textOf(grant.name)).digest("hex")}`,
  ...grant,
});

interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown> & { readonly error?: { readonly code: string; readonly details?: unknown } };
  readonly headers: Headers;
}

async function open(options: Partial<ServerOptions> = {}) {
  const engine = await createEngine({ workers: 1, executor: "threads" });
  const server = await createServer(engine, { port: 0, agentspace: { path: ":memory:" }, ...options });
  onTestFinished(() => server.close());
  const ask = async (path: string, init: RequestInit & { readonly as?: string } = {}): Promise<Answer> => {
    const { as, ...rest } = init;
    const headers = {
      ...(init.body === undefined ? {} : { "content-type": "application/json" }),
      ...(as === undefined ? {} : { authorization: `Bearer ${textOf(as)}` }),
      ...(init.headers as Record<string, string> | undefined),
    };
    const response = await conformingFetch(`${server.url}${path}`, { ...rest, headers });
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.includes("json") === true;
    const body = isJson && text !== "" ? (JSON.parse(text) as Answer["body"]) : { text };
    return { status: response.status, headers: response.headers, body };
  };
  const register = (record: object, as?: string, query = ""): Promise<Answer> =>
    ask(`${TOOLS}${query}`, { method: "POST", body: JSON.stringify(record), ...(as === undefined ? {} : { as }) });
  return { engine, server, ask, register };
}

describe("a registration over HTTP", () => {
  test("needs a key with the role admin, or administration that is open", async () => {
    const { ask, register } = await open();
    expect((await register(GREETING)).status).toBe(403);
    expect((await ask(ONE, { method: "DELETE" })).status).toBe(403);
    expect((await ask(TOOLS)).body).toEqual({ tools: [] });
    const keyed = await open({ keys: [keyOf({ name: "caller", roles: ["execute"] }), keyOf({ name: "admin" })] });
    expect((await keyed.register(GREETING)).status).toBe(401);
    expect((await keyed.register(GREETING, "caller")).status).toBe(403);
    expect((await keyed.register(GREETING, "admin")).status).toBe(201);
    expect((await keyed.ask(ONE, { as: "caller" })).body).toMatchObject({
      registration: { registered_by: "key:admin" },
    });
  });

  test("answers with the record, by whom and when, and without the values of tool_data [C35 C51]", async () => {
    const { ask, register } = await open({ admin: "open" });
    const at = expect.stringMatching(/^\d{4}-/);
    const { tool_data: _data, ...shown } = GREETING as Record<string, unknown>;
    const registered = await register({ ...GREETING, tool_data: { language: "a secret word" } });
    expect(registered).toMatchObject({ status: 201 });
    expect(registered.body).toEqual({
      ...shown,
      tool_data_names: ["language"],
      registration: { registered_by: "local", created_at: at, updated_at: at, revision: 1 },
    });
    for (const part of ["", "/man", "/form", "/versions", "/spec"]) {
      const { status, body } = await ask(`${ONE}${part}`);
      expect([status, JSON.stringify(body).includes("secret word")]).toEqual([200, false]);
    }
    expect((await ask(`${ONE}/spec`)).body).toMatchObject({
      input: { type: "object", properties: { name: { type: "string" } } },
      output: { properties: { message: { type: "string" } } },
    });
    expect((await ask(`${ONE}/man`)).headers.get("content-type")).toBe("text/markdown; charset=utf-8");
  });

  test("is refused with a pointer where the record is wrong, and where it names a file of the server [C41]", async () => {
    const { register } = await open({ admin: "open" });
    const pointerOf = async (changes: object) => {
      const { status, body } = await register({ ...GREETING, ...changes });
      return [status, body.error?.code, (body.error?.details as { pointer?: string } | undefined)?.pointer];
    };
    const wrong = [400, "invalid_arguments"];
    expect(await pointerOf({ tool_id: "a b" })).toEqual([...wrong, "/tool_id"]);
    expect(await pointerOf({ tool_runtime_type: "ruby" })).toEqual([...wrong, "/tool_runtime_type"]);
    for (const link of ["/etc/passwd", "./tool", "file:///etc/passwd", "data:text/plain,a", "upload:a/1"]) {
      expect(await pointerOf({ tool_source_code_link: link })).toEqual([...wrong, "/tool_source_code_link"]);
    }
    expect((await register([])).status).toBe(400);
    expect((await register({ ...GREETING, tool_data: { a: "x".repeat(1_100_000) } })).status).toBe(413);
  });

  test("replaces a record only where that is said, or where the version meant is in force [C42]", async () => {
    const { register, ask } = await open({ admin: "open" });
    const version = (text: string) => ({ ...GREETING, tool_metadata: { version: text } });
    expect((await register(version("1"))).status).toBe(201);
    expect((await register(version("2"))).status).toBe(409);
    expect((await register(version("2"), undefined, "?replace=1")).status).toBe(201);
    expect((await register(version("3"), undefined, "?replace=1")).status).toBe(409);
    expect((await register(version("3"), undefined, "?replace=true")).status).toBe(201);
    const { body } = await ask(`${ONE}/versions`);
    expect(body["versions"]).toMatchObject([
      { version: "3", in_force: true },
      { version: "2", in_force: false },
      { version: "1", in_force: false },
    ]);
    expect((await ask(ONE, { method: "DELETE" })).status).toBe(204);
    expect((await ask(ONE, { method: "DELETE" })).status).toBe(404);
    expect((await ask(`${ONE}/versions`)).status).toBe(404);
  });
});

describe("reading over HTTP", () => {
  test("of commands needs the tool's code, and says why that cannot be had", async () => {
    const { ask, register } = await open({ admin: "open" });
    await register(GREETING);
    const { status, body } = await ask(`${ONE}/commands`);
    expect([status, body.error?.details]).toEqual([422, expect.objectContaining({ step: "fetch" })]);
  });

  test("says what a client has already, by the record's ETag", async () => {
    const { ask, register } = await open({ admin: "open" });
    const etag = (await register(GREETING)).headers.get("etag") ?? "";
    for (const part of ["", "/man", "/versions"]) {
      expect((await ask(`${ONE}${part}`, { headers: { "if-none-match": etag } })).status).toBe(304);
    }
    await register(GREETING, undefined, "?replace=true");
    expect((await ask(ONE, { headers: { "if-none-match": etag } })).status).toBe(200);
  });

  test("lists by tag, type and sub type, in pages, and finds by words [C40]", async () => {
    const { ask, register } = await open({ admin: "open" });
    for (let at = 0; at < 5; at++) {
      await register({
        ...GREETING,
        tool_id: `t${at}`,
        tool_tags: [at < 3 ? "low" : "high", "all"],
        tool_type: "utility",
      });
    }
    const ids = async (query: string) => {
      const { body } = await ask(`${TOOLS}?${query}`);
      return [(body["tools"] as { tool_id: string }[]).map(({ tool_id: id }) => id), body["next"]];
    };
    expect(await ids("limit=2")).toEqual([["t0", "t1"], "t1"]);
    expect(await ids("limit=2&after=t1")).toEqual([["t2", "t3"], "t3"]);
    expect(await ids("limit=2&after=t3")).toEqual([["t4"], undefined]);
    expect(await ids("tag=all&tag=high&type=utility")).toEqual([["t3", "t4"], undefined]);
    const { body } = await ask("/v1/agentspace/search?q=low&limit=1");
    expect(body["hits"]).toMatchObject([{ tool_id: expect.stringMatching(/^t[012]$/), tool_tags: ["low", "all"] }]);
    for (const query of ["limit=0", "limit=101", "limit=a", "type=a&type=b", `q=${"x".repeat(1_001)}`]) {
      expect([query, (await ask(`${TOOLS}?${query}`)).status]).toEqual([query, 400]);
    }
  });

  test("is of the tools that the key may call, and so are changes", async () => {
    const keys = [keyOf({ name: "all" }), keyOf({ name: "some", tools: ["public-*"] })];
    const { ask, register } = await open({ keys });
    for (const id of ["public-1", "private-1"]) await register({ ...GREETING, tool_id: id }, "all");
    const { body } = await ask(TOOLS, { as: "some" });
    expect(body["tools"]).toMatchObject([{ tool_id: "public-1" }]);
    const { body: found } = await ask("/v1/agentspace/search?q=", { as: "some" });
    expect(found["hits"]).toMatchObject([{ tool_id: "public-1" }]);
    expect((await ask(`${TOOLS}/private-1`, { as: "some" })).status).toBe(404);
    expect((await ask(`${TOOLS}/private-1`, { as: "some", method: "DELETE" })).status).toBe(403);
    expect((await register({ ...GREETING, tool_id: "private-2" }, "some")).status).toBe(403);
  });

  test("shows a tenant the tools of all, which only a key without a tenant changes", async () => {
    const { ask, register } = await open({ keys: [keyOf({ name: "all" }), keyOf({ name: "ann", tenant: "a" })] });
    await register(GREETING, "all");
    expect((await ask(ONE, { as: "ann" })).status).toBe(200);
    expect((await ask(ONE, { as: "ann", method: "DELETE" })).status).toBe(403);
    expect((await register(GREETING, "ann", "?replace=true")).status).toBe(409);
    expect((await ask(ONE, { as: "all", method: "DELETE" })).status).toBe(204);
  });
});

test("a registry that the embedder has opened is served, and stays open", async () => {
  const engine = await createEngine({ workers: 1, executor: "threads" });
  onTestFinished(() => engine.close());
  await using registry = await createRegistry(engine, { path: ":memory:" });
  const text = "export class AgentSpaceV1Tool { execute() { return { message: 'here' }; } }";
  registry.register({ ...RECORD, tool_source_code_link: await moduleFile(text) });
  const server = await createServer(engine, { port: 0, agentspace: registry });
  const response = await fetch(`${server.url}/v1/execute`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ name: "greeting-tool-v1", arguments: {} }),
  });
  expect(await response.json()).toMatchObject({ output: { message: "here" } });
  const commands = await fetch(`${server.url}${ONE}/commands`);
  expect(await commands.json()).toEqual({ supported: false, commands: [] });
  await server.close();
  expect(registry.list()).toHaveLength(1);
});
