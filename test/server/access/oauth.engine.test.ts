import { Client, ClientCredentialsProvider, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { generateKeyPair, type JWTPayload, SignJWT, UnsecuredJWT } from "jose";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { createKey } from "../../../src/server/access/secret.ts";
import type { RequestRefusal } from "../../../src/kernel/engine/telemetry/events.ts";
import { createEngine, defineCapability, type Engine } from "../../../src/glovebox/index.ts";
import { createServer, type OAuthOptions, type Server, type ServerOptions } from "../../../src/server/http/server.ts";
import { AuthorizationServer, CLIENT } from "./authorization-server.ts";

const PUBLIC = "https://tools.example.com";
const TOOLS = [
  { name: "echo", description: "Gives its input back.", source: "export default (input) => input;" },
  {
    name: "who",
    description: "Says whose call it is.",
    source: "export default (input, { host }) => host.who.am({});",
    capabilities: { who: true },
  },
];
const who = defineCapability({ name: "who", methods: { am: { handler: (_args, { tenant }) => tenant ?? null } } });
const SCOPES = { "tools.call": ["execute"], "tools.admin": ["admin"] } as const;

let issuer: AuthorizationServer;
let engine: Engine;
let server: Server;
let cleanup: AsyncDisposableStack;
const { secret, hash } = createKey();

/** A server of its own for each engine: closing one closes the other. */
async function serve(oauth: Partial<OAuthOptions> = {}, more: ServerOptions = {}): Promise<[Engine, Server]> {
  const own = await createEngine({
    workers: 1,
    executor: "threads",
    tools: TOOLS,
    capabilities: [who],
    policy: { rules: [{ allow: { who: true } }] },
  });
  const way = oauth.introspection === undefined ? { jwksUri: `${issuer.url}/keys` } : {};
  const options = { issuer: issuer.url, ...way, scopes: SCOPES, tenantClaim: "org", ...oauth };
  const opened = await createServer(own, { port: 0, publicUrl: PUBLIC, oauth: options, ...more });
  cleanup.use(opened);
  return [own, opened];
}

beforeAll(async () => {
  cleanup = new AsyncDisposableStack();
  issuer = cleanup.use(await AuthorizationServer.open());
  [engine, server] = await serve({}, { keys: [{ name: "ops", hash, tenant: "ops", roles: ["execute", "metrics"] }] });
});
afterAll(() => cleanup.disposeAsync());

const GOOD = { aud: PUBLIC, scope: "openid tools.call", org: "acme" };

function call(token: string | null, name = "who", { url } = server): Promise<Response> {
  return fetch(`${url}/v1/execute`, {
    method: "POST",
    headers: { "content-type": "application/json", ...(token === null ? {} : { authorization: `Bearer ${token}` }) },
    body: JSON.stringify({ name, arguments: {} }),
  });
}

async function outputOf(response: Response): Promise<unknown> {
  const { output } = (await response.json()) as { readonly output?: unknown };
  return output;
}

async function refusalOf(token: string, to = server): Promise<[status: number, message: string]> {
  const response = await call(token, "who", to);
  const { error } = (await response.json()) as { readonly error?: { readonly message: string } };
  return [response.status, error?.message ?? ""];
}

describe("a bearer token of the authorization server", () => {
  test.each(["ES256", "RS256"] as const)("signed with %s makes calls for the tenant that it names", async (alg) => {
    await using own = await AuthorizationServer.open();
    await own.rotate(alg);
    const [, to] = await serve({ issuer: own.url, jwksUri: `${own.url}/keys` });
    const response = await call(await own.sign(GOOD), "who", to);
    expect([response.status, await outputOf(response)]).toEqual([200, "acme"]);
  });

  test("is accepted beside keys, on the framework's way as on the short one", async () => {
    const token = await issuer.sign(GOOD);
    for (const one of [token, token, secret]) expect((await call(one)).status).toBe(200);
    const listed = await fetch(`${server.url}/v1/tools`, { headers: { authorization: `Bearer ${token}` } });
    expect(listed.status).toBe(200);
    expect((await call(null)).status).toBe(401);
  });

  test("is for this server as such, or for its MCP endpoint", async () => {
    for (const aud of [PUBLIC, `${PUBLIC}/`, `${PUBLIC}/mcp`, ["x", PUBLIC]])
      expect((await call(await issuer.sign({ ...GOOD, aud }))).status).toBe(200);
  });

  const wrong: readonly (readonly [string, () => Promise<string>, RegExp])[] = [
    ["for another audience", () => issuer.sign({ ...GOOD, aud: "https://other.example" }), /claim "aud"/],
    ["for no audience", () => issuer.sign({ scope: GOOD.scope, org: GOOD.org }), /claim "aud"/],
    ["of another issuer", () => issuer.sign({ ...GOOD, iss: "https://other.example" }), /claim "iss"/],
    ["that has expired", () => issuer.sign({ ...GOOD, exp: 1 }), /has expired/],
    ["that never expires", () => issuer.signForever(GOOD), /claim "exp"/],
    ["that is not valid yet", () => issuer.sign({ ...GOOD, nbf: 4e9 }), /claim "nbf"/],
    ["without a tenant", () => issuer.sign({ ...GOOD, org: undefined }), /names no tenant in "org"/],
    ["of a tenant that is no text", () => issuer.sign({ ...GOOD, org: ["acme"] }), /names no tenant in "org"/],
    ["of nobody", () => issuer.sign({ ...GOOD, sub: "" }), /names nobody in "sub"/],
    ["without a signature", async () => new UnsecuredJWT({ ...GOOD, iss: issuer.url }).encode(), /not one that/],
    ["that is no JWT", async () => "abc.def.ghi", /not one that/],
    ["that is too long", async () => "a".repeat(8_193), /more than 8192 characters/],
  ];
  test.each(wrong)("is refused: one %s", async (_which, make, problem) => {
    const [status, message] = await refusalOf(await make());
    expect([status, message]).toEqual([401, expect.stringMatching(problem)]);
  });

  test("is refused where it is signed by a key of nobody, or with the public key as a shared secret", async () => {
    const [pair] = issuer.keys;
    const { privateKey } = await generateKeyPair("ES256");
    if (pair === undefined) throw new Error("there is no key");
    const forged = await issuer.sign(GOOD, { ...pair, privateKey });
    const shared = await new SignJWT({ ...GOOD, iss: issuer.url, sub: "ada" })
      .setProtectedHeader({ alg: "HS256", kid: pair.kid })
      .setExpirationTime("1h")
      .sign(new TextEncoder().encode(JSON.stringify(pair.publicJwk)));
    for (const token of [forged, shared])
      expect(await refusalOf(token)).toEqual([401, expect.stringMatching(/not one that/)]);
  });

  test("may do nothing without a scope that gives a role, and is told which would", async () => {
    for (const scope of ["", "openid", "constructor", undefined]) {
      const response = await call(await issuer.sign({ ...GOOD, scope }));
      expect(response.status).toBe(403);
      expect(response.headers.get("www-authenticate")).toContain('error="insufficient_scope", scope="tools.call"');
    }
    const admin = await issuer.sign({ ...GOOD, scope: "tools.admin" });
    expect((await call(admin)).status).toBe(403);
    expect((await call(await issuer.sign({ ...GOOD, scope: undefined, scp: ["tools.call"] }))).status).toBe(200);
  });

  test("cannot name another tenant in its calls", async () => {
    const response = await fetch(`${server.url}/v1/execute`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${await issuer.sign(GOOD)}` },
      body: JSON.stringify({ name: "who", arguments: {}, options: { tenant: "other" } }),
    });
    expect(response.status).toBe(403);
  });

  test("has the tools and the rate that the operator gives to each of its holders", async () => {
    const [, to] = await serve({ tools: ["echo"], rate: { calls: 1, perMs: 60_000 } });
    const [ada, bob] = [await issuer.sign({ ...GOOD, sub: "ada" }), await issuer.sign({ ...GOOD, sub: "bob" })];
    expect((await call(ada, "echo", to)).status).toBe(200);
    // Another token of the same holder uses the same account.
    expect((await call(await issuer.sign({ ...GOOD, sub: "ada", jti: "2" }), "echo", to)).status).toBe(429);
    expect((await call(bob, "echo", to)).status).toBe(200);
    expect((await call(await issuer.sign({ ...GOOD, sub: "carol" }), "who", to)).status).toBe(404);
  });

  test("is no way around: wrong ones are counted by address, as wrong keys are", async () => {
    const [own, to] = await serve();
    const refused: RequestRefusal[] = [];
    own.on("request:refused", (refusal) => void refused.push(refusal));
    const token = await issuer.sign({ ...GOOD, aud: "x" });
    const statuses = new Set<number>();
    for (let count = 0; count < 25; count++) statuses.add((await call(token, "who", to)).status);
    expect(statuses).toEqual(new Set([401, 429]));
    expect(refused.every(({ key }) => key === null)).toBe(true);
    expect((await call(await issuer.sign(GOOD), "who", to)).status).toBe(200);
  });
});

describe("the keys of the authorization server", () => {
  test("are fetched once for many tokens, and no more for keys that there are not", async () => {
    await using own = await AuthorizationServer.open();
    const [, to] = await serve({ issuer: own.url, jwksUri: `${own.url}/keys` });
    const fetched = (): number => own.requests.get("/keys") ?? 0;
    const tokens = await Promise.all(["a", "b", "c", "d"].map((sub) => own.sign({ ...GOOD, sub })));
    for (const { status } of await Promise.all(tokens.map((token) => call(token, "who", to)))) expect(status).toBe(200);
    expect(fetched()).toBe(1);
    const [pair] = own.keys;
    if (pair === undefined) throw new Error("there is no key");
    for (let count = 0; count < 5; count++)
      expect((await call(await own.sign(GOOD, { ...pair, kid: `none-${count}` }), "who", to)).status).not.toBe(200);
    expect(fetched()).toBe(1);
  });

  test("are fetched again for a new one, after a while, and the old one is no longer valid", async () => {
    await using own = await AuthorizationServer.open();
    const [, to] = await serve({ issuer: own.url, jwksUri: `${own.url}/keys` });
    expect((await call(await own.sign(GOOD), "who", to)).status).toBe(200);
    const former = own.keys.at(-1);
    await own.rotate("RS256");
    const fresh = await own.sign(GOOD);
    expect((await call(fresh, "who", to)).status).toBe(401);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 31_000 });
    try {
      expect((await call(fresh, "who", to)).status).toBe(200);
      expect((await call(await own.sign({ ...GOOD, jti: "2" }, former), "who", to)).status).toBe(401);
    } finally {
      vi.useRealTimers();
    }
    expect(own.requests.get("/keys")).toBe(2);
  });

  test("are asked for no more than once where they cannot be had, and valid tokens are told to come again", async () => {
    await using own = await AuthorizationServer.open();
    const [, to] = await serve({ issuer: own.url, jwksUri: `${own.url}/keys` });
    own.isDown = true;
    for (let count = 0; count < 5; count++) {
      const response = await call(await own.sign({ ...GOOD, jti: `${count}` }), "who", to);
      expect([response.status, response.headers.get("retry-after")]).toEqual([503, "5"]);
    }
    expect(own.requests.get("/keys")).toBe(1);
  });

  test("are refused where they are too many bytes", async () => {
    await using own = await AuthorizationServer.open();
    own.padding = 300_000;
    const [, to] = await serve({ issuer: own.url, jwksUri: `${own.url}/keys` });
    expect(await refusalOf(await own.sign(GOOD), to)).toEqual([503, expect.stringContaining("262144 bytes")]);
  });
});

describe("introspection", () => {
  const introspection = () => ({
    url: `${issuer.url}/introspect`,
    clientId: CLIENT.id,
    clientSecret: { env: "OAUTH_TEST_SECRET" },
  });

  test("says whose an opaque token is, and is asked once", async () => {
    process.env["OAUTH_TEST_SECRET"] = CLIENT.secret;
    const [, to] = await serve({ introspection: introspection() });
    const said = { active: true, iss: issuer.url, sub: "ada", aud: PUBLIC, scope: "tools.call", org: "acme" };
    issuer.introspected.set("opaque-1", said);
    issuer.introspected.set("opaque-2", { ...said, aud: "https://other.example" });
    issuer.introspected.set("opaque-3", { ...said, exp: 1 });
    const before = issuer.requests.get("/introspect") ?? 0;
    expect(await outputOf(await call("opaque-1", "who", to))).toBe("acme");
    for (let count = 0; count < 5; count++) expect((await call("opaque-1", "who", to)).status).toBe(200);
    for (let count = 0; count < 5; count++)
      expect(await refusalOf("nothing", to)).toEqual([401, "the token is not active"]);
    expect((issuer.requests.get("/introspect") ?? 0) - before).toBe(2);
    expect(await refusalOf("opaque-2", to)).toEqual([401, expect.stringContaining('claim "aud"')]);
    expect(await refusalOf("opaque-3", to)).toEqual([401, "the token has expired"]);
  });

  test("never gets a key of the server", async () => {
    process.env["OAUTH_TEST_SECRET"] = CLIENT.secret;
    const [, to] = await serve({ introspection: introspection() });
    const before = issuer.requests.get("/introspect") ?? 0;
    expect(await refusalOf(createKey().secret, to)).toEqual([401, "the key is unknown"]);
    expect(issuer.requests.get("/introspect") ?? 0).toBe(before);
  });
});

describe("the metadata of the protected resource", () => {
  test("names the authorization server and the scopes, for the server and for its MCP endpoint", async () => {
    for (const of of ["", "/mcp"]) {
      const response = await fetch(`${server.url}/.well-known/oauth-protected-resource${of}`);
      expect(await response.json()).toEqual({
        resource: `${PUBLIC}${of}`,
        authorization_servers: [issuer.url],
        scopes_supported: ["tools.call", "tools.admin"],
        bearer_methods_supported: ["header"],
      });
    }
  });

  test("is named where a token is missing or wrong", async () => {
    const mcp = await fetch(`${server.url}/mcp`, { method: "POST" });
    const metadata = `${PUBLIC}/.well-known/oauth-protected-resource`;
    expect(mcp.headers.get("www-authenticate")).toBe(`Bearer realm="glovebox", resource_metadata="${metadata}/mcp"`);
    expect((await call("a.b.c")).headers.get("www-authenticate")).toBe(
      `Bearer realm="glovebox", error="invalid_token", resource_metadata="${metadata}"`,
    );
  });

  test("leads the official client to a token by itself", async () => {
    // As a name server and a proxy would: the port that the server listens on is nobody else's.
    const proxied = (url: string | URL, init?: RequestInit) => fetch(url.toString().replace(PUBLIC, server.url), init);
    const client = new Client({ name: "tester", version: "1.0.0" });
    const authProvider = new ClientCredentialsProvider({
      clientId: "tester",
      clientSecret: "x",
      expectedIssuer: issuer.url,
    });
    await client.connect(new StreamableHTTPClientTransport(new URL(`${PUBLIC}/mcp`), { authProvider, fetch: proxied }));
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["echo", "read_output", "who"]);
    expect((await client.callTool({ name: "who", arguments: {} })).content).toEqual([{ type: "text", text: "acme" }]);
    expect(issuer.resources).toContain(`${PUBLIC}/mcp`);
    await client.close();
  });
});

test("a session belongs to the holder that opened it, also with another token", async () => {
  const send = async (claims: JWTPayload, body: object, session = ""): Promise<Response> =>
    fetch(`${server.url}/mcp`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        authorization: `Bearer ${await issuer.sign({ ...GOOD, ...claims })}`,
        ...(session === "" ? {} : { "mcp-session-id": session }),
      },
      body: JSON.stringify({ jsonrpc: "2.0", ...body }),
    });
  const clientInfo = { name: "tester", version: "1.0.0" };
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
  const opened = await send({}, { id: 1, method: "initialize", params });
  await opened.text();
  const session = opened.headers.get("mcp-session-id") ?? "";
  const list = { id: 2, method: "tools/list" };
  for (const [claims, status] of [
    [{ jti: "another" }, 200],
    [{ sub: "bob" }, 404],
    [{ org: "other" }, 404],
  ] as const) {
    const response = await send(claims, list, session);
    await response.text();
    expect(response.status).toBe(status);
  }
  expect(engine.stats().state).toBe("open");
});
