import { afterEach, describe, expect, test, vi } from "vitest";
import { type Held, Sessions } from "../../../src/server/mcp/sessions.ts";

const NEVER = new AbortController().signal;

function open(limits: { perKey?: number; total?: number; idleMs?: number } = {}) {
  const sessions = new Sessions<Held>({ perKey: 2, total: 4, idleMs: 60_000, ...limits });
  const ended: string[] = [];
  /** Opens a session of a key where there is room; says whether there was. */
  const add = (id: string, key: string | null = "a"): boolean => {
    if (!sessions.makeRoom(key)) return false;
    sessions.add(id, key, { end: () => void ended.push(id) });
    return true;
  };
  /** Uses a session until the answered function is called. */
  const use = (id: string, use: "request" | "stream", key: string | null = "a"): (() => void) => {
    const until = new AbortController();
    expect(sessions.use(id, key, use, until.signal)).toBeDefined();
    return () => until.abort();
  };
  return { sessions, ended, add, use };
}

afterEach(() => vi.useRealTimers());

describe("sessions", () => {
  test("are found by their name and the key that opened them, and by no other", () => {
    const { sessions, add } = open();
    add("1", "a");
    add("2", null);
    expect(sessions.use("1", "a", "request", NEVER)).toBeDefined();
    expect(sessions.use("2", null, "request", NEVER)).toBeDefined();
    expect(sessions.use("1", "b", "request", NEVER)).toBeUndefined();
    expect(sessions.use("1", null, "request", NEVER)).toBeUndefined();
    expect(sessions.use("2", "a", "request", NEVER)).toBeUndefined();
    expect(sessions.use("3", "a", "request", NEVER)).toBeUndefined();
  });

  test("make room for others of their key, the one used least recently first", () => {
    const { ended, add, use } = open();
    add("1");
    add("2");
    use("1", "request")();
    expect(add("3")).toBe(true);
    expect(ended).toEqual(["2"]);
  });

  test("make no room while they answer a request", () => {
    const { ended, add, use } = open();
    add("1");
    add("2");
    const leave = [use("1", "request"), use("2", "request")];
    expect(add("3")).toBe(false);
    leave[0]?.();
    expect(add("3")).toBe(true);
    expect(ended).toEqual(["1"]);
  });

  test("make room last where their client listens", () => {
    const { ended, add, use } = open();
    add("1");
    use("1", "stream");
    add("2");
    add("3");
    expect(ended).toEqual(["2"]);
    use("3", "stream");
    add("4");
    expect(ended).toEqual(["2", "1"]);
  });

  test("of the key that has most make room where there are too many of all", () => {
    const { ended, add } = open({ perKey: 10 });
    add("1", "a");
    for (const id of ["2", "3", "4"]) add(id, "b");
    expect(add("5", "c")).toBe(true);
    expect(ended).toEqual(["2"]);
  });

  test("end when nobody has used them for long", () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
    const { sessions, ended, add, use } = open({ perKey: 4, idleMs: 1_000 });
    for (const id of ["1", "2", "3"]) add(id);
    const leave = use("2", "stream");
    vi.advanceTimersByTime(900);
    use("3", "request")();
    vi.advanceTimersByTime(200);
    expect(ended).toEqual(["1"]);
    vi.advanceTimersByTime(2_000);
    expect(ended).toEqual(["1", "3"]);
    leave();
    vi.advanceTimersByTime(2_000);
    expect(ended).toEqual(["1", "3", "2"]);
    expect(sessions.size).toBe(0);
  });

  test("end all together, and leave no timer behind", () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    const { sessions, ended, add } = open();
    add("1");
    add("2", "b");
    sessions.close();
    expect(ended).toEqual(["1", "2"]);
    expect(vi.getTimerCount()).toBe(0);
  });
});
