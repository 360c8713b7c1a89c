/**
 * OWASP's API Security Top Ten of 2023 against the server, one test for each row that applies.
 *
 * API6, unrestricted access to sensitive business flows, does not: the server has no flows, it runs tools. What a tool
 * does that people must not automate is for its author to guard; how often a key may call is API4.
 */
import { once } from "node:events";
import { createServer as createUpstream } from "node:http";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { HTTPMethods, RouteOptions } from "fastify";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { ROLES, type Role } from "../../src/server/access/caller.ts";
import { ScopedEngine } from "../../src/server/access/scoped-engine.ts";
import type { KeyOptions } from "../../src/server/access/key-options.ts";
import { Keys } from "../../src/server/access/keys.ts";
import { createKey } from "../../src/server/access/secret.ts";
import { AssetStore } from "../../src/contrib/agentspace/assets.ts";
import { createEngine, type Engine, type EngineOptions, type ToolResult } from "../../src/glovebox/index.ts";
import { createApp } from "../../src/server/http/app.ts";
import { addAssets } from "../../src/server/http/assets.ts";
import { addRoutes } from "../../src/server/http/routes.ts";
import { createServer, type Server, type ServerOptions } from "../../src/server/http/server.ts";
import { OriginCheck } from "../../src/server/http/origin-check.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const SECRET = "s3cr3t-of-the-operator";
/** An answer that is sure to come is waited for so long. */
const ANSWER_MS = 20_000;
const KEEP = {
  name: "keep",
  description: "Keeps something for its tenant.",
  source:
    "export default async ({ value }, { host: { kv } }) => { if (value) await kv.set('a', value); return (await kv.get('a')) ?? null; };",
  capabilities: { kv: true as const },
};
const GET = {
  name: "get",
  description: "Fetches an address.",
  source:
    "export default async ({ url }) => { const got = await fetch(url); return { status: got.status, body: await got.text() }; };",
  capabilities: { fetch: { origins: ["*"] }, secrets: ["TOKEN"] },
};
const THROW = {
  name: "throw",
  description: "Throws.",
  source: "export default () => { throw new Error('thrown by the tool'); };",
};
const ECHO = { name: "echo", description: "Gives its input back.", source: "export default (input) => input;" };

interface Key {
  readonly name: string;
  readonly secret: string;
  readonly options: KeyOptions;
}

function makeKey(name: string, tenant: string, roles: readonly Role[], more: Partial<KeyOptions> = {}): Key {
  const { secret, hash } = createKey();
  return { name, secret, options: { ...more, name, tenant, roles, hash } };
}

const alice = makeKey("alice", "acme", ["execute"]);
const bob = makeKey("bob", "umbra", ["execute"]);
const slow = makeKey("slow", "acme", ["execute"], { rate: { calls: 3, perMs: 60_000 }, limits: { wallMs: 20_000 } });
const all = [alice, bob, slow, makeKey("watcher", "ops", ["metrics"]), makeKey("admin", "ops", ["admin"])];

let engine: Engine;
let server: Server;
let folder: string;
/** All that was logged. */
const logged: string[] = [];
/** Resources that a test opened. */
let opened: AsyncDisposableStack;

const log = (fields: object, message: string) => void logged.push(JSON.stringify({ ...fields, message }));

async function open(options: EngineOptions, serverOptions: ServerOptions): Promise<[Engine, Server]> {
  const made = await createEngine({
    workers: 1,
    executor: "threads",
    tools: [KEEP, GET, THROW, ECHO],
    kv: { path: ":memory:" },
    secrets: { TOKEN: { value: SECRET, bind: [{ origin: "https://api.example.com" }] } },
    policy: { rules: [{ allow: { kv: true, fetch: { origins: ["*"] }, secrets: ["TOKEN"] } }] },
    logger: { info: log, warn: log },
    ...options,
  });
  return [
    made,
    await createServer(made, { port: 0, bodyBytes: 100_000, keys: all.map((key) => key.options), ...serverOptions }),
  ];
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "glovebox-owasp-"));
  [engine, server] = await open({}, { assets: { path: join(folder, "assets") } });
});

afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true });
});

beforeEach(() => {
  opened = new AsyncDisposableStack();
});

