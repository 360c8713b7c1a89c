import { describe, expect, test } from "vitest";
import type { SecretViolation } from "../../../../../src/kernel/broker/capabilities/secrets/placeholders.ts";
import type { SecretBinding } from "../../../../../src/kernel/broker/capabilities/secrets/binding.ts";
import type { SecretOptions } from "../../../../../src/kernel/broker/capabilities/secrets/secrets.ts";
import { serve, type TestServer } from "../fetch/server.ts";
import { Session } from "../fetch/session.ts";

const VALUE = "s3cr3t/value+with=signs";
const KEY = "glovebox.secret.KEY.";
const BEARER = [["authorization", `Bearer ${KEY}`]] as const;

const plain = () => serve((_request, response) => response.end("ok"));
const basic = (credentials: string) => `Basic ${Buffer.from(credentials).toString("base64")}`;

/** Calls that are granted the secret KEY, and the violations that the engine was told of. */
function open(servers: readonly TestServer[], options: object): Session & { readonly violations: SecretViolation[] } {
  const violations: SecretViolation[] = [];
  const session = new Session({
    rules: [{ privateOrigins: servers.map(({ origin }) => origin) }],
    secrets: { KEY: { value: VALUE, ...options } as SecretOptions },
    grantedSecrets: ["KEY"],
    onViolation: (violation) => violations.push(violation),
  });
  return Object.assign(session, { violations });
}

const bound = (server: TestServer, binding: Omit<SecretBinding, "origin"> = {}) =>
  open([server], { bind: [{ origin: server.origin, ...binding }] });

describe("a binding that says no more than its origin", () => {
  test("puts the secret into the header authorization, with what the tool wrote around it", async () => {
    await using server = await plain();
    await using session = bound(server);
    await session.request(server.origin, { headers: BEARER });
    expect(server.seen[0]?.headers["authorization"]).toBe(`Bearer ${VALUE}`);
    expect(session.violations).toEqual([]);
  });

  test.each<[place: string, (origin: string) => { url: string; [init: string]: unknown }]>([
    ["header:x-key", (url) => ({ url, headers: [["X-Key", KEY]] })],
    ["header:cookie", (url) => ({ url, headers: [["cookie", `a=${KEY}`]] })],
    ["query:key", (url) => ({ url: `${url}/?key=${KEY}` })],
    ["query:a b", (url) => ({ url: `${url}/?a%20b=x${KEY}` })],
    ["query", (url) => ({ url: `${url}/?${KEY}=1` })],
    ["path", (url) => ({ url: `${url}/a/${KEY}` })],
    ["body", (url) => ({ url, method: "POST", body: { text: `{"key":"${KEY}"}` } })],
    ["basic:user", (url) => ({ url, headers: [["authorization", basic(`${KEY}:x`)]] })],
    ["basic:password", (url) => ({ url, headers: [["authorization", basic(`x:y:${KEY}`)]] })],
  ])("refuses it in %s, sends nothing, and tells of it", async (place, requestTo) => {
    await using server = await plain();
    await using session = bound(server);
    const { url, ...init } = requestTo(server.origin);
    const error: unknown = await session.request(url, init).catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      outcome: "denied",
      message: `the secret "KEY" is not bound to ${place} of requests to ${server.origin}`,
      refused: { granted: `secret "KEY" in requests to any method to ${server.origin} in header:authorization` },
    });
    expect(JSON.stringify([String(error), error, session.violations])).not.toContain(VALUE);
    const { method = "GET" } = init as { method?: string };
    expect(session.violations).toEqual([
      { callId: "c", tool: "t", tenant: "", secret: "KEY", origin: server.origin, method, place, reason: "place" },
    ]);
    expect(server.connections()).toBe(0);
  });
});

