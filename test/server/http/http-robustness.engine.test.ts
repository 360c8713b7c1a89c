import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { createEngine, defineCapability, type Engine, type ToolResult } from "../../../src/glovebox/index.ts";
import { createServer, type Server } from "../../../src/server/http/server.ts";

const ECHO = { name: "echo", description: "Gives its input back.", source: "export default (input) => input;" };
const FILL = {
  name: "fill",
  description: "Answers so many characters.",
  source: 'export default ({ length }) => "€".repeat(length);',
  limits: { outputBytes: 60_000_000, memoryMb: 512, cpuMs: 10_000 },
};
const WAIT = {
  name: "wait",
  description: "Waits until the test opens its gate.",
  source: 'export default async (input, { host }) => { await host.gate.pass(); return "passed"; };',
  capabilities: { gate: true },
};

/** What a test gives a server to do what it should do at last. */
const PATIENCE_MS = 25_000;
/** Of a server that has little patience, for clients who try it. More than sixteen calls take on a busy machine. */
const LIMITS = { headersMs: 1_200, requestMs: 1_600 };
const UNREAD_MS = 3_000;

interface Reply {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** A connection on which bytes are written as a test wants them, and answers read as they come. */
class Wire implements Disposable {
  readonly socket: Socket;
  readonly closed: Promise<unknown>;
  #bytes: Buffer = Buffer.alloc(0);
  readonly #chunks: Buffer[] = [];

