import type { Duplex } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
import { CapabilityRefusal } from "../../../../../src/kernel/broker/capabilities/capability.ts";
import { MeteredSocket } from "../../../../../src/kernel/broker/capabilities/fetch/metered-socket.ts";
import { serve } from "./server.ts";
import { Session, type World } from "./session.ts";
import { frame, serveAnswer, serveFrames, serveSockets, type SocketServer } from "./socket-server.ts";

const MIB = 1024 * 1024;
const [TEXT, BINARY, CLOSE, PING] = [0x1, 0x2, 0x8, 0x9];
const LOST = { closed: { code: 1006, reason: "", wasClean: false } };

/** A session that may use the server. */
function allow(server: Pick<SocketServer, "origin">, more: Partial<World["rules"][number]> = {}, world = {}): Session {
  return new Session({ rules: [{ privateOrigins: [server.origin], ...more }], ...world });
}

/** A server that sends back what it gets. */
const echo = () => serveSockets((socket) => socket.on("message", (data, binary) => socket.send(data, { binary })));

describe("a WebSocket", () => {
  test("carries text and bytes both ways, in order", async () => {
    await using server = await echo();
    await using session = allow(server);
    const { id } = await session.connect(`${server.url}/a?b=c`);
    const messages = [{ text: "häß 🌍" }, { base64: "AAEC/w==" }, { text: "" }, { text: "x".repeat(MIB) }];
    await Promise.all(messages.map((message) => session.send(id, message)));
    const got = [];
    for (const _ of messages) got.push(await session.receive(id));
    expect(got).toEqual(messages);
  });

  test("has the protocol that the server chose, and no extension", async () => {
    await using server = await serveSockets(() => {}, { handleProtocols: (all) => [...all].at(-1) ?? false });
    await using session = allow(server);
    expect(await session.connect(server.url, ["one", "two"])).toMatchObject({ protocol: "two", extensions: "" });
  });

  test("gives what the server sent before its close, then its code and reason", async () => {
    await using server = await serveSockets((socket) => {
      for (let at = 0; at < 100; at++) socket.send(`${at}`);
      socket.close(4_001, "done");
    });
    await using session = allow(server);
    const { id } = await session.connect(server.url);
    const all = await session.received(id);
    expect(all.slice(0, -1)).toEqual(Array.from({ length: 100 }, (_, at) => ({ text: `${at}` })));
    expect(all.at(-1)).toEqual({ closed: { code: 4_001, reason: "done", wasClean: true } });
    await expect(session.receive(id)).rejects.toThrow("there is no WebSocket");
  });

  test("tells the server with which code and reason the tool closes it", async () => {
    const told = Promise.withResolvers<unknown>();
    await using server = await serveSockets((socket) =>
      socket.on("close", (code, reason) => told.resolve([code, reason.toString()])),
    );
    await using session = allow(server);
    const { id } = await session.connect(server.url);
    session.closeSocket(id, 3_500, "enough");
    expect(await session.received(id)).toEqual([{ closed: { code: 3_500, reason: "enough", wasClean: true } }]);
    expect(await told.promise).toEqual([3_500, "enough"]);
  });

  test("whose close the server does not answer ends after two seconds", async () => {
    await using server = await serveFrames(() => {});
    await using session = allow(server);
    const { id } = await session.connect(server.url);
    session.closeSocket(id, 1_000);
    expect(await session.received(id)).toEqual([LOST]);
    await vi.waitFor(() => expect(server.open()).toBe(0));
  });

  test("does not carry a secret", async () => {
    await using server = await echo();
    await using session = allow(
      server,
      {},
      { secrets: { KEY: { value: "a secret value", bind: [{ origin: server.origin }] } }, grantedSecrets: ["KEY"] },
    );
    const message = "a secret can be sent by fetch";
    await expect(session.connect(`${server.url}/?key=glovebox.secret.KEY.`)).rejects.toThrow(message);
    await expect(session.connect(server.url, ["glovebox.secret.KEY."])).rejects.toThrow(message);
    expect(server.handshakes()).toBe(0);
  });
});

