import { spawn } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { afterEach, expect, test } from "vitest";
import { type ConnectorAuth, createEngine, type Engine } from "../../../src/glovebox/index.ts";
import { createServer } from "../../../src/server/http/server.ts";
import { createKey } from "../../../src/server/access/secret.ts";
import { glovebox, ROOT } from "../../cli/command.ts";
import { MAIN } from "../../server/served.ts";
import { browse, closeAll, folder, served } from "../login/opened.ts";
import type { OidcServer } from "../login/oidc-server.ts";
import { type HandServer, serveByHand } from "./mcp-by-hand.ts";

const opened: AsyncDisposable[] = [];

afterEach(async () => {
  for (const each of opened.splice(0).toReversed()) await each[Symbol.asyncDispose]();
  await closeAll();
});

/** Tokens that the server was sent. */
const sent = new Set<string>();

/** An MCP server that wants tokens of an authorization server, and says where it is. */
async function serveProtected(oidc: OidcServer): Promise<HandServer> {
  const hand = await serveByHand([{ name: "whoami", description: "Says who calls." }]);
  opened.push(hand);
  const resource = `${hand.origin}/mcp`;
  const metadata = `${hand.origin}/.well-known/oauth-protected-resource/mcp`;
  hand.guard = async ({ url, headers }, response) => {
    if (url === "/.well-known/oauth-protected-resource/mcp") {
      const described = {
        resource,
        authorization_servers: [oidc.issuer],
        scopes_supported: ["offline_access", "read"],
      };
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(described));
      return true;
    }
    const token = (headers.authorization ?? "").replace(/^Bearer /, "");
    if (token !== "") sent.add(token);
    if (await oidc.knows(token)) return false;
    response.writeHead(401, { "www-authenticate": `Bearer resource_metadata="${metadata}"` }).end();
    return true;
  };
  hand.answer = (_tool, { headers }) => ({ content: [{ type: "text", text: `called with ${headers.authorization}` }] });
  return hand;
}

async function open(hand: HandServer, auth: ConnectorAuth, stateDir: string): Promise<Engine> {
  const engine = await createEngine({
    workers: 1,
    executor: "threads",
    stateDir,
    connectors: { hand: { mcp: { url: `${hand.origin}/mcp` }, auth } },
    policy: { rules: [{ tools: ["hand.*"], allow: { connector: ["hand"] } }] },
  });
  opened.push(engine);
  return engine;
}

const run = async (...args: readonly string[]) => (await glovebox(ROOT, args)).stdout;

/** Runs `glovebox connectors login`, and opens the URL that it prints in a browser: with `--json` it is on stderr. */
async function logIn(config: string, name: string, json?: "--json"): Promise<string> {
  const args = [...MAIN, "connectors", "login", name, "--config", config, ...(json === undefined ? [] : [json])];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
  const [said, other] = json === undefined ? [child.stdout, child.stderr] : [child.stderr, child.stdout];
  const rest = text(other);
  const lines: string[] = [];
  for await (const line of createInterface(said)) {
    lines.push(line);
    if (!line.startsWith("Open ")) continue;
    const back = await browse(line.slice("Open ".length));
    const page = await fetch(back);
    lines.push(await page.text());
  }
  return json === undefined ? lines.join("\n") : rest;
}

test("connectors check prints the lines to write, and connectors login logs a running engine in", async () => {
  const oidc = await served();
  const hand = await serveProtected(oidc);
  const dir = await folder();
  const config = path.join(dir, "glovebox.config.json");
  const connector = { mcp: { url: `${hand.origin}/mcp` } };
  await writeFile(config, JSON.stringify({ stateDir: dir, connectors: { hand: connector } }));
  const [, printed = ""] = /auth: (\{.*\})/.exec(await run("connectors", "check", "--config", config)) ?? [];
  expect(JSON.parse(printed)).toEqual({ authorizationCode: { issuer: oidc.issuer, scope: "offline_access read" } });

  const auth = JSON.parse(printed) as ConnectorAuth;
  await writeFile(config, JSON.stringify({ stateDir: dir, connectors: { hand: { ...connector, auth } } }));
  const engine = await open(hand, auth, dir);
  expect(engine.list()).toEqual([]);
  expect(engine.connectors()[0]).toMatchObject({
    state: "down",
    problem: expect.stringContaining("run: glovebox connectors login hand") as string,
    login: { state: "needed" },
  });
  expect(sent.size).toBe(0);

  expect(await logIn(config, "hand")).toMatch(/Logged in. You can close this window.\s+hand is logged in$/);
  await expect.poll(() => engine.list().map(({ name }) => name)).toEqual(["hand.whoami"]);
  const result = await engine.execute({ name: "hand.whoami", arguments: {} });
  expect(result).toMatchObject({ success: true, output: "called with Bearer glovebox.secret.login_hand." });
  const [request] = oidc.seen;
  expect(request?.parameters.get("resource")).toBe(`${hand.origin}/mcp`);
  expect(sent.size).toBe(1);
  const [token = ""] = sent;
  const files = await Promise.all(
    ["logins.sqlite", "logins.sqlite-wal"].map((name) => readFile(path.join(dir, name), "latin1").catch(() => "")),
  );
  for (const each of [JSON.stringify([result, engine.connectors()]), ...files]) expect(each).not.toContain(token);
  const out = await run("connectors", "logout", "hand", "--config", config, "--json");
  const answer = { connector: "hand", tenant: "" };
  expect(JSON.parse(out)).toEqual({ ...answer, isLoggedIn: false, wasLoggedIn: true, isRevoked: true });
  expect(await oidc.knows(token.replace(/^Bearer /, ""))).toBe(false);
  expect(JSON.parse(await logIn(config, "hand", "--json"))).toEqual({ ...answer, isLoggedIn: true });
  expect(await run("connectors", "logout", "hand", "--config", config)).toContain(
    "hand is logged out, and its tokens are revoked",
  );
});

