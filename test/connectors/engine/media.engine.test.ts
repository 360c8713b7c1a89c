import fastifyMultipart from "@fastify/multipart";
import fastify, { type FastifyInstance } from "fastify";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";
import { hash } from "node:crypto";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Api, documentOf, engineWith, serveApi } from "./api.ts";

const PNG = Buffer.from([137, 80, 78, 71, 0, 255]);
const TEXT = "naïve café 日本";
/** What the server answers, by the path: a media type, and bytes. */
const ANSWERS: ReadonlyMap<string, readonly [type: string, bytes: Buffer, status?: number]> = new Map([
  ["/bom", ["application/json", Buffer.from(`\ufeff{"text":"${TEXT}"}`)]],
  ["/utf16", ["application/json", Buffer.concat([Buffer.from([255, 254]), Buffer.from('{"a":"é"}', "utf16le")])]],
  ["/latin1", ["text/plain; charset=iso-8859-1", Buffer.from("caf\u00e9", "latin1")]],
  ["/sjis", ['application/json; charset="shift_jis"', Buffer.from([0x22, 0x93, 0xfa, 0x96, 0x7b, 0x22])]],
  ["/image", ["image/png", PNG]],
  ["/unnamed", ["", PNG]],
  ["/html", ["application/json", Buffer.from("<html>done</html>")]],
  ["/failed", ["image/png", PNG, 500]],
]);

