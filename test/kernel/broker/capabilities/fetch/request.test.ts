import { describe, expect, test } from "vitest";
import { CapabilityRefusal } from "../../../../../src/kernel/broker/capabilities/capability.ts";
import { serve } from "./server.ts";
import { Session } from "./session.ts";

const echo = () =>
  serve((request, response, body) => {
    response.setHeader("set-cookie", ["a=1", "b=2"]);
    response.end(`${request.method} ${request.url} ${body}`);
  });

async function refusalOf(promise: Promise<unknown>): Promise<CapabilityRefusal> {
  const error: unknown = await promise.then(
    () => new Error("it was granted"),
    (reason: unknown) => reason,
  );
  if (error instanceof CapabilityRefusal) return error;
  throw error;
}

describe("a request", () => {
  test("is sent, and a small answer comes whole with its head", async () => {
    await using server = await echo();
    await using session = new Session({ rules: [{ privateOrigins: [server.origin] }] });
    const url = `${server.origin}/a?b=c`;
    const answer = await session.request(`${url}#d`, { method: "post", body: { text: "hä" } });
    expect(answer).toMatchObject({ url, status: 200, statusText: "OK", redirected: false, opaque: false });
    expect(answer.body).toEqual({ part: { text: "POST /a?b=c hä" }, more: false });
    expect(answer.headers.filter(([name]) => name === "set-cookie")).toEqual([
      ["set-cookie", "a=1"],
      ["set-cookie", "b=2"],
    ]);
  });

  test("says who asks only in the words of the engine, where the tool says nothing", async () => {
    await using server = await echo();
    await using session = new Session({ rules: [{ privateOrigins: [server.origin] }] });
    await session.request(server.origin);
    const { host, connection, ...headers } = server.seen[0]?.headers ?? {};
    expect(host).toBe(new URL(server.origin).host);
    expect(connection).toBe("keep-alive");
    expect(headers).toEqual({ accept: "*/*", "accept-encoding": "gzip, deflate, br, zstd", "user-agent": "glovebox" });
  });

  test("that signs its connection in leaves it to nobody else", async () => {
    await using server = await echo();
    await using session = new Session({ rules: [{ privateOrigins: [server.origin] }] });
    for (const scheme of ["Bearer", "Negotiate", "NTLM"]) {
      await session.request(server.origin, { headers: [["authorization", `${scheme} abc`]] });
    }
    expect(server.seen.map(({ headers }) => headers["connection"])).toEqual(["keep-alive", "close", "close"]);
    expect(server.connections()).toBe(2);
  });

  test("has none of the headers that are the host's to write", async () => {
    await using server = await echo();
    await using session = new Session({ rules: [{ privateOrigins: [server.origin] }] });
    const names = ["Host", "Connection", "Content-Length", "Transfer-Encoding", "Upgrade", "Proxy-Authorization"];
    const more = ["Expect", "TE", "Trailer", "Keep-Alive", "Proxy-Connection", "HTTP2-Settings", "Accept-Encoding"];
    const headers = [...names, ...more].map((name) => [name, "evil"] as const);
    await session.request(server.origin, { headers: [...headers, ["X-Own", "1"]] });
    expect(Object.values(server.seen[0]?.headers ?? {})).not.toContain("evil");
    expect(server.seen[0]?.headers["x-own"]).toBe("1");
  });

  test.each([
    ["a line", "a\r\nx: y"],
    ["a zero", "a\0b"],
    ["what is no byte", "a\u0100"],
  ])("whose header has %s in its value is not sent", async (_, value) => {
    await using server = await echo();
    await using session = new Session({ rules: [{ privateOrigins: [server.origin] }] });
    await expect(session.request(server.origin, { headers: [["x", value]] })).rejects.toThrow(
      'header "x" has an invalid value',
    );
    expect(server.connections()).toBe(0);
  });

  test.each(["CONNECT", "TRACE", "track", "GET /", ""])("of the method %j is never sent", async (method) => {
    await using server = await echo();
    await using session = new Session({ rules: [{ privateOrigins: [server.origin] }] });
    await expect(session.request(server.origin, { method })).rejects.toThrow(
      `the method ${JSON.stringify(method)} is not allowed`,
    );
    expect(server.connections()).toBe(0);
  });

  test.each([
    ["ftp://example.com/", "use http or https"],
    ["file:///etc/passwd", "use http or https"],
    ["data:text/plain,a", "use http or https"],
    ["https://user:password@example.com/", "must not contain a user name or password"],
    ["//example.com", "the URL is invalid"],
    ["https://[::1", "the URL is invalid"],
    ["", "the URL is invalid"],
  ])("to %j is not sent, and what it holds is not repeated", async (url, why) => {
    await using session = new Session({ rules: [{ origins: ["*"] }] });
    const error = await session.request(url).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ message: expect.stringContaining(why) });
    expect(String(error)).not.toContain("password@");
  });

  test("that nobody answers fails, and names no address", async () => {
    await using server = await echo();
    const { origin } = server;
    await server[Symbol.asyncDispose]();
    const named = origin.replace("127.0.0.1", "db.internal");
    await using session = new Session({ rules: [{ privateOrigins: [named] }], lookup: async () => ["127.0.0.1"] });
    const error = await session.request(named).catch((reason: unknown) => reason);
    expect(String(error)).toBe(`FetchFailure: GET ${named}: the connection was refused`);
  });

  test.each<[string, () => never]>([
    [
      "throws",
      () => {
        throw new Error("10.0.0.1 is down");
      },
    ],
    ["gives no list", () => 7 as never],
  ])("fails where the embedder's lookup %s, and tells nothing of it", async (_, lookup) => {
    await using session = new Session({ rules: [{ origins: ["*"] }], lookup });
    const error = await session.request("http://some.example").catch((reason: unknown) => String(reason));
    expect(error).toBe("FetchFailure: GET http://some.example: the request failed");
  });

  test("whose name is not found fails", async () => {
    await using session = new Session({ rules: [{ origins: ["*"] }], lookup: async () => [] });
    await expect(session.request("http://nobody.example")).rejects.toThrow("the host name could not be resolved");
  });
});

