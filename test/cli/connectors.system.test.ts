import { writeFile } from "node:fs/promises";
import path from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { expect, test } from "vitest";
import { createEngine } from "../../src/glovebox/index.ts";
import { createServer } from "../../src/server/http/server.ts";
import { bodyWith, documentOf, engineWith, SECRET, sendJson, serveApi } from "../connectors/engine/api.ts";
import { serveByHand } from "../connectors/engine/mcp-by-hand.ts";
import { ID } from "../long-integers.ts";
import { serve } from "../server/served.ts";
import { glovebox as run, ROOT } from "./command.ts";

const glovebox = (...args: readonly string[]) => run(ROOT, args);

test("connectors check prints tools, the digest to pin, and what was left out", async () => {
  await using api = await serveApi();
  await using hand = await serveByHand([{ name: "read", description: "Reads.\nAll of it." }]);
  const moved = { responses: { "302": { description: "It is elsewhere." } } };
  await api.write(
    documentOf([
      ["GET", "/items/{id}", "get_item"],
      ["POST", "/old", "moved", moved],
    ]),
  );
  const config = path.join(path.dirname(await api.write("")), "glovebox.config.json");
  await api.write(
    documentOf([
      ["GET", "/items/{id}", "get_item"],
      ["POST", "/old", "moved", moved],
    ]),
  );
  const crm = { openapi: { document: "api.json", server: api.origin }, headers: { "x-key": "{secret:CRM}" } };
  const mcp = { mcp: { url: `${hand.origin}/mcp` } };
  const secrets = { CRM: { value: SECRET, bind: [{ origin: api.origin, in: "header:x-key" }] } };
  await writeFile(config, JSON.stringify({ connectors: { crm, hand: mcp }, secrets }));
  const { code, stdout } = await glovebox("connectors", "check", "--config", config);
  expect(code).toBe(0);
  expect(stdout).toContain(`crm  openapi  ${api.origin}`);
  expect(stdout).toContain("crm.get_item  It does get_item.");
  expect(stdout).toMatch(/left out: .*moved/);
  expect(stdout).toContain("hand.read  Reads.");
  const json = await glovebox("connectors", "check", "--config", config, "--json");
  expect(JSON.parse(json.stdout)).toMatchObject([{ name: "crm" }, { name: "hand" }]);
  const [pin] = /sha256:[0-9a-f]{64}/.exec(stdout) ?? [];
  expect(stdout).not.toContain(SECRET);
  await writeFile(config, JSON.stringify({ connectors: { crm: { ...crm, pin } }, secrets }));
  expect((await glovebox("connectors", "check", "--config", config)).code).toBe(0);
  await api.write(documentOf([["GET", "/items/{id}", "get_other"]]));
  const changed = await glovebox("connectors", "check", "--config", config);
  expect(changed.code).toBe(1);
  expect(changed.stdout).toContain("pinned to another list");
});

test("connectors check names a document that cannot be read, and an option that is wrong", async () => {
  await using api = await serveApi();
  const config = path.join(path.dirname(await api.write("")), "glovebox.config.json");
  await writeFile(config, JSON.stringify({ connectors: { crm: { openapi: { document: "missing.yaml" } } } }));
  const missing = await glovebox("connectors", "check", "--config", config);
  expect(missing).toMatchObject({ code: 1, stdout: expect.stringContaining("cannot be read") as string });
  await writeFile(
    config,
    JSON.stringify({ connectors: { crm: { openapi: { document: "a.yaml", server: "ftp://x" } } } }),
  );
  const wrong = await glovebox("connectors", "check", "--config", config);
  expect(wrong.code).toBe(2);
  expect(wrong.stderr).toContain("connectors.crm.openapi.server must be an http or https URL");
});

test("connectors check says where a configuration has no connectors", async () => {
  await using api = await serveApi();
  const config = await api.write({ tools: ["./nowhere"] }, "glovebox.config.json");
  const none = await glovebox("connectors", "check", "--config", config);
  expect(none).toEqual({ code: 0, stdout: "", stderr: "the configuration has no connectors\n" });
  // The place is the configuration's folder, not that of the command.
  expect((await glovebox("list", "--config", config)).stderr).toMatch(/nowhere does not exist; check the path\n/);
});

