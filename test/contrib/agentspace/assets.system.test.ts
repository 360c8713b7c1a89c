import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { zipSync } from "fflate";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createEngine } from "../../../src/glovebox/index.ts";
import { createServer, type ServedAssets, type Server } from "../../../src/server/http/server.ts";
import { temporaryFolder } from "./bench.ts";

const ZIP = Buffer.from(zipSync({ "code/function.js": Buffer.from("export class AgentSpaceV1Tool {}") }));
const METADATA = {
  asset_name: "weather-forecast-v1",
  asset_version: { version: "1.0", tag: "stable" },
  asset_metadata: { description: "Tool that predicts next day weather using OpenWeatherMap API" },
  asset_tags: ["weather", "prediction", "api"],
};

interface Bench {
  readonly folder: string;
  readonly server: Server;
}

async function startServer(options: Partial<ServedAssets> = {}, folder?: string): Promise<Bench> {
  const path = folder ?? join(await temporaryFolder(), "assets");
  const server = await serveAssets(path, options);
  onTestFinished(() => server.close());
  return { folder: path, server };
}

async function serveAssets(path: string, options: Partial<ServedAssets> = {}): Promise<Server> {
  const engine = await createEngine({ workers: 1, executor: "threads" });
  return createServer(engine, { port: 0, assets: { path, ...options } });
}

interface Form {
  readonly bytes?: Uint8Array<ArrayBuffer>;
  readonly file?: string;
  readonly metadata?: unknown;
  readonly headers?: Record<string, string>;
}

interface Answer {
  readonly status: number;
  readonly body: { readonly url?: string; readonly error?: { readonly code: string; readonly pointer?: string } };
}

function formOf({
  bytes = new Uint8Array(ZIP),
  file = "weather-forecast-v1.zip",
  metadata = METADATA,
}: Form): FormData {
  const form = new FormData();
  form.append("asset", new Blob([bytes]), file);
  form.append("asset_metadata", typeof metadata === "string" ? metadata : JSON.stringify(metadata));
  return form;
}

async function post({ server }: Bench, body: FormData | string, headers: Record<string, string> = {}): Promise<Answer> {
  const response = await fetch(`${server.url}/upload_asset`, { method: "POST", body, headers });
  return { status: response.status, body: (await response.json()) as Answer["body"] };
}

const upload = (bench: Bench, form: Form = {}): Promise<Answer> => post(bench, formOf(form), form.headers);

const version = (text: string, tag?: string) => ({
  ...METADATA,
  asset_version: { version: text, ...(tag === undefined ? {} : { tag }) },
});

/** A client that sends the beginning of a file, and no more. */
function beginUpload({ server }: Bench): Socket {
  const socket = connect(server.port, "127.0.0.1");
  socket.on("error", () => undefined);
  const head = ["POST /upload_asset HTTP/1.1", "Host: localhost", "Content-Type: multipart/form-data; boundary=x"];
  socket.write([...head, "Content-Length: 100000", "", "--x"].join("\r\n"));
  socket.write('\r\nContent-Disposition: form-data; name="asset"; filename="a.zip"\r\n\r\nPK and some of the file');
  return socket;
}

/** The files that were left: bytes of assets, and of uploads that did not become one. */
const left = ({ folder }: Bench) => ({
  blobs: readdirSync(join(folder, "blobs")).length,
  incoming: readdirSync(join(folder, "incoming")).length,
});

