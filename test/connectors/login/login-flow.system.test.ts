import path from "node:path";
import { afterEach, expect, test } from "vitest";
import type { ConnectorAuth } from "../../../src/connectors/tool/auth-options.ts";
import { openLoginStore } from "../../../src/connectors/store/login-store.ts";
import { browse, closeAll, folder, openLogins, served } from "./opened.ts";
import { SECRET } from "./oidc-server.ts";

afterEach(closeAll);

const REDIRECT = "http://127.0.0.1:4711/callback";
const SCOPE = "offline_access read";

test("a connector is logged in by a browser, with PKCE, and renews what it got", async () => {
  const server = await served({ lifeS: 2 });
  const auth: ConnectorAuth = { authorizationCode: { issuer: server.issuer, clientId: "public", scope: SCOPE } };
  const { logins, flow, reports } = openLogins(server, auth, {}, path.join(await folder(), "logins.sqlite"));
  await expect(logins.token("")).rejects.toThrow(
    'the connector "crm" needs a login: nobody has logged in; run: glovebox connectors login crm',
  );
  expect(reports).toMatchObject([{ state: "needed", renewal: null }]);
  const { url, finish } = await (await flow()).begin(REDIRECT, "");
  expect(new URL(url).searchParams.get("code_challenge_method")).toBe("S256");
  await finish(await browse(url));
  await expect
    .poll(async () => server.accountOf((await logins.token("").catch(() => ({ value: "" }))).value))
    .toBe("ann");
  await expect.poll(async () => (await logins.token(""), server.seen.length)).toBe(2);
  expect(server.seen.map(({ grant }) => grant)).toEqual(["authorization_code", "refresh_token"]);
});

test("each tenant has its own login, and nobody else's", async () => {
  const server = await served({ redirectUris: [REDIRECT] });
  const client = { issuer: server.issuer, clientId: "app", clientSecret: "{secret:CLIENT}", scope: SCOPE };
  const auth: ConnectorAuth = { authorizationCode: { ...client, perTenant: true } };
  const { logins, flow } = openLogins(server, auth, { CLIENT: SECRET }, path.join(await folder(), "logins.sqlite"));
  for (const [tenant, account] of [
    ["", "operator"],
    ["red", "ruth"],
    ["blue", "bob"],
  ] as const) {
    const { url, finish } = await (await flow()).begin(REDIRECT, tenant);
    await finish(await browse(url, account));
  }
  const accounts = await Promise.all(
    ["red", "blue", "red"].map(async (tenant) => server.accountOf((await logins.token(tenant)).value)),
  );
  expect(accounts).toEqual(["ruth", "bob", "ruth"]);
  await expect(logins.token("green")).rejects.toThrow("run: glovebox connectors login crm --tenant green");
});

test("a server that registers clients needs no client in the options", async () => {
  const server = await served({ lifeS: 2 });
  const auth: ConnectorAuth = { authorizationCode: { issuer: server.issuer, scope: SCOPE } };
  const { logins, flow } = openLogins(server, auth, {}, path.join(await folder(), "logins.sqlite"));
  const { url, finish } = await (await flow()).begin(REDIRECT, "");
  await finish(await browse(url));
  expect(await server.accountOf((await logins.token("")).value)).toBe("ann");
  await expect.poll(async () => (await logins.token(""), server.seen.length)).toBe(2);
});

test("another login and a logout, each in another process, count while the former token has not ended", async () => {
  const server = await served();
  const auth: ConnectorAuth = { authorizationCode: { issuer: server.issuer, clientId: "public", scope: SCOPE } };
  const file = path.join(await folder(), "logins.sqlite");
  const { logins } = openLogins(server, auth, {}, file);
  const { flow } = openLogins(server, auth, {}, file);
  const used = async () => server.accountOf((await logins.token("")).value);
  for (const account of ["ann", "bob"]) {
    const { url, finish } = await (await flow()).begin(REDIRECT, "");
    await finish(await browse(url, account));
    await expect.poll(used).toBe(account);
  }
  expect(server.seen.map(({ grant }) => grant)).toEqual(["authorization_code", "authorization_code"]);
  const store = await openLoginStore({ kind: "file", path: file, secret: null });
  await store.remove("crm");
  await store.close();
  await expect.poll(() => used().catch(String)).toContain("nobody has logged in; run: glovebox connectors login crm");
});

