import { gzipSync, zstdCompressSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import type { SecretBinding } from "../../../../../src/kernel/broker/capabilities/secrets/binding.ts";
import { namesIn } from "../../../../../src/kernel/broker/capabilities/secrets/placeholders.ts";
import { serve, serveRaw, type TestServer } from "./server.ts";
import { Session } from "./session.ts";

const VALUE = "s3cr3t/value+with=signs";
const KEY = "glovebox.secret.KEY.";

/** All places to which a secret can be bound, in which these tests write one. */
const PLACES = ["header:authorization", "header:x-key", "header:x-two", "header:x", "header:x-other"] as const;
const ALL = [...PLACES, "query:key", "query:a", "query:stolen", "basic:user", "basic:password", "body"] as const;

function bindTo(servers: readonly Pick<TestServer, "origin">[]): readonly SecretBinding[] {
  return servers.flatMap(({ origin }) => ALL.map((place): SecretBinding => ({ origin, in: place })));
}

/** A call that is granted the secret KEY, which is bound to all places of requests to some servers. */
function openTo(servers: readonly TestServer[], tied: readonly TestServer[] = servers, names = ["KEY"]): Session {
  return new Session({
    rules: [{ privateOrigins: servers.map(({ origin }) => origin) }],
    secrets: {
      KEY: { value: VALUE, bind: bindTo(tied) },
      OTHER: { value: "another secret", bind: bindTo(tied) },
    },
    grantedSecrets: names,
  });
}

const plain = () => serve((_request, response) => response.end("ok"));

describe("a placeholder", () => {
  test("becomes the secret in the places that are bound to it, and is what the tool sees", async () => {
    await using server = await plain();
    await using session = openTo([server]);
    const headers = [
      ["authorization", `Bearer ${KEY}`],
      ["x-two", `${KEY}${KEY}`],
    ] as const;
    const url = `${server.origin}/a?b=%20&key=${KEY}&c`;
    const answer = await session.request(url, { method: "POST", headers, body: { text: `{"key":"${KEY}"}` } });
    const encoded = encodeURIComponent(VALUE);
    expect(server.seen[0]).toMatchObject({ url: `/a?b=%20&key=${encoded}&c`, body: `{"key":"${VALUE}"}` });
    expect(server.seen[0]?.headers).toMatchObject({ authorization: `Bearer ${VALUE}`, "x-two": VALUE + VALUE });
    expect(answer.url).toBe(url);
  });

  test("becomes the secret inside of the base64 of basic authorization", async () => {
    await using server = await plain();
    await using session = openTo([server]);
    const basic = (credentials: string) => `Basic ${Buffer.from(credentials).toString("base64")}`;
    await session.request(server.origin, { headers: [["authorization", basic(`user:${KEY}`)]] });
    expect(server.seen[0]?.headers["authorization"]).toBe(basic(`user:${VALUE}`));
  });

  test.each([
    ["application/json", 'quote"and\\slash', '"quote\\"and\\\\slash"'],
    ["application/problem+json; charset=utf-8", 'quote"and\\slash', '"quote\\"and\\\\slash"'],
    ["application/x-www-form-urlencoded", "a&b=c d+e", '"a%26b%3Dc%20d%2Be"'],
    ["text/plain", 'quote"and', '"quote"and"'],
  ])("is written as a body of %s needs it", async (type, value, body) => {
    await using server = await plain();
    await using session = new Session({
      rules: [{ privateOrigins: [server.origin] }],
      secrets: { KEY: { value, bind: bindTo([server]) } },
      grantedSecrets: ["K*"],
    });
    await session.request(server.origin, {
      method: "POST",
      headers: [["content-type", type]],
      body: { text: `"${KEY}"` },
    });
    expect(server.seen[0]?.body).toBe(body);
  });

  test.each([
    ["a header", (origin: string) => ({ url: origin, headers: [["x-key", KEY] as const] })],
    ["the query", (origin: string) => ({ url: `${origin}/?a=${KEY}` })],
    ["the path", (origin: string) => ({ url: `${origin}/${KEY}` })],
    ["the body", (origin: string) => ({ url: origin, method: "POST", body: { text: KEY } })],
    [
      "basic authorization",
      (origin: string) => ({ url: origin, headers: [["authorization", `Basic ${btoa(`a:${KEY}`)}`] as const] }),
    ],
  ])("in %s of a request to an origin that the secret does not belong to is refused", async (_, requestTo) => {
    await using tied = await plain();
    await using untied = await plain();
    await using session = openTo([tied, untied], [tied]);
    const { url, ...init } = requestTo(untied.origin);
    const error: unknown = await session.request(url, init).catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      outcome: "denied",
      message: `the secret "KEY" does not belong to ${untied.origin}`,
      refused: {
        asked: `secret "KEY" in a request to ${untied.origin}`,
        granted: expect.stringContaining(`any method to ${tied.origin} in header:authorization`),
        remedy: "write its placeholder where it is bound, or add a binding to secrets.KEY.bind of the engine",
      },
    });
    expect(JSON.stringify([String(error), error])).not.toContain(VALUE);
    expect(untied.connections()).toBe(0);
  });

  test("of a secret that the call is not granted is refused", async () => {
    await using server = await plain();
    await using session = openTo([server], [server], ["OTHER"]);
    await expect(session.request(`${server.origin}/?a=${KEY}`)).rejects.toMatchObject({
      outcome: "denied",
      message: 'the secret "KEY" was not granted',
      refused: { granted: 'secrets "OTHER"', remedy: expect.stringContaining("capabilities.secrets") },
    });
    await expect(session.request(`${server.origin}/?a=${KEY}`)).rejects.toMatchObject({
      refused: { remedy: expect.stringContaining("where the call narrows its secrets, name it there as well") },
    });
    await using none = openTo([server], [server], []);
    await expect(none.request(`${server.origin}/?a=${KEY}`)).rejects.toMatchObject({
      refused: { granted: "no secrets" },
    });
    expect(server.connections()).toBe(0);
  });

  test("in a header that cannot hold the secret is not sent, and tells nothing of it", async () => {
    await using server = await plain();
    await using session = new Session({
      rules: [{ privateOrigins: [server.origin] }],
      secrets: { KEY: { value: "several\nlines", bind: bindTo([server]) } },
      grantedSecrets: ["KEY"],
    });
    const error = await session
      .request(server.origin, { headers: [["x-key", KEY]] })
      .catch((reason: unknown) => reason);
    expect(String(error)).toBe(`FetchFailure: GET ${server.origin}: the header "x-key" has an invalid value`);
    expect(server.connections()).toBe(0);
  });

  test("is read no further than to the first one that is too many in its text", () => {
    const body = Array.from({ length: 1_000 }, (_, at) => `glovebox.secret.N${at}.`).join("");
    expect([...namesIn([body, KEY])].slice(-2)).toEqual(["N32", "KEY"]);
  });

  test("of a secret that there is not is refused", async () => {
    await using server = await plain();
    await using session = openTo([server], [server], ["*"]);
    await expect(session.request(`${server.origin}/?a=glovebox.secret.NONE.`)).rejects.toThrow('no secret "NONE"');
  });
});