afterEach(() => opened.disposeAsync());

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly result: ToolResult;
}

async function send(path: string, init: RequestInit & { readonly key?: Key } = {}, to = server): Promise<Answer> {
  const headers = new Headers(init.headers);
  if (init.key !== undefined) headers.set("authorization", `Bearer ${init.key.secret}`);
  const response = await fetch(`${to.url}${path}`, { ...init, headers, signal: AbortSignal.timeout(ANSWER_MS) });
  const said = await response.text();
  const isJson = response.headers.get("content-type")?.startsWith("application/json") === true;
  const result = (isJson ? JSON.parse(said) : null) as ToolResult;
  return { status: response.status, headers: response.headers, text: said, result };
}

function call(key: Key, name: string, args: unknown, more: object = {}, to = server): Promise<Answer> {
  const body = JSON.stringify({ name, arguments: args, ...more });
  return send("/v1/execute", { key, method: "POST", body, headers: { "content-type": "application/json" } }, to);
}

/** Writes raw bytes to the server, and answers all that it said until it closed, or was silent for so long. */
async function write(bytes: string, silentMs = 300): Promise<string> {
  const socket = connect(server.port, "127.0.0.1");
  socket.setTimeout(silentMs, () => socket.destroy());
  // A server may well cut such a connection.
  socket.on("error", () => undefined);
  let said = "";
  socket.setEncoding("latin1").on("data", (part: string) => (said += part));
  socket.write(bytes, "latin1");
  await new Promise((resolve) => socket.once("close", resolve));
  return said;
}