test("a login without a refresh token says that it ends with its token", async () => {
  const server = await served({ lifeS: 1_800, refreshes: false });
  const auth: ConnectorAuth = { authorizationCode: { issuer: server.issuer, clientId: "public", scope: "read" } };
  const { flow } = openLogins(server, auth, {}, path.join(await folder(), "logins.sqlite"));
  const { url, finish } = await (await flow()).begin(REDIRECT, "");
  expect(await finish(await browse(url))).toEqual({ isRenewed: false, lifeMs: 1_800_000 });
});

test("a login that its server has ended is asked for once, in all processes, until somebody logs in", async () => {
  const server = await served({ lifeS: 2 });
  const auth: ConnectorAuth = { authorizationCode: { issuer: server.issuer, clientId: "public", scope: SCOPE } };
  const file = path.join(await folder(), "logins.sqlite");
  const { logins, flow } = openLogins(server, auth, {}, file);
  const logIn = async (): Promise<void> => {
    const { url, finish } = await (await flow()).begin(REDIRECT, "");
    await finish(await browse(url));
  };
  await logIn();
  let asked = 0;
  server.intercept = ({ url }, response) => {
    if (url !== "/token") return false;
    asked++;
    response.writeHead(400, { "content-type": "application/json" }).end('{"error":"invalid_grant"}');
    return true;
  };
  const ended = "refuses: invalid_grant; run: glovebox connectors login crm";
  await expect.poll(() => logins.token("").then(() => "", String)).toContain(ended);
  const next = openLogins(server, auth, {}, file);
  for (const one of [next.logins, logins, next.logins]) await expect(one.token("")).rejects.toThrow(ended);
  expect(asked).toBe(1);
  server.intercept = null;
  await logIn();
  for (const one of [logins, next.logins])
    await expect
      .poll(async () => server.accountOf((await one.token("").catch(() => ({ value: "" }))).value))
      .toBe("ann");
});

test("a connector is logged in on another device", async () => {
  const server = await served();
  const auth: ConnectorAuth = { authorizationCode: { issuer: server.issuer, clientId: "public", scope: SCOPE } };
  const { logins, flow } = openLogins(server, auth, {}, path.join(await folder(), "logins.sqlite"));
  const { userCode, verificationUrl, finish } = await (await flow()).device("");
  expect(verificationUrl).toBe(`${server.issuer}/device`);
  await server.approveDevice(userCode, "dora");
  await finish(AbortSignal.timeout(60_000));
  expect(await server.accountOf((await logins.token("")).value)).toBe("dora");
});

test("an answer with another state, of another server, or with an error stores no login", async () => {
  const server = await served();
  const auth: ConnectorAuth = { authorizationCode: { issuer: server.issuer, clientId: "public", scope: SCOPE } };
  const { logins, flow } = openLogins(server, auth, {}, path.join(await folder(), "logins.sqlite"));
  const { url, finish } = await (await flow()).begin(REDIRECT, "");
  const back = await browse(url);
  const changed = (name: string, value: string): URL => {
    const other = new URL(back);
    other.searchParams.set(name, value);
    return other;
  };
  await expect(finish(changed("state", "another"))).rejects.toThrow("is not one of OAuth");
  await expect(finish(changed("iss", "https://evil.example.com"))).rejects.toThrow("another authorization server");
  await expect(finish(changed("error", "access_denied"))).rejects.toThrow("refuses: access_denied");
  await expect(finish(changed("code", "guessed"))).rejects.toThrow("refuses: invalid_grant");
  await expect(logins.token("")).rejects.toThrow("nobody has logged in");
});

test("a login of other options is not used: another server would get its tokens", async () => {
  const [server, other] = [await served(), await served()];
  const file = path.join(await folder(), "logins.sqlite");
  const auth = ({ issuer }: { readonly issuer: string }): ConnectorAuth => ({
    authorizationCode: { issuer, clientId: "public", scope: SCOPE },
  });
  const { flow } = openLogins(server, auth(server), {}, file);
  const { url, finish } = await (await flow()).begin(REDIRECT, "");
  await finish(await browse(url));
  const moved = openLogins(other, auth(other), {}, file);
  await expect(moved.logins.token("")).rejects.toThrow("nobody has logged in");
  expect(other.seen).toEqual([]);
});