describe("a request with secrets", () => {
  const many = KEY.repeat(33);
  const form = [["content-type", "text/plain"]] as const;

  test.each([
    ["the body", (origin: string) => ({ url: origin, method: "POST", headers: form, body: { text: many } })],
    ["the URL", (origin: string) => ({ url: `${origin}/?a=${many}` })],
    ["a header", (origin: string) => ({ url: origin, headers: [["x", many]] as const })],
    [
      "all of them",
      (origin: string) => ({
        url: `${origin}/?a=${KEY}`,
        method: "POST",
        headers: [["x", KEY.repeat(16)]] as const,
        body: { text: KEY.repeat(16) },
      }),
    ],
  ])("may have 32 placeholders, and is refused where there are more in %s", async (_, requestTo) => {
    await using server = await plain();
    await using session = openTo([server]);
    const { url, ...init } = requestTo(server.origin);
    await expect(session.request(url, init)).rejects.toMatchObject({
      outcome: "limit",
      message: "a request may contain 32 secret placeholders",
    });
    expect(server.connections()).toBe(0);
    expect((await session.request(server.origin, { headers: [["x", KEY.repeat(32)]] })).status).toBe(200);
  });

  test("counts as long as it is with them", async () => {
    await using server = await plain();
    const value = "long".repeat(1_000);
    await using session = new Session({
      rules: [{ privateOrigins: [server.origin], maxBytes: 7_900 }],
      secrets: { KEY: { value, bind: bindTo([server]) } },
      grantedSecrets: ["KEY"],
    });
    for (const init of [{ method: "POST", body: { text: KEY + KEY } }, { headers: [["x", KEY + KEY]] as const }]) {
      await expect(session.request(server.origin, init)).rejects.toMatchObject({
        outcome: "limit",
        refused: { granted: "maxBytes 7900" },
      });
    }
    await expect(session.request(`${server.origin}/?a=${KEY}${KEY}${KEY}`)).rejects.toThrow("longer than 8192");
    expect(server.connections()).toBe(0);
  });

  test("has headers that are not too long with them", async () => {
    await using server = await plain();
    await using session = new Session({
      rules: [{ privateOrigins: [server.origin] }],
      secrets: { KEY: { value: "long".repeat(1_000), bind: bindTo([server]) } },
      grantedSecrets: ["KEY"],
    });
    await expect(session.request(server.origin, { headers: [["x", KEY.repeat(17)]] })).rejects.toThrow(
      "the headers are longer than 65536 characters, secrets included",
    );
    expect(server.connections()).toBe(0);
  });

  test.each(["Range", "If-Range", "Accept-Charset"])("has no header %s, which others may have", async (name) => {
    await using server = await plain();
    await using session = openTo([server]);
    const header = [name, "bytes=0-5"] as const;
    await expect(session.request(server.origin, { headers: [["x-key", KEY], header] })).rejects.toMatchObject({
      outcome: "denied",
      message: expect.stringContaining(`the header "${name.toLowerCase()}" cannot be sent with a secret`),
      refused: { remedy: `leave the header "${name.toLowerCase()}" out of requests with secrets` },
    });
    expect(server.connections()).toBe(0);
    expect((await session.request(server.origin, { headers: [header] })).status).toBe(200);
  });
});

