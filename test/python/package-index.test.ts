import { describe, expect, test } from "vitest";
import { readIndexPage } from "../../src/python/runtime/index-page.ts";
import { PackageIndex } from "../../src/python/runtime/package-index.ts";
import { serve, serveRaw } from "../kernel/broker/capabilities/fetch/server.ts";
import { indexFile, serveIndex } from "./index-server.ts";
import { problemOf } from "./refusal.ts";

const MAX_BYTES = 1024 * 1024;
const ADDRESS = new URL("https://index.example/simple/a-b/");
const page = (text: string, type = "text/html") =>
  readIndexPage(text, type, "a-b", ADDRESS).map(({ name, url, sha256, isYanked }) => [
    name.file,
    url.href,
    sha256,
    isYanked,
  ]);

describe("a page of an index", () => {
  const hash = "a1".repeat(32);

  test("is read as HTML, with entities, addresses that are relative, and files that are no wheels of it", () => {
    const text = `<html><body><h1>Links for a-b</h1>
<a href="../../files/A_B-1.0-py3-none-any.whl#sha256=${hash.toUpperCase()}">A_B</a><br/>
<A class='x' HREF='https://files.example/a.b-2.0-py3-none-any.whl?a=1&amp;b=2' data-requires-python='&gt;=3.8'>a.b</A>
<a href="a_b-3.0-py3-none-any.whl" data-requires-python="&#60;3" data-yanked="broken">old</a>
<a data-yanked href="a_b-4.0%2B1-py3-none-any.whl">withdrawn</a>
<a href="a_b-1.0.tar.gz">sources</a><a href="other-1.0-py3-none-any.whl">other</a><a>none</a>
</body></html>`;
    expect(page(text)).toEqual([
      ["A_B-1.0-py3-none-any.whl", "https://index.example/files/A_B-1.0-py3-none-any.whl", hash, false],
      ["a.b-2.0-py3-none-any.whl", "https://files.example/a.b-2.0-py3-none-any.whl?a=1&b=2", null, false],
      ["a_b-4.0+1-py3-none-any.whl", "https://index.example/simple/a-b/a_b-4.0%2B1-py3-none-any.whl", null, true],
    ]);
  });

  test("is read as JSON, and refused in another version", () => {
    const files = [
      {
        filename: "a_b-1.0-py3-none-any.whl",
        url: "x/a_b-1.0-py3-none-any.whl",
        hashes: { sha256: hash },
        yanked: false,
      },
      { filename: "a_b-1.1-py3-none-any.whl", url: "y.whl", hashes: {}, "requires-python": ">=99" },
      {
        filename: "a_b-1.2-py3-none-any.whl",
        url: "z.whl",
        hashes: { md5: "0" },
        "requires-python": null,
        yanked: true,
      },
      { filename: 7, url: "no" },
      null,
    ];
    const type = "application/vnd.pypi.simple.v1+json";
    expect(page(JSON.stringify({ meta: { "api-version": "1.0" }, files }), type)).toEqual([
      ["a_b-1.0-py3-none-any.whl", `${ADDRESS.href}x/a_b-1.0-py3-none-any.whl`, hash, false],
      ["a_b-1.2-py3-none-any.whl", `${ADDRESS.href}z.whl`, null, true],
    ]);
    expect(() => page('{"meta":{"api-version":"2.0"},"files":[]}', type)).toThrow('it says version "2.0"');
    expect(() => page("<html>", type)).toThrow("it is not JSON");
  });

  test.each([
    "a_b-1.0-1/../../x-py3-none-any.whl",
    "../a_b-1.0-py3-none-any.whl",
    "a_b-1.0-1\\x-py3-none-any.whl",
    "a_b-1.0-1\0x-py3-none-any.whl",
  ])("has no wheel whose name would lead elsewhere: %j", (filename) => {
    const files = [{ filename, url: "https://files.example/a.whl" }];
    expect(page(JSON.stringify({ meta: { "api-version": "1.0" }, files }), "application/json")).toEqual([]);
  });

  test("takes no longer for text that is made to take long", () => {
    for (const text of [
      "<a ".repeat(300_000),
      `<a ${"a".repeat(500_000)}>`,
      `<a href="${"&#".repeat(200_000)}">`,
      `<a ${"x=".repeat(200_000)}>`,
    ]) {
      expect(page(text)).toEqual([]);
    }
  });
});