describe("the grants of fetch", () => {
  test("decide on a WebSocket: ws: as http:, wss: as https:", async () => {
    await using server = await echo();
    await using session = allow(server, { origins: ["https://api.example.com/v1/"] });
    for (const url of ["ws://api.example.com/v1/", "wss://api.example.com/v2", "wss://evil.example/"]) {
      const refused = await session.connect(url).catch((error: unknown) => error);
      expect(refused, url).toMatchObject({ name: "CapabilityRefusal", outcome: "denied" });
    }
    await session.connect(server.url.replace("ws:", "http:"));
  });

  test("with other methods than GET do not open one", async () => {
    await using server = await echo();
    await using session = allow(server, { methods: ["POST"] });
    await expect(session.connect(server.url)).rejects.toThrow("was not granted");
  });

  test("do not open one to a private address", async () => {
    await using server = await echo();
    await using session = new Session({
      rules: [{ origins: [server.origin, "http://name.example"] }],
      lookup: () => Promise.resolve(["127.0.0.1"]),
    });
    for (const url of [server.url, "ws://name.example/"]) {
      const refused = await session.connect(url).catch((error: unknown) => error);
      expect(refused, url).toBeInstanceOf(CapabilityRefusal);
      expect((refused as Error).message).toContain("resolves to an address that is not public");
    }
    expect(server.open()).toBe(0);
  });

  test("limit the bytes of both directions and the number of connections", async () => {
    await using server = await serveSockets((socket) => socket.on("message", () => socket.send("x".repeat(600))));
    await using session = allow(server, { maxBytes: 1_000, maxRequests: 2 });
    const { id } = await session.connect(server.url);
    await session.send(id, { text: "x".repeat(500) });
    await expect(session.receive(id)).rejects.toThrow("exceed maxBytes 1000");
    await expect(session.send(id, { text: "x" })).rejects.toThrow("there is no WebSocket");
    await expect(session.connect(server.url)).rejects.toThrow("exceed maxBytes 1000");
    await expect(session.connect(server.url)).rejects.toThrow("a call may make 2 requests");
    await vi.waitFor(() => expect(server.open()).toBe(0));
  });
});

