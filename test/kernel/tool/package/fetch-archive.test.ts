import { describe, expect, test } from "vitest";
import { openPackage } from "../../../../src/kernel/tool/package/open.ts";
import type { PackageOptions } from "../../../../src/kernel/tool/package/options.ts";
import { serve, serveRaw } from "../../broker/capabilities/fetch/server.ts";
import { refusalOf } from "../temporary.ts";
import { buildTarGz } from "./build-tar.ts";
import { buildZip } from "./build-zip.ts";
import { newContext, watchTemporary } from "./opening.ts";

const PARTS = [{ name: "tool/code/function.js", data: "export default () => 1;" }];
const ZIP = buildZip(PARTS);

/** Opens what is at a URL, which is refused in the step "fetch". */
async function problemOf(
  url: string,
  options: PackageOptions,
  lookup?: () => Promise<readonly string[]>,
): Promise<string> {
  const left = await watchTemporary();
  const context = newContext(options, { ...(lookup === undefined ? {} : { lookup }), headersMs: 500, idleMs: 500 });
  const error = await refusalOf(openPackage(url, context));
  expect(error).toMatchObject({ code: "load_error", details: { step: "fetch" } });
  expect(await left()).toEqual([]);
  expect(context.events).toMatchObject([{ step: "fetch", failed: true }]);
  return error.message;
}

describe("an archive is fetched [C07]", () => {
  test.each([
    ["weather-forecast-v1.zip", ZIP],
    ["weather-forecast-v1.tar.gz", buildTarGz(PARTS)],
    ["weather-forecast-v1.tgz?signature=a/b.rar", buildTarGz(PARTS)],
  ])("as %s, by the name in its URL", async (file, bytes) => {
    await using server = await serve((_request, response) => response.end(bytes));
    const context = newContext({ privateOrigins: [server.origin] });
    await using found = await openPackage(`${server.origin}/tools/${file}`, context);
    expect(found).toMatchObject({ name: "weather-forecast-v1", layout: { runtime: "javascript" } });
    expect(server.seen).toMatchObject([{ method: "GET", url: `/tools/${file}` }]);
    expect(context.events.map(({ step }) => step)).toEqual(["fetch", "extract"]);
  });

  test("over redirects within what is allowed", async () => {
    await using store = await serve((_request, response) => response.end(ZIP));
    await using server = await serve(({ url }, response) => {
      response.writeHead(302, { location: url === "/a.zip" ? "/b.zip" : `${store.origin}/c?token=1` }).end();
    });
    const context = newContext({ privateOrigins: [server.origin, store.origin] });
    await using found = await openPackage(`${server.origin}/a.zip`, context);
    expect(found.name).toBe("a");
    expect([...server.seen, ...store.seen].map(({ url }) => url)).toEqual(["/a.zip", "/b.zip", "/c?token=1"]);
  });
});

describe("an archive is not fetched [C07]", () => {
  test("from anywhere that is not allowed, and nobody is asked", async () => {
    await using server = await serve((_request, response) => response.end(ZIP));
    const url = `${server.origin}/a.zip?token=secret`;
    const problem = await problemOf(url, { privateOrigins: ["http://127.0.0.1:1"] });
    expect(problem).toContain(`${server.origin}/a.zip is not where packages may come from`);
    expect(problem).toContain("packages.origins");
    expect(problem).not.toContain("secret");
    expect(server.connections()).toBe(0);
  });

  test.each([
    "http://example.com/a.zip",
    "ftp://example.com/a.zip",
    "file:///etc/a.zip",
    "https://u:p@example.com/a.zip",
  ])("from %s, even where all origins are allowed", async (url) => {
    expect(await problemOf(url, { origins: ["*"] })).toMatch(
      /not where packages may come from|use http or https|user name/,
    );
  });

  test("from a path that is not one of those that are allowed", async () => {
    const problem = await problemOf("https://example.com/tools/..%2fa.zip", {
      origins: ["https://example.com/tools/"],
    });
    expect(problem).toContain("is not where packages may come from");
  });

  test("from an address that is private, whatever its name", async () => {
    await using server = await serve((_request, response) => response.end(ZIP));
    const lookup = async () => ["127.0.0.1"];
    const options = { origins: [`https://inside.example:${server.port}`] };
    const problem = await problemOf(`https://inside.example:${server.port}/a.zip`, options, lookup);
    expect(problem).toContain("resolves to an address that is not public");
    expect(problem).toContain("packages.privateOrigins");
    expect(server.connections()).toBe(0);
  });

  test("where a redirect leads to what is not allowed", async () => {
    await using other = await serve((_request, response) => response.end(ZIP));
    await using server = await serve((_request, response) => {
      response.writeHead(302, { location: `${other.origin}/a.zip` }).end();
    });
    const problem = await problemOf(`${server.origin}/a.zip`, { privateOrigins: [server.origin], origins: ["*"] });
    expect(problem).toContain(`${other.origin}/a.zip is not where packages may come from`);
    expect(other.connections()).toBe(0);
  });

  test("where redirects have no end, or lead nowhere", async () => {
    await using server = await serve(({ url }, response) => {
      response.writeHead(302, url === "/nowhere.zip" ? {} : { location: "/a.zip" }).end();
    });
    const options = { privateOrigins: [server.origin] };
    expect(await problemOf(`${server.origin}/a.zip`, options)).toContain("more than 20 times");
    expect(await problemOf(`${server.origin}/nowhere.zip`, options)).toContain("redirects without a location");
  });

  test.each([204, 403, 404, 500])("where the server answers %i", async (status) => {
    await using server = await serve((_request, response) => response.writeHead(status).end());
    const problem = await problemOf(`${server.origin}/a.zip`, { privateOrigins: [server.origin] });
    expect(problem).toContain(`responded with status ${status}`);
  });

  test("where it is larger than packages may be, said or not", async () => {
    const big = Buffer.alloc(100_000);
    await using server = await serve(({ url }, response) => {
      if (url === "/said.zip") response.setHeader("content-length", big.length);
      response.write(big.subarray(0, 50_000));
      response.end(big.subarray(50_000));
    });
    const options = { privateOrigins: [server.origin], maxBytes: 60_000 };
    for (const name of ["said.zip", "unsaid.zip"]) {
      expect(await problemOf(`${server.origin}/${name}`, options)).toContain("is larger than 60000 bytes");
    }
    await expect.poll(() => server.open()).toBe(0);
  });

  // Node 24 joins the pieces that wait in a stream, so that they are few.
  test.skipIf(process.version.startsWith("v24."))("where it comes in too many pieces of a byte", async () => {
    const head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    await using server = await serveRaw((socket) => socket.end(`${head}${"1\r\nP\r\n".repeat(10_000)}0\r\n\r\n`));
    const problem = await problemOf(`${server.origin}/a.zip`, { privateOrigins: [server.origin] });
    expect(problem).toContain("too many pieces of a few bytes");
  });

  test("where the server says nothing, nothing more, or nonsense", async () => {
    await using silent = await serveRaw(() => {});
    await using slow = await serveRaw((socket) => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\nPK"));
    await using short = await serveRaw((socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\nPK"));
    await using wrong = await serveRaw((socket) => socket.end("nonsense\r\n\r\n"));
    for (const { origin } of [silent, slow, short, wrong]) {
      expect(await problemOf(`${origin}/a.zip`, { privateOrigins: [origin] })).toContain(`GET ${origin}: `);
    }
  });
});
