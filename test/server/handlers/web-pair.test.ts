import { pipeline } from "node:stream/promises";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { openPair } from "../../../src/server/handlers/web-pair.ts";

const MIB = 1024 * 1024;
const get = (signal?: AbortSignal) => new Request("http://x/a", signal === undefined ? {} : { signal });
const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn++) await nextTurn();
};

test("a response has the status, the headers and the body that were written", async () => {
  const { outgoing, response } = openPair(get(), "/a");
  outgoing.writeHead(201, { "x-one": "1", "set-cookie": ["a=1", "b=2"] }).end("made");
  const { status, headers } = await response;
  expect([status, headers.get("x-one"), headers.getSetCookie()]).toEqual([201, "1", ["a=1", "b=2"]]);
  expect(headers.get("connection")).toBeNull();
  expect(await (await response).text()).toBe("made");
});

test.each([
  ["HEAD", 200],
  ["GET", 204],
  ["GET", 304],
])("a response to %s with %d has no body", async (method, status) => {
  const { outgoing, response } = openPair(new Request("http://x/", { method }), "/");
  outgoing.writeHead(status).end();
  expect([(await response).status, await (await response).text()]).toEqual([status, ""]);
});

test("what is written first is there before the response ends", async () => {
  const { outgoing, response } = openPair(get(), "/a");
  outgoing.writeHead(200).write("one");
  const reader = (await response).body?.getReader();
  expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe("one");
  outgoing.end("two");
  expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe("two");
  expect((await reader?.read())?.done).toBe(true);
});

test("a body that nobody reads waits, and goes on when it is read", async () => {
  const { outgoing, response } = openPair(get(), "/a");
  outgoing.writeHead(200);
  for (let at = 0; at < 4; at++) outgoing.write(Buffer.alloc(MIB));
  await turns();
  expect(outgoing.writableNeedDrain).toBe(true);
  expect(outgoing.writableLength).toBeGreaterThan(2 * MIB);
  outgoing.end();
  expect((await (await response).arrayBuffer()).byteLength).toBe(4 * MIB);
  await turns();
  expect([outgoing.writableFinished, outgoing.closed]).toEqual([true, true]);
});

test("a response that is piped goes on as its reader makes room", async () => {
  const { outgoing, response } = openPair(get(), "/a");
  outgoing.writeHead(200).write(Buffer.alloc(MIB));
  const text = (await response).bytes();
  await turns();
  await pipeline([Buffer.alloc(MIB), Buffer.alloc(MIB), Buffer.alloc(1)], outgoing);
  expect((await text).byteLength).toBe(3 * MIB + 1);
});

test("a reader that cancels closes the connection", async () => {
  const { outgoing, response } = openPair(get(), "/a");
  outgoing.writeHead(200).write("one");
  await (await response).body?.cancel();
  await turns();
  expect([outgoing.req.socket.destroyed, outgoing.closed, outgoing.writableFinished]).toEqual([true, true, false]);
});

test("an aborted request closes the connection, before it is answered and after", async () => {
  const [early, late] = [new AbortController(), new AbortController()];
  const first = openPair(get(early.signal), "/a");
  early.abort();
  expect((await first.response).status).toBe(499);
  const second = openPair(get(late.signal), "/a");
  second.outgoing.writeHead(200).write("one");
  const response = await second.response;
  late.abort();
  await expect(response.text()).rejects.toThrow("This operation was aborted");
  await turns();
  expect([first.incoming.socket.destroyed, second.incoming.socket.destroyed]).toEqual([true, true]);
});

test("what is not read of a request is given up when its response ends", async () => {
  let isCancelled = false;
  const body = new ReadableStream({
    pull: (sink) => sink.enqueue(new Uint8Array(10)),
    cancel: () => void (isCancelled = true),
  });
  const { outgoing, response } = openPair(new Request("http://x/", { method: "POST", body, duplex: "half" }), "/");
  outgoing.writeHead(413).end();
  await (await response).text();
  await turns();
  expect(isCancelled).toBe(true);
});
