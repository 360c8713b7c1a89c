/** Clients that keep their connections, and know of each request what became of it. */
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

/** What became of requests, and why those failed that did. */
export interface Tally {
  answered: number;
  /** Sent behind one whose answer said that it was the connection's last: not begun, and to be sent again. */
  unbegun: number;
  readonly failed: string[];
}

export interface ClientOptions {
  readonly port: number;
  readonly body: string;
  /** Requests that a connection has under way at once. */
  readonly pipelined?: number;
  /** Requests after which it opens another connection. */
  readonly perConnection?: number;
  /** How long it waits between two answers and the next request. */
  readonly pauseMs?: number;
  readonly tally: Tally;
  readonly isOver: () => boolean;
}

const REFUSED_PAUSE_MS = 5;
const CLIENT_MS = 120_000;

/** Sends requests until it is told to stop, on one connection after the other. */
export async function keepSending(options: ClientOptions): Promise<void> {
  while (!options.isOver()) {
    const socket = await open(options.port);
    if (socket === null) await delay(REFUSED_PAUSE_MS);
    else await converse(socket, options);
  }
}

/** A connection, or nothing where nobody listens: then no request was taken. */
function open(port: number): Promise<Socket | null> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1" });
    socket.once("connect", () => resolve(socket));
    socket.once("error", () => resolve(null));
  });
}

/** Uses a connection to its end. */
async function converse(socket: Socket, options: ClientOptions): Promise<void> {
  const { body, pipelined = 1, perConnection = Number.MAX_SAFE_INTEGER, pauseMs = 0, tally } = options;
  const head = "POST /v1/execute HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json";
  const request = `${head}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
  let [sent, underWay, isLast] = [0, 0, false];
  let read = "";
  const send = (): void => {
    if (isLast || socket.destroyed || socket.readableEnded) return;
    if (options.isOver() || sent === perConnection) return void (underWay === 0 && socket.end());
    sent++;
    underWay++;
    socket.write(request);
  };
  let why = "the connection was closed";
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  socket.on("error", (error) => (why = error.message));
  socket.setTimeout(CLIENT_MS, () => socket.destroy(new Error("no answer")));
  socket.setEncoding("utf8").on("data", (text: string) => {
    read += text;
    for (let answer = take(read); answer !== null; answer = take(read)) {
      read = answer.rest;
      underWay--;
      isLast ||= answer.isLast;
      if (answer.isGood) tally.answered++;
      else tally.failed.push(answer.text);
      if (pauseMs === 0) send();
      else setTimeout(send, pauseMs);
    }
  });
  for (let at = 0; at < pipelined; at++) send();
  await closed;
  if (isLast) tally.unbegun += underWay;
  else for (let at = 0; at < underWay; at++) tally.failed.push(why);
}

interface Answer {
  readonly isGood: boolean;
  readonly isLast: boolean;
  readonly text: string;
  readonly rest: string;
}

/** The first whole answer of what was read. */
function take(read: string): Answer | null {
  const end = read.indexOf("\r\n\r\n");
  if (end < 0) return null;
  const head = read.slice(0, end);
  const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0);
  const text = read.slice(end + 4, end + 4 + length);
  if (text.length < length) return null;
  const isGood = head.startsWith("HTTP/1.1 200 ") && text.startsWith('{"success":true,');
  return {
    isGood,
    isLast: /^connection: close$/im.test(head),
    text: `${head} ${text}`,
    rest: read.slice(end + 4 + length),
  };
}
