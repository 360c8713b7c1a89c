import { readFile, readdir } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createEngine, type ConnectorAuth, type Engine, type EngineOptions } from "../../../src/glovebox/index.ts";
import { browse, closeAll, folder, served } from "../login/opened.ts";
import { type OidcServer, SECRET } from "../login/oidc-server.ts";
import { type Api, bodyWith, documentOf, sendJson, serveApi } from "./api.ts";

let oidc: OidcServer;
let api: Api;
let engine: Engine;
let stateDir = "";
const told: unknown[] = [];
/** Tokens that the API got, and those that it does not accept any more. */
const tokens = new Set<string>();
const ended = new Set<string>();
let challenge = "Bearer";
const CALLS = { posts: 0 };

/** An API that accepts the access tokens of the authorization server, and repeats whatever it gets. */
async function serveProtected(): Promise<Api> {
  return serveApi(({ method, url, headers, body }, response) => {
    const token = String(headers.authorization).replace(/^Bearer /, "");
    tokens.add(token);
    void oidc.knows(token).then((isKnown) => {
      if (!isKnown || ended.has(token)) {
        response.writeHead(401, { "www-authenticate": challenge, "x-echo": token });
        return void response.end(`no: ${token}`);
      }
      if (method === "POST") CALLS.posts++;
      response.setHeader("x-echo", token);
      sendJson(response, { url, body, token, base64: Buffer.from(token).toString("base64") });
    });
  });
}

async function open(auth: ConnectorAuth, more: Partial<EngineOptions> = {}): Promise<void> {
  const document = documentOf([
    ["GET", "/items/{id}", "read"],
    ["POST", "/items", "write", bodyWith({ text: { type: "string" } })],
  ]);
  const log = (fields: object, message: string): void => void told.push([fields, message]);
  const bind = (["basic:password", "body"] as const).map((place) => ({ origin: oidc.issuer, in: place }));
  stateDir = await folder();
  engine = await createEngine({
    workers: 2,
    executor: "threads",
    stateDir,
    connectors: {
      crm: { openapi: { document: await api.write(document), server: api.origin }, auth, concurrency: 64 },
    },
    secrets: { CLIENT: { value: SECRET, bind } },
    policy: { rules: [{ tools: ["crm.*"], allow: { connector: ["crm"] } }] },
    logger: { trace: log, debug: log, info: log, warn: log },
    audit: (entry) => void told.push(entry),
    idempotency: { path: path.join(stateDir, "calls.sqlite") },
    ...more,
  });
  for (const name of ["capability:call", "tool:post", "tool:error", "connector:login", "connector:up"] as const) {
    engine.on(name, (event: unknown) => void told.push([name, event]));
  }
}

beforeEach(async () => {
  for (const each of [tokens, ended]) each.clear();
  told.length = 0;
  CALLS.posts = 0;
  challenge = "Bearer";
});
afterEach(async () => {
  await engine.close();
  await api[Symbol.asyncDispose]();
  await closeAll();
});

const machine = (): ConnectorAuth => ({
  clientCredentials: { issuer: oidc.issuer, clientId: "machine", clientSecret: "{secret:CLIENT}" },
});

const read = (id: number) => engine.execute({ name: "crm.read", arguments: { id: String(id) } });
const many = (count: number) => Promise.all(Array.from({ length: count }, (_, id) => read(id)));

test("64 calls at once when the token ends: one renewal, and no call fails", async () => {
  oidc = await served();
  api = await serveProtected();
  await open(machine());
  oidc.saidLifeS = 1;
  expect((await read(0)).error).toBeNull();
  await sleep(1_050);
  oidc.saidLifeS = null;
  for (const token of tokens) ended.add(token);
  expect((await many(64)).flatMap(({ error }) => error?.message ?? [])).toEqual([]);
  expect([oidc.seen.length, tokens.size]).toEqual([2, 2]);
  const renewals = 'glovebox_connector_renewals_total{connector="crm",outcome="renewed"} 2';
  expect(await engine.metrics()).toContain(renewals);
});

test("a token leaves the host in its header only: not in answers, events, logs, the audit, stored calls or files", async () => {
  oidc = await served();
  api = await serveProtected();
  await open(machine());
  const results = [
    await engine.execute({ name: "crm.read", arguments: { id: "1" } }, { idempotencyKey: "k" }),
    await engine.execute({ name: "crm.read", arguments: { id: "3" } }, { record: true }),
    await engine.execute({ name: "crm.write", arguments: { body: { text: "glovebox.secret.login_crm." } } }),
  ];
  for (const token of tokens) ended.add(token);
  challenge = "Basic";
  results.push(await engine.execute({ name: "crm.write", arguments: { body: { text: "x" } } }), await read(2));
  expect(results.map(({ success }) => success)).toEqual([true, true, false, false, true]);
  expect(results[0]?.output).toMatchObject({ token: "glovebox.secret.login_crm." });
  expect(results[2]?.error?.message).toContain("is not bound to body");
  const texts = [
    JSON.stringify([results, told, engine.connectors()]),
    await engine.metrics(),
    JSON.stringify(api.seen.map(({ url, body }) => [url, body])),
  ];
  for (const name of await readdir(stateDir)) texts.push(await readFile(path.join(stateDir, name), "latin1"));
  expect(tokens.size).toBe(2);
  for (const token of [...tokens, SECRET]) {
    for (const form of [token, Buffer.from(token).toString("base64"), encodeURIComponent(token)]) {
      for (const text of texts) expect(text).not.toContain(form);
    }
  }
});