describe("an upload", () => {
  test("is a form with the file and what is said of it, and answers with the file's address [C56 C57 C58]", async () => {
    const bench = await startServer();
    const { status, body } = await upload(bench);
    expect(status).toBe(201);
    expect(body).toEqual({
      url: `${bench.server.url}/assets/weather-forecast-v1/1.0/weather-forecast-v1.zip`,
      asset_name: "weather-forecast-v1",
      asset_version: { version: "1.0", tag: "stable" },
      bytes: ZIP.length,
      sha256: createHash("sha256").update(ZIP).digest("hex"),
    });
    expect(left(bench)).toEqual({ blobs: 1, incoming: 0 });
  });

  test("is what the guide's curl line sends, as it stands [C56 C58]", async () => {
    const bench = await startServer();
    const folder = await temporaryFolder();
    writeFileSync(join(folder, "weather-forecast-v1.zip"), ZIP);
    const line = `curl -X POST http://<server-url>/upload_asset \\
     -H "Content-Type: multipart/form-data" \\
     -F "asset=@./weather-forecast-v1.zip" \\
     -F 'asset_metadata={
           "asset_name": "weather-forecast-v1",
           "asset_version": { "version": "1.0", "tag": "stable" },
           "asset_metadata": { "description": "Tool that predicts next day weather using OpenWeatherMap API" },
           "asset_tags": ["weather", "prediction", "api"]
         }'`.replace("<server-url>", new URL(bench.server.url).host);
    const { stdout } = await promisify(execFile)("sh", ["-c", line], {
      cwd: folder,
      env: { ...process.env, NO_PROXY: "*" },
    });
    const { url } = JSON.parse(stdout) as { url: string };
    expect(Buffer.from(await (await fetch(url)).arrayBuffer())).toEqual(ZIP);
  });

  test("may say little of the asset, and say it first", async () => {
    const bench = await startServer();
    const form = new FormData();
    form.append("asset_metadata", JSON.stringify({ asset_name: "a", asset_version: { version: "1" } }));
    form.append("asset", new Blob([new Uint8Array(ZIP)]), "a.zip");
    expect((await post(bench, form)).status).toBe(201);
  });

  test("that is no form, or lacks a part, is refused [C59]", async () => {
    const bench = await startServer();
    const only = (name: string, value: string | Blob) => {
      const form = new FormData();
      if (typeof value === "string") form.append(name, value);
      else form.append(name, value, "a.zip");
      return form;
    };
    const asset = new Blob([new Uint8Array(ZIP)]);
    const json = { "content-type": "application/json" };
    const torn = { "content-type": "multipart/form-data; boundary=x" };
    const noBoundary = { "content-type": "multipart/form-data" };
    const answers: readonly (readonly [Answer, number, string])[] = [
      [await post(bench, "{}", json), 415, "not_multipart"],
      [await post(bench, "--x\r\nContent-Disposition: form-data; name=", torn), 400, "bad_upload"],
      [await post(bench, "--x", noBoundary), 400, "bad_upload"],
      [await post(bench, only("asset_metadata", JSON.stringify(METADATA))), 400, "missing_asset"],
      [await post(bench, only("asset", asset)), 400, "missing_metadata"],
      [await post(bench, only("other", asset)), 400, "missing_asset"],
    ];
    for (const [{ status, body }, expected, code] of answers) {
      expect({ status, code: body.error?.code }).toEqual({ status: expected, code });
    }
    expect(left(bench)).toEqual({ blobs: 0, incoming: 0 });
  });

  test("of anything but a package is refused, by its name and by its bytes [C59]", async () => {
    const bench = await startServer();
    const text = new TextEncoder().encode("<html>");
    for (const form of [{ file: "page.html", bytes: text }, { bytes: text }, { file: "a.tar.gz" }, { file: "ä.zip" }]) {
      const { status, body } = await upload(bench, form);
      expect({ status, code: body.error?.code }).toEqual({ status: 415, code: "wrong_type" });
    }
    expect(left(bench)).toEqual({ blobs: 0, incoming: 0 });
  });

  test("of a path has the path's last part for its name, and writes nowhere else", async () => {
    const bench = await startServer();
    const { body } = await upload(bench, { file: "../../../escaped.zip" });
    expect(body.url).toMatch(/\/assets\/weather-forecast-v1\/1\.0\/escaped\.zip$/);
    expect(existsSync(join(bench.folder, "..", "escaped.zip"))).toBe(false);
  });

  test("that is too large is refused while it comes, and leaves nothing [C59]", async () => {
    const bench = await startServer({ maxBytes: 1_000 });
    const large = Buffer.concat([Buffer.from("PK"), Buffer.alloc(100_000)]);
    const { status, body } = await upload(bench, { bytes: new Uint8Array(large) });
    expect({ status, code: body.error?.code }).toEqual({ status: 413, code: "too_large" });
    const exact = Buffer.concat([Buffer.from("PK"), Buffer.alloc(998)]);
    expect((await upload(bench, { bytes: new Uint8Array(exact) })).status).toBe(201);
    const over = Buffer.concat([exact, Buffer.alloc(1)]);
    expect((await upload(bench, { bytes: new Uint8Array(over), metadata: version("2") })).status).toBe(413);
    const much = "x".repeat(3_000_000);
    const announced = await post(bench, much, { "content-type": "multipart/form-data; boundary=x" });
    expect(announced.body.error?.code).toBe("too_large");
    const said = { ...METADATA, asset_metadata: { description: "x", more: "y".repeat(70_000) } };
    expect((await upload(bench, { metadata: said })).body.error?.code).toBe("too_large");
    expect(left(bench)).toEqual({ blobs: 1, incoming: 0 });
  });

  test("of more parts than there are is refused", async () => {
    const bench = await startServer();
    const form = formOf({});
    for (let at = 0; at < 20; at++) form.append(`field-${at}`, "x");
    const { status, body } = await post(bench, form);
    expect({ status, code: body.error?.code }).toEqual({ status: 400, code: "bad_upload" });
    const two = formOf({});
    two.append("asset", new Blob([new Uint8Array(ZIP)]), "b.zip");
    expect((await post(bench, two)).body.error?.code).toBe("bad_upload");
    expect(left(bench)).toEqual({ blobs: 0, incoming: 0 });
  });

  test("for which there is no room any more is refused", async () => {
    const bench = await startServer({ maxTotalBytes: ZIP.length + 10 });
    expect((await upload(bench)).status).toBe(201);
    const other = new Uint8Array(Buffer.concat([ZIP, Buffer.alloc(11)]));
    const { status, body } = await upload(bench, { bytes: other, metadata: version("2") });
    expect({ status, code: body.error?.code }).toEqual({ status: 413, code: "full" });
    expect(left(bench)).toEqual({ blobs: 1, incoming: 0 });
  });

  test("of a client that hangs up leaves nothing", async () => {
    const bench = await startServer();
    const socket = beginUpload(bench);
    await expect.poll(() => left(bench).incoming).toBe(1);
    socket.destroy();
    await expect.poll(() => left(bench)).toEqual({ blobs: 0, incoming: 0 });
    expect((await upload(bench)).status).toBe(201);
  });

  test.each([
    ["are not through yet", ""],
    ["have sent their file, and keep their form open", '\r\n--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n'],
  ])("beside many others that %s is refused", async (_what, more) => {
    const bench = await startServer();
    const sockets = Array.from({ length: 8 }, () => beginUpload(bench));
    await expect.poll(() => left(bench).incoming).toBe(8);
    for (const socket of sockets) socket.write(more);
    await sleep(100);
    const { status, body } = await upload(bench);
    expect({ status, code: body.error?.code }).toEqual({ status: 429, code: "too_many" });
    for (const socket of sockets) socket.destroy();
    await expect.poll(() => left(bench)).toEqual({ blobs: 0, incoming: 0 });
    expect((await upload(bench)).status).toBe(201);
  });

  test("from a page of another site is refused before it is read", async () => {
    const bench = await startServer({ publicUrl: "https://assets.example.com" });
    const { port, url } = bench.server;
    const refused: readonly Record<string, string>[] = [
      { origin: "https://evil.example" },
      { origin: "null" },
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site", origin: url },
    ];
    for (const headers of refused) {
      const { status, body } = await raw(port, { host: `127.0.0.1:${port}`, ...headers });
      expect({ status, code: body.error?.code }).toEqual({ status: 403, code: "forbidden" });
    }
    // Whoever owns a name may let it mean this machine.
    const rebound = await raw(port, { host: `evil.example:${port}`, origin: `http://evil.example:${port}` });
    expect(rebound.status).toBe(403);
    for (const origin of [url, "https://assets.example.com"]) {
      expect((await raw(port, { host: `127.0.0.1:${port}`, origin })).status).toBe(400);
    }
    expect((await upload(bench)).body.url).toMatch(/^https:\/\/assets\.example\.com\/assets\//);
  });
});

describe("an upload", () => {
  let bench: Bench;

  beforeAll(async () => {
    const folder = await mkdtemp(join(tmpdir(), "glovebox-assets-"));
    bench = { folder, server: await serveAssets(folder) };
  });

  afterAll(async () => {
    await bench.server.close();
    await rm(bench.folder, { recursive: true, force: true });
  });

  test.each([
    ["", "text"],
    ["", "[]"],
    ["/asset_name", { ...METADATA, asset_name: undefined }],
    ["/asset_name", { ...METADATA, asset_name: ".." }],
    ["/asset_name", { ...METADATA, asset_name: "a/b" }],
    ["/asset_version", { ...METADATA, asset_version: "1.0" }],
    ["/asset_version/version", version("../1")],
    ["/asset_version/tag", version("1", "a b")],
    ["/asset_metadata", { ...METADATA, asset_metadata: [] }],
    ["/asset_metadata/description", { ...METADATA, asset_metadata: { description: 7 } }],
    ["/asset_tags", { ...METADATA, asset_tags: "weather" }],
    ["/asset_tags/1", { ...METADATA, asset_tags: ["weather", null] }],
  ])("whose metadata is wrong is refused with a pointer to it, %s: %o [C57 C59]", async (pointer, metadata) => {
    const { status, body } = await upload(bench, { metadata });
    expect({ status, code: body.error?.code, pointer: body.error?.pointer }).toEqual({
      status: 400,
      code: "bad_metadata",
      pointer,
    });
    expect(left(bench)).toEqual({ blobs: 0, incoming: 0 });
  });
});

/** A request with headers that `fetch` would set by itself. Its body is an empty form. */
async function raw(port: number, headers: Record<string, string>): Promise<Answer> {
  const socket = connect(port, "127.0.0.1");
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const body = "--x--\r\n";
  const type = "content-type: multipart/form-data; boundary=x";
  const head = ["POST /upload_asset HTTP/1.1", ...lines, type, `content-length: ${body.length}`, "connection: close"];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
  let text = "";
  socket.on("data", (chunk: Buffer) => (text += chunk.toString()));
  await once(socket, "close");
  const [, json = "{}"] = text.split("\r\n\r\n");
  return { status: Number(text.slice(9, 12)), body: JSON.parse(json) as Answer["body"] };
}

describe("a version", () => {
  test("does not change: other bytes are a conflict, the same ones move the tag [C60]", async () => {
    const bench = await startServer();
    const other = new Uint8Array(Buffer.concat([ZIP, Buffer.from("more")]));
    const first = await upload(bench, { metadata: version("1.0", "stable") });
    expect(first.status).toBe(201);
    expect((await upload(bench, { metadata: version("1.1", "stable"), bytes: other })).status).toBe(201);
    const conflict = await upload(bench, { metadata: version("1.0", "stable"), bytes: other });
    expect({ status: conflict.status, code: conflict.body.error?.code }).toEqual({ status: 409, code: "conflict" });
    const stable = async () => {
      const url = `${bench.server.url}/assets/weather-forecast-v1/stable/weather-forecast-v1.zip`;
      return Buffer.from(await (await fetch(url)).arrayBuffer()).length;
    };
    expect(await stable()).toBe(other.length);
    const again = await upload(bench, { metadata: version("1.0", "stable") });
    expect({ status: again.status, url: again.body.url }).toEqual({ status: 200, url: first.body.url });
    expect(await stable()).toBe(ZIP.length);
    expect(left(bench)).toEqual({ blobs: 2, incoming: 0 });
  });

  test("that many upload at once is theirs who came first [C60]", async () => {
    const bench = await startServer();
    const uploads = Array.from({ length: 6 }, (_, at) =>
      upload(bench, { bytes: new Uint8Array(Buffer.concat([ZIP, Buffer.from([at])])), metadata: version("1") }),
    );
    const statuses = (await Promise.all(uploads)).map(({ status }) => status).toSorted((a, b) => a - b);
    expect(statuses).toEqual([201, 409, 409, 409, 409, 409]);
    expect(left(bench)).toEqual({ blobs: 1, incoming: 0 });
  });
});

describe("a download", () => {
  test("has the bytes, their type and their checksum, and is nothing that a browser would run [C61]", async () => {
    const bench = await startServer();
    const { body } = await upload(bench);
    const response = await fetch(body.url ?? "");
    expect(Buffer.from(await response.arrayBuffer())).toEqual(ZIP);
    const sha256 = createHash("sha256").update(ZIP);
    const digest = sha256.copy().digest("base64");
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "application/zip",
      "content-length": `${ZIP.length}`,
      etag: `"${sha256.digest("hex")}"`,
      digest: `sha-256=${digest}`,
      "repr-digest": `sha-256=:${digest}:`,
      "x-content-type-options": "nosniff",
      "content-disposition": 'attachment; filename="weather-forecast-v1.zip"',
      "cache-control": "max-age=31536000, immutable",
    });
    const etag = response.headers.get("etag") ?? "";
    expect((await fetch(body.url ?? "", { headers: { "if-none-match": etag } })).status).toBe(304);
    const head = await fetch(body.url ?? "", { method: "HEAD" });
    expect([head.status, head.headers.get("content-length")]).toEqual([200, `${ZIP.length}`]);
  });

  test("of a tarball has its own type [C61]", async () => {
    const bench = await startServer();
    const bytes = new Uint8Array([0x1f, 0x8b, 8, 0]);
    const { body } = await upload(bench, { file: "a.tgz", bytes });
    expect((await fetch(body.url ?? "")).headers.get("content-type")).toBe("application/gzip");
  });

  test("of what there is not is answered with 404", async () => {
    const bench = await startServer();
    await upload(bench);
    const paths = [
      "weather-forecast-v1/1.0/other.zip",
      "weather-forecast-v1/2.0/weather-forecast-v1.zip",
      "other/1.0/weather-forecast-v1.zip",
      "weather-forecast-v1/..%2f..%2fassets.sqlite/x",
      "__proto__/constructor/x",
    ];
    for (const path of paths) expect((await fetch(`${bench.server.url}/assets/${path}`)).status).toBe(404);
  });

  test("goes on after a restart [C61]", async () => {
    const first = await startServer();
    await upload(first);
    await first.server.close();
    const again = await startServer({}, first.folder);
    const url = `${again.server.url}/assets/weather-forecast-v1/stable/weather-forecast-v1.zip`;
    expect(Buffer.from(await (await fetch(url)).arrayBuffer())).toEqual(ZIP);
  });
});