test("commands of a configuration with connectors alone have the connectors' tools, and no samples", async () => {
  await using api = await serveApi((_request, response) => sendJson(response, { id: "7" }));
  const document = await api.write(documentOf([["GET", "/items/{id}", "get_item"]]));
  const { executor: _executor, ...options } = engineWith(api, document);
  const file = path.join(path.dirname(document), "glovebox.config.json");
  await writeFile(file, JSON.stringify(options));
  const named = ["--config", file];
  expect((await glovebox("list", ...named)).stdout).toMatch(/^crm\.get_item .* It does get_item\.\n$/);
  const input = ["--input", '{"id":"7"}'];
  expect(await glovebox("run", "crm.get_item", ...input, ...named)).toMatchObject({ stdout: '{"id":"7"}\n' });
});

test("run takes a file with one tool where the configuration has a connector", async () => {
  await using api = await serveApi();
  const document = await api.write(documentOf([["GET", "/items/{id}", "get_item"]]));
  const { executor: _executor, ...options } = engineWith(api, document);
  const config = await api.write(options, "glovebox.config.json");
  const one = await api.write('export const spec = { description: "One." };\nexport default () => 1;\n', "one.js");
  expect(await glovebox("run", one, "--config", config)).toMatchObject({ code: 0, stdout: "1\n" });
});

test("connectors list asks a running server", async () => {
  await using api = await serveApi();
  const engine = await createEngine(engineWith(api, await api.write(documentOf([["GET", "/items/{id}", "get_item"]]))));
  const server = await createServer(engine, { port: 0, admin: "open" });
  const { stdout } = await glovebox("connectors", "list", "--url", server.url);
  expect(stdout).toBe("crm  openapi  up  1 tool\n");
  const json = await glovebox("connectors", "list", "--url", server.url, "--json");
  expect(JSON.parse(json.stdout)).toMatchObject([{ name: "crm", tools: ["crm.get_item"] }]);
  await server.close();
});

test("a service's programs, over HTTP and MCP, change the object whose id of 19 digits an operation gave, and no other", async () => {
  const id = { type: "integer", format: "int64" };
  const parameters = [{ name: "id", in: "path", required: true, schema: id }];
  const order = { type: "object", properties: { id, name: { type: "string" } }, required: ["id", "name"] };
  const responses = { 200: { description: "Done.", content: { "application/json": { schema: order } } } };
  await using api = await serveApi(({ method, body }, response) => {
    response.setHeader("content-type", "application/json");
    response.end(method === "GET" ? `{"id":${ID},"name":"an order"}` : body);
  });
  const document = await api.write(
    documentOf([
      ["GET", "/orders/latest", "latest_order", { responses }],
      ["PUT", "/orders/{id}", "change_order", { parameters, responses, ...bodyWith(order.properties) }],
    ]),
  );
  const config = await api.write(
    {
      connectors: { shop: { openapi: { document, server: api.origin } } },
      policy: { rules: [{ tools: ["shop.*"], allow: { connector: ["shop"] } }] },
      codeMode: { typeCheck: "require" },
    },
    "glovebox.config.json",
  );
  const code = `const { id } = await tools.shop.latest_order({});
    const changed = await tools.shop.change_order({ id, body: { id, name: \`order \${id}\` } });
    return { id, changed };`;
  const log = [
    ["GET", "/orders/latest", ""],
    ["PUT", `/orders/${ID}`, `{"id":${ID},"name":"order ${ID}"}`],
  ];
  const result = `{"id":${ID},"changed":{"id":${ID},"name":"order ${ID}"}}`;
  const logged = () => api.seen.splice(0).map(({ method, url, body }) => [method, url, body]);
  await using service = await serve(["--config", config]);

  const answer = await fetch(`${service.url}/v1/execute`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ name: "run_code", arguments: { code } }),
  });
  expect(await answer.text()).toContain(`"result":${result}`);
  expect(logged()).toEqual(log);

  const texts: string[] = [];
  const client = new Client({ name: "test", version: "1" });
  const listening: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    if (init?.method === "POST") texts.push(await response.clone().text());
    return response;
  };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${service.url}/mcp/code`), { fetch: listening }));
  await client.callTool({ name: "run_code", arguments: { code } });
  await client.close();
  expect(texts.some((text) => text.includes(`"result":${result}`))).toBe(true);
  expect(logged()).toEqual(log);
});