test("a broker in a process of its own gets tokens as well", async () => {
  oidc = await served();
  api = await serveProtected();
  await open(machine(), { broker: "process" });
  expect((await many(8)).map(({ success }) => success)).not.toContain(false);
  expect(oidc.seen).toHaveLength(1);
});

test("a server that repeats a former token has it taken out as well", async () => {
  oidc = await served();
  api = await serveProtected();
  await open(machine());
  await read(1);
  const [former = ""] = tokens;
  ended.add(former);
  // The API answers with what it was asked for.
  const repeated = await read(2);
  expect(tokens.size).toBe(2);
  const echoed = await engine.execute({ name: "crm.read", arguments: { id: former } });
  expect([repeated.success, echoed.success]).toEqual([true, true]);
  expect(JSON.stringify(echoed.output)).not.toContain(former);
});

test("a 401 is renewed once: for reads, and for writes that were refused before they had an effect", async () => {
  oidc = await served();
  api = await serveProtected();
  await open(machine());
  await read(1);
  for (const token of tokens) ended.add(token);
  expect((await many(16)).map(({ success }) => success)).not.toContain(false);
  expect(oidc.seen).toHaveLength(2);
  await sleep(2_100);
  for (const token of tokens) ended.add(token);
  const written = await engine.execute({ name: "crm.write", arguments: { body: { text: "x" } } });
  expect([written.success, CALLS.posts, oidc.seen.length]).toEqual([true, 1, 3]);
});

test("a server that accepts no token has no token made for each call", async () => {
  oidc = await served();
  api = await serveApi((_request, response) => void response.writeHead(401, { "www-authenticate": "Bearer" }).end());
  await open(machine());
  const results = [...(await many(32)), ...(await many(32))];
  expect(results.map(({ error }) => error?.message.includes("401"))).not.toContain(false);
  // Another one is tried from time to time, however slow the calls are.
  expect(oidc.seen.length).toBeLessThan(16);
});

test("a connector whose login is refused says so in its error, its status, an event and a metric", async () => {
  oidc = await served();
  api = await serveProtected();
  await open({ clientCredentials: { issuer: oidc.issuer, clientId: "stranger", clientSecret: "{secret:CLIENT}" } });
  const [first] = await many(32);
  expect(first?.error).toMatchObject({ code: "login_required", retryable: false });
  expect(first?.error?.message).toContain(
    'the connector "crm" needs a login: the authorization server refuses: invalid_client',
  );
  expect(oidc.seen).toHaveLength(1);
  expect(api.seen).toEqual([]);
  expect(engine.connectors()[0]?.login).toMatchObject({ state: "needed", tenants: [] });
  expect(told).toContainEqual([
    "connector:login",
    expect.objectContaining({ connector: "crm", state: "needed", renewal: "refused" }),
  ]);
  expect(await engine.metrics()).toContain('glovebox_connector_login{connector="crm"} 0');
});

test("a browser that comes back twice logs the connector in once, and its calls go on", async () => {
  oidc = await served();
  api = await serveProtected();
  await open({ authorizationCode: { issuer: oidc.issuer, scope: "offline_access read" } });
  const { error } = await read(1);
  expect(error).toMatchObject({ code: "login_required", retryable: false });
  expect(error?.message).toContain("run: glovebox connectors login crm");
  expect(engine.connectors()[0]?.login).toMatchObject({ auth: "authorizationCode", state: "needed" });
  const { url } = await engine.loginConnector("crm", { redirectUri: "http://127.0.0.1:4711/callback" });
  const back = await browse(url);
  const ends = await Promise.allSettled([engine.finishConnectorLogin(back), engine.finishConnectorLogin(back)]);
  expect(ends).toMatchObject([
    { status: "fulfilled", value: { connector: "crm", tenant: "" } },
    { status: "rejected", reason: { code: "tool_not_found" } },
  ]);
  expect(oidc.seen.map(({ grant }) => grant)).toEqual(["authorization_code"]);
  await expect.poll(async () => (await read(1)).success).toBe(true);
});

test.each<[string, ConnectorAuth, Record<string, unknown>]>([
  [
    "basic",
    { basic: { user: "ann", password: "{secret:CLIENT}" } },
    { headers: { authorization: `Basic ${btoa(`ann:${SECRET}`)}` } },
  ],
  ["bearer", { bearer: { token: "{secret:CLIENT}" } }, { headers: { authorization: `Bearer ${SECRET}` } }],
  [
    "apiKey in a header",
    { apiKey: { in: "header", name: "X-Key", value: "{secret:CLIENT}" } },
    { headers: { "x-key": SECRET } },
  ],
  [
    "apiKey in a cookie",
    { apiKey: { in: "cookie", name: "session", value: "{secret:CLIENT}" } },
    { headers: { cookie: `session=${SECRET}` } },
  ],
  [
    "apiKey in the query",
    { apiKey: { in: "query", name: "key", value: "{secret:CLIENT}" } },
    { url: `/items/1?key=${encodeURIComponent(SECRET)}` },
  ],
])("%s needs no server", async (_name, auth, seen) => {
  oidc = await served();
  api = await serveApi();
  const places = ["basic:password", "header:authorization", "header:x-key", "header:cookie", "query:key"] as const;
  const bind = places.map((place) => ({ origin: api.origin, in: place }));
  await open(auth, { secrets: { CLIENT: { value: SECRET, bind } } });
  expect(await read(1)).toMatchObject({ success: true });
  expect(api.seen[0]).toMatchObject(seen);
  expect(oidc.seen).toEqual([]);
});