describe("a binding", () => {
  test.each([
    ["header:X-Key", { headers: [["x-key", `a ${KEY}`]] }, (seen: Seen) => seen.headers["x-key"], `a ${VALUE}`],
    ["body", { method: "POST", body: { text: `<${KEY}>` } }, ({ body }: Seen) => body, `<${VALUE}>`],
    [
      "basic:user",
      { headers: [["authorization", basic(`${KEY}:`)]] },
      (seen: Seen) => seen.headers["authorization"],
      basic(`${VALUE}:`),
    ],
    [
      "basic:password",
      { headers: [["authorization", basic(`me:${KEY}`)]] },
      (seen: Seen) => seen.headers["authorization"],
      basic(`me:${VALUE}`),
    ],
  ] as const)("to %s puts the secret there", async (place, init, seenIn, sent) => {
    await using server = await plain();
    await using session = bound(server, { in: place });
    await session.request(server.origin, init);
    expect(seenIn(server.seen[0] as Seen)).toBe(sent);
    await expect(session.request(server.origin, { headers: BEARER })).rejects.toMatchObject({ outcome: "denied" });
  });

  test("to a parameter of the query puts it there encoded, and leaves the rest as it was written", async () => {
    await using server = await plain();
    await using session = bound(server, { in: "query:API key" });
    await session.request(`${server.origin}/a%2Fb?x=%7e&API+key=${KEY}&&y#z`);
    expect(server.seen[0]?.url).toBe(`/a%2Fb?x=%7e&API+key=${encodeURIComponent(VALUE)}&&y`);
  });

  test.each([
    ["the placeholder alone", KEY],
    ["what the binding says", `Bearer ${KEY}`],
  ])("with a form is written in that form where the tool wrote %s", async (_, written) => {
    await using server = await plain();
    await using session = bound(server, { as: "Bearer {}" });
    await session.request(server.origin, { headers: [["authorization", written]] });
    expect(server.seen[0]?.headers["authorization"]).toBe(`Bearer ${VALUE}`);
  });

  test("with a form in the query is written in that form", async () => {
    await using server = await plain();
    await using session = bound(server, { in: "query:q", as: "key {}" });
    await session.request(`${server.origin}/?q=key%20${KEY}`);
    await session.request(`${server.origin}/?q=${KEY}`);
    expect(new Set(server.seen.map(({ url }) => url))).toEqual(new Set([`/?q=key%20${encodeURIComponent(VALUE)}`]));
  });

  test("with a form is refused in any other", async () => {
    await using server = await plain();
    await using session = bound(server, { as: "Bearer {}" });
    for (const written of [`token ${KEY}`, `Bearer ${KEY}x`, `${KEY}${KEY}`]) {
      const headers = [["authorization", written]] as const;
      await expect(session.request(server.origin, { headers })).rejects.toMatchObject({ outcome: "denied" });
    }
    expect(session.violations.map(({ reason }) => reason)).toEqual(["form", "form", "form"]);
    expect(server.connections()).toBe(0);
  });

  test("with methods and a path is for these alone", async () => {
    await using server = await plain();
    await using session = bound(server, { methods: ["get"], path: "/repos/" });
    await session.request(`${server.origin}/repos/a`, { headers: BEARER });
    const refused: readonly (readonly [string, string])[] = [
      ["POST", "/repos/a"],
      ["GET", "/user"],
      ["GET", "/repos"],
      ["GET", "/repos/..%2fuser"],
      ["GET", "/repos/../user"],
      ["GET", "/repos/%u002e%u002e/user"],
      ["GET", "/repos/%c0%ae%c0%ae/user"],
      ["GET", "/repos/%25u002e%25u002e/user"],
      ["GET", "/repos/%zz"],
    ];
    for (const [method, path] of refused) {
      const url = `${server.origin}${path}`;
      await expect(session.request(url, { method, headers: BEARER })).rejects.toMatchObject({ outcome: "denied" });
    }
    expect(server.seen.map(({ url }) => url)).toEqual(["/repos/a"]);
    expect(session.violations.map(({ reason }) => reason)).toEqual(["method", ...refused.slice(1).map(() => "path")]);
  });

  test("is one of several, each for requests of its own", async () => {
    await using one = await plain();
    await using other = await plain();
    await using session = open([one, other], {
      bind: [{ origin: one.origin }, { origin: other.origin, in: "header:x-key", methods: ["GET"] }],
    });
    await session.request(one.origin, { headers: BEARER });
    await session.request(other.origin, { headers: [["x-key", KEY]] });
    await expect(session.request(other.origin, { headers: BEARER })).rejects.toThrow("is not bound to");
    expect(session.violations).toMatchObject([{ reason: "place" }]);
  });

  test("to another origin refuses it, and tells of it", async () => {
    await using tied = await plain();
    await using untied = await plain();
    await using session = open([tied, untied], { bind: [{ origin: tied.origin }] });
    await expect(session.request(untied.origin, { headers: BEARER })).rejects.toThrow("does not belong to");
    expect(session.violations).toMatchObject([{ secret: "KEY", origin: untied.origin, reason: "origin" }]);
    expect(untied.connections()).toBe(0);
  });
});

