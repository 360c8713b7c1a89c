import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type KeptCall, type KeptLimits, KeptStreams, lifetimeOf } from "../../../src/server/mcp/kept-streams.ts";

const LIMITS: KeptLimits = {
  perKey: { streams: 3, characters: 100 },
  total: { streams: 5, characters: 150 },
  events: 4,
  awayMs: 1_000,
};
const SESSION = {};

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

interface Made extends KeptCall {
  readonly leave: () => void;
}

function makeCall(key: string, id = 1): Made {
  const connection = new AbortController();
  const request = new Request("http://localhost/", { method: "POST", signal: connection.signal });
  return { session: SESSION, key, request, id, leave: () => connection.abort() };
}

describe("streams of calls that are kept", () => {
  const begin = (kept: KeptStreams, id: string, call: KeptCall) => {
    const stream = kept.begin(id, call);
    if (stream === null) throw new Error("there is no room");
    return stream;
  };

  test("outlast their connection for a while, in which their call goes on", () => {
    const kept = new KeptStreams(LIMITS);
    const call = makeCall("a");
    begin(kept, "one", call);
    call.leave();
    vi.advanceTimersByTime(999);
    expect([lifetimeOf(call.request).aborted, kept.find("one", "a")?.id]).toEqual([false, "one"]);
    vi.advanceTimersByTime(1);
    expect([lifetimeOf(call.request).aborted, kept.find("one", "a")?.id]).toEqual([true, undefined]);
  });

  test("wait anew after each connection, and not while there is one", () => {
    const kept = new KeptStreams(LIMITS);
    const call = makeCall("a");
    const stream = begin(kept, "one", call);
    call.leave();
    vi.advanceTimersByTime(900);
    const [second, third] = [new AbortController(), new AbortController()];
    stream.attach(second.signal);
    stream.attach(third.signal);
    second.abort();
    vi.advanceTimersByTime(5_000);
    expect(kept.size).toBe(1);
    third.abort();
    vi.advanceTimersByTime(1_000);
    expect([kept.size, lifetimeOf(call.request).aborted]).toEqual([0, true]);
  });

  test("are found for the key alone whose call it is", () => {
    const kept = new KeptStreams(LIMITS);
    begin(kept, "one", makeCall("a"));
    expect([kept.find("one", "b"), kept.find("one", null)]).toEqual([undefined, undefined]);
  });

  test("forget their oldest events beyond a number of them", () => {
    const kept = new KeptStreams(LIMITS);
    const stream = begin(kept, "one", makeCall("a"));
    for (const json of ["1", "2", "3", "4", "5", "6"]) kept.add(stream, json, 0);
    expect(stream.events.map(({ json }) => json)).toEqual(["3", "4", "5", "6"]);
    expect(stream.characters).toBe(4);
  });

  test("make room for others of their key when their call has ended, the oldest first", () => {
    const kept = new KeptStreams(LIMITS);
    const [first, second] = ["one", "two", "three"].map((id) => begin(kept, id, makeCall("a")));
    expect(kept.begin("four", makeCall("a"))).toBeNull();
    for (const stream of [second, first]) if (stream !== undefined) stream.isFinished = true;
    begin(kept, "four", makeCall("a"));
    expect(["one", "two", "three", "four"].map((id) => kept.find(id, "a")?.id)).toEqual([
      undefined,
      "two",
      "three",
      "four",
    ]);
  });

  test("of the key that holds most make room where all hold too much", () => {
    const kept = new KeptStreams(LIMITS);
    for (const [id, key, characters] of [
      ["one", "a", 40],
      ["two", "a", 50],
      ["three", "b", 50],
    ] as const) {
      const stream = begin(kept, id, makeCall(key));
      kept.add(stream, "x".repeat(characters), 0);
      stream.isFinished = true;
    }
    const stream = begin(kept, "four", makeCall("c"));
    expect(kept.add(stream, "x".repeat(20), 10)).toBe(1);
    expect([kept.find("one", "a"), kept.find("two", "a")?.id, kept.find("three", "b")?.id]).toEqual([
      undefined,
      "two",
      "three",
    ]);
  });

  test("are forgotten where an event has no room, and their call lasts as long as its connection", () => {
    const kept = new KeptStreams(LIMITS);
    const call = makeCall("a");
    expect(kept.add(begin(kept, "one", call), "x".repeat(60), 41)).toBeNull();
    expect([kept.size, lifetimeOf(call.request).aborted]).toEqual([0, false]);
    call.leave();
    expect(lifetimeOf(call.request).aborted).toBe(true);
  });

  test("leave nothing behind, and no timer", () => {
    const kept = new KeptStreams(LIMITS);
    for (let round = 0; round < 20; round++) {
      const call = makeCall("a");
      const stream = begin(kept, `stream ${round}`, call);
      kept.add(stream, "x".repeat(100), 0);
      call.leave();
      kept.forget(stream);
    }
    expect([kept.size, vi.getTimerCount()]).toEqual([0, 0]);
  });
});