describe("a redirect", () => {
  test("in which a server wrote a placeholder does not become a secret", async () => {
    await using server = await serve((request, response) => {
      if (request.url === "/") response.writeHead(302, { location: `/?stolen=${KEY}` });
      response.end("ok");
    });
    await using session = openTo([server], [server], ["*"]);
    await session.request(server.origin, { headers: [["x-other", "glovebox.secret.OTHER."]] });
    expect(server.seen[1]?.url).toBe(`/?stolen=${KEY}`);
    expect(server.seen[1]?.headers["x-other"]).toBe("another secret");
  });

  test("to an origin that the secret does not belong to does not take it along", async () => {
    await using second = await plain();
    await using first = await serve((_request, response) => response.writeHead(302, { location: second.origin }).end());
    await using session = openTo([first, second], [first]);
    const headers = [
      ["authorization", `Bearer ${KEY}`],
      ["x-key", KEY],
      ["x-plain", "plain"],
    ] as const;
    expect((await session.request(first.origin, { headers })).status).toBe(200);
    expect(first.seen[0]?.headers["x-key"]).toBe(VALUE);
    expect(second.seen[0]?.headers["x-plain"]).toBe("plain");
    expect(JSON.stringify(second.seen)).not.toMatch(/s3cr3t|glovebox\.secret/);
  });

  test("whose server puts the secret it got into another origin's URL is refused", async () => {
    await using second = await plain();
    await using first = await serve((request, response) => {
      response.writeHead(302, {
        location: `${second.origin}/?stolen=${encodeURIComponent(String(request.headers["x-key"]))}`,
      });
      response.end();
    });
    await using session = openTo([first, second], [first]);
    const answer = session.request(first.origin, { headers: [["x-key", KEY]] });
    await expect(answer).rejects.toMatchObject({ outcome: "denied", message: expect.stringContaining('secret "KEY"') });
    expect(second.connections()).toBe(0);
  });

  test("of the secret's own origin to itself keeps it, also in the URL", async () => {
    await using server = await serve((request, response) => {
      if (request.url === "/") response.writeHead(307, { location: `/?key=${encodeURIComponent(VALUE)}` });
      response.end("ok");
    });
    await using session = openTo([server]);
    const answer = await session.request(server.origin, { headers: [["x-key", KEY]] });
    expect(server.seen[1]).toMatchObject({ url: `/?key=${encodeURIComponent(VALUE)}`, headers: { "x-key": VALUE } });
    expect(answer.url).toBe(`${server.origin}/?key=${KEY}`);
  });

  test("takes a body with a secret in it nowhere else", async () => {
    await using second = await plain();
    await using first = await serve((_request, response) => response.writeHead(307, { location: second.origin }).end());
    await using session = openTo([first, second], [first]);
    await expect(session.request(first.origin, { method: "POST", body: { text: KEY } })).rejects.toMatchObject({
      outcome: "denied",
    });
    expect(second.connections()).toBe(0);
  });
});