describe("what was not granted", () => {
  test("is refused in words that say what was asked, what is granted, and how to grant it", async () => {
    await using session = new Session({ rules: [{ origins: ["https://api.example.com/v1/"], methods: ["GET"] }] });
    const refused = await refusalOf(session.request("https://evil.example/path?token=hidden#there"));
    expect(refused.outcome).toBe("denied");
    expect(refused.refused).toEqual({
      asked: "GET https://evil.example/path",
      granted: "GET to https://api.example.com/v1/ (at most 5242880 bytes and 20 requests in a call)",
      remedy: expect.stringContaining('add "https://evil.example" to fetch.origins'),
    });
  });

  test("is a path outside of what the tool asks for", async () => {
    await using server = await echo();
    const asks = { origins: [`${server.origin}/v1/`] };
    await using session = new Session({ rules: [{ privateOrigins: [server.origin] }], asks });
    for (const path of ["/v1", "/v1x", "/V1/", "/", "/v1/../", "/v1/..%2f", "/v1/%2e%2e/", "/v1/..;/"]) {
      const refused = await refusalOf(session.request(`${server.origin}${path}`));
      expect(refused.message, path).toContain("was not granted");
    }
    expect(server.connections()).toBe(0);
    for (const path of ["/v1/", "/v1/a", "/v1/a%2fb", "/v1/x/../y?../.."]) {
      expect((await session.request(`${server.origin}${path}`)).status, path).toBe(200);
    }
  });

  test("is a method that the rule does not name", async () => {
    await using server = await echo();
    await using session = new Session({ rules: [{ privateOrigins: [server.origin], methods: ["GET", "post"] }] });
    expect((await session.request(server.origin, { method: "POST" })).status).toBe(200);
    const refused = await refusalOf(session.request(server.origin, { method: "DELETE" }));
    expect(refused.refused).toMatchObject({
      asked: `DELETE ${server.origin}/`,
      remedy: expect.stringContaining('"DELETE"'),
    });
    expect(server.seen.map(({ method }) => method)).toEqual(["POST"]);
  });

  test("is not put together from several rules", async () => {
    await using server = await echo();
    const rules = [
      { privateOrigins: [server.origin], methods: ["GET"] },
      { origins: ["https://example.com"], methods: ["PUT"] },
    ];
    await using session = new Session({ rules });
    expect((await refusalOf(session.request(server.origin, { method: "PUT" }))).outcome).toBe("denied");
  });
});