describe("an index", () => {
  test.each(["ftp://index.example/simple", "http://index.example/simple", "file:///simple", "simple"])(
    "is not %s",
    (address) => {
      expect(() => new PackageIndex(address, MAX_BYTES)).toThrow(
        /begins with https:\/\/, or with http:\/\/ on this machine/,
      );
    },
  );

  test("gets the name and the password of its address, and nobody else does", async () => {
    const file = indexFile({ name: "one" });
    await using other = await serve((_request, response) => response.end(file.bytes));
    await using index = await serveIndex([file]);
    const { port } = index;
    const opened = new PackageIndex(`http://ada:s%40cret@127.0.0.1:${port}/simple`, MAX_BYTES);
    const [found] = await opened.wheels("one");
    expect(opened.address.href).toBe(`http://127.0.0.1:${port}/simple`);
    expect(index.seen.map(({ headers }) => headers["authorization"])).toEqual([`Basic ${btoa("ada:s@cret")}`]);
    const elsewhere = new URL(`${other.origin}/${file.file}`);
    const problem = await problemOf(
      async () => found !== undefined && opened.download(found.name.file, elsewhere, null),
    );
    expect(problem).toBe(`the index leads to ${elsewhere.href}, which is neither https nor its own origin`);
    expect(other.seen).toEqual([]);
  });

  test("redirects within itself, not to others without https, and not for ever", async () => {
    let to = "/simple/one/index";
    await using index = await serveIndex([indexFile({ name: "one" })], "html", ({ url = "" }, response) => {
      if (!url.startsWith("/simple/") || url.endsWith("/index/")) return false;
      response.writeHead(301, { location: to }).end();
      return true;
    });
    const problem = () => problemOf(() => new PackageIndex(`${index.origin}/simple/`, MAX_BYTES).wheels("one"));
    expect(await problem()).toMatch(/redirects more than 5 times/);
    to = "http://files.example/simple/one/";
    expect(await problem()).toMatch(/leads to http:\/\/files\.example\/simple\/one\/, which is neither https/);
    to = "http://[";
    expect(await problem()).toMatch(/redirects more than 5 times/);
  });

  // Node 24 joins the pieces that wait in a stream, so that they are few.
  test.skipIf(process.version.startsWith("v24."))(
    "that sends a page in too many pieces of a byte is not read to its end",
    async () => {
      const head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
      await using index = await serveRaw((socket) => socket.end(`${head}${"1\r\nP\r\n".repeat(10_000)}0\r\n\r\n`));
      expect(await problemOf(() => new PackageIndex(`${index.origin}/simple/`, MAX_BYTES).wheels("one"))).toBe(
        `${index.origin}/simple/one/ cannot be read: the server sends the body in too many pieces of a few bytes`,
      );
    },
  );

  test("says with which status it fails, and that it cannot be reached", async () => {
    await using index = await serveIndex([], "html", (_request, response) => {
      response.writeHead(503).end();
      return true;
    });
    const { origin } = index;
    expect(await problemOf(() => new PackageIndex(`${origin}/simple/`, MAX_BYTES).wheels("one"))).toBe(
      `the index responded with status 503 to ${origin}/simple/one/`,
    );
    expect(await problemOf(() => new PackageIndex("http://127.0.0.1:9/simple", MAX_BYTES).wheels("one"))).toMatch(
      /^http:\/\/127\.0\.0\.1:9 cannot be reached \(/,
    );
  });
});
