import { expect, test } from "vitest";
import { createEngine, type EngineOptions } from "../../../src/glovebox/index.ts";
import { codeMode } from "../../../src/code-mode/index.ts";
import { checkConnectors } from "../../../src/connectors/index.ts";
import { bodyWith, documentOf, engineWith, sendJson, serveApi } from "./api.ts";

const ITEMS = documentOf([
  ["GET", "/items/{id}", "get_item"],
  ["POST", "/items", "create_item", bodyWith({ title: { type: "string" } })],
]);

test("an operation of an OpenAPI document is a tool that its server carries out", async () => {
  await using api = await serveApi(({ url }, response) => sendJson(response, { url }));
  await using engine = await createEngine(engineWith(api, await api.write(ITEMS)));
  expect(engine.list().map(({ name, runtime }) => [name, runtime])).toEqual([
    ["crm.create_item", "remote"],
    ["crm.get_item", "remote"],
  ]);
  const { output } = await engine.execute({ name: "crm.get_item", arguments: { id: "a/b" } });
  expect(output).toEqual({ url: "/items/a%2Fb" });
  expect(api.seen).toHaveLength(1);
});

test("arguments that do not match the operation's schema are refused, and no request is sent", async () => {
  await using api = await serveApi();
  await using engine = await createEngine(engineWith(api, await api.write(ITEMS)));
  const { error } = await engine.execute({ name: "crm.get_item", arguments: { id: 7 } });
  expect(error?.code).toBe("invalid_arguments");
  expect(api.seen).toEqual([]);
});

test("a program calls tools of a connector by their names, and gets values", async () => {
  await using api = await serveApi(({ url, body }, response) =>
    sendJson(response, { url, got: body === "" ? null : JSON.parse(body) }),
  );
  const options = engineWith(api, await api.write(ITEMS));
  await using engine = await createEngine(options);
  const code = `
    const { got } = await tools.crm.create_item({ body: { title: "one" } });
    const items = await Promise.all(["a", "b"].map((id) => tools.crm.get_item({ id })));
    return [got.title, ...items.map(({ url }) => url)];`;
  const { output } = await codeMode(engine).execute({ name: "run_code", arguments: { code } });
  expect(output).toMatchObject({ result: ["one", "/items/a", "/items/b"] });
});

test("300 operations of a document are called from one program", { timeout: 60_000 }, async () => {
  await using api = await serveApi(({ url }, response) => sendJson(response, { url }));
  const operations = Array.from({ length: 300 }, (_, at) => ["GET", `/things/${at}/{id}`, `get_thing_${at}`] as const);
  await using engine = await createEngine(engineWith(api, await api.write(documentOf(operations, "3.0.3"))));
  expect(engine.list()).toHaveLength(300);
  const code = `
    const names = Array.from({ length: 300 }, (_, at) => "get_thing_" + at);
    const seen = [];
    for (let at = 0; at < names.length; at += 20) {
      const some = names.slice(at, at + 20).map((name) => tools.crm[name]({ id: "x" }));
      seen.push(...(await Promise.all(some)).map(({ url }) => url));
    }
    return new Set(seen).size;`;
  const { output, error } = await codeMode(engine).execute({ name: "run_code", arguments: { code } });
  expect(error).toBeNull();
  expect(output).toMatchObject({ result: 300 });
});

test("without a rule a tool of a connector is denied, and no request is sent", async () => {
  await using api = await serveApi();
  const options = { ...engineWith(api, await api.write(ITEMS)), policy: { rules: [] } };
  await using engine = await createEngine(options);
  const { error } = await engine.execute({ name: "crm.get_item", arguments: { id: "1" } });
  expect(error).toMatchObject({
    code: "capability_denied",
    message: expect.stringContaining('{ "tools": ["crm.get_item"], "allow": { "connector": ["crm"] } }') as string,
    remedies: [{ kind: "config", json: { tools: ["crm.get_item"], allow: { connector: ["crm"] } } }],
  });
  expect(engine.explain("crm.get_item")?.findings).toMatchObject([{ pointer: "/capabilities/connector" }]);
  expect(api.seen).toEqual([]);
});

test("explain names the rule that lets a tool use its connector", async () => {
  await using api = await serveApi();
  const options = engineWith(api, await api.write(ITEMS));
  const rules = [{ allow: {} }, ...(options.policy?.rules ?? [])];
  await using engine = await createEngine({ ...options, policy: { rules } });
  expect(engine.explain("crm.get_item")?.grants).toEqual([
    { capability: "connector", granted: '"crm"', from: "policy.rules[1]" },
  ]);
});

test("a module cannot use the capability of connectors, whatever it asks for", async () => {
  await using api = await serveApi();
  const options = engineWith(api, await api.write(ITEMS));
  const policy = { rules: [{ allow: { connector: ["crm"] } }] };
  await using engine = await createEngine({ ...options, policy });
  const request = { connector: "crm", method: "GET", target: "/items/1", headers: [], body: null };
  await engine.register({
    name: "sly",
    description: "Asks for what it is not.",
    capabilities: { connector: ["crm"] },
    source: `export default (_input, { host }) => host.connector.request(${JSON.stringify(request)});`,
  });
  const { error } = await engine.execute({ name: "sly", arguments: {} });
  expect(error).toMatchObject({
    code: "capability_denied",
    message: expect.stringContaining("not a connector's") as string,
  });
  expect(api.seen).toEqual([]);
});