describe("a call's limits", () => {
  test("end its requests, of which redirects are some", async () => {
    await using server = await serve((request, response) => {
      if (request.url === "/there") response.end("there");
      else response.writeHead(302, { location: "/there" }).end();
    });
    await using session = new Session({ rules: [{ privateOrigins: [server.origin], maxRequests: 3 }] });
    expect((await session.whole(server.origin)).text).toBe("there");
    const refused = await refusalOf(session.request(server.origin));
    expect(refused.outcome).toBe("limit");
    expect(refused.refused.granted).toBe("maxRequests 3");
    expect(server.seen).toHaveLength(3);
  });

  test("end its bytes, of which those that it sends are some", async () => {
    await using server = await serve((_request, response) => response.end("x".repeat(600)));
    await using session = new Session({ rules: [{ privateOrigins: [server.origin], maxBytes: 1_000 }] });
    const body = { text: "y".repeat(500) };
    const answer = await session.request(server.origin, { id: 1, method: "POST", body });
    expect(answer.status).toBe(200);
    const refused = await refusalOf(session.read(1));
    expect(refused.outcome).toBe("limit");
    expect(refused.message).toContain("maxBytes 1000");
    const second = await refusalOf(session.request(server.origin, { method: "POST", body: { text: "y".repeat(501) } }));
    expect(second.refused.granted).toBe("maxBytes 1000");
    expect(server.seen).toHaveLength(1);
  });

  test("count a request's path and headers as well", async () => {
    await using server = await echo();
    await using session = new Session({ rules: [{ privateOrigins: [server.origin], maxBytes: 1_000 }] });
    const long = "x".repeat(1_000);
    const inPath = await refusalOf(session.request(`${server.origin}/${long}`));
    expect(inPath.refused.granted).toBe("maxBytes 1000");
    await using other = new Session({ rules: [{ privateOrigins: [server.origin], maxBytes: 1_000 }] });
    await refusalOf(other.request(server.origin, { headers: [["x-long", long]] }));
    expect(server.connections()).toBe(0);
  });

  test("let as many bytes through as they say, of which a path is one", async () => {
    await using server = await serve((_request, response) => response.end("x".repeat(600)));
    await using session = new Session({ rules: [{ privateOrigins: [server.origin], maxBytes: 1_202 }] });
    expect((await session.whole(server.origin)).bytes).toHaveLength(600);
    expect((await session.whole(server.origin)).bytes).toHaveLength(600);
  });

  test("have eight requests wait for their answers side by side, and the others for their turn", async () => {
    const held: (() => void)[] = [];
    await using server = await serve((_request, response) => held.push(() => response.end("done")));
    await using session = new Session({ rules: [{ privateOrigins: [server.origin] }] });
    const answers = Array.from({ length: 12 }, () => session.whole(server.origin));
    await expect.poll(() => held.length).toBe(8);
    await new Promise((done) => setTimeout(done, 100));
    expect(held).toHaveLength(8);
    for (let at = 0; at < 12; at++) {
      await expect.poll(() => held.length).toBeGreaterThan(at);
      held[at]?.();
    }
    expect((await Promise.all(answers)).map(({ text }) => text)).toEqual(Array(12).fill("done"));
  });
});

describe("answers that nobody reads", () => {
  const endless = () =>
    serve((request, response) => {
      if (request.url === "/small") response.end("small");
      else response.write(Buffer.alloc(300_000, "x"));
    });

  test("are at most 32, and more requests are refused after a while in words that help", async () => {
    await using server = await endless();
    await using session = new Session({
      rules: [{ privateOrigins: [server.origin], maxRequests: 100, maxBytes: 1e9 }],
    });
    const answers = Array.from({ length: 40 }, (_, at) => session.request(server.origin, { id: at + 1 }));
    const refusals = (await Promise.allSettled(answers)).filter(({ status }) => status === "rejected");
    expect(refusals).toHaveLength(8);
    for (const refusal of refusals) {
      expect(refusal).toMatchObject({
        reason: { outcome: "limit", refused: { remedy: expect.stringContaining("read") } },
      });
    }
    expect(server.open()).toBe(32);
    await session.cancel(1);
    expect((await session.whole(`${server.origin}/small`, { id: 100 })).text).toBe("small");
    session.end();
    // One is kept for whoever comes next.
    await expect.poll(() => server.open()).toBeLessThanOrEqual(1);
  });

  test("hold nobody up who comes after they were read or cancelled", async () => {
    await using server = await endless();
    await using session = new Session({
      rules: [{ privateOrigins: [server.origin], maxRequests: 200, maxBytes: 1e9 }],
    });
    const all = Array.from({ length: 90 }, async (_, at) => {
      const id = at + 1;
      if (id % 2 === 0) return (await session.whole(`${server.origin}/small`, { id })).text;
      const answer = await session.request(server.origin, { id });
      await session.cancel(id);
      return String(answer.status);
    });
    expect(new Set(await Promise.all(all))).toEqual(new Set(["small", "200"]));
  });
});

