import { describe, expect, test } from "vitest";
import { type FakeHost, openRealm } from "./in-realm.ts";

interface Asked {
  readonly url: string;
  readonly headers: readonly (readonly [string, string])[];
}

/** A response of the server: its parts, and how it begins. */
interface Stream {
  readonly parts?: readonly string[];
  readonly status?: number;
  readonly type?: string;
  readonly refused?: string;
}

/** A host whose server gives these responses, one for each connection, and what it was asked. */
function server(...streams: readonly Stream[]): { readonly host: FakeHost; readonly asked: Asked[] } {
  const asked: Asked[] = [];
  let parts: string[] = [];
  const chunk = () => ({ part: { text: parts.shift() ?? "" }, more: parts.length > 0 });
  return {
    asked,
    host: (method, args) => {
      if (method === "read") return { value: chunk() };
      if (method !== "request") return { value: null };
      const stream = streams[asked.push(args) - 1];
      if (stream === undefined) return undefined;
      if (stream.refused !== undefined) return { code: stream.refused, message: "the reason" };
      const { status = 200, type = "text/event-stream" } = stream;
      parts = [...(stream.parts ?? [""])];
      const head = { url: "http://other.b/x", status, statusText: "", redirected: true, opaque: false };
      return { value: { ...head, headers: [["content-type", type]], body: chunk() } };
    },
  };
}

/** Runs the body of an async function with `EventSource`, and gives what it returns. */
async function run(body: string, { host }: { readonly host: FakeHost }): Promise<unknown> {
  const before = `
    const until = (source, type, count = 1) => new Promise((resolve) => source.addEventListener(type, () => { if (--count === 0) resolve(); }));
    const told = (event) => [event.type, event.data, event.lastEventId];`;
  using realm = await openRealm(`async () => { const EventSource = __node.EventSource; ${body} }`, { host, before });
  return realm.call();
}

/** The events of a stream, however it is cut. */
const EVENTS = `
  const source = new EventSource("http://a.b/events");
  const got = [];
  for (const type of ["message", "tick"]) source.addEventListener(type, (event) => got.push(told(event)));
  await until(source, "error");
  source.close();
  return got;`;

describe("a stream of events", () => {
  const text = [
    "\ufeff: a comment\n\n",
    "data: one\r\n\r\n",
    "data:two\rdata\rdata:  three\r\r",
    "event: tick\nid: 7\ndata: {}\n\n",
    "id\ndata: after\n\n",
    "id: no\0t\nretry: soon\nnonsense: x\ndata: last\n\n",
    "event: tick\n\ndata: cut off",
  ].join("");
  const events = [
    ["message", "one", ""],
    ["message", "two\n\n three", ""],
    ["tick", "{}", "7"],
    ["message", "after", ""],
    ["message", "last", ""],
  ];

  test.for([1, 2, 7, 1_000])("is read as the standard says, in parts of %i characters", async (size) => {
    const parts = text.match(new RegExp(`[^]{1,${size}}`, "g")) ?? [];
    expect(await run(EVENTS, server({ parts }))).toEqual(events);
  });

  test("comes from the origin of the response, after a redirect", async () => {
    const body = `const source = new EventSource("http://a.b/"); let origin; source.onmessage = (event) => { origin = event.origin; source.close(); };
      await until(source, "message"); return [origin, source.url, source.readyState];`;
    expect(await run(body, server({ parts: ["data: x\n\n"] }))).toEqual(["http://other.b", "http://a.b/", 2]);
  });

  test("gives no event after it is closed", async () => {
    const body = `const source = new EventSource("http://a.b/"); const got = []; source.onmessage = ({ data }) => { got.push(data); source.close(); };
      await until(source, "message"); await new Promise((resolve) => setTimeout(resolve, 50_000)); return got;`;
    const world = server({ parts: ["data: 1\n\ndata: 2\n\n", "data: 3\n\n"] });
    expect(await run(body, world)).toEqual(["1"]);
    expect(world.asked).toHaveLength(1);
  });

  test("with an event of more than a mebibyte ends", async () => {
    const body = `const source = new EventSource("http://a.b/"); let message; source.onerror = (event) => { message = event.message; };
      await until(source, "error"); return [message, source.readyState];`;
    const world = server({ parts: ["data: ", ...Array.from({ length: 5 }, () => "x".repeat(300_000))] });
    expect(await run(body, world)).toEqual(["an event has more than 1048576 characters", 2]);
  });
});

describe("a connection", () => {
  /** Counts connections until the source gives up, with the time of each on the call's clock. */
  const untilClosed = `
    const source = new EventSource("http://a.b/");
    const at = [];
    source.onopen = () => at.push(Date.now() - 1_000);
    const states = [];
    await new Promise((resolve) => { source.onerror = ({ message }) => {
      states.push(source.readyState);
      if (source.readyState === 2) resolve(message);
    }; });
    return { at, states };`;

  test("that ends is made again after the server's time, with the last id", async () => {
    const world = server({ parts: ["retry: 500\nid: a é\ndata: x\n\n"] }, { parts: ["data: y\n\n"] }, { status: 204 });
    expect(await run(untilClosed, world)).toEqual({ at: [0, 500], states: [0, 0, 2] });
    expect(world.asked.map(({ headers }) => headers.find(([name]) => name === "last-event-id")?.[1])).toEqual([
      undefined,
      "a Ã©",
      "a Ã©",
    ]);
    expect(world.asked[0]?.headers).toContainEqual(["accept", "text/event-stream"]);
  });

  test("that gives nothing is made again less and less often, and never at once", async () => {
    const empty = { parts: ["retry: 0\n\n"] };
    const world = server(empty, empty, empty, empty, { status: 500 });
    expect(await run(untilClosed, world)).toEqual({ at: [0, 100, 300, 700], states: [0, 0, 0, 0, 2] });
  });

  test("that fails is made again", async () => {
    const world = server({ refused: "capability_failed" }, { status: 404 });
    expect(await run(untilClosed, world)).toEqual({ at: [], states: [0, 2] });
    expect(world.asked).toHaveLength(2);
  });

  test.for<readonly [string, Stream]>([
    ["is denied", { refused: "capability_denied" }],
    ["exceeds a limit", { refused: "capability_limit" }],
    ["is answered with another type", { type: "text/html; charset=utf-8" }],
    ["is answered with another status", { status: 503 }],
  ])("that %s is not made again", async ([, stream]) => {
    const world = server(stream, {});
    expect(await run(untilClosed, world)).toEqual({ at: [], states: [2] });
    expect(world.asked).toHaveLength(1);
  });
});