/** A server somewhere else, that answers each request so. */
async function openUpstream(
  answer: (url: string) => { status: number; headers?: Record<string, string>; body?: string },
) {
  const upstream = createUpstream(({ url = "" }, response) => {
    const { status, headers = {}, body = "" } = answer(url);
    response.writeHead(status, headers).end(body);
  });
  upstream.listen(0, "127.0.0.1");
  await once(upstream, "listening");
  opened.defer(async () => {
    upstream.closeAllConnections();
    await upstream[Symbol.asyncDispose]();
  });
  return `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
}

/** Every route of an app with all that there is, and what is answered to a request without a body by a key with such roles. */
async function openApp() {
  const routes: {
    readonly method: HTTPMethods;
    readonly url: string;
    readonly roles: readonly (Role | "anybody")[];
  }[] = [];
  const byRole = new Map(ROLES.map((role) => [role, makeKey(role, "t", [role])]));
  const keys = new Keys([...byRole.values()].map(({ options }) => options));
  const gate = new ScopedEngine(engine, keys);
  const originCheck = new OriginCheck({}, { host: "127.0.0.1", hasKeys: true });
  const app = opened.use(await createApp(1_000, { engine, gate, keys, isAdminOpen: false, originCheck }));
  app.addHook("onRoute", ({ method, url, config }: RouteOptions) => {
    const roles = [config?.role ?? "anybody"].flat();
    for (const each of [method].flat()) routes.push({ method: each, url, roles });
  });
  addRoutes(app, { engine, gate, isDraining: () => false, onDrain: () => undefined });
  const store = opened.use(await AssetStore.open({ path: join(folder, "app-assets") }));
  await addAssets(app, store, null);
  await app.ready();
  const statusOf = async (method: HTTPMethods, url: string, key?: Key): Promise<number> => {
    const headers = key === undefined ? {} : { authorization: `Bearer ${key.secret}` };
    const { statusCode } = await app.inject({ method: method as "GET", url: url.replaceAll(/:\w+/g, "x"), headers });
    return statusCode;
  };
  return { routes, byRole, statusOf };
}

test("API1: nothing of another tenant can be named: neither what its tools keep, nor its results, nor itself", async () => {
  await call(alice, "keep", { value: "acme's own" }, { options: { idempotencyKey: "k" } });
  expect((await call(bob, "keep", {})).result.output).toBe(null);
  const repeated = await call(bob, "keep", { value: "acme's own" }, { options: { idempotencyKey: "k" } });
  expect(repeated.result.metadata["isRepeated"]).toBeUndefined();
  for (const tenant of ["acme", "", "ACME", "acme "]) {
    const answer = await call(bob, "keep", {}, { options: { tenant } });
    expect([tenant, answer.status, answer.result.error?.code]).toEqual([tenant, 403, "forbidden"]);
    expect(answer.text).not.toContain("acme's own");
  }
});

test("API2: nothing but a whole key in its one place is a key", async () => {
  const { secret } = alice;
  const hash = "hash" in alice.options ? alice.options.hash : "";
  const wrongs = [
    "",
    "Bearer",
    "Bearer ",
    `Bearer ${secret.slice(0, -1)}`,
    `Bearer ${secret}x`,
    `Bearer ${secret.toUpperCase()}`,
    `Bearer ${hash}`,
    `Bearer ${hash.slice(7)}`,
    `Basic ${btoa(`alice:${secret}`)}`,
    secret,
    `Bearer ${secret}, Bearer ${secret}`,
    "Bearer null",
    "Bearer alice",
  ];
  for (const authorization of wrongs) {
    const { status } = await send("/v1/tools", { headers: { authorization } });
    expect([authorization, status]).toEqual([authorization, 401]);
  }
  expect((await send(`/v1/tools?authorization=Bearer%20${secret}`)).status).toBe(401);
  const twice = await write(
    `GET /v1/tools HTTP/1.1\r\nhost: a\r\nauthorization: Bearer x\r\nauthorization: Bearer ${secret}\r\nconnection: close\r\n\r\n`,
    ANSWER_MS,
  );
  expect(twice).toMatch(/^HTTP\/1\.1 400 /);
  expect((await send("/v1/tools", { key: alice })).status).toBe(200);
});

test("API3: a call is given nothing that its body has no name for, and shows nothing of the engine's own", async () => {
  for (const [name, value] of Object.entries({
    tools: ["*"],
    maxLimits: { wallMs: 1e9 },
    record: true,
    onCpu: null,
    key: "admin",
    roles: ["admin"],
    signal: {},
    ["__proto__"]: { tenant: "umbra" },
    constructor: { prototype: {} },
  })) {
    const body = `{"name":"echo","arguments":{},"options":{${JSON.stringify(name)}:${JSON.stringify(value)}}}`;
    const headers = { "content-type": "application/json" };
    const { status, result } = await send("/v1/execute", { key: alice, method: "POST", body, headers });
    expect([name, status, result.error?.code]).toEqual([name, 400, "invalid_arguments"]);
  }
  const { result } = await call(alice, "echo", { a: 1 }, { tenant: "umbra", roles: ["admin"], priority: 10 });
  expect(Object.keys(result).toSorted()).toEqual(["error", "metadata", "output", "success"]);
  const known = ["attempts", "callId", "cpuMs", "heapBytes", "logs", "queueMs", "tool", "wallMs"];
  expect(Object.keys(result.metadata).toSorted()).toEqual(known);
});

test("API4: calls, bodies and times end at what the key and the server allow", async () => {
  expect((await call(alice, "echo", { text: "x".repeat(200_000) })).status).toBe(413);
  const { result } = await call(slow, "echo", {}, { options: { limits: { wallMs: 1e9 }, priority: 10 } });
  expect(result.success).toBe(true);
  const statuses = [];
  for (let at = 0; at < 4; at++) statuses.push((await call(slow, "echo", {})).status);
  expect(statuses).toEqual([200, 200, 429, 429]);
  expect((await call(slow, "echo", {})).headers.get("retry-after")).toMatch(/^\d+$/);
});

test("API5: every route asks for its role, and no other role will do", async () => {
  const { routes, byRole, statusOf } = await openApp();
  const guarded = routes.filter(({ roles }) => !roles.includes("anybody"));
  expect(new Set(guarded.flatMap(({ roles }) => roles))).toEqual(new Set(ROLES));
  for (const { method, url, roles } of guarded) {
    const [role] = roles;
    expect([method, url, await statusOf(method, url)]).toEqual([method, url, 401]);
    for (const [other, key] of byRole) {
      const status = await statusOf(method, url, key);
      if (other === role) expect([method, url, status]).not.toEqual([method, url, 403]);
      // What another one of its roles may do depends on what is asked for.
      else if (!roles.includes(other)) expect([method, url, other, status]).toEqual([method, url, other, 403]);
    }
  }
});

test("API7: a tool whose caller names the address reaches neither this server nor anything beside it", async () => {
  const upstream = await openUpstream(() => ({ status: 200, body: "internal" }));
  const { port } = new URL(upstream);
  for (const url of [
    `${server.url}/metrics`,
    upstream,
    `http://localhost:${port}`,
    `http://[::ffff:127.0.0.1]:${port}`,
    `http://2130706433:${port}`,
    "http://169.254.169.254/latest/meta-data",
    "file:///etc/passwd",
  ]) {
    const { result, text: said } = await call(alice, "get", { url });
    expect([url, result.success]).toEqual([url, false]);
    expect(said).not.toContain("internal");
  }
});