test("reconfiguration adds and removes the tools of connectors, and keeps those that stay", async () => {
  await using api = await serveApi(({ url }, response) => sendJson(response, { url }));
  const options = engineWith(api, await api.write(ITEMS));
  const { crm } = options.connectors ?? {};
  await using engine = await createEngine(options);
  const before = engine.get("crm.get_item");
  const both = { ...options.connectors, ...(crm && { other: crm }) };
  const rules = [{ allow: { connector: ["crm", "other"] } }];
  expect(await engine.reconfigure({ ...options, connectors: both, policy: { rules } })).toMatchObject({
    registered: ["other.create_item", "other.get_item"],
    needRestart: [],
  });
  expect(engine.get("crm.get_item")).toBe(before);
  expect((await engine.execute({ name: "other.get_item", arguments: { id: "1" } })).output).toEqual({
    url: "/items/1",
  });
  const { connectors: _gone, ...none } = options;
  const removed = await engine.reconfigure(none as EngineOptions);
  expect(removed.removed.toSorted()).toEqual([
    "crm.create_item",
    "crm.get_item",
    "other.create_item",
    "other.get_item",
  ]);
  expect(engine.list()).toEqual([]);
});

test("a document that is not there keeps the engine from starting, and a reconfiguration from any change", async () => {
  await using api = await serveApi();
  const options = engineWith(api, await api.write(ITEMS));
  const missing = { crm: { openapi: { document: "/nowhere/api.yaml" } } };
  await expect(createEngine({ ...options, connectors: missing })).rejects.toThrow(
    "connectors.crm.openapi.document cannot be read: ENOENT",
  );
  await using engine = await createEngine(options);
  await expect(engine.reconfigure({ ...options, connectors: missing, tools: [] })).rejects.toThrow("ENOENT");
  expect(engine.list()).toHaveLength(2);
});

test("an engine tells its connectors, and reads one again when it is asked to", async () => {
  await using api = await serveApi();
  const document = await api.write(ITEMS);
  await using engine = await createEngine(engineWith(api, document));
  expect(engine.connectors()).toMatchObject([
    { name: "crm", kind: "openapi", server: api.origin, state: "up", tools: ["crm.create_item", "crm.get_item"] },
  ]);
  await api.write(documentOf([["GET", "/items/{id}", "get_item"]]));
  expect(await engine.refreshConnector("crm")).toMatchObject({ tools: ["crm.get_item"] });
  expect(engine.get("crm.create_item")).toBeUndefined();
  await expect(engine.refreshConnector("nobody")).rejects.toMatchObject({ code: "tool_not_found" });
});

test("metrics count the requests of each connector, and tell whether its server can be called", async () => {
  await using api = await serveApi(({ url }, response) => {
    if (url.includes("gone")) response.destroy();
    else sendJson(response, {});
  });
  await using engine = await createEngine(engineWith(api, await api.write(ITEMS)));
  for (const id of ["1", "2", "gone"]) await engine.execute({ name: "crm.get_item", arguments: { id } });
  const metrics = await engine.metrics();
  expect(metrics).toContain('glovebox_connector_calls_total{connector="crm",outcome="ok"} 2');
  expect(metrics).toContain('glovebox_connector_calls_total{connector="crm",outcome="failed"} 1');
  expect(metrics).toContain('glovebox_connector_up{connector="crm"} 1');
});

test("the audit has a line for each request, with the rule that granted it", async () => {
  await using api = await serveApi();
  const entries: unknown[] = [];
  const options = { ...engineWith(api, await api.write(ITEMS)), audit: (entry: unknown) => void entries.push(entry) };
  {
    await using engine = await createEngine(options);
    await engine.execute({ name: "crm.get_item", arguments: { id: "1" } });
  }
  expect(entries).toMatchObject([
    {
      tool: "crm.get_item",
      capability: "connector",
      method: "request",
      outcome: "ok",
      decision: "granted",
      rules: [0],
    },
  ]);
});

test("with a pin, a document that names another server is not taken in, and calls go on to the old one", async () => {
  await using api = await serveApi(({ url }, response) => sendJson(response, { url }));
  await using other = await serveApi();
  const at = (origin: string): object => ({ ...ITEMS, servers: [{ url: origin }] });
  const document = await api.write(at(api.origin));
  const connectors = { crm: { openapi: { document }, private: true } };
  const [report] = await checkConnectors({ connectors });
  const pinned = { crm: { ...connectors.crm, ...(report?.digest && { pin: report.digest }) } };
  const rules = [{ allow: { connector: ["crm"] } }];
  await using engine = await createEngine({ workers: 1, executor: "threads", connectors: pinned, policy: { rules } });
  await api.write(at(other.origin));
  expect(await engine.refreshConnector("crm")).toMatchObject({ server: api.origin });
  expect((await engine.execute({ name: "crm.get_item", arguments: { id: "1" } })).output).toEqual({ url: "/items/1" });
  expect(other.seen).toEqual([]);
});

test("a server of this machine that only the document names is refused, and its check says so before any call", async () => {
  await using api = await serveApi();
  const document = await api.write({ ...ITEMS, servers: [{ url: api.origin }] });
  const connectors = { crm: { openapi: { document } } };
  const [report] = await checkConnectors({ connectors });
  const reason = expect.stringContaining("an address that is not public; set private: true") as string;
  expect(report?.findings).toEqual([{ tool: null, reason }]);
  const policy = { rules: [{ allow: { connector: ["crm"] } }] };
  await using engine = await createEngine({ workers: 1, executor: "threads", connectors, policy });
  const { error } = await engine.execute({ name: "crm.get_item", arguments: { id: "1" } });
  expect(error).toMatchObject({
    code: "capability_denied",
    retryable: false,
    message: expect.stringContaining("set private: true of the connector"),
  });
  expect(api.seen).toEqual([]);
});
