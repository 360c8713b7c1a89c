import { readFile, readdir } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { closeAll, folder, machineOf, openLogins, refreshingOf, served } from "./opened.ts";
import { SECRET } from "./oidc-server.ts";

/** Time passes where a test says so: how long a request takes is the machine's matter. */
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date", "performance"] }));
afterEach(async () => {
  await closeAll();
  vi.useRealTimers();
});

const pass = (seconds: number): void => void vi.advanceTimersByTime(seconds * 1_000);

test("64 who ask at once get one token, for which the server is asked once", async () => {
  const server = await served();
  const { logins, reports } = openLogins(server, machineOf(server), { CLIENT: SECRET });
  const tokens = await Promise.all(Array.from({ length: 64 }, () => logins.token("")));
  expect(new Set(tokens.map(({ value }) => value)).size).toBe(1);
  expect(server.seen.map(({ grant }) => grant)).toEqual(["client_credentials"]);
  expect(reports.map(({ state, renewal }) => [state, renewal])).toEqual([["ready", "renewed"]]);
});

test("a client proves itself by basic, by post and by a signed assertion", async () => {
  const server = await served();
  const { issuer, privateKey, pssKey } = server;
  const signed = { issuer, clientId: "signed", privateKey: "{secret:KEY}", algorithm: "ES256" };
  const pss = { issuer, clientId: "pss", privateKey: "{secret:PSS}", algorithm: "PS256" };
  const posted = { issuer, clientId: "poster", clientSecret: "{secret:CLIENT}", clientAuth: "post" as const };
  const others = [posted, signed, pss].map((clientCredentials) => ({ clientCredentials }));
  for (const auth of [machineOf(server), ...others]) {
    const { logins } = openLogins(server, auth, { CLIENT: SECRET, KEY: privateKey, PSS: pssKey });
    expect((await logins.token("")).value).toHaveLength(43);
  }
  const [basic, post, jwt, pssJwt] = server.seen;
  expect(basic?.authorization).toMatch(/^Basic /);
  expect(post?.parameters.get("client_secret")).toBe(SECRET);
  const algorithmOf = (assertion = ""): unknown =>
    JSON.parse(Buffer.from(assertion.split(".", 1)[0] ?? "", "base64url").toString());
  expect([jwt, pssJwt].map((seen) => algorithmOf(seen?.parameters.get("client_assertion") ?? ""))).toMatchObject([
    { alg: "ES256" },
    { alg: "PS256" },
  ]);
});

test("tokens are renewed before they end, and never used afterwards", async () => {
  const server = await served({ lifeS: 60 });
  const { logins } = openLogins(server, machineOf(server), { CLIENT: SECRET });
  const values = new Set<string>();
  for (let second = 0; second < 150; second++) {
    const { value } = await logins.token("");
    expect(await server.knows(value)).toBe(true);
    values.add(value);
    pass(1);
  }
  expect(values.size).toBeGreaterThanOrEqual(3);
  expect(server.seen.length).toBeLessThanOrEqual(8);
});

test("a refresh token that rotates is stored, sealed, and another process goes on with the new one", async () => {
  const server = await served({ lifeS: 60 });
  const [auth, secrets] = await refreshingOf(server);
  const dir = await folder();
  const file = path.join(dir, "logins.sqlite");
  const { logins } = openLogins(server, auth, secrets, file);
  const first = await logins.token("");
  pass(61);
  const second = await logins.token("");
  expect(await server.accountOf(second.value)).toBe("ann");
  expect(second.value).not.toBe(first.value);
  const [, rotated] = server.seen.map(({ refreshToken }) => refreshToken);
  expect(rotated).not.toBe(secrets["FIRST"]);
  for (const name of await readdir(dir)) {
    const bytes = await readFile(path.join(dir, name), "latin1");
    for (const token of [first.value, second.value, rotated ?? "", SECRET]) expect(bytes).not.toContain(token);
  }
  const next = openLogins(server, auth, secrets, file);
  pass(61);
  expect(await server.accountOf((await next.logins.token("")).value)).toBe("ann");
  expect(new Set(server.seen.map(({ refreshToken }) => refreshToken)).size).toBe(server.seen.length);
});