test("API8: answers of all kinds have the headers that keep browsers from using them, and name no product", async () => {
  const answers = [
    await send("/v1/tools", { key: alice }),
    await send("/v1/tools"),
    await send("/nothing"),
    await send("/healthz"),
    await send("/v1/execute", {
      key: alice,
      method: "POST",
      body: "{",
      headers: { "content-type": "application/json" },
    }),
    await send("/v1/execute", { method: "DELETE" }),
    await send("/metrics", { headers: { origin: "https://evil.example" } }),
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, 401, 404, 200, 400, 405, 403]);
  for (const { headers, status } of answers) {
    expect([status, headers.get("x-content-type-options")]).toEqual([status, "nosniff"]);
    expect(headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    expect(headers.get("cross-origin-resource-policy")).toBe("same-origin");
    expect(headers.get("cache-control")).toBe("no-store");
    for (const name of ["server", "x-powered-by", "access-control-allow-origin", "set-cookie"]) {
      expect(headers.get(name)).toBe(null);
    }
  }
});

test("API8: methods that a route does not have are refused, whoever asks", async () => {
  for (const method of ["PUT", "PATCH", "DELETE", "OPTIONS"]) {
    const { status, headers } = await send("/v1/execute", { key: alice, method });
    expect([method, status, headers.get("allow")]).toEqual([method, 405, "POST"]);
  }
  const said = await write("TRACE /v1/execute HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n", ANSWER_MS);
  expect(said).toMatch(/^HTTP\/1\.1 405 /);
});