let api: Api;
let echo: FastifyInstance;
let engine: Engine;
let folder: Awaited<ReturnType<typeof mkdtempDisposable>>;
beforeAll(async () => {
  folder = await mkdtempDisposable(join(tmpdir(), "glovebox-files-"));
  await writeFile(join(folder.path, "a.png"), PNG);
  await writeFile(join(folder.path, "a.csv"), TEXT);
  api = await serveApi(({ url }, response) => {
    const [type, bytes, status = 200] = ANSWERS.get(url) ?? ["text/plain", Buffer.alloc(0), 404];
    response.writeHead(status, { ...(type === "" ? {} : { "content-type": type }), link: "<next>; rel=next" });
    response.end(bytes);
  });
  echo = fastify();
  await echo.register(fastifyMultipart);
  echo.addContentTypeParser("application/octet-stream", { parseAs: "buffer" }, (_request, body, done) =>
    done(null, body),
  );
  echo.addContentTypeParser("image/gif", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
  echo.post("/form", async (request) => {
    const parts: unknown[] = [];
    for await (const part of request.parts()) {
      if (part.type === "field") parts.push([part.fieldname, part.value]);
      else parts.push([part.fieldname, part.filename, part.mimetype, (await part.toBuffer()).toString("base64")]);
    }
    return parts;
  });
  echo.put("/bytes", (request) => {
    return { type: request.headers["content-type"], base64: (request.body as Buffer).toString("base64") };
  });
  echo.get("/cookies", (request) => ({ cookie: request.headers.cookie }));
  const origin = await echo.listen({ port: 0, host: "127.0.0.1" });
  const file = { type: "string", format: "binary" };
  const form = { properties: { name: { type: "string" }, photo: file, all: { type: "array", items: file } } };
  const echoed = documentOf([
    ["POST", "/form", "form", { requestBody: { content: { "multipart/form-data": { schema: form } } } }],
    ["PUT", "/bytes", "bytes", { requestBody: { content: { "application/octet-stream": {} } } }],
    ["GET", "/cookies", "cookies", { parameters: [{ name: "session", in: "cookie", schema: { type: "string" } }] }],
  ]);
  const answers = [...ANSWERS.keys()].map((path) => ["GET", path, path.slice(1), { responses: {} }] as const);
  const document = await api.write(documentOf(answers));
  const options = engineWith(api, document);
  engine = await createEngine({
    ...options,
    connectors: {
      ...options.connectors,
      told: { openapi: { document, server: api.origin, headers: true } },
      echo: { openapi: { document: await api.write(echoed, "echo.json"), server: origin } },
      sends: { openapi: { document: await api.write(echoed, "echo.json"), server: origin, mounts: ["data"] } },
    },
    policy: {
      rules: [
        { allow: { connector: ["crm", "told", "echo", "sends"], fs: { data: { path: folder.path, mode: "ro" } } } },
      ],
    },
  });
});
afterAll(async () => {
  await engine.close();
  await echo.close();
  await folder.remove();
  await api[Symbol.asyncDispose]();
});

const call = (name: string, args: Record<string, unknown> = {}) => engine.execute({ name, arguments: args });

describe("an answer of an API", () => {
  test.each([
    ["with a byte-order mark is read without it", "bom", { text: TEXT }],
    ["in UTF-16 is read by its byte-order mark", "utf16", { a: "é" }],
    ["in another charset is read by that", "latin1", "café"],
    ["of JSON in another charset too", "sjis", "日本"],
    ["of bytes has them as Base64", "image", { base64: PNG.toString("base64"), mediaType: "image/png" }],
    ["of bytes without a type too", "unnamed", { base64: PNG.toString("base64"), mediaType: "" }],
  ])("%s", async (_what, name, expected) => {
    const { output, error } = await call(`crm.${name}`);
    expect([error, output]).toEqual([null, expected]);
  });

  test("that is not the JSON that it says is its text, with a warning", async () => {
    const { output, metadata } = await call("crm.html");
    expect(output).toBe("<html>done</html>");
    expect(metadata.logs).toEqual([{ level: "warn", message: expect.stringContaining("a text that is not JSON") }]);
  });

  test("of bytes that tells a failure is a failure", async () => {
    expect((await call("crm.failed")).error?.message).toBe("the server answered GET /failed with status 500");
  });

  test("has chosen headers beside it where the connector asks for them", async () => {
    expect((await call("told.latin1")).output).toEqual({ body: "café", headers: { link: "<next>; rel=next" } });
  });
});

describe("a request that Fastify reads", () => {
  test("has the fields and the files of a form", async () => {
    const photo = { base64: PNG.toString("base64"), filename: 'a "b".png', mediaType: "image/png" };
    const body = { name: TEXT, photo, all: [{ base64: "YQ==" }, { base64: "Yg==" }] };
    const { output, error } = await call("echo.form", { body });
    expect(error).toBeNull();
    expect(output).toEqual([
      ["name", TEXT],
      ["photo", expect.stringContaining("b"), "image/png", photo.base64],
      ["all", "file", "application/octet-stream", "YQ=="],
      ["all", "file", "application/octet-stream", "Yg=="],
    ]);
  });

  test("has the bytes of a file, with their media type", async () => {
    const { output } = await call("echo.bytes", { body: { base64: PNG.toString("base64"), mediaType: "image/gif" } });
    expect(output).toEqual({ type: "image/gif", base64: PNG.toString("base64") });
    expect((await call("echo.bytes", { body: { text: "a" } })).error?.code).toBe("invalid_arguments");
  });

  test("has the bytes of a mount's file, which is named by its path", async () => {
    const base64 = PNG.toString("base64");
    const bytes = await call("sends.bytes", { body: { path: "/data/a.png", mediaType: "image/gif" } });
    expect([bytes.error, bytes.output]).toEqual([null, { type: "image/gif", base64 }]);
    const body = { name: TEXT, all: [{ path: "/data/a.png" }, { path: "/data/a.csv" }, { base64: "YQ==" }] };
    expect((await call("sends.form", { body })).output).toEqual([
      ["name", TEXT],
      ["all", "a.png", "application/octet-stream", base64],
      ["all", "a.csv", "application/octet-stream", Buffer.from(TEXT).toString("base64")],
      ["all", "file", "application/octet-stream", "YQ=="],
    ]);
  });

  test("is not sent where the path names no file of a mount that the connector names", async () => {
    const codeOf = async (name: string, path: string) => (await call(name, { body: { path } })).error;
    expect(await codeOf("sends.bytes", "/data/b.png")).toMatchObject({
      code: "tool_error",
      message: expect.stringContaining("body.path: ENOENT"),
    });
    expect((await codeOf("sends.bytes", "/etc/passwd"))?.message).toContain("/etc/passwd");
    expect((await codeOf("sends.bytes", "/data/../../etc/passwd"))?.message).not.toContain("root:");
    expect((await codeOf("echo.bytes", "/data/a.png"))?.code).toBe("invalid_arguments");
  });

  test("has the cookies that the document describes", async () => {
    expect((await call("echo.cookies", { session: "a b" })).output).toEqual({ cookie: "session=a%20b" });
  });
});

describe("a document by URL", () => {
  const document = (origin: string) => ({
    ...documentOf([["GET", "/bom", "bom", { responses: {} }]]),
    servers: [{ url: origin }],
  });
  const openWith = async (serve: (origin: string) => string, pin?: (text: string) => string) => {
    const texts: string[] = [];
    await using remote = await serveApi((_request, response) => response.end(texts[0]));
    texts.push(serve(api.origin));
    const url = `${remote.origin}/openapi.json?version=1`;
    const openapi = { url, server: api.origin, ...(pin === undefined ? {} : { pin: pin(texts[0] ?? "") }) };
    const opened = await createEngine({
      workers: 1,
      executor: "threads",
      connectors: { far: { openapi } },
      policy: { rules: [{ allow: { connector: ["far"] } }] },
    });
    return Object.assign(opened, { seen: remote.seen });
  };
  const text = (origin: string) => JSON.stringify(document(origin));

  test("is read, also with the pin of its text", async () => {
    for (const pin of [undefined, (given: string) => `sha256:${hash("sha256", given)}`]) {
      await using opened = await openWith(text, pin);
      expect(opened.seen.map(({ url }) => url)).toEqual(["/openapi.json?version=1"]);
      expect((await opened.execute({ name: "far.bom", arguments: {} })).output).toEqual({ text: TEXT });
    }
  });

  test("has a server that is relative to its URL, also on a private address, which the operator named", async () => {
    const texts: string[] = [];
    await using remote = await serveApi(({ url }, response) => {
      if (url.startsWith("/docs/")) response.end(texts[0]);
      else response.writeHead(200, { "content-type": "text/plain" }).end(`at ${url}`);
    });
    const open = (servers: object) => {
      texts[0] = JSON.stringify({ ...document(""), ...servers });
      return createEngine({
        workers: 1,
        executor: "threads",
        connectors: { far: { openapi: { url: `${remote.origin}/docs/openapi.json` } } },
        policy: { rules: [{ allow: { connector: ["far"] } }] },
      });
    };
    for (const [servers, path] of [
      [{ servers: [{ url: "../v1" }] }, "/v1/bom"],
      [{ servers: undefined }, "/bom"],
    ] as const) {
      await using opened = await open(servers);
      const { output, error } = await opened.execute({ name: "far.bom", arguments: {} });
      expect([error, output]).toEqual([null, `at ${path}`]);
      expect(opened.connectors()[0]?.findings).toEqual([]);
    }
    await using other = await open({ servers: [{ url: api.origin }] });
    expect((await other.execute({ name: "far.bom", arguments: {} })).error?.code).toBe("capability_denied");
  });

  test("that is another one than its pin names is not taken, and its digest is told", async () => {
    const given = text(api.origin);
    await expect(openWith(text, () => `sha256:${"0".repeat(64)}`)).rejects.toThrow(
      `connectors.far.openapi.url is another document than its pin names: sha256:${hash("sha256", given)}`,
    );
  });

  test("that comes in too many pieces of a byte is refused, and the loop goes on", async () => {
    await using remote = await serveApi((_request, response) => {
      const head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
      response.socket?.write(`${head}${"1\r\n \r\n".repeat(20_000)}0\r\n\r\n`);
    });
    const far = { openapi: { url: `${remote.origin}/api.json` } };
    await using opened = await createEngine({ workers: 1, executor: "threads", connectors: { far } });
    expect(opened.connectors()[0]?.problem).toBe(
      "connectors.far.openapi.url cannot be read: the server sends the body in too many pieces of a few bytes",
    );
  });

  test("is read also where it is as long as that of a large API, and refused where it is too large", async () => {
    const long = (origin: string) => JSON.stringify({ ...document(origin), "x-long": "é".repeat(16 * 1024 * 1024) });
    await using opened = await openWith(long, (given) => `sha256:${hash("sha256", given)}`);
    expect((await opened.execute({ name: "far.bom", arguments: {} })).output).toEqual({ text: TEXT });
    await expect(openWith(() => " ".repeat(49 * 1024 * 1024))).rejects.toThrow("has more than 50331648 bytes");
  });

  test.each([
    [404, {}, "connectors.far.openapi.url was answered with HTTP 404"],
    [302, { location: "/new.json?key=hidden" }, "HTTP 302, a redirect to ORIGIN/new.json, which is not followed"],
    [301, {}, "was answered with HTTP 301, a redirect, which is not followed"],
  ])("that is answered with %i and %j keeps the engine from starting", async (status, headers, message) => {
    await using remote = await serveApi((_request, response) => response.writeHead(status, headers).end());
    const far = { openapi: { url: `${remote.origin}/api.json` } };
    await expect(createEngine({ connectors: { far } })).rejects.toThrow(message.replace("ORIGIN", remote.origin));
  });

  test.each(["HTTP 503", "HTTP 429", "UND_ERR_SOCKET"])(
    "whose server is down (%s) lets the engine start, and is read when it is up",
    async (problem) => {
      let isUp = false;
      const status = /\d+/.exec(problem);
      await using remote = await serveApi((_request, response) => {
        if (isUp) response.end(text(api.origin));
        else if (status === null) response.destroy();
        else response.writeHead(Number(status[0])).end();
      });
      const far = { openapi: { url: `${remote.origin}/api.json` }, private: true };
      const policy = { rules: [{ allow: { connector: ["far"] } }] };
      await using opened = await createEngine({ workers: 1, executor: "threads", connectors: { far }, policy });
      expect(opened.connectors()).toMatchObject([
        { state: "down", problem: expect.stringContaining(problem) as string },
      ]);
      await expect(opened.refreshConnector("far")).rejects.toMatchObject({ code: "capability_failed" });
      isUp = true;
      await expect.poll(() => opened.connectors()[0]?.state, { timeout: 20_000 }).toBe("up");
      expect((await opened.execute({ name: "far.bom", arguments: {} })).output).toEqual({ text: TEXT });
    },
  );
});