test("processes that share a file renew a login once for all of them", async () => {
  const server = await served();
  const [auth, secrets] = await refreshingOf(server);
  const file = path.join(await folder(), "logins.sqlite");
  const all = Array.from({ length: 8 }, () => openLogins(server, auth, secrets, file));
  const tokens = await Promise.all(all.flatMap(({ logins }) => [logins.token(""), logins.token("")]));
  expect(new Set(tokens.map(({ value }) => value)).size).toBe(1);
  expect(server.seen).toHaveLength(1);
});

test("another first refresh token of the options replaces the stored login", async () => {
  const server = await served();
  const [auth, secrets] = await refreshingOf(server);
  const file = path.join(await folder(), "logins.sqlite");
  await openLogins(server, auth, secrets, file).logins.token("");
  const newer = await server.refreshTokenFor("app", "ben");
  const { logins } = openLogins(server, auth, { ...secrets, FIRST: newer }, file);
  const stored = await logins.token("");
  expect(await server.accountOf((await logins.token("", stored)).value)).toBe("ben");
});

test("invalid_grant needs a login: the server is asked once, and the error says what to do", async () => {
  const server = await served();
  const [auth] = await refreshingOf(server);
  const { logins, reports } = openLogins(server, auth, { CLIENT: SECRET, FIRST: "a token that nobody gave" });
  for (let times = 0; times < 5; times++) {
    await expect(logins.token("")).rejects.toThrow(
      'the connector "crm" needs a login: the authorization server refuses: invalid_grant; check connectors.crm.auth.refreshToken',
    );
  }
  expect(server.seen).toHaveLength(1);
  expect(reports).toMatchObject([{ state: "needed", renewal: "refused", tenant: "" }]);
});

test("a server that is down is asked again after pauses that grow, and the old token is used while it lives", async () => {
  const server = await served({ lifeS: 60 });
  const { logins } = openLogins(server, machineOf(server), { CLIENT: SECRET });
  const { value } = await logins.token("");
  let asked = 0;
  server.intercept = (_request, response) => {
    asked++;
    response.writeHead(503).end();
    return true;
  };
  pass(31);
  for (let times = 0; times < 20; times++) expect((await logins.token("")).value).toBe(value);
  pass(30);
  const failed = await logins.token("").catch((error: unknown) => error);
  expect(failed).toMatchObject({ kind: "failed", retryAfterMs: expect.any(Number) as number });
  expect(String(failed)).toContain(
    'the connector "crm" gets no token now: the authorization server answered with HTTP 503',
  );
  expect(asked).toBeLessThanOrEqual(3);
  server.intercept = null;
  await expect(logins.token("")).rejects.toThrow("gets no token now");
  pass(60);
  expect((await logins.token("")).value).not.toBe(value);
});

test("a process that closes while a token rotates stores the new one", async () => {
  const server = await served();
  const [auth, secrets] = await refreshingOf(server);
  const file = path.join(await folder(), "logins.sqlite");
  const { logins } = openLogins(server, auth, secrets, file);
  const first = await logins.token("");
  const asked = Promise.withResolvers<void>();
  server.onAnswer = async () => {
    asked.resolve();
    await sleep(200);
  };
  const renewed = logins.token("", first);
  await asked.promise;
  await logins.close();
  expect((await renewed).value).not.toBe(first.value);
  const next = openLogins(server, auth, secrets, file);
  const stored = await next.logins.token("");
  expect(stored.value).toBe((await renewed).value);
  expect(await server.accountOf((await next.logins.token("", stored)).value)).toBe("ann");
});