describe("a handshake", () => {
  test("that is redirected fails, and nobody connects to the new address", async () => {
    await using hidden = await serve((_request, response) => response.end("the metadata"));
    await using server = await serveAnswer((socket) =>
      socket.end(`HTTP/1.1 302 Found\r\nlocation: ${hidden.origin}/\r\ncontent-length: 0\r\n\r\n`),
    );
    await using session = allow(server, { origins: ["*"] });
    const problem = "the server answered with the status 302 and opened no WebSocket; redirects are not followed";
    await expect(session.connect(server.url)).rejects.toThrow(problem);
    expect(hidden.connections()).toBe(0);
  });

  test.for([
    ["never answers", "", "the server did not respond in time"],
    ["answers with a page", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi", "the status 200 and opened no WebSocket"],
    ["answers with no HTTP", "\x16\x03\x01", "the response is not valid HTTP"],
    [
      "has another key's answer",
      "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-accept: AAAA\r\n\r\n",
      "the server did not open a WebSocket",
    ],
  ])("that %s fails, and its connection is closed", async ([, answer, problem]) => {
    await using server = await serveAnswer((socket) => void socket.write(answer ?? ""));
    await using session = allow(server, {}, { headersMs: 200 });
    await expect(session.connect(server.url)).rejects.toThrow(problem);
    await vi.waitFor(() => expect(server.open()).toBe(0));
  });

  test("behind informational responses without end fails", async () => {
    await using server = await serveAnswer((socket) => {
      const send = () => socket.write("HTTP/1.1 103 Early Hints\r\n\r\n".repeat(1_000)) && setImmediate(send);
      socket.on("drain", send);
      send();
    });
    await using session = allow(server);
    await expect(session.connect(server.url)).rejects.toThrow("too many informational responses");
    await expect.poll(() => server.open()).toBe(0);
  });

  test("with an extension that was not offered fails", async () => {
    await using server = await serveFrames(() => {}, "sec-websocket-extensions: permessage-deflate\r\n");
    await using session = allow(server);
    await expect(session.connect(server.url)).rejects.toThrow("the server chose an extension that was not offered");
    await vi.waitFor(() => expect(server.open()).toBe(0));
  });

  test("with a server that is not there fails with the reason", async () => {
    const server = await echo();
    await server[Symbol.asyncDispose]();
    await using session = allow(server);
    const problem = `WebSocket ${server.url}: the connection was refused`;
    await expect(session.connect(server.url)).rejects.toThrow(problem);
  });
});

describe("a hostile server", () => {
  test("that floods is read only as fast as the tool takes its messages", async () => {
    let sent = 0;
    await using server = await serveFrames((socket) => {
      const piece = Buffer.concat(Array.from({ length: 100 }, () => frame(BINARY, Buffer.alloc(1_000))));
      const write = () => {
        while (socket.write(piece)) sent += piece.length;
        sent += piece.length;
      };
      socket.on("drain", write);
      write();
    });
    await using session = allow(server, { maxBytes: 1024 * MIB });
    const { id } = await session.connect(server.url);
    let before = -1;
    const isStill = () => sent === before || ((before = sent), false);
    await expect.poll(isStill, { interval: 200 }).toBe(true);
    // What the kernel buffers on both sides, and what waits for the tool.
    expect(before).toBeLessThan(32 * MIB);
    for (let at = 0; at < 40_000; at++) await session.receive(id);
    expect(sent).toBeGreaterThan(before);
  });

  test("that floods with empty messages fills no memory: a slice of them waits for the tool", async () => {
    await using server = await serveFrames((socket) => void socket.write(Buffer.alloc(MIB, frame(TEXT, ""))));
    await using session = allow(server);
    const push = vi.spyOn(MeteredSocket.prototype, "push");
    const { id } = await session.connect(server.url);
    await delay(200);
    const passed = push.mock.calls.reduce((sum, [chunk]) => sum + ((chunk as Buffer | null)?.length ?? 0), 0);
    push.mockRestore();
    expect(passed).toBeLessThanOrEqual(8 * 1024);
    expect(await session.receive(id)).toEqual({ text: "" });
  });

  test("that floods with pings loses the connection", async () => {
    await using server = await serveFrames((socket) => {
      const pings = Buffer.alloc(64 * 1024, frame(PING, ""));
      const write = () => {
        while (!socket.destroyed && socket.write(pings)) {}
      };
      socket.on("drain", write);
      write();
    });
    await using session = allow(server);
    const { id } = await session.connect(server.url);
    await expect(session.receive(id)).rejects.toThrow("the server sends too many pings");
    await vi.waitFor(() => expect(server.open()).toBe(0));
  });

  test.for<[string, () => readonly Buffer[]]>([
    ["a frame of 2 MiB", () => [frame(TEXT, Buffer.alloc(2 * MIB, "x"))]],
    ["a frame that says it has 2 GiB", () => [Buffer.from([0x82, 127, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff])]],
    ["a frame that says it has 16 EiB", () => [Buffer.from([0x82, 127, ...Buffer.alloc(8, 0xff)])]],
    [
      "fragments of a message without end",
      () => [frame(TEXT, "x", false), ...Array.from({ length: 10 }, () => frame(0, Buffer.alloc(MIB / 8), false))],
    ],
    [
      "too many fragments",
      () => [frame(TEXT, "x", false), ...Array.from({ length: 5_000 }, () => frame(0, "x", false)), frame(0, "")],
    ],
    ["a masked frame", () => [Buffer.from([0x81, 0x81, 1, 2, 3, 4, 5])]],
    ["a compressed frame", () => [Buffer.from([0xc1, 1, 0])]],
    ["text that is not UTF-8", () => [frame(TEXT, Buffer.from([0xff]))]],
    ["an unknown opcode", () => [frame(0x7, "x")]],
    ["a close with an invalid code", () => [frame(CLOSE, Buffer.from([0, 1]))]],
  ])("that sends %s loses the connection", async ([, frames]) => {
    await using server = await serveFrames((socket) => {
      socket.write(Buffer.concat([frame(TEXT, "first"), ...frames()]));
    });
    await using session = allow(server);
    const { id } = await session.connect(server.url);
    expect(await session.received(id)).toEqual([{ text: "first" }, LOST]);
    await vi.waitFor(() => expect(server.open()).toBe(0));
  });

  test("that goes away within a frame loses that message, and no other", async () => {
    await using server = await serveFrames((socket) => {
      socket.end(Buffer.concat([frame(TEXT, "whole"), frame(TEXT, "x".repeat(1_000)).subarray(0, 500)]));
    });
    await using session = allow(server);
    const { id } = await session.connect(server.url);
    expect(await session.received(id)).toEqual([{ text: "whole" }, LOST]);
  });

  test("that does not read makes the tool wait before it sends more", async () => {
    let connection: Duplex | null = null;
    await using server = await serveFrames((socket) => (connection = socket.pause()));
    await using session = allow(server, { maxBytes: 64 * MIB });
    const { id } = await session.connect(server.url);
    let sent = 0;
    const sending = (async () => {
      for (; sent < 64; sent++) await session.send(id, { text: "x".repeat(MIB - 1) });
    })().catch(() => {});
    await delay(300);
    expect(sent).toBeLessThan(32);
    session.end();
    await sending;
    (connection as Duplex | null)?.resume();
    await vi.waitFor(() => expect(server.open()).toBe(0));
  });
});

describe("a call", () => {
  test("has at most 16 WebSockets open: of 1,000, the others are refused", async () => {
    await using server = await echo();
    await using session = allow(server, { maxRequests: 2_000 });
    const all = await Promise.allSettled(Array.from({ length: 1_000 }, () => session.connect(server.url)));
    const opened = all.filter(({ status }) => status === "fulfilled");
    expect(opened).toHaveLength(16);
    expect(server.handshakes()).toBe(16);
    const refused = all.find(({ status }) => status === "rejected") as PromiseRejectedResult;
    expect(refused.reason).toMatchObject({ outcome: "limit", message: "a call may have 16 open WebSockets" });
    const { id } = (opened[0] as PromiseFulfilledResult<{ readonly id: number }>).value;
    session.closeSocket(id);
    await session.received(id);
    await session.connect(server.url);
  });

  test("that ends closes its WebSockets, also those that connect, and the servers are told", async () => {
    const closed: number[] = [];
    await using silent = await serveAnswer(() => {});
    await using server = await serveSockets((socket) => socket.on("close", (code) => closed.push(code)));
    await using session = new Session({ rules: [{ privateOrigins: [server.origin, silent.origin] }] });
    const { id } = await session.connect(server.url);
    const waiting = [session.receive(id), session.connect(silent.url)].map((each) =>
      each.catch((error: Error) => error),
    );
    await vi.waitFor(() => expect(silent.handshakes()).toBe(1));
    session.end();
    for (const error of await Promise.all(waiting)) expect((error as Error).message).toMatch(/the call has ended/);
    await vi.waitFor(() => expect([server.open(), silent.open(), ...closed]).toEqual([0, 0, 1005]));
  });

  test("that closes a WebSocket before it has opened gets an error", async () => {
    await using server = await serveAnswer(() => {});
    await using session = allow(server);
    const connecting = session.connect(server.url).catch((error: Error) => error.message);
    await vi.waitFor(() => expect(server.handshakes()).toBe(1));
    session.closeSocket(1);
    expect(await connecting).toContain("it was closed before it opened");
    await vi.waitFor(() => expect(server.open()).toBe(0));
  });

  test("cannot send a message of more than a mebibyte", async () => {
    await using server = await echo();
    await using session = allow(server);
    const { id } = await session.connect(server.url);
    await expect(session.send(id, { text: "x".repeat(MIB + 1) })).rejects.toThrow(
      "a message may have at most 1048576 bytes",
    );
  });
});
