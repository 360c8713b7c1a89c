import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { connect } from "node:net";
import fc from "fast-check";
import type { EngineOptions } from "../../../src/glovebox/index.ts";
import type { Server } from "../../../src/server/http/server.ts";

/** Requests that are sent both to the short way and to the framework's, which has to answer the same. */

export const LIMITS = { outputBytes: 10_000_000 };
export const TOOLS: NonNullable<EngineOptions["tools"]> = [
  { name: "echo", description: "Gives its input back.", source: "export default (input) => input;" },
  { name: "throw", description: "Throws.", source: 'export default () => { throw new RangeError("no"); };' },
  { name: "wait", description: "Never ends.", source: "export default () => new Promise(() => {});" },
  {
    name: "fill",
    description: "Answers so many characters.",
    source: 'export default ({ length }) => "€".repeat(length);',
    limits: LIMITS,
  },
];
/** Members of calls, right and wrong. */
export const CALL_ID = fc.oneof(fc.string({ maxLength: 300 }), fc.jsonValue());
export const CALL_NAME = fc.oneof(fc.constantFrom("echo", "throw", "nobody", "__proto__"), fc.jsonValue());
/** Longer than the server waits for the rest of a request. */
const SILENCE_MS = 20_000;
const HANDLERS = "tracing:fastify.request.handler:start";

export interface Sent {
  readonly method: string;
  readonly version: string;
  readonly headers: readonly string[];
  readonly body: Uint8Array | string;
}

/** The text of an answer, without what two answers to one request differ in. */
export async function ask(server: Server, url: string, { method, version, headers, body }: Sent): Promise<string> {
  const socket = connect({ port: server.port, host: "127.0.0.1" });
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => {
    chunks.push(chunk);
    if (isWhole(Buffer.concat(chunks))) socket.end();
  });
  socket.on("error", () => undefined);
  socket.setTimeout(SILENCE_MS, () => socket.destroy());
  socket.write(`${method} ${url} HTTP/${version}\r\n${headers.map((header) => `${header}\r\n`).join("")}\r\n`);
  socket.write(body);
  await once(socket, "close");
  return withoutChance(Buffer.concat(chunks));
}

function isWhole(bytes: Buffer): boolean {
  const end = bytes.indexOf("\r\n\r\n");
  const length = /^content-length: (\d+)$/im.exec(bytes.subarray(0, Math.max(0, end)).toString())?.[1];
  return length !== undefined && bytes.length >= end + 4 + Number(length);
}

function withoutChance(bytes: Buffer): string {
  const end = bytes.indexOf("\r\n\r\n");
  const body = bytes.subarray(end + 4);
  const head = bytes.subarray(0, end).toString();
  const isRight = /^content-length: (\d+)$/im.exec(head)?.[1] === `${body.length}`;
  return [
    head
      .replace(/^content-length: \d+$/im, `content-length: ${isRight ? "right" : "wrong"}`)
      .replace(/^date: .*$/im, "date")
      .replaceAll(/\b([rt])=\d+/g, "$1=some"),
    body
      .toString()
      .replaceAll(/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g, "some id")
      .replaceAll(/"callId":"[\w-]{12}-\d+"/g, '"callId":"some id"')
      .replaceAll(/"(queueMs|wallMs|cpuMs|heapBytes|retryAfterMs)":[\d.e-]+/g, '"$1":0')
      .replaceAll(/there is more in \d+ ms/g, "there is more"),
  ].join("\n\n");
}

const JSON_HEADERS = ["host: localhost", "content-type: application/json"];

export function post(value: unknown, ...more: readonly string[]): Sent {
  const body = typeof value === "string" ? value : JSON.stringify(value);
  const headers = [...JSON_HEADERS, ...more, `content-length: ${Buffer.byteLength(body)}`];
  return { method: "POST", version: "1.1", headers, body };
}

/** Whether requests went through the framework. */
export async function countHandled(run: () => Promise<unknown>): Promise<number> {
  let handled = 0;
  const count = (): void => void handled++;
  subscribe(HANDLERS, count);
  await run();
  unsubscribe(HANDLERS, count);
  return handled;
}

const hostile = fc.constantFrom(
  "origin: http://evil.example",
  "origin: http://localhost",
  "origin: https://friend.example",
  "sec-fetch-site: cross-site",
  "sec-fetch-site: same-origin",
  "host: evil.example",
  "host: localhost",
  "host: [::1]:80",
  "host: [",
  "accept: text/html",
  "accept: */*",
  "accept: application/json;q=0.5, text/html",
  "accept: \u00ff",
  "idempotency-key: one two",
  'idempotency-key: "unfinished',
  "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
  "traceparent: nonsense",
  "connection: close",
  "connection: keep-alive",
  "connection: upgrade",
  "upgrade: websocket",
  "content-encoding: gzip",
  "authorization: Basic Zm9v",
  "authorization: Bearer",
  "content-type: text/plain",
  "content-length: 3",
  "content-length: 007",
  "transfer-encoding: chunked",
  "transfer-encoding: identity",
  "x-forwarded-for: 1.2.3.4",
  "te: trailers",
);
const type = fc.constantFrom(
  "application/json",
  "application/json",
  "application/json; charset=utf-8",
  "application/json; charset=latin1",
  "Application/JSON",
  "application/json, text/plain",
  "text/plain",
);
/** Requests with such bodies, most of them ordinary and others not. */
export function requestWith(body: fc.Arbitrary<Uint8Array | string>): fc.Arbitrary<Sent> {
  return fc
    .record({
      method: fc.constantFrom("POST", "POST", "POST", "GET", "PUT", "post"),
      version: fc.constantFrom("1.1", "1.1", "1.1", "1.0"),
      host: fc.constantFrom("localhost", "127.0.0.1:8080", "LOCALHOST.", "evil.example", ""),
      type,
      body,
      more: fc.array(hostile, { maxLength: 2 }),
    })
    .map(({ host, type: said, body: bytes, more, ...rest }): Sent => {
      const length = `content-length: ${Buffer.byteLength(bytes)}`;
      return { ...rest, headers: [`host: ${host}`, `content-type: ${said}`, length, ...more], body: bytes };
    });
}