const SENT = [["x-key", KEY]] as const;

describe("what comes back", () => {
  const forms: readonly (readonly [string, string])[] = [
    ["as it is", VALUE],
    ["in base64", Buffer.from(`user:${VALUE}`).toString("base64")],
    ["in base64 for URLs", Buffer.from(VALUE).toString("base64url")],
    ["with percents", encodeURIComponent(VALUE)],
  ];

  test.each(forms)("has no secret in its headers: %s", async (_, form) => {
    await using server = await serve((_request, response) => response.setHeader("x-echo", `a ${form} b`).end());
    await using session = openTo([server]);
    const echo = (await session.request(server.origin, { headers: SENT })).headers.find(
      ([name]) => name === "x-echo",
    )?.[1];
    expect(echo).toContain(KEY);
    expect(echo).not.toContain(form);
  });

  test.each(forms)("has no secret in its body, whatever it is cut into: %s", async (_, form) => {
    await using server = await serve(async (_request, response) => {
      response.setHeader("content-type", "application/octet-stream");
      const body = Buffer.concat([Buffer.from([0xff, 0xfe, 0]), Buffer.from(form), Buffer.from([0xc3])]);
      for (const byte of body) {
        response.write(Buffer.from([byte]));
        await new Promise((done) => setImmediate(done));
      }
      response.end();
    });
    await using session = openTo([server]);
    const { bytes } = await session.whole(server.origin, { headers: SENT });
    expect(bytes.toString("latin1")).toContain(KEY);
    expect(bytes.toString("latin1")).not.toContain(form);
    expect(bytes.subarray(0, 3)).toEqual(Buffer.from([0xff, 0xfe, 0]));
    expect(bytes.at(-1)).toBe(0xc3);
  });

  test("has no secret in a body that was encoded", async () => {
    await using server = await serve((_request, response) => {
      response.setHeader("content-encoding", "gzip").end(gzipSync(`{"headers":{"x-key":"${VALUE}"}}`));
    });
    await using session = openTo([server]);
    expect((await session.whole(server.origin, { headers: SENT })).text).toBe(`{"headers":{"x-key":"${KEY}"}}`);
  });

  test("has no secret in a body that was encoded as the tool asked for", async () => {
    await using server = await serve((request, response) => {
      const isAsked = request.headers["accept-encoding"] === "odd";
      response.setHeader("content-encoding", isAsked ? "odd" : "zstd");
      response.end(zstdCompressSync(JSON.stringify(request.headers).repeat(9)));
    });
    await using session = openTo([server]);
    const headers = [
      ["x-key", KEY],
      ["accept-encoding", "odd"],
    ] as const;
    const { text } = await session.whole(server.origin, { headers });
    expect(text).toContain(`"x-key":"${KEY}"`);
    expect(text).not.toContain(VALUE);
  });

  test("ends as it did where that is only the beginning of a secret", async () => {
    const text = `it begins with ${VALUE.slice(0, 6)}`;
    await using server = await serve((_request, response) => response.end(text));
    await using session = openTo([server]);
    expect((await session.whole(server.origin, { headers: SENT })).text).toBe(text);
  });

  test("has no secret in its status line", async () => {
    await using server = await serveRaw((socket) =>
      socket.end(`HTTP/1.1 400 bad ${VALUE}\r\ncontent-length: 0\r\n\r\n`),
    );
    await using session = openTo([server]);
    expect(await session.request(server.origin, { headers: SENT })).toMatchObject({
      status: 400,
      statusText: `bad ${KEY}`,
    });
  });

  test("has no secret in its status line, and no sign there that is no byte", async () => {
    const value = "schöne-grüße";
    await using server = await serveRaw((socket) =>
      socket.end(Buffer.from(`HTTP/1.1 400 n\u00f6, ${value}\r\ncontent-length: 0\r\n\r\n`)),
    );
    await using session = new Session({
      rules: [{ privateOrigins: [server.origin] }],
      secrets: { KEY: { value, bind: bindTo([server]) } },
      grantedSecrets: ["KEY"],
    });
    expect((await session.request(server.origin, { headers: SENT })).statusText).toBe(`n\u00c3\u00b6, ${KEY}`);
  });

  test("has no half of a secret where it is cut", async () => {
    await using server = await serve((_request, response) => response.end(`begun ${VALUE} ended`));
    await using session = new Session({
      rules: [{ privateOrigins: [server.origin], maxBytes: 13 }],
      secrets: { KEY: { value: VALUE, bind: bindTo([server]) } },
      grantedSecrets: ["KEY"],
    });
    const pieces: unknown[] = [];
    await session
      .request(server.origin, { id: 1, headers: SENT })
      .then((answer) => pieces.push(answer))
      .then(() => session.read(1))
      .then((piece) => pieces.push(piece))
      .catch((error: unknown) => pieces.push(String(error)));
    expect(JSON.stringify(pieces)).not.toContain("s3cr3t");
  });

  test.each([
    ["of a call that was granted none", []],
    ["of a request that was given none", ["KEY", "OTHER"]],
  ])("is not searched, and is not held back, in answers %s", async (_, names) => {
    await using server = await serve((_request, response) => {
      response.setHeader("x-echo", VALUE).end(`the last key was ${VALUE}`);
    });
    await using session = openTo([server], [server], names);
    const { text, headers } = await session.whole(server.origin);
    expect(text).toBe(`the last key was ${VALUE}`);
    expect(headers).toContainEqual(["x-echo", VALUE]);
  });

  test("is searched only for the secrets of its own request", async () => {
    await using server = await serve((_request, response) => response.end(`${VALUE} and another secret`));
    await using session = openTo([server], [server], ["KEY", "OTHER"]);
    const first = await session.whole(server.origin, { headers: SENT });
    const second = await session.whole(server.origin, { headers: [["x-key", "glovebox.secret.OTHER."]] });
    expect(first.text).toBe(`${KEY} and another secret`);
    expect(second.text).toBe(`${VALUE} and glovebox.secret.OTHER.`);
  });

  test("when it fails has no secret in its message", async () => {
    await using server = await serveRaw((socket) => socket.end(`${VALUE}\r\n\r\n`));
    await using session = openTo([server]);
    const error = await session.request(`${server.origin}/?a=${KEY}`).catch((reason: unknown) => String(reason));
    expect(error).toBe(`FetchFailure: GET ${server.origin}: the response is not valid HTTP`);
  });
});
