import { describe, expect, test } from "vitest";
import { CapabilityRefusal } from "../../../../../src/kernel/broker/capabilities/capability.ts";
import { serve, type TestServer } from "./server.ts";
import { Session } from "./session.ts";

/** Sends requests for `/STATUS/REST` to the location that REST is. */
const redirecting = () =>
  serve((request, response) => {
    const [, status, location] = /^\/(\d+)\/(.*)$/.exec(request.url ?? "") ?? [];
    if (status === undefined || location === undefined) response.end("arrived");
    else response.writeHead(Number(status), { location: decodeURIComponent(location) }).end("elsewhere");
  });

function openTo(servers: readonly TestServer[], rule: object = {}): Session {
  return new Session({ rules: [{ privateOrigins: servers.map(({ origin }) => origin), ...rule }] });
}

const to = (server: TestServer, status: number, location: string) =>
  `${server.origin}/${status}/${encodeURIComponent(location)}`;

describe("a redirect", () => {
  test.each([
    [301, "POST", "GET"],
    [302, "POST", "GET"],
    [303, "POST", "GET"],
    [303, "PUT", "GET"],
    [303, "HEAD", "HEAD"],
    [301, "PUT", "PUT"],
    [302, "DELETE", "DELETE"],
    [307, "POST", "POST"],
    [308, "POST", "POST"],
    [308, "GET", "GET"],
  ])("with %i makes of %s a %s, and keeps the body where it keeps the method", async (status, method, then) => {
    await using server = await redirecting();
    await using session = openTo([server]);
    const hasBody = method !== "GET" && method !== "HEAD";
    const headers = [["content-type", "text/plain"] as const];
    const answer = await session.request(to(server, status, "/there"), {
      method,
      headers,
      body: hasBody ? { text: "body" } : null,
    });
    expect(answer).toMatchObject({ url: `${server.origin}/there`, status: 200, redirected: true, opaque: false });
    const [, last] = server.seen;
    expect(last).toMatchObject({ method: then, body: hasBody && then === method ? "body" : "" });
    expect(last?.headers["content-type"]).toBe(then === method ? "text/plain" : undefined);
  });

  test("to another origin takes along nothing that says who asks", async () => {
    await using first = await redirecting();
    await using second = await redirecting();
    await using session = openTo([first, second]);
    const headers = [
      ["Authorization", "Bearer token"],
      ["Cookie", "a=b"],
      ["X-Other", "1"],
    ] as const;
    await session.request(to(first, 302, `${second.origin}/there`), { headers });
    expect(first.seen[0]?.headers).toMatchObject({ authorization: "Bearer token", cookie: "a=b" });
    expect(second.seen[0]?.headers).toMatchObject({ "x-other": "1" });
    expect(second.seen[0]?.headers).not.toHaveProperty("authorization");
    expect(second.seen[0]?.headers).not.toHaveProperty("cookie");
  });

  test("back to the first origin does not bring them back", async () => {
    await using first = await redirecting();
    await using second = await redirecting();
    await using session = openTo([first, second]);
    const back = to(second, 302, `${first.origin}/there`);
    await session.request(to(first, 302, back), { headers: [["authorization", "Bearer token"]] });
    expect(first.seen[1]?.url).toBe("/there");
    expect(first.seen[1]?.headers).not.toHaveProperty("authorization");
  });

  test("to an origin that is not granted is refused, and names it", async () => {
    await using first = await redirecting();
    await using second = await redirecting();
    await using session = openTo([first]);
    const error = await session.request(to(first, 302, `${second.origin}/there`)).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(CapabilityRefusal);
    expect((error as CapabilityRefusal).refused.asked).toBe(`GET ${second.origin}/there`);
    expect(second.connections()).toBe(0);
  });

  test("to a private address is refused, although every origin is granted", async () => {
    await using first = await redirecting();
    await using second = await redirecting();
    await using session = openTo([first], { origins: ["*"] });
    const error = await session.request(to(first, 307, `${second.origin}/`)).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(CapabilityRefusal);
    expect(error).toMatchObject({ outcome: "denied", message: expect.stringContaining("address that is not public") });
    expect(second.connections()).toBe(0);
  });

  test("to a path outside of what is granted is refused", async () => {
    await using server = await redirecting();
    const asks = { origins: [`${server.origin}/302/`] };
    await using session = new Session({ rules: [{ privateOrigins: [server.origin] }], asks });
    await expect(session.request(to(server, 302, "/there"))).rejects.toMatchObject({
      outcome: "denied",
      refused: { asked: `GET ${server.origin}/there` },
    });
    expect(server.seen).toHaveLength(1);
  });

  test("with a method that is not granted is refused", async () => {
    await using server = await redirecting();
    await using session = openTo([server], { methods: ["POST"] });
    const body = { text: "a" };
    await expect(session.request(to(server, 303, "/"), { method: "POST", body })).rejects.toMatchObject({
      refused: { asked: `GET ${server.origin}/` },
    });
  });

  test.each([
    ["file:///etc/passwd", "use http or https"],
    ["http://user:password@127.0.0.1/", "must not contain a user name"],
    ["http://[", "the server redirects to an invalid URL"],
  ])("to %s is not followed", async (location, why) => {
    await using server = await redirecting();
    await using session = openTo([server], { origins: ["*"] });
    await expect(session.request(to(server, 302, location))).rejects.toThrow(why);
  });

  test("in a circle ends after twenty", async () => {
    await using server = await serve((_request, response) => response.writeHead(302, { location: "/" }).end());
    await using session = openTo([server], { maxRequests: 100 });
    await expect(session.request(server.origin)).rejects.toThrow("the server redirects more than 20 times");
    expect(server.seen).toHaveLength(21);
  });

  test('is an error where the tool says "error"', async () => {
    await using server = await redirecting();
    await using session = openTo([server]);
    await expect(session.request(to(server, 302, "/"), { redirect: "error" })).rejects.toThrow('redirect is "error"');
    expect((await session.request(server.origin, { redirect: "error" })).status).toBe(200);
  });

  test('is the answer where the tool says "manual"', async () => {
    await using server = await redirecting();
    await using session = openTo([server]);
    const answer = await session.whole(to(server, 302, "https://elsewhere.example/"), { redirect: "manual" });
    expect(answer).toMatchObject({ status: 302, redirected: false, opaque: true, text: "elsewhere" });
    expect(answer.headers).toContainEqual(["location", "https://elsewhere.example/"]);
    expect(await session.request(server.origin, { redirect: "manual" })).toMatchObject({ status: 200, opaque: false });
  });

  test("without a location is an answer like another", async () => {
    await using server = await serve((_request, response) => response.writeHead(302).end("nowhere"));
    await using session = openTo([server]);
    expect(await session.whole(server.origin)).toMatchObject({ status: 302, opaque: false, text: "nowhere" });
  });

  test("whose body never ends holds no connection", async () => {
    await using server = await serve((request, response) => {
      if (request.url === "/there") response.end("arrived");
      else {
        response.writeHead(302, { location: "/there" });
        const timer = setInterval(() => response.write("more"), 5);
        response.on("close", () => clearInterval(timer));
      }
    });
    await using session = openTo([server]);
    expect((await session.whole(server.origin)).text).toBe("arrived");
    await expect.poll(() => server.open(), { timeout: 60_000 }).toBe(1);
  });
});
