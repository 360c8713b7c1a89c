import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";
import { createKey } from "../../../src/server/access/secret.ts";
import { createServer, type Server } from "../../../src/server/http/server.ts";
import { conformingFetch } from "../mcp/conformance.ts";

const SOURCE = "export default (input) => input;";
const TOOLS = [
  {
    name: "greet",
    description: "Greets somebody.",
    source: SOURCE,
    inputSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
    outputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  },
  { name: "secret-plan", description: "Says the plan.", source: SOURCE },
];

describe("the types of a server's tools", () => {
  const [all, narrow, watcher] = [createKey(), createKey(), createKey()];
  let engine: Engine;
  let server: Server;

  beforeAll(async () => {
    engine = await createEngine({ workers: 1, executor: "threads", tools: TOOLS });
    server = await createServer(engine, {
      port: 0,
      drainMs: 100,
      keys: [
        { name: "all", hash: all.hash, tenant: null, roles: ["execute"] },
        { name: "narrow", hash: narrow.hash, tenant: null, roles: ["execute"], tools: ["gr*"] },
        { name: "watcher", hash: watcher.hash, tenant: null, roles: ["metrics"] },
      ],
    });
  });

  afterAll(() => server.close());

  const get = async (key: string | null, path = "/v1/types", method = "GET") => {
    const headers = key === null ? {} : { authorization: `Bearer ${key}` };
    const response = await conformingFetch(`${server.url}${path}`, { method, headers });
    return { status: response.status, type: response.headers.get("content-type"), text: await response.text() };
  };

  test("are what the engine says", async () => {
    const text = engine.types();
    expect(text).toContain("readonly input: { readonly name: string };");
    expect(await get(all.secret)).toEqual({ status: 200, type: "text/plain; charset=utf-8", text });
    const registered = engine.types({ register: true });
    expect(registered).toContain('declare module "glovebox"');
    expect((await get(all.secret, "/v1/types?register=true")).text).toBe(registered);
  });

  test("are those of the tools that a key may use", async () => {
    const { text } = await get(narrow.secret);
    expect(text).toContain("readonly greet: {");
    expect(text).not.toContain("plan");
  });

  test("are for keys that may call tools", async () => {
    expect((await get(null)).status).toBe(401);
    expect((await get(watcher.secret)).status).toBe(403);
  });

  test("are refused to a request that asks for something else", async () => {
    expect((await get(all.secret, "/v1/types?register=yes")).status).toBe(400);
    expect((await get(all.secret, "/v1/types?register=true&register=true")).status).toBe(400);
    expect((await get(all.secret, "/v1/types", "POST")).status).toBe(405);
  });
});
