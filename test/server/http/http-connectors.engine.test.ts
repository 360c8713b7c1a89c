import { afterAll, beforeAll, expect, test } from "vitest";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";
import { createKey } from "../../../src/server/access/secret.ts";
import { createServer, type Server } from "../../../src/server/http/server.ts";
import { type Api, documentOf, engineWith, SECRET, sendJson, serveApi } from "../../connectors/engine/api.ts";
import { conformingFetch } from "../mcp/conformance.ts";

const [admin, caller] = [createKey(), createKey()];

let api: Api;
let document: string;
let engine: Engine;
let server: Server;
beforeAll(async () => {
  api = await serveApi(({ url }, response) => sendJson(response, { url }));
  document = await api.write(documentOf([["GET", "/items/{id}", "get_item"]]));
  engine = await createEngine({ ...engineWith(api, document), codeMode: { typeCheck: "off" } });
  server = await createServer(engine, {
    port: 0,
    drainMs: 100,
    keys: [
      { name: "admin", hash: admin.hash, tenant: null, roles: ["admin"] },
      { name: "caller", hash: caller.hash, tenant: "acme", roles: ["execute"] },
    ],
  });
});
afterAll(async () => {
  await server.close();
  await api[Symbol.asyncDispose]();
});

async function send(method: string, path: string, key: string, body?: unknown) {
  const response = await conformingFetch(`${server.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, ...(body === undefined ? {} : { "content-type": "application/json" }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as unknown };
}

test("GET /v1/connectors tells administrators of each connector, and no secret", async () => {
  const { status, body } = await send("GET", "/v1/connectors", admin.secret);
  expect(status).toBe(200);
  expect(body).toMatchObject([{ name: "crm", kind: "openapi", state: "up", tools: ["crm.get_item"], findings: [] }]);
  expect(JSON.stringify(body)).not.toContain(SECRET);
  expect((await send("GET", "/v1/connectors", caller.secret)).status).toBe(403);
});

test("POST /v1/connectors/{name}/refresh reads the tools again, and says why it cannot", async () => {
  await api.write(documentOf([["GET", "/items/{id}", "fetch_item"]]));
  const path = "/v1/connectors/crm/refresh";
  expect(await send("POST", path, admin.secret)).toMatchObject({ status: 200, body: { tools: ["crm.fetch_item"] } });
  await api.write("no document");
  expect(await send("POST", path, admin.secret)).toMatchObject({
    status: 422,
    body: { error: { code: "load_error" } },
  });
  expect(engine.get("crm.fetch_item")).toBeDefined();
  expect((await send("POST", "/v1/connectors/nobody/refresh", admin.secret)).status).toBe(404);
  expect((await send("POST", path, caller.secret)).status).toBe(403);
});

test("a key calls a connector's tool, directly and from a program", async () => {
  await api.write(documentOf([["GET", "/items/{id}", "get_item"]]));
  await send("POST", "/v1/connectors/crm/refresh", admin.secret);
  const direct = { name: "crm.get_item", arguments: { id: "1" } };
  expect((await send("POST", "/v1/execute", caller.secret, direct)).body).toMatchObject({
    output: { url: "/items/1" },
  });
  const code = 'return (await tools.crm.get_item({ id: "2" })).url;';
  const program = { name: "run_code", arguments: { code } };
  expect((await send("POST", "/v1/execute", caller.secret, program)).body).toMatchObject({
    output: { result: "/items/2" },
  });
});