describe("the folder", () => {
  test("is its owner's alone, and is cleared of what an end in the middle left", async () => {
    const first = await startServer();
    await upload(first);
    await first.server.close();
    const [old, fresh] = [join(first.folder, "incoming", "old"), join(first.folder, "incoming", "fresh")];
    for (const file of [old, fresh]) await writeFile(file, "half of it");
    await utimes(old, 1, 1);
    const { folder } = await startServer({}, first.folder);
    expect([existsSync(old), existsSync(fresh)]).toEqual([false, true]);
    expect(statSync(join(folder, "blobs")).mode & 0o777).toBe(0o700);
    expect(statSync(join(folder, "assets.sqlite")).mode & 0o777).toBe(0o600);
    const [blob = ""] = readdirSync(join(folder, "blobs"));
    expect(statSync(join(folder, "blobs", blob)).mode & 0o777).toBe(0o600);
  });

  test("where it takes no file any more, an upload is answered with 500, and the operator reads why", async () => {
    const path = join(await temporaryFolder(), "assets");
    const lines: unknown[] = [];
    const logger = {
      info: () => undefined,
      warn: (fields: object, text: string) => void lines.push({ ...fields, text }),
    };
    await using engine = await createEngine({ workers: 1, executor: "threads", logger });
    const server = await createServer(engine, { port: 0, assets: { path } });
    onTestFinished(() => server.close());
    await rm(join(path, "incoming"), { recursive: true });
    const { status, body } = await upload({ folder: path, server });
    expect([status, body.error?.code]).toEqual([500, "failed"]);
    expect(lines).toContainEqual(
      expect.objectContaining({
        text: "a request was answered with 500",
        method: "POST",
        route: "/upload_asset",
        reason: expect.stringContaining("ENOENT"),
      }),
    );
  });

  test("is there only where the operator names it", async () => {
    const engine = await createEngine({ workers: 1, executor: "threads" });
    await using server = await createServer(engine, { port: 0 });
    expect((await fetch(`${server.url}/upload_asset`, { method: "POST", body: formOf({}) })).status).toBe(404);
  });
});
