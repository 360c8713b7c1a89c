import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createEngine } from "../../src/glovebox/index.ts";
import { createKey } from "../../src/server/access/secret.ts";
import { createServer, type Server } from "../../src/server/http/server.ts";

/** The list of tools has a megabyte, of which the system's buffers hold but a few for each connection. */
const LONG = "d".repeat(500_000);
const PIPELINED = 16;
const UNREAD_CHARS = 8 * 1024 * 1024;

const greedy = createKey();
const modest = createKey();
let server: Server;

beforeAll(async () => {
  const source = "export default () => 1;";
  const inputSchema = { type: "object", description: LONG };
  const tools = ["one", "two"].map((name) => ({ name, description: "A tool.", source, inputSchema }));
  const engine = await createEngine({ workers: 1, executor: "threads", tools });
  server = await createServer(engine, {
    port: 0,
    connections: { unreadChars: UNREAD_CHARS },
    keys: [
      { name: "greedy", tenant: "greedy", roles: ["execute"], hash: greedy.hash },
      { name: "modest", tenant: "modest", roles: ["execute"], hash: modest.hash },
    ],
  });
});

afterAll(() => server.close());

/** A client that asks and does not read. */
async function askWithoutReading(): Promise<Socket> {
  const socket = connect(server.port, "127.0.0.1");
  socket.on("error", () => undefined).pause();
  await once(socket, "connect");
  const request = `GET /v1/tools HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${greedy.secret}\r\n\r\n`;
  socket.write(request.repeat(PIPELINED));
  return socket;
}

/** Bytes that a client gets until its connection closes, or has been silent for a while. */
async function readAll(socket: Socket): Promise<number> {
  let bytes = 0;
  socket.on("data", (chunk: Buffer) => (bytes += chunk.length)).resume();
  socket.setTimeout(2_000, () => socket.destroy());
  await once(socket, "close");
  return bytes;
}

async function list(): Promise<number> {
  const response = await fetch(`${server.url}/v1/tools`, { headers: { authorization: `Bearer ${modest.secret}` } });
  return (await response.text()).length;
}

// Responses that nobody read were kept for a minute each, however many: the host's heap was full before.
test("clients that read none of their many responses", async () => {
  const sockets = await Promise.all(Array.from({ length: 12 }, askWithoutReading));
  for (let times = 0; times < 5; times++) {
    expect(await list()).toBeGreaterThan(2 * LONG.length);
    await delay(200);
  }
  const bytes = await Promise.all(sockets.map(readAll));
  const complete = bytes.filter((read) => read > PIPELINED * 2 * LONG.length);
  expect(complete.length).toBeLessThan(sockets.length);
});