  constructor(server: Server) {
    this.socket = connect({ port: server.port, host: "127.0.0.1" });
    this.closed = new Promise((resolve, reject) => {
      this.socket.once("close", resolve);
      setTimeout(() => reject(new Error("the connection is still open")), PATIENCE_MS).unref();
    });
    this.closed.catch(() => undefined);
    this.socket.on("error", () => undefined);
    this.socket.on("data", (chunk: Buffer) => this.#chunks.push(chunk));
  }

  write(text: string): this {
    this.socket.write(text);
    return this;
  }

  /** The next answer; `hasBody`: not that of a HEAD request. */
  async reply(hasBody = true): Promise<Reply> {
    const untilMs = performance.now() + PATIENCE_MS;
    for (;;) {
      const reply = this.#take(hasBody);
      if (reply !== null) return reply;
      if (performance.now() > untilMs || (this.socket.closed && this.rest === "")) {
        throw new Error(`no answer, but: ${this.#bytes.toString("latin1").slice(0, 500)}`);
      }
      await delay(10);
    }
  }

  /** How many bytes have come besides the answers that were taken. */
  get length(): number {
    return this.#chunks.reduce((sum, chunk) => sum + chunk.length, this.#bytes.length);
  }

  /** What has come besides the answers that were taken. */
  get rest(): string {
    this.#join();
    return this.#bytes.toString("latin1");
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }

  #join(): void {
    if (this.#chunks.length > 0) this.#bytes = Buffer.concat([this.#bytes, ...this.#chunks.splice(0)]);
  }

  #take(hasBody: boolean): Reply | null {
    this.#join();
    const end = this.#bytes.indexOf("\r\n\r\n");
    if (end < 0) return null;
    const [first = "", ...lines] = this.#bytes.subarray(0, end).toString("latin1").split("\r\n");
    const headers = new Map(
      lines.map((line) => [/^[^:]+/.exec(line)?.[0].toLowerCase() ?? "", line.replace(/^[^:]+: */, "")]),
    );
    const length = hasBody ? Number(headers.get("content-length") ?? 0) : 0;
    const start = end + 4;
    if (this.#bytes.length < start + length) return null;
    const body = this.#bytes.subarray(start, start + length).toString();
    this.#bytes = this.#bytes.subarray(start + length);
    return { status: Number(first.split(" ")[1]), headers, body };
  }
}

const CALL = '{"name":"echo","arguments":{"a":1}}';
const head = (path: string, ...headers: string[]) =>
  `${[`${path} HTTP/1.1`, "Host: localhost", ...headers].join("\r\n")}\r\n\r\n`;
const get = (path: string, ...headers: string[]) => head(`GET ${path}`, ...headers);
const post = (body: string, length = Buffer.byteLength(body)) =>
  head("POST /v1/execute", "Content-Type: application/json", `Content-Length: ${length}`) + body;

/** A refusal in the form of a result, which says nothing of how the server is made. */
function expectRefusal({ status, headers, body }: Reply, expected: number, code: string): void {
  const result = JSON.parse(body) as ToolResult;
  expect({ status, code: result.error?.code }).toEqual({ status: expected, code });
  expect(result).toMatchObject({ success: false, output: null, metadata: { attempts: 0 } });
  expect(headers.get("content-type")).toBe("application/json; charset=utf-8");
  expect(body).not.toMatch(/HPE_|FST_|\bat .*:\d+:\d+|node_modules|fastify/);
}

describe("a server", () => {
  let engine: Engine;
  let server: Server;
  let impatient: Server;
  let reader: Server;
  let gate = Promise.withResolvers<void>();
  let waiting = 0;
  const wires: Wire[] = [];

  beforeAll(async () => {
    const pass = { handler: () => (waiting++, gate.promise) };
    engine = await createEngine({
      workers: 1,
      executor: "threads",
      tools: [ECHO, FILL, WAIT],
      maxLimits: { outputBytes: 60_000_000 },
      capabilities: [defineCapability({ name: "gate", methods: { pass } })],
      policy: { rules: [{ allow: { gate: true } }] },
    });
    server = await createServer(engine, { port: 0, bodyBytes: 100_000, drainMs: 1_000 });
    reader = await createServer(engine, { port: 0, drainMs: 1_000, connections: { unreadMs: UNREAD_MS } });
    impatient = await createServer(engine, { port: 0, drainMs: 1_000, connections: LIMITS });
  });

  afterEach(() => {
    gate.resolve();
    for (const wire of wires.splice(0)) wire[Symbol.dispose]();
  });

  afterAll(() => Promise.all([server.close(), impatient.close(), reader.close()]));

  const open = (to = server): Wire => {
    const wire = new Wire(to);
    wires.push(wire);
    return wire;
  };
  const shut = (): void => {
    gate = Promise.withResolvers();
    waiting = 0;
  };
  /** A quick machine has made a call before anybody could look at what runs. */
  const nextEnd = (): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const end = (): void => resolve();
    engine.on("tool:post", end);
    return promise.finally(() => engine.off("tool:post", end));
  };
  const isWell = async (): Promise<void> => {
    const reply = await open().write(post(CALL)).reply();
    expect({ status: reply.status, output: (JSON.parse(reply.body) as ToolResult).output }).toEqual({
      status: 200,
      output: { a: 1 },
    });
  };

  test("answers many requests of one connection, one after the other and all at once, in their order", async () => {
    const wire = open();
    for (let at = 0; at < 3; at++) expect((await wire.write(post(CALL)).reply()).status).toBe(200);
    const calls = Array.from({ length: 300 }, (_, at) => post(`{"id":"c${at}","name":"echo","arguments":{}}`));
    wire.write(calls.join("") + get("/healthz"));
    for (let at = 0; at < 300; at++) {
      expect((JSON.parse((await wire.reply()).body) as ToolResult).metadata.callId).toBe(`c${at}`);
    }
    expect((await wire.reply()).body).toBe('{"status":"alive"}');
  });

  test("answers what stands behind a slow call once that is answered, and others meanwhile", async () => {
    shut();
    const wire = open().write(post('{"name":"wait","arguments":{}}') + post(CALL) + get("/healthz"));
    await expect.poll(() => waiting, { timeout: PATIENCE_MS }).toBe(1);
    await isWell();
    expect(wire.rest).toBe("");
    gate.resolve();
    const outputs = [await wire.reply(), await wire.reply()].map(({ body }) => (JSON.parse(body) as ToolResult).output);
    expect(outputs).toEqual(["passed", { a: 1 }]);
    expect((await wire.reply()).status).toBe(200);
  });

  test("cancels all calls of a connection that ends, also those that wait behind others", async () => {
    shut();
    const codes: (string | undefined)[] = [];
    const listener = ({ result }: { result: ToolResult }) => void codes.push(result.error?.code);
    engine.on("tool:error", listener);
    const wire = open().write(post('{"name":"wait","arguments":{}}').repeat(5));
    await expect.poll(() => waiting, { timeout: PATIENCE_MS }).toBe(5);
    wire.socket.destroy();
    await expect.poll(() => codes, { timeout: PATIENCE_MS }).toEqual(Array.from({ length: 5 }, () => "cancelled"));
    engine.off("tool:error", listener);
  });

  test("reads no more of a connection than some calls at once, and all of them in the end", async () => {
    shut();
    const count = 400;
    const wire = open().write(post(`{"name":"wait","arguments":{"text":"${"x".repeat(2_000)}"}}`).repeat(count));
    await expect.poll(() => waiting, { timeout: PATIENCE_MS }).toBe(16);
    await isWell();
    const { running, queued } = engine.stats();
    // What is read comes in pieces of many requests, of which no more become calls.
    expect(running + queued).toBe(16);
    gate.resolve();
    for (let at = 0; at < count; at++) expect((await wire.reply()).status).toBe(200);
  });

  test.each([
    ["a head", 30],
    ["a body", -5],
  ])("does not count the time in which it reads nothing against %s that is on its way", async (_, cut) => {
    shut();
    const wire = open(impatient).write(post('{"name":"wait","arguments":{}}').repeat(16) + post(CALL).slice(0, cut));
    await expect.poll(() => waiting, { timeout: PATIENCE_MS }).toBe(16);
    wire.write(post(CALL).slice(cut));
    await delay(2 * LIMITS.requestMs);
    gate.resolve();
    for (let at = 0; at < 17; at++) expect((await wire.reply()).status).toBe(200);
  });

  test("reads no more of a connection whose requests wait, though none of them is a call", async () => {
    shut();
    const [pieces, inPiece] = [100, 100];
    const piece = get("/healthz", `X: ${"x".repeat(4_000)}`).repeat(inPiece);
    const wire = open().write(post('{"name":"wait","arguments":{}}'));
    let taken = 0;
    const send = (): void => {
      if (taken < pieces) wire.socket.write(piece, () => (taken++, send()));
    };
    send();
    await expect.poll(() => waiting, { timeout: PATIENCE_MS }).toBe(1);
    for (let last = -1; last !== taken; await delay(500)) last = taken;
    // The system itself takes some megabytes.
    expect(taken).toBeLessThan(pieces / 2);
    await isWell();
    gate.resolve();
    for (let at = 0; at <= pieces * inPiece; at++) expect((await wire.reply()).status).toBe(200);
  });

  test("takes a client that closes its side for one that has gone", async () => {
    shut();
    const ended = new Promise<string | undefined>((resolve) => {
      engine.on("tool:error", ({ result }) => resolve(result.error?.code));
    });
    const wire = open().write(post('{"name":"wait","arguments":{}}'));
    await expect.poll(() => waiting, { timeout: PATIENCE_MS }).toBe(1);
    wire.socket.end();
    expect(await ended).toBe("cancelled");
    await wire.closed;
    await isWell();
  });

  test.each([
    ["a line that is invalid", "\0\0\0\r\n\r\n"],
    ["another protocol", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"],
    ["a version that there is not", "GET / HTTP/9.9\r\n\r\n"],
    ["a method that there is not", "FETCH / HTTP/1.1\r\nHost: localhost\r\n\r\n"],
    ["a malformed length", "POST /v1/execute HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n"],
    ["two lengths", "POST /v1/execute HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"],
    [
      "a length and chunks",
      "POST /v1/execute HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
    ["no host", "GET /healthz HTTP/1.1\r\n\r\n"],
    ["two hosts", "GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: example.com\r\n\r\n"],
    [
      "two keys",
      "GET /healthz HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer a\r\nauthorization: Bearer b\r\n\r\n",
    ],
    [
      "two content types",
      "GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Type: application/json\r\n\r\n",
    ],
    ["the same host twice", "GET /healthz HTTP/1.0\r\nHost: localhost\r\nHOST: localhost\r\n\r\n"],
    ["a header without a name", "GET /healthz HTTP/1.1\r\nHost: localhost\r\n: b\r\n\r\n"],
    ["a header with a line of its own", "GET /healthz HTTP/1.1\r\nHost: localhost\r\nA: b\n\0c\r\n\r\n"],
    ["malformed chunks", `${head("POST /v1/execute", "Transfer-Encoding: chunked")}nonsense\r\n`],
  ])("answers 400 to %s, and ends the connection", async (_, bytes) => {
    const wire = open().write(bytes);
    expectRefusal(await wire.reply(), 400, "invalid_arguments");
    await wire.closed;
    await isWell();
  });

  test("does not answer garbage in the place of a call that has no answer yet", async () => {
    shut();
    const wire = open().write(`${post('{"name":"wait","arguments":{}}')}\0\0\0`);
    await wire.closed;
    expect(wire.rest).toBe("");
    await isWell();
  });

  test("answers 431 to a head that is too large", async () => {
    const wire = open().write(get("/healthz", `A: ${"x".repeat(17_000)}`));
    expectRefusal(await wire.reply(), 431, "input_too_large");
    await wire.closed;
    const many = open().write(get("/healthz", ...Array.from({ length: 2_000 }, (_, at) => `H${at}: value`)));
    expectRefusal(await many.reply(), 431, "input_too_large");
  });

  test("answers 408 to a head that trickles in, and to a body that does", async () => {
    const slowHead = open(impatient).write("GET /healthz HTTP/1.1\r\nHost: localhost\r\n");
    // It never ends: on a busy machine the limit comes late.
    const slowBody = open(impatient).write(post("{", 50_000));
    const silent = open(impatient);
    const trickle = setInterval(() => {
      slowHead.write("A: b\r\n");
      slowBody.write(" ");
    }, 50);
    try {
      expectRefusal(await slowHead.reply(), 408, "invalid_arguments");
      expectRefusal(await slowBody.reply(), 408, "invalid_arguments");
      expectRefusal(await silent.reply(), 408, "invalid_arguments");
      await Promise.all([slowHead.closed, slowBody.closed, silent.closed]);
    } finally {
      clearInterval(trickle);
    }
    await isWell();
  });

  test("asks for the body that a client keeps back, and knows no other expectation", async () => {
    const length = `Content-Length: ${CALL.length}`;
    const wire = open().write(
      head("POST /v1/execute", "Content-Type: application/json", length, "Expect: 100-continue"),
    );
    expect((await wire.reply()).status).toBe(100);
    expect((await wire.write(CALL).reply()).status).toBe(200);
    expectRefusal(await open().write(get("/healthz", "Expect: wonders")).reply(), 417, "invalid_arguments");
  });

  test("answers HEAD as it would answer GET, but for the body", async () => {
    const wire = open().write(head("HEAD /healthz"));
    const { status, headers } = await wire.reply(false);
    expect({ status, length: headers.get("content-length") }).toEqual({ status: 200, length: "18" });
    expect((await wire.write(get("/healthz")).reply()).body).toBe('{"status":"alive"}');
  });

  test("speaks HTTP/1.0", async () => {
    const type = "Content-Type: application/json";
    const wire = open().write(`POST /v1/execute HTTP/1.0\r\n${type}\r\nContent-Length: ${CALL.length}\r\n\r\n${CALL}`);
    expect((await wire.reply()).status).toBe(200);
    await wire.closed;
  });

  test("refuses a body that is too large before it is there", async () => {
    const wire = open().write(post("{", 200_000));
    expectRefusal(await wire.reply(), 413, "input_too_large");
  });

  test("ends the connection of a client that does not read its answer, and not of one that reads it late", async () => {
    // More than the system takes for a client that reads nothing.
    const call = post('{"name":"fill","arguments":{"length":15000000}}');
    const read = nextEnd();
    const late = open(reader).write(call);
    late.socket.pause();
    await read;
    await delay(UNREAD_MS / 3);
    late.socket.resume();
    expect((await late.reply()).body.length).toBeGreaterThan(15_000_000);
    const unread = nextEnd();
    const deaf = open(reader).write(call);
    deaf.socket.pause();
    await unread;
    await delay(2.5 * UNREAD_MS);
    deaf.socket.resume();
    await deaf.closed;
    expect(deaf.length).toBeLessThan(45_000_000);
  }, 300_000);
});

test("a server that has as many connections as it may says so to others, and takes them once there is room", async () => {
  await using engine = await createEngine({ workers: 1, executor: "threads", tools: [ECHO] });
  await using server = await createServer(engine, { port: 0, drainMs: 100, connections: { maxConnections: 2 } });
  using first = new Wire(server);
  using second = new Wire(server);
  expect((await first.write(get("/healthz")).reply()).status).toBe(200);
  expect((await second.write(get("/healthz")).reply()).status).toBe(200);
  using third = new Wire(server);
  const refused = await third.write(get("/healthz")).reply();
  expectRefusal(refused, 503, "queue_full");
  expect(refused.headers.get("retry-after")).toBe("1");
  await third.closed;
  second.socket.destroy();
  await second.closed;
  await expect
    .poll(
      async () => {
        using next = new Wire(server);
        return (await next.write(get("/healthz")).reply()).status;
      },
      { timeout: PATIENCE_MS },
    )
    .toBe(200);
  expect((await first.write(post(CALL)).reply()).status).toBe(200);
});

test.each([
  ["says its length", (body: string) => post(body)],
  [
    "comes in chunks",
    (body: string) =>
      `${head("POST /v1/execute", "Content-Type: application/json", "Transfer-Encoding: chunked")}${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
  ],
])("a body that %s is refused while those under way have all the bytes that there are", async (_, send) => {
  const gate = Promise.withResolvers<void>();
  const pass = { handler: () => gate.promise };
  await using engine = await createEngine({
    workers: 1,
    executor: "threads",
    tools: [ECHO, WAIT],
    capabilities: [defineCapability({ name: "gate", methods: { pass } })],
    policy: { rules: [{ allow: { gate: true } }] },
  });
  await using server = await createServer(engine, { port: 0, drainMs: 100, bodyBytes: 100_000, bodiesBytes: 150_000 });
  const large = (name: string): string => `{"name":"${name}","arguments":{"text":"${"x".repeat(80_000)}"}}`;
  using held = new Wire(server).write(send(large("wait")));
  await expect.poll(() => engine.stats().running, { timeout: PATIENCE_MS }).toBe(1);
  using other = new Wire(server).write(send(large("echo")));
  const refused = await other.reply();
  expectRefusal(refused, 503, "queue_full");
  expect(refused.headers.get("retry-after")).toBe("1");
  using small = new Wire(server).write(post(CALL));
  expect((await small.reply()).status).toBe(200);
  gate.resolve();
  expect((await held.reply()).status).toBe(200);
  using again = new Wire(server).write(send(large("echo")));
  expect((await again.reply()).status).toBe(200);
});

describe("what comes and goes", () => {
  test("is counted by route, and never by address", async () => {
    await using engine = await createEngine({ workers: 1, executor: "threads", tools: [ECHO] });
    await using server = await createServer(engine, { port: 0, drainMs: 100 });
    const url = server.url;
    for (const path of ["/v1/tools/echo", "/v1/tools/nobody", "/v1/tools/other", "/nothing", "/nothing?else"]) {
      await (await fetch(url + path)).text();
    }
    await (await fetch(`${url}/v1/execute`, { method: "PATCH" })).text();
    for (const unreadable of ["\0\r\n\r\n", get("/%zz"), get("/healthz", "Expect: wonders")]) {
      using wire = new Wire(server);
      await wire.write(unreadable).reply();
    }
    const count = async (pattern: RegExp): Promise<string[]> =>
      (await engine.metrics()).split("\n").filter((line) => pattern.test(line));
    await expect
      .poll(() => count(/^glovebox_http_requests_total\{/), { timeout: PATIENCE_MS })
      .toEqual([
        'glovebox_http_requests_total{route="other",method="GET",status="404"} 2',
        'glovebox_http_requests_total{route="other",method="GET",status="400"} 1',
        'glovebox_http_requests_total{route="other",method="GET",status="417"} 1',
        'glovebox_http_requests_total{route="other",method="",status="400"} 1',
        'glovebox_http_requests_total{route="/v1/execute",method="PATCH",status="405"} 1',
        'glovebox_http_requests_total{route="/v1/tools/:name",method="GET",status="200"} 1',
        'glovebox_http_requests_total{route="/v1/tools/:name",method="GET",status="404"} 2',
      ]);
    expect(await count(/duration_seconds_count\{route="\/v1\/tools\/:name"\}/)).toEqual([
      'glovebox_http_request_duration_seconds_count{route="/v1/tools/:name"} 3',
    ]);
    expect(JSON.stringify(await count(/./))).not.toContain("nothing");
  });

  test("is counted while it is there", async () => {
    const gate = Promise.withResolvers<void>();
    const pass = { handler: () => gate.promise };
    await using engine = await createEngine({
      workers: 1,
      executor: "threads",
      tools: [WAIT],
      capabilities: [defineCapability({ name: "gate", methods: { pass } })],
      policy: { rules: [{ allow: { gate: true } }] },
    });
    await using server = await createServer(engine, { port: 0, drainMs: 100 });
    const gauges = async (): Promise<string[]> =>
      (await engine.metrics()).split("\n").filter((line) => /^glovebox_http_(?:connections|streams) /.test(line));
    using wire = new Wire(server);
    const body = '{"name":"wait","arguments":{}}';
    const headers = ["Content-Type: application/json", "Accept: text/event-stream", `Content-Length: ${body.length}`];
    await wire.write(head("POST /v1/execute", ...headers) + body).reply();
    expect(await gauges()).toEqual(["glovebox_http_connections 1", "glovebox_http_streams 1"]);
    gate.resolve();
    await expect
      .poll(gauges, { timeout: PATIENCE_MS })
      .toEqual(["glovebox_http_connections 1", "glovebox_http_streams 0"]);
    wire.socket.destroy();
    await expect
      .poll(gauges, { timeout: PATIENCE_MS })
      .toEqual(["glovebox_http_connections 0", "glovebox_http_streams 0"]);
  });
});