describe("a request that is given up", () => {
  test("by its tool fails, and its connection is closed", async () => {
    await using server = await serve(() => {});
    await using session = new Session({ rules: [{ privateOrigins: [server.origin] }] });
    const answer = session.request(server.origin, { id: 7 });
    answer.catch(() => {});
    await expect.poll(() => server.seen.length).toBe(1);
    expect(await session.cancel(7)).toBeNull();
    await expect(answer).rejects.toThrow("the request was cancelled");
    await expect.poll(() => server.open()).toBe(0);
  });

  test("by its tool in the middle of its body gives the body up", async () => {
    await using server = await serve((_request, response) => response.write("begun"));
    await using session = new Session({ rules: [{ privateOrigins: [server.origin] }] });
    const answer = await session.request(server.origin, { id: 1 });
    expect(answer.body).toEqual({ part: { text: "begun" }, more: true });
    const rest = session.read(1);
    rest.catch(() => {});
    expect(await session.cancel(1)).toBeNull();
    await expect(rest).rejects.toThrow("the request was cancelled");
    await expect.poll(() => server.open()).toBe(0);
    await expect(session.read(1)).rejects.toThrow("has no open body");
  });

  test("because the call has ended leaves nothing open, whether it waits, runs, or was answered", async () => {
    await using server = await serve((request, response) => void (request.url === "/body" && response.write("begun")));
    await using session = new Session({ rules: [{ privateOrigins: [server.origin] }] });
    await session.request(`${server.origin}/body`);
    const waiting = Array.from({ length: 10 }, () =>
      session.request(server.origin).catch((error: unknown) => String(error)),
    );
    await expect.poll(() => server.seen.length).toBe(9);
    session.end();
    for (const message of await Promise.all(waiting)) expect(message).toContain("the call has ended");
    await expect.poll(() => server.open()).toBe(0);
  });

  test("before its turn has come is never sent", async () => {
    const held: (() => void)[] = [];
    await using server = await serve((_request, response) => held.push(() => response.end("done")));
    await using session = new Session({ rules: [{ privateOrigins: [server.origin] }] });
    const first = Array.from({ length: 8 }, () => session.whole(server.origin));
    await expect.poll(() => held.length).toBe(8);
    const ninth = session.request(server.origin, { id: 9 });
    ninth.catch(() => {});
    await session.cancel(9);
    for (const release of held) release();
    await Promise.all(first);
    await expect(ninth).rejects.toThrow("the request was cancelled");
    expect(server.seen).toHaveLength(8);
  });

  test("never fails to be given up, also where it is missing", async () => {
    await using session = new Session({ rules: [{ origins: ["*"] }] });
    expect(await session.cancel(99)).toBeNull();
  });

  test("while it still waits for its name fails at once", async () => {
    await using session = new Session({ rules: [{ origins: ["*"] }], lookup: () => new Promise(() => {}) });
    const answer = session.request("http://slow.example", { id: 1 });
    answer.catch(() => {});
    await new Promise((done) => setTimeout(done, 20));
    await session.cancel(1);
    await expect(answer).rejects.toThrow("the request was cancelled");
  });
});

test.each([
  [{ connectMs: 0 }, "fetch.connectMs must be a number above 0"],
  [{ headersMs: -1 }, "fetch.headersMs must be a number above 0"],
  [{ idleMs: Number.NaN }, "fetch.idleMs must be a number above 0"],
])("an engine whose waits are %j does not start", (options, why) => {
  expect(() => new Session({ rules: [], ...options })).toThrow(why);
});
