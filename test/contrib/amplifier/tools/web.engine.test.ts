import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { referenceTool } from "../../../../src/contrib/amplifier/reference-tools.ts";
import { createEngine, type Engine, type JsonValue } from "../../../../src/glovebox/index.ts";

const PAGES: Readonly<Record<string, RequestListener>> = {
  "/text": (_request, response) => response.writeHead(200, { "content-type": "text/plain" }).end("hällo"),
  "/latin": (_request, response) =>
    response
      .writeHead(200, { "content-type": "text/html; charset=iso-8859-1" })
      .end(Buffer.from("h\u00e4llo", "latin1")),
  "/missing": (_request, response) => response.writeHead(404).end("nobody is here"),
  "/moved": (_request, response) => response.writeHead(302, { location: "/text" }).end(),
  "/away": (_request, response) => response.writeHead(302, { location: "http://localhost:1/" }).end(),
  "/long": (_request, response) => response.writeHead(200).end("x".repeat(60_000)),
  "/never": (_request, response) => void response.writeHead(200).write("begun"),
  "/empty": (_request, response) => response.writeHead(204).end(),
};

let server: Server;
let origin: string;
let engine: Engine;

beforeAll(async () => {
  server = createServer((request, response) => PAGES[request.url ?? ""]?.(request, response));
  await once(server.listen(0, "127.0.0.1"), "listening");
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const allow = { fetch: { origins: [], privateOrigins: [origin] } };
  engine = await createEngine({
    workers: 1,
    executor: "threads",
    policy: { rules: [{ tools: ["web_fetch"], allow }] },
  });
  await mount({});
});

afterAll(async () => {
  await engine.close();
  server.closeAllConnections();
  server.close();
});

async function mount(config: JsonValue): Promise<void> {
  await engine.register({ path: referenceTool("web"), config });
}

const get = (page: string) => engine.execute({ name: "web_fetch", arguments: { url: `${origin}${page}` } });

describe("web_fetch", () => {
  test("is Amplifier's, and runs in an isolate [A43]", () => {
    const info = engine.get("web_fetch");
    expect([info?.contract, info?.isolation]).toEqual(["amplifier", "instance"]);
  });

  test("gives the text of a page, in the server's charset, and its status", async () => {
    const { success, output, metadata } = await get("/text");
    expect([success, output]).toEqual([true, "hällo"]);
    expect(metadata).toMatchObject({ url: `${origin}/text`, status: 200, content_type: "text/plain" });
    expect((await get("/latin")).output).toBe("hällo");
    expect((await get("/empty")).output).toBe("");
  });

  test("says where it was led", async () => {
    expect((await get("/moved")).metadata["url"]).toBe(`${origin}/text`);
  });

  test("fails where the server says so, with what the server says", async () => {
    const { success, output, error } = await get("/missing");
    expect([success, output]).toEqual([false, "nobody is here"]);
    expect(error).toMatchObject({ type: "HTTPError", message: "HTTP 404", details: { status: 404 } });
  });

  test("keeps a refusal's own words, and its kind [B39]", async () => {
    const { error } = await engine.execute({ name: "web_fetch", arguments: { url: "https://example.com/" } });
    expect(error?.type).toBe("PermissionError");
    expect(error?.message).toMatch(/^GET https:\/\/example\.com\/ was not granted; .*to grant it/);
    expect((await get("/away")).error?.type).toBe("PermissionError");
  });

  test("says of all else that it was not expected, and what it is [B40]", async () => {
    const { error } = await engine.execute({ name: "web_fetch", arguments: { url: "no address" } });
    expect(error).toMatchObject({ type: "TypeError", message: expect.stringMatching(/^Unexpected error: ./) });
  });

  test("does not wait for ever", async () => {
    await mount({ timeout: 1 });
    const { error } = await get("/never");
    await mount({});
    expect([error?.type, error?.message]).toEqual(["TimeoutError", "Request timed out after 1s"]);
  });

  test("reads so much of a page and no more, and says so", async () => {
    await mount({ max_size: 1_000 });
    const { output, metadata } = await get("/long");
    await mount({});
    expect([output, metadata["truncated_body"]]).toEqual(["x".repeat(1_000), true]);
    expect((await get("/text")).metadata["truncated_body"]).toBe(false);
  });

  test("gives so much of a page to its model and no more [B41 B44]", async () => {
    const { output, metadata } = await get("/long");
    expect(String(output).slice(49_995)).toBe("xxxxx\n\n[Truncated: 10000 chars remaining]");
    expect([metadata.truncated?.output, metadata["originalChars"]]).toEqual([10_000, 60_000]);
  });
});