test("API9: every route is one that the reference describes", async () => {
  const { routes, byRole, statusOf } = await openApp();
  const table = (await readFile(join(ROOT, "docs/reference/http.md"), "utf8")).split("\n## ")[0] ?? "";
  const told = [...table.matchAll(/`(GET|POST|PUT|DELETE) (\/[^`]*)`/g)].map(([, method = "", path = ""]) => ({
    method,
    isPath: (url: string) => (path.endsWith("…") ? url.startsWith(path.slice(0, -1)) : url === path),
  }));
  const untold: string[] = [];
  for (const { method, url, roles } of routes) {
    const [role = "anybody"] = roles;
    // HEAD goes with GET; and where a method is refused there is nothing to tell of.
    const key = role === "anybody" ? undefined : byRole.get(role);
    if (method === "HEAD" || (await statusOf(method, url, key)) === 405) continue;
    const written = url.replaceAll(/:(\w+)/g, "{$1}");
    if (!told.some((one) => one.method === method && one.isPath(written))) untold.push(`${method} ${written}`);
  }
  expect(told.length).toBeGreaterThan(5);
  expect(untold).toEqual([]);
});

test("API10: what an upstream answers leads nowhere that it was not allowed to, and shows no secret", async () => {
  const upstream = await openUpstream((url) => {
    if (url === "/redirect") return { status: 302, headers: { location: `${server.url}/metrics` } };
    if (url === "/file") return { status: 302, headers: { location: "file:///etc/passwd" } };
    return { status: 200, body: SECRET };
  });
  const secrets = { TOKEN: { value: SECRET, bind: [{ origin: upstream }], inject: true } };
  const policy = { rules: [{ allow: { fetch: { origins: [], privateOrigins: [upstream] }, secrets: ["TOKEN"] } }] };
  const tool = { ...GET, capabilities: { fetch: { origins: [upstream] }, secrets: ["TOKEN"] } };
  const [, other] = await open({ policy, secrets, tools: [tool] }, {});
  opened.use(other);
  for (const path of ["/redirect", "/file"]) {
    const { result } = await call(alice, "get", { url: `${upstream}${path}` }, {}, other);
    expect([path, result.success]).toEqual([path, false]);
  }
  const { result, text: said } = await call(alice, "get", { url: upstream }, {}, other);
  expect(result.success).toBe(true);
  expect(said).not.toContain(SECRET);
});

test("no key, hash, secret, path or stack is in any answer to bad requests, or in the log", async () => {
  const said: string[] = [];
  const take = async (answer: Promise<Answer>): Promise<void> => {
    const { status, headers, text: body } = await answer;
    said.push(JSON.stringify([status, [...headers], body]));
  };
  const json = { "content-type": "application/json" };
  const wrong = createKey().secret;
  const paths = [
    "/",
    "/v1/tools",
    "/v1/tools/x",
    "/v1/execute",
    "/metrics",
    "/readyz",
    "/upload_asset",
    "/assets/a/1/b",
    "/..%2f..%2fetc",
  ];
  for (const path of paths) {
    for (const method of ["GET", "POST", "PUT", "DELETE", "OPTIONS"]) {
      await take(send(path, { method }));
      await take(send(path, { method, headers: { authorization: `Bearer ${wrong}` } }));
      for (const key of all) await take(send(path, { method, key }));
    }
  }
  const bodies = [
    "",
    "{",
    "[]",
    "null",
    '"x"',
    '{"name":5}',
    '{"name":"throw"}',
    '{"name":"keep","arguments":5}',
    '{"name":"echo","options":{"tenant":"x"}}',
    '{"name":"\\u0000../x"}',
    '{"name":"echo","id":{}}',
    '{"name":"echo","options":{"limits":{"wallMs":-1}}}',
    "[".repeat(10_000),
    `{"name":"get","arguments":{"url":"${server.url}/"}}`,
    '{"name":"get","arguments":{"url":"https://api.example.com.invalid/?glovebox.secret.TOKEN."}}',
  ];
  for (const body of bodies) {
    for (const key of [alice, slow]) await take(send("/v1/execute", { key, method: "POST", body, headers: json }));
    await take(
      send("/v1/execute", {
        method: "POST",
        body,
        headers: { "content-type": "text/html", authorization: alice.secret },
      }),
    );
    await take(
      send("/upload_asset", {
        key: all.at(-1) ?? alice,
        method: "POST",
        body,
        headers: { "content-type": "multipart/form-data; boundary=x" },
      }),
    );
  }
  for (const bytes of [
    "\u0000\u0001\u0002\r\n\r\n",
    "GET /v1/tools HTTP/9.9\r\n\r\n",
    `GET /v1/tools HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${alice.secret}\r\nbad header\r\n\r\n`,
    `GET /${wrong}%zz HTTP/1.1\r\nhost: a\r\n\r\n`,
    `GET / HTTP/1.1\r\nhost: a\r\nx: ${"y".repeat(100_000)}\r\n\r\n`,
    `POST /v1/execute HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${alice.secret}\r\ncontent-type: application/json\r\ncontent-length: 50\r\n\r\n{"na`,
  ]) {
    said.push(await write(bytes));
  }
  expect(said.length).toBeGreaterThan(300);
  const hashes = all.flatMap(({ options }) => ("hash" in options ? [options.hash.slice(7)] : []));
  const hidden = [...hashes, SECRET, ROOT, folder, tmpdir(), "node_modules", ...all.map(({ secret }) => secret), wrong];
  for (const [where, texts] of [
    ["answers", said],
    ["log", logged],
  ] as const) {
    // The stack of what a tool threw is the tool's own, in its own file.
    const whole = texts.join("\n").replaceAll(/\bat \w+ \(throw\.js:[\d:]+\)/g, "");
    expect([where, hidden.filter((word) => whole.includes(word))]).toEqual([where, []]);
    expect([where, /\bat [^"\n]*:\d+:\d+|\/src\/|FST_|fastify|file:\/\//i.exec(whole)?.[0]]).toEqual([
      where,
      undefined,
    ]);
  }
  expect(logged.length).toBeGreaterThan(0);
});