type Seen = TestServer["seen"][number];

describe("a header that asks the server for another method or path", () => {
  test.each<[header: string, reason: string, binding: Omit<SecretBinding, "origin">]>([
    ["X-HTTP-Method-Override", "method", { methods: ["GET"] }],
    ["X-Original-URL", "path", { path: "/repos/" }],
  ])("%s keeps out a secret that is bound to one %s", async (header, reason, binding) => {
    await using server = await plain();
    await using session = bound(server, binding);
    const headers = [...BEARER, [header, "DELETE"]] as const;
    const asked = session.request(`${server.origin}/repos/a`, { headers });
    await expect(asked).rejects.toMatchObject({ outcome: "denied" });
    expect(session.violations).toMatchObject([{ reason }]);
    expect(server.connections()).toBe(0);
  });

  test("is sent with a secret that is bound to neither", async () => {
    await using server = await plain();
    await using session = bound(server);
    await session.request(server.origin, { headers: [...BEARER, ["x-http-method", "PATCH"]] });
    expect(server.seen[0]?.headers).toMatchObject({ authorization: `Bearer ${VALUE}`, "x-http-method": "PATCH" });
  });
});

describe("a redirect", () => {
  /** A server whose path / redirects. */
  const redirecting = (location: string, status = 307) =>
    serve((request, response) => {
      if (request.url === "/") response.writeHead(status, { location });
      response.end("ok");
    });

  test("on its origin carries the secret where that is bound, and is judged anew", async () => {
    await using server = await redirecting("/repos/a");
    await using session = bound(server);
    await session.request(server.origin, { headers: BEARER });
    expect(server.seen.map(({ headers }) => headers["authorization"])).toEqual([`Bearer ${VALUE}`, `Bearer ${VALUE}`]);
    await using other = await redirecting("/admin");
    await using narrow = open([other], { bind: [{ origin: other.origin, path: "/" }] });
    await narrow.request(other.origin, { headers: BEARER });
    expect(other.seen).toHaveLength(2);
  });

  test("to a path or with a method that is not bound is refused", async () => {
    await using server = await serve((request, response) => {
      if (request.url === "/repos/a") response.writeHead(307, { location: "/admin" });
      if (request.url === "/repos/b") response.writeHead(303, { location: "/repos/c" });
      response.end("ok");
    });
    await using session = bound(server, { path: "/repos/", methods: ["POST"] });
    for (const path of ["/repos/a", "/repos/b"]) {
      const answer = session.request(`${server.origin}${path}`, { method: "POST", headers: BEARER });
      await expect(answer).rejects.toMatchObject({ outcome: "denied" });
    }
    expect(session.violations.map(({ reason }) => reason)).toEqual(["path", "method"]);
    expect(server.seen.map(({ url }) => url)).toEqual(["/repos/a", "/repos/b"]);
  });

  test("to another origin loses it, also where that is bound and where it leads back", async () => {
    await using last = await plain();
    let back = "";
    await using second = await serve((_request, response) => response.writeHead(307, { location: back }).end());
    await using first = await redirecting(second.origin);
    back = `${first.origin}/back`;
    const servers = [first, second, last];
    await using session = open(servers, { bind: servers.map(({ origin }) => ({ origin })), inject: true });
    expect((await session.request(first.origin, { headers: BEARER })).status).toBe(200);
    expect(first.seen.map(({ headers }) => headers["authorization"])).toEqual([`Bearer ${VALUE}`, undefined]);
    expect(JSON.stringify(second.seen)).not.toMatch(/s3cr3t|glovebox\.secret/);
  });

  test("that takes a body with the secret to another origin is refused, also where that is bound", async () => {
    await using second = await plain();
    await using first = await redirecting(second.origin);
    const bind = [first, second].map(({ origin }) => ({ origin, in: "body" }));
    await using session = open([first, second], { bind });
    const answer = session.request(first.origin, { method: "POST", body: { text: KEY } });
    await expect(answer).rejects.toThrow("is not sent after a redirect to another origin");
    expect(session.violations).toMatchObject([{ origin: second.origin, reason: "redirect" }]);
    expect(second.connections()).toBe(0);
  });

  test("whose server puts the secret into the URL is refused where the query is not bound", async () => {
    await using server = await redirecting(`/a?key=${encodeURIComponent(VALUE)}`);
    await using session = bound(server);
    await expect(session.request(server.origin, { headers: BEARER })).rejects.toThrow("is not bound to query:key");
    expect(server.seen).toHaveLength(1);
  });
});