test("connectors login --device logs in with a code that a person enters elsewhere", async () => {
  const oidc = await served();
  const dir = await folder();
  const config = path.join(dir, "glovebox.config.json");
  const auth = { authorizationCode: { issuer: oidc.issuer, clientId: "public", scope: "offline_access read" } };
  const connectors = { hand: { mcp: { url: "http://127.0.0.1:9/mcp" }, auth } };
  await writeFile(config, JSON.stringify({ stateDir: dir, connectors }));
  const args = [...MAIN, "connectors", "login", "hand", "--device", "--config", config];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const lines: string[] = [];
  for await (const line of createInterface(child.stdout)) {
    lines.push(line);
    const [, code] = /^and enter the code (\S+)$/.exec(line) ?? [];
    if (code !== undefined) await oidc.approveDevice(code, "dora");
  }
  const [open, , ...rest] = lines;
  expect(open).toContain(`Open ${oidc.issuer}/device`);
  expect(rest).toEqual(["hand is logged in"]);
  expect(oidc.seen.map(({ grant }) => grant)).toContain("urn:ietf:params:oauth:grant-type:device_code");
});

test("each tenant has a session of its own with its own login; the service's route logs it in", async () => {
  const oidc = await served({ redirectUris: [] });
  const hand = await serveProtected(oidc);
  const scope = "offline_access read";
  const auth: ConnectorAuth = { authorizationCode: { issuer: oidc.issuer, scope, perTenant: true } };
  const engine = await open(hand, auth, await folder());
  const admin = createKey();
  const server = await createServer(engine, {
    keys: [{ name: "admin", hash: admin.hash, tenant: "a", roles: ["admin"] }],
    port: 0,
  });
  opened.push({ [Symbol.asyncDispose]: () => server.close() });
  const send = (method: string, at: string): Promise<Response> =>
    fetch(`${server.url}${at}`, { method, headers: { authorization: `Bearer ${admin.secret}` } });

  const logInAs = async (tenant: string, account: string): Promise<number> => {
    const begun = await send("POST", `/v1/connectors/hand/login?tenant=${tenant}`);
    const { url } = (await begun.json()) as { readonly url: string };
    const back = await browse(url, account);
    expect(`${back.origin}${back.pathname}`).toBe(`${server.url}/v1/connectors/callback`);
    return (await fetch(back)).status;
  };
  const guessed = await fetch(`${server.url}/v1/connectors/callback?state=guessed&code=x`);
  expect([guessed.status, await guessed.text()]).toEqual([
    400,
    "The login has failed: no login waits for this address: it was finished, or took too long.\n",
  ]);
  expect((await fetch(`${server.url}/v1/connectors/hand/login`, { method: "POST" })).status).toBe(401);
  expect(await (await fetch(`${server.url}/readyz`)).json()).toMatchObject({
    status: "ready",
    connectors: { needLogin: ["hand"] },
  });
  expect(await logInAs("", "operator")).toBe(200);
  await expect.poll(() => engine.list().length).toBe(1);

  const accounts: unknown[] = [];
  hand.answer = (_tool, { headers }) => {
    accounts.push(oidc.accountOf((headers.authorization ?? "").replace("Bearer ", "")));
    return { content: [] };
  };
  const call = (tenant: string) => engine.execute({ name: "hand.whoami", arguments: {} }, { tenant });
  const { error } = await call("red");
  expect(error?.code).toBe("login_required");
  expect(error?.message).toContain("run: glovebox connectors login hand --tenant red");
  expect(engine.connectors()[0]?.login?.tenants).toEqual(["red"]);
  expect([await logInAs("red", "ruth"), await logInAs("blue", "bob")]).toEqual([200, 200]);
  for (const tenant of ["red", "blue", "red"]) expect((await call(tenant)).error).toBeNull();
  expect(await Promise.all(accounts)).toEqual(["ruth", "bob", "ruth"]);
  expect((await (await fetch(`${server.url}/readyz`)).json()) as object).not.toHaveProperty("connectors");
});
