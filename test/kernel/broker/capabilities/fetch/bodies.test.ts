import { randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import {
  brotliCompressSync,
  createBrotliCompress,
  createGzip,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from "node:zlib";
import { describe, expect, test } from "vitest";
import { serve, serveRaw, type TestServer } from "./server.ts";
import { bytesOf, Session } from "./session.ts";

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;

function openTo(server: TestServer, rule: object = {}, options: object = {}): Session {
  return new Session({ rules: [{ privateOrigins: [server.origin], ...rule }], ...options });
}

/** A server that answers with the same bytes to all. */
const serving = (body: Buffer, encoding?: string) =>
  serve((_request, response) => {
    if (encoding !== undefined) response.setHeader("content-encoding", encoding);
    response.end(body);
  });

/** So many zeros, a piece at a time. */
function* zeros(bytes: number): Generator<Buffer> {
  const piece = Buffer.alloc(MIB);
  for (let sent = 0; sent < bytes; sent += piece.length) yield piece;
}

describe("a body", () => {
  const text = "Grüße, 世界! 🌍 ".repeat(1_000);

  test.each([
    ["gzip", gzipSync(text)],
    ["x-gzip", gzipSync(text)],
    ["deflate", deflateSync(text)],
    ["deflate", deflateRawSync(text)],
    ["br", brotliCompressSync(text)],
    ["zstd", zstdCompressSync(text)],
    ["gzip, br", brotliCompressSync(gzipSync(text))],
    ["identity", Buffer.from(text)],
  ])("that is encoded as %s is decoded", async (encoding, body) => {
    await using server = await serving(body, encoding);
    await using session = openTo(server);
    const answer = await session.whole(server.origin);
    expect(answer.text).toBe(text);
    expect(answer.headers).toContainEqual(["content-encoding", encoding]);
  });

  const rawBody = (head: string, body: string) =>
    serveRaw((socket) => void socket.end(`HTTP/1.1 200 OK\r\nconnection: close\r\n${head}\r\n${body}`));
  const CHUNKED = "transfer-encoding: chunked\r\n";

  // Each of a byte took as much of the broker thread's memory as one of 64 KiB.
  test.each([
    ["", "1\r\na\r\n"],
    ["content-encoding: gzip\r\n", "1\r\n\x1f\r\n"],
  ])("that comes in ten thousand pieces of a byte fails: %j", async (head, piece) => {
    await using server = await rawBody(`${CHUNKED}${head}`, `${piece.repeat(10_000)}0\r\n\r\n`);
    await using session = openTo(server);
    await expect(session.whole(server.origin)).rejects.toThrow(/too many pieces of a few bytes|does not match/);
  });

  test("that comes in pieces of a byte at first, and in many short ones, is whole", async () => {
    const pieces = ["1\r\na\r\n".repeat(4_000), `30\r\n${"b".repeat(48)}\r\n`.repeat(10_000), "0\r\n\r\n"];
    await using server = await rawBody(CHUNKED, pieces.join(""));
    await using session = openTo(server);
    expect((await session.whole(server.origin)).bytes).toHaveLength(4_000 + 48 * 10_000);
  });

  test("that never begins, behind informational responses without end, fails", async () => {
    await using server = await serveRaw((socket) => {
      const send = () => socket.write("HTTP/1.1 103 Early Hints\r\n\r\n".repeat(1_000)) && setImmediate(send);
      socket.on("drain", send);
      send();
    });
    await using session = openTo(server);
    await expect(session.whole(server.origin)).rejects.toThrow("too many informational responses");
    await expect.poll(() => server.open()).toBe(0);
  });

  test.each(["headers", "trailers"])("whose %s are more than 16 KiB fails", async (place) => {
    const many = "a: b\r\n".repeat(12_000);
    await using server = await (place === "headers" ? rawBody(many, "") : rawBody(CHUNKED, `0\r\n${many}\r\n`));
    await using session = openTo(server);
    await expect(session.whole(server.origin)).rejects.toThrow("too large");
  });

  test.each(["aes128gcm", "gzip, odd"])("that is encoded as %s, which nobody knows, fails", async (encoding) => {
    await using server = await serving(Buffer.from("as it is"), encoding);
    await using session = openTo(server);
    await expect(session.request(server.origin)).rejects.toThrow(
      "the body has a content-encoding other than gzip, deflate, br, zstd",
    );
  });

  test.each([
    ["gzip", gzipSync(text)],
    ["deflate", deflateSync(text)],
    ["deflate", deflateRawSync(text)],
    ["br", brotliCompressSync(text)],
    ["zstd", zstdCompressSync(text)],
  ])("of %s ends where its coding does, whatever bytes come after that", async (encoding, body) => {
    const after = Buffer.alloc(300_000, "\xff\0trailing");
    await using server = await serve((_request, response) => {
      response.setHeader("content-encoding", encoding).write(body);
      setTimeout(() => response.end(after), 50);
    });
    await using session = openTo(server);
    const came = await session.whole(server.origin).catch((reason: unknown) => String(reason));
    expect(typeof came === "string" ? "does not match its content-encoding" : came.text).toBe(
      typeof came === "string" ? /does not match its content-encoding/.exec(came)?.[0] : text,
    );
    await using joined = await serving(Buffer.concat([body, after]), encoding);
    await using other = openTo(joined);
    await other.whole(joined.origin).catch((reason: unknown) => {
      expect(String(reason)).toContain("does not match its content-encoding");
    });
  });

  test("that is encoded again and again fails", async () => {
    await using server = await serving(gzipSync(gzipSync(gzipSync("a"))), "gzip, gzip, gzip");
    await using session = openTo(server);
    await expect(session.request(server.origin)).rejects.toThrow("encoded more than 2 times");
  });

  test("that is not taken because of how it is encoded leaves no connection open", async () => {
    await using server = await serve((request, response) => {
      response.setHeader("content-encoding", request.url === "/3" ? "gzip, gzip, gzip" : "odd");
      response.write(Buffer.alloc(400_000));
    });
    await using session = openTo(server);
    for (let times = 0; times < 5; times++) {
      await expect(session.request(`${server.origin}/3`)).rejects.toThrow("encoded more than 2 times");
      await expect(session.request(`${server.origin}/odd`)).rejects.toThrow("has a content-encoding other than");
    }
    await expect.poll(() => server.open()).toBe(0);
  });

  test("that fails after its head was given leaves no connection open", async () => {
    await using server = await serve((_request, response) => {
      response.setHeader("content-encoding", "gzip").write("this is no gzip ".repeat(20_000));
    });
    await using session = openTo(server);
    for (let times = 0; times < 5; times++) {
      await expect(session.whole(server.origin)).rejects.toThrow("does not match its content-encoding");
    }
    await expect.poll(() => server.open()).toBe(0);
  });

  test.each([
    ["HEAD", 200],
    ["GET", 204],
    ["GET", 304],
  ])("of a %s answered with %i is empty, whatever its headers say", async (method, status) => {
    await using server = await serve((_request, response) => {
      response.writeHead(status, { "content-encoding": "gzip" }).end();
    });
    await using session = openTo(server);
    expect(await session.request(server.origin, { method })).toMatchObject({ status, body: null });
  });

  test("that is empty ends, also where it claims to be encoded", async () => {
    await using server = await serving(Buffer.alloc(0), "gzip");
    await using session = openTo(server);
    expect((await session.whole(server.origin)).bytes).toHaveLength(0);
  });

  test("of any bytes comes as it was, and text as text wherever it was cut", async () => {
    const bytes = Buffer.from(Uint8Array.from({ length: 300_000 }, (_, at) => (at * 7919) % 251));
    await using server = await serve(async (request, response) => {
      const body = request.url === "/text" ? Buffer.from(text) : bytes;
      for (let at = 0; at < body.length; at += 4_099) {
        response.write(body.subarray(at, at + 4_099));
        if (at < 50_000) await new Promise((done) => setImmediate(done));
      }
      response.end();
    });
    await using session = openTo(server);
    expect((await session.whole(`${server.origin}/bytes`)).bytes.equals(bytes)).toBe(true);
    const answer = await session.request(`${server.origin}/text`, { id: 99 });
    const pieces = [answer.body];
    while (pieces.at(-1)?.more === true) pieces.push(await session.read(99));
    const parts = pieces.flatMap((piece) => piece?.part ?? []);
    expect(Buffer.concat(parts.map(bytesOf)).toString()).toBe(text);
    for (const part of parts) expect(part).toHaveProperty("text");
  });

  test("comes as it is sent, and does not wait for its end", async () => {
    let more = () => {};
    await using server = await serve((_request, response) => {
      response.write("one");
      more = () => response.write("two");
    });
    await using session = openTo(server);
    const answer = await session.request(server.origin, { id: 1 });
    expect(answer.body).toEqual({ part: { text: "one" }, more: true });
    const next = session.read(1);
    more();
    expect(await next).toEqual({ part: { text: "two" }, more: true });
  });

  // Its last part was lost: the pipeline's end came before the bytes that its last stage still held.
  test("that was decoded before the tool reads its end is whole", async () => {
    const bytes = randomBytes(96 * 1024);
    let finish = () => {};
    await using server = await serve((_request, response) => {
      response.setHeader("content-encoding", "gzip");
      const zip = createGzip();
      zip.pipe(response);
      zip.write("first");
      zip.flush();
      finish = () => zip.end(bytes);
    });
    await using session = openTo(server);
    const pieces = [(await session.request(server.origin, { id: 1 })).body];
    finish();
    await new Promise((done) => setTimeout(done, 100));
    while (pieces.at(-1)?.more === true) pieces.push(await session.read(1));
    const whole = Buffer.concat(pieces.flatMap((piece) => piece?.part ?? []).map(bytesOf));
    expect(whole.subarray("first".length)).toEqual(bytes);
  });

  test("is text also where it is cut within a character", async () => {
    const [first = 0, ...rest] = Buffer.from("🌍!");
    const writes: (() => void)[] = [];
    await using server = await serve((_request, response) => {
      response.write(Buffer.from([first]));
      writes.push(...rest.map((byte) => () => void response.write(Buffer.from([byte]))));
    });
    await using session = openTo(server);
    expect((await session.request(server.origin, { id: 1 })).body).toEqual({ part: null, more: true });
    const next = session.read(1);
    for (const write of writes.slice(0, 3)) {
      write();
      await new Promise((done) => setTimeout(done, 10));
    }
    expect(await next).toEqual({ part: { text: "🌍" }, more: true });
    writes[3]?.();
    expect(await session.read(1)).toEqual({ part: { text: "!" }, more: true });
  });

  test("is sent as text or as bytes", async () => {
    await using server = await serve((_request, response, body) => response.end(String(body.length)));
    await using session = openTo(server);
    const base64 = Buffer.from("äöü").toString("base64");
    await session.request(server.origin, { method: "POST", body: { base64 } });
    await session.request(server.origin, { method: "POST", body: { text: "äöü" } });
    expect(server.seen.map(({ body }) => body)).toEqual(["äöü", "äöü"]);
  });
});

describe("a body that is too much", () => {
  const encodings = [
    ["as it is", null],
    ["of gzip", createGzip],
    ["of brotli", createBrotliCompress],
  ] as const;

  test.each(encodings)("ends at the cap, in bounded memory: a gigabyte %s", async (_, encode) => {
    const coding = encode === createGzip ? "gzip" : "br";
    let sent = 0;
    await using server = await serve((_request, response) => {
      if (encode !== null) response.setHeader("content-encoding", coding);
      const counted = function* () {
        for (const piece of zeros(GIB)) {
          sent += piece.length;
          yield piece;
        }
      };
      const stages = encode === null ? [] : [encode({ chunkSize: 1024 })];
      pipeline([Readable.from(counted()), ...stages, response]).catch(() => {});
    });
    await using session = openTo(server, { maxBytes: 2 * MIB });
    const before = process.memoryUsage().rss;
    await expect(session.whole(server.origin)).rejects.toMatchObject({
      outcome: "limit",
      refused: { granted: `maxBytes ${2 * MIB}`, asked: `GET ${server.origin}/` },
    });
    expect(process.memoryUsage().rss - before).toBeLessThan(150 * MIB);
    await expect.poll(() => server.open()).toBe(0);
    if (encode === null) expect(sent).toBeLessThan(100 * MIB);
  });

  test("still has its headers, where they say so", async () => {
    await using server = await serving(Buffer.alloc(5_000, "x"));
    await using session = openTo(server, { maxBytes: 1_000 });
    const answer = await session.request(server.origin, { id: 1 });
    expect(answer.status).toBe(200);
    expect(answer.headers).toContainEqual(["content-length", "5000"]);
    await expect(session.read(1)).rejects.toMatchObject({ outcome: "limit" });
  });

  test("over the network ends as well, where it is nothing when it is decoded", async () => {
    const nothing = gzipSync("");
    await using server = await serving(Buffer.concat(Array.from({ length: 1_000 }, () => nothing)), "gzip");
    await using session = openTo(server, { maxBytes: 10_000 });
    await expect(session.whole(server.origin)).rejects.toMatchObject({ outcome: "limit" });
  });

  test("is read no faster than the tool takes it", async () => {
    let sent = 0;
    await using server = await serve((_request, response) => {
      const counted = function* () {
        for (const piece of zeros(GIB)) {
          sent += piece.length;
          yield piece;
        }
      };
      pipeline(Readable.from(counted()), response).catch(() => {});
    });
    await using session = openTo(server, { maxBytes: 2 * GIB });
    await session.request(server.origin, { id: 1 });
    let before = -1;
    const isStill = () => sent === before || ((before = sent), false);
    await expect.poll(isStill, { interval: 300 }).toBe(true);
    expect(sent).toBeLessThan(64 * MIB);
  });
});

describe("an answer that is wrong", () => {
  test.each([
    ["no HTTP", "SSH-2.0-OpenSSH_9.9\r\n", "the response is not valid HTTP"],
    ["nothing", "", "the connection was lost"],
    ["a length that is no number", "HTTP/1.1 200 OK\r\ncontent-length: a\r\n\r\n", "the response is not valid HTTP"],
    [
      "two lengths",
      "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab",
      "the response length does not match its headers",
    ],
    [
      "a length beside chunks",
      "HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
      "the response length does not match its headers",
    ],
    ["headers that are cut off", "HTTP/1.1 200 OK\r\ncontent-ty", "the connection was lost"],
    [
      "an upgrade",
      "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n",
      "the connection was lost",
    ],
    ["headers without end", `HTTP/1.1 200 OK\r\n${"a: b\r\n".repeat(50_000)}`, "the response headers are too large"],
  ])("because it is %s fails", async (_, answer, why) => {
    await using server = await serveRaw((socket) => socket.end(answer));
    await using session = openTo(server);
    const error = await session.request(server.origin).catch((reason: unknown) => String(reason));
    expect(error).toBe(`FetchFailure: GET ${server.origin}: ${why}`);
  });

  test.each([
    ["ends early", "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nbegun", /connection was lost|not as long/],
    [
      "ends in the middle of its chunks",
      "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nbegun\r\n",
      /connection was lost/,
    ],
    ["has a chunk of no length", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", /not valid HTTP/],
    [
      "is no gzip",
      "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 5\r\n\r\nbegun",
      /does not match its content-encoding/,
    ],
    [
      "is no brotli",
      "HTTP/1.1 200 OK\r\ncontent-encoding: br\r\ncontent-length: 5\r\n\r\nbegun",
      /does not match its content-encoding/,
    ],
  ])("because its body %s fails when it is read", async (_, answer, why) => {
    await using server = await serveRaw((socket) => socket.end(answer));
    await using session = openTo(server);
    await expect(session.whole(server.origin)).rejects.toThrow(why);
  });

  test("because its gzip is cut off fails when it is read", async () => {
    const whole = gzipSync("x".repeat(10_000));
    await using server = await serving(whole.subarray(0, whole.length - 10), "gzip");
    await using session = openTo(server);
    await expect(session.whole(server.origin)).rejects.toThrow("does not match its content-encoding");
  });

  test("because its headers come a byte at a time ends in time", async () => {
    await using server = await serveRaw((socket) => {
      socket.write("HTTP/1.1 200 OK\r\na: ");
      const timer = setInterval(() => socket.write("b"), 5);
      socket.on("close", () => clearInterval(timer));
    });
    await using session = openTo(server, {}, { headersMs: 200 });
    await expect(session.request(server.origin)).rejects.toThrow("the server did not respond in time");
    await expect.poll(() => server.open()).toBe(0);
  });

  test("because its body stops ends in time", async () => {
    await using server = await serve((_request, response) => response.write("begun"));
    await using session = openTo(server, {}, { idleMs: 200 });
    await expect(session.whole(server.origin)).rejects.toThrow("the response body did not continue in time");
    await expect.poll(() => server.open()).toBe(0);
  });

  test("because its body comes a byte at a time ends with the call", async () => {
    await using server = await serve((_request, response) => {
      const timer = setInterval(() => response.write("b"), 5);
      response.on("close", () => clearInterval(timer));
    });
    await using session = openTo(server);
    const whole = session.whole(server.origin);
    whole.catch(() => {});
    await expect.poll(() => server.seen.length).toBe(1);
    await new Promise((done) => setTimeout(done, 100));
    session.end();
    await expect(whole).rejects.toThrow("the call has ended");
    await expect.poll(() => server.open()).toBe(0);
  });
});