describe("a secret that is injected", () => {
  test.each<[SecretBinding["in"] & string, string | undefined, string, string]>([
    ["header:authorization", "Bearer {}", "authorization", `Bearer ${VALUE}`],
    ["header:x-key", undefined, "x-key", VALUE],
    ["basic:user", undefined, "authorization", basic(`${VALUE}:`)],
    ["basic:password", undefined, "authorization", basic(`:${VALUE}`)],
  ])("is added by the host to %s", async (place, as, header, sent) => {
    await using server = await serve((request, response) => response.end(request.headers[header] ?? "none"));
    const binding = { origin: server.origin, in: place, ...(as === undefined ? {} : { as }) };
    await using session = open([server], { bind: [binding], inject: true });
    const { text } = await session.whole(server.origin);
    expect(server.seen[0]?.headers[header]).toBe(sent);
    expect(text).toContain(KEY);
    expect(text).not.toContain(VALUE);
  });

  test("is not added where the tool sets the header, the request is not bound, or the call is not granted it", async () => {
    await using server = await plain();
    await using other = await plain();
    const secrets = { KEY: { value: VALUE, bind: [{ origin: server.origin, path: "/v1" }], inject: true } };
    const rules = [{ privateOrigins: [server.origin, other.origin] }];
    await using session = new Session({ rules, secrets, grantedSecrets: ["KEY"] });
    await using denied = new Session({ rules, secrets, grantedSecrets: ["OTHER"] });
    await session.request(`${server.origin}/v1`, { headers: [["authorization", "own"]] });
    await session.request(`${server.origin}/v2`);
    await session.request(other.origin);
    await denied.request(`${server.origin}/v1`);
    const seen = [...server.seen, ...other.seen].map(({ headers }) => headers["authorization"]);
    expect(seen).toEqual(["own", undefined, undefined, undefined]);
  });
});

test("the old form puts a secret into any header, and nowhere else", async () => {
  await using server = await plain();
  await using session = open([server], { origins: [server.origin] });
  await session.request(server.origin, { headers: [["x-key", KEY]] });
  await session.request(server.origin, { headers: [["authorization", basic(`me:${KEY}`)]] });
  expect(server.seen[0]?.headers["x-key"]).toBe(VALUE);
  expect(server.seen[1]?.headers["authorization"]).toBe(basic(`me:${VALUE}`));
  await expect(session.request(`${server.origin}/?key=${KEY}`)).rejects.toThrow("is not bound to query:key");
  await expect(session.request(server.origin, { method: "POST", body: { text: KEY } })).rejects.toThrow("to body");
});
