/**
 * Clients of a server: `PORT IDLE STREAMS STATS DEAF`. So many that each ask once and keep the connection, that read the
 * events of a call, that read the statistics, and that ask for much and read nothing. Says `open` when all are there,
 * and in the end, when its input does, what came of them.
 */
import { once } from "node:events";
import { connect, type Socket } from "node:net";

const WAITING_MAX = 100;
const ANSWER_MS = 60_000;
const CALL_MS = 580_000;
const LARGE_UNITS = 900_000;
const LARGE_AT_ONCE = 64;

const [port = 0, idle = 0, streams = 0, stats = 0, deaf = 0] = process.argv.slice(2).map(Number);
const sockets: Socket[] = [];
let closed = 0;
let events = 0;

function post(body: string, accept: string): string {
  const headers = `host: 127.0.0.1\r\ncontent-type: application/json\r\naccept: ${accept}\r\n`;
  return `POST /v1/execute HTTP/1.1\r\n${headers}content-length: ${body.length}\r\n\r\n${body}`;
}

/** A connection, once it is there. */
async function open(): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1" });
  socket.on("error", () => undefined);
  socket.once("close", () => closed++);
  sockets.push(socket);
  await once(socket, "connect", { signal: AbortSignal.timeout(ANSWER_MS) });
  return socket;
}

/** Asks, and waits until the server has said so. */
async function ask(request: string, begins: RegExp): Promise<Socket> {
  const socket = await open();
  let said = "";
  const answered = Promise.withResolvers<void>();
  const late = setTimeout(() => answered.reject(new Error(`no answer but ${said}`)), ANSWER_MS);
  socket.setEncoding("latin1").on("data", (text: string) => {
    events += text.split("\ndata: ").length - 1;
    if (said.length > 1_000) return;
    said += text;
    if (begins.test(said)) answered.resolve();
  });
  socket.write(request);
  await answered.promise;
  clearTimeout(late);
  return socket;
}

const IDLE = post('{"name":"add","arguments":{"a":1,"b":2}}', "application/json");
const TICKS = post(`{"name":"ticks","arguments":{"ms":${CALL_MS}}}`, "text/event-stream");
const LARGE = post(`{"name":"large","arguments":{"units":${LARGE_UNITS}}}`, "application/json");
const STATS = "GET /v1/stats HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: text/event-stream\r\n\r\n";

async function beDeaf(): Promise<void> {
  const socket = await open();
  socket.pause();
  socket.write(LARGE.repeat(LARGE_AT_ONCE));
}

const todo: (() => Promise<unknown>)[] = [
  ...Array.from({ length: idle }, () => () => ask(IDLE, /"sum":3/)),
  ...Array.from({ length: streams }, () => () => ask(TICKS, /data: /)),
  ...Array.from({ length: stats }, () => () => ask(STATS, /data: /)),
  ...Array.from({ length: deaf }, () => beDeaf),
];
const worker = async (): Promise<void> => {
  for (let next = todo.shift(); next !== undefined; next = todo.shift()) await next();
};
await Promise.all(Array.from({ length: WAITING_MAX }, worker));
process.stdout.write(`open\n`);
await once(process.stdin.resume(), "end");
process.stdout.write(`${JSON.stringify({ closed, events })}\n`);
process.exit();
