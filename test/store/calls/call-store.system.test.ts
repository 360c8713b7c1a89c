import { DatabaseSync } from "node:sqlite";
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readFilter } from "../../../src/store/calls/call-record.ts";
import { WAITING_MAX } from "../../../src/store/calls/call-store.ts";
import { rowOf } from "./kept-row.ts";
import { openStore, scratchFolder } from "./stored-calls.ts";

const BEGIN_MS = Date.now() - 60_000;
const TENANTS = ["acme", "beta", ""];

/** 1,000 calls of 5 tools and 3 tenants; every tenth has failed. */
const CALLS = Array.from({ length: 1_000 }, (_, at) => {
  const isFailed = at % 10 === 9;
  return {
    id: `c${at}`,
    tool: `tool${at % 5}`,
    tenant: TENANTS[at % 3] ?? "",
    code: isFailed ? (at % 20 === 9 ? "tool_error" : "wall_limit") : "ok",
    error: isFailed ? `Number ${at} has failed` : null,
    beginMs: BEGIN_MS + at,
  };
});
type Call = (typeof CALLS)[number];

const idsOf = (calls: readonly { readonly id: string }[]): readonly string[] => calls.map(({ id }) => id);
const expected = (fits: (call: Call) => boolean): readonly string[] => idsOf(CALLS.filter(fits)).toReversed();

describe("the store of calls", () => {
  test("lists exactly the calls that match a filter, newest first, also after a restart", async () => {
    const path = join(scratchFolder(), "state", "calls.sqlite");
    const before = openStore({ path });
    for (const call of CALLS) before.store.keep(rowOf(call), 0);
    const look = async ({ list }: Pick<typeof before, "list">): Promise<void> => {
      expect(idsOf(await list({ limit: 200 }))).toEqual(expected(() => true));
      expect(idsOf(await list({ code: "wall_limit" }))).toEqual(expected(({ code }) => code === "wall_limit"));
      expect(idsOf(await list({ code: "ok", limit: 200 }))).toEqual(expected(({ code }) => code === "ok"));
      expect(idsOf(await list({ tool: "tool3" }))).toEqual(expected(({ tool }) => tool === "tool3"));
      expect(idsOf(await list({ tools: ["tool1", "tool4"] }))).toEqual(expected(({ tool }) => /[14]$/.test(tool)));
      expect(idsOf(await list({ tools: ["tool*"], tenant: "acme" }))).toEqual(
        expected((call) => call.tenant === "acme"),
      );
      expect(idsOf(await list({ tenant: "" }))).toEqual(expected(({ tenant }) => tenant === ""));
      expect(idsOf(await list({ text: "NUMBER 19" }))).toEqual(expected(({ error }) => /Number 19/.test(error ?? "")));
      const [sinceMs, untilMs] = [BEGIN_MS + 100, BEGIN_MS + 299];
      const within = ({ beginMs }: Call): boolean => beginMs >= sinceMs && beginMs <= untilMs;
      expect(idsOf(await list({ since: new Date(sinceMs), until: untilMs }))).toEqual(expected(within));
      expect(
        idsOf(await list({ since: sinceMs, until: untilMs, tool: "tool4", tenant: "beta", code: "tool_error" })),
      ).toEqual(
        expected(
          (call) => within(call) && call.tool === "tool4" && call.tenant === "beta" && call.code === "tool_error",
        ),
      );
    };
    await expect.poll(() => before.store.status().kept).toBe(1_000);
    await look(before);
    await before.store.close();
    expect(before.store.status()).toMatchObject({ kept: 1_000, problem: null });
    expect(before.drops).toEqual([]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    await look(openStore({ path }));
  });

  test("pages do not change while newer calls come, and each call is on one of them", async () => {
    const { store } = openStore({ path: ":memory:" });
    for (const call of CALLS.slice(0, 120)) store.keep(rowOf({ ...call, beginMs: BEGIN_MS }), 0);
    const seen: string[] = [];
    let cursor: string | null = "";
    for (let at = 0; cursor !== null; at++) {
      const page: Awaited<ReturnType<typeof store.list>> = await store.list(
        readFilter({ limit: 50, ...(cursor === "" ? {} : { cursor }) }),
      );
      seen.push(...idsOf(page.calls));
      cursor = page.cursor;
      store.keep(rowOf({ id: `later${at}` }), 0);
    }
    expect(seen).toEqual(idsOf(CALLS.slice(0, 120)).toReversed());
  });

  test("the newest call of an id is found, within its tenant, with all that was kept", async () => {
    const { store } = openStore({ path: ":memory:" });
    const detail = {
      arguments: '{"n":12345678901234567890}',
      output: '{"success":false,"result":[1]}',
      outputAt: "/result",
      error: '{"code":"tool_error","message":"no"}',
      logs: '[["info","said"]]',
    };
    store.keep(rowOf({ id: "one", tenant: "acme", code: "tool_error", error: "no" }, detail), 0);
    store.keep(rowOf({ id: "one", tenant: "beta" }), 0);
    expect(await store.get("one", null)).toMatchObject({ format: "glovebox-call/1", tenant: "beta", detail: null });
    expect(await store.get("one", "acme")).toEqual({
      format: "glovebox-call/1",
      id: "one",
      tool: "add",
      version: "1.0.0",
      digest: "d".repeat(64),
      tenant: "acme",
      parentId: null,
      surface: "library",
      key: null,
      code: "tool_error",
      error: "no",
      beginMs: expect.any(Number),
      queueMs: 0.5,
      wallMs: 1.25,
      cpuMs: 0.75,
      bytes: 20,
      attempts: 1,
      sampled: 1,
      detail: {
        arguments: { n: "12345678901234567890" },
        output: [1],
        error: { code: "tool_error", message: "no" },
        logs: [{ level: "info", message: "said" }],
        asks: [],
        asksOmitted: 0,
        turns: [],
        explanation: null,
        isReplayable: false,
        omitted: [],
      },
    });
    expect(await store.get("other", null)).toBeUndefined();
  });

  test("calls and details that are too old are removed", async () => {
    const path = join(scratchFolder(), "calls.sqlite");
    const now = Date.now();
    const first = openStore({ path });
    const detail = { arguments: "{}" };
    for (let at = 0; at < 600; at++) first.store.keep(rowOf({ id: `old${at}`, beginMs: now - 90_000 }, detail), 0);
    first.store.keep(rowOf({ id: "known", beginMs: now - 30_000 }, detail), 0);
    first.store.keep(rowOf({ id: "new", beginMs: now }, detail), 0);
    await first.store.close();
    const { store, list } = openStore({ path, maxAgeMs: 75_000, detailAgeMs: 20_000 });
    await expect.poll(async () => idsOf(await list())).toEqual(["new", "known"]);
    await expect.poll(async () => (await store.get("known", null))?.detail).toBeNull();
    expect((await store.get("new", null))?.detail).not.toBeNull();
  });

  test("a file at its size loses its oldest calls, and no new ones", async () => {
    const path = join(scratchFolder(), "calls.sqlite");
    const { store, list, drops } = openStore({ path, maxBytes: 16 * 1024 * 1024 });
    const text = JSON.stringify("x".repeat(100_000));
    for (let at = 0; at < 400; at++) {
      store.keep(rowOf({ id: `c${at}`, beginMs: BEGIN_MS + at }, { output: text }), text.length);
      if (at % 40 === 39) await expect.poll(() => store.status().kept).toBe(at + 1);
    }
    expect(drops).toEqual([]);
    expect(statSync(path).size).toBeLessThanOrEqual(16 * 1024 * 1024);
    const [newest] = await list({ limit: 200 });
    expect(newest?.id).toBe("c399");
    expect((await store.get("c399", null))?.detail?.output).toHaveLength(100_000);
  });

  test("what comes faster than it is written is dropped, counted and told", async () => {
    const { store, drops } = openStore({ path: join(scratchFolder(), "calls.sqlite") });
    for (let at = 0; at < WAITING_MAX + 500; at++) store.keep(rowOf({ id: `c${at}` }), 0);
    await expect.poll(() => store.status().kept).toBe(WAITING_MAX);
    expect(store.status().dropped).toMatchObject({ busy: 500, full: 0 });
    await expect.poll(() => drops).toEqual([{ dropped: 500, reason: "busy", since: expect.any(String) }]);
  });

  test("values that wait are bounded, too", async () => {
    const { store } = openStore({ path: ":memory:" });
    const text = JSON.stringify("x".repeat(256 * 1024 - 2));
    for (let at = 0; at < 80; at++) store.keep(rowOf({ id: `c${at}` }, { output: text }), text.length);
    const { dropped } = store.status();
    expect(dropped.busy).toBeGreaterThan(10);
    await expect.poll(() => store.status().kept).toBe(80 - dropped.busy);
  });
});

describe("a file that cannot be used", () => {
  test("is tried again until it can, and what fits the queue is not lost", async () => {
    const folder = scratchFolder();
    writeFileSync(join(folder, "state"), "a file in the place of the folder");
    const { store, list, drops } = openStore({ path: join(folder, "state", "calls.sqlite") });
    store.keep(rowOf({ id: "first" }), 0);
    await expect(list()).rejects.toThrow("the store cannot be opened");
    await expect.poll(() => store.status().problem).toBe("the store cannot be opened");
    rmSync(join(folder, "state"));
    mkdirSync(join(folder, "state"));
    await expect.poll(() => store.status().kept).toBe(1);
    expect(store.status().problem).toBeNull();
    expect(idsOf(await list())).toEqual(["first"]);
    expect(drops).toEqual([]);
  });

  test("drops are counted by its problem when too many calls wait", async () => {
    const folder = scratchFolder();
    writeFileSync(join(folder, "state"), "a file in the place of the folder");
    const { store, drops } = openStore({ path: join(folder, "state", "calls.sqlite") });
    store.keep(rowOf({ id: "first" }), 0);
    await expect.poll(() => store.status().problem).not.toBeNull();
    for (let at = 0; at < WAITING_MAX + 9; at++) store.keep(rowOf({ id: `c${at}` }), 0);
    expect(store.status().dropped.unusable).toBe(10);
    await expect.poll(() => drops).toMatchObject([{ dropped: 10, reason: "unusable" }]);
    await store.close();
    expect(store.status().dropped.unusable).toBe(WAITING_MAX + 10);
  });

  test("a file that another process has locked delays calls, and loses none", async () => {
    const path = join(scratchFolder(), "calls.sqlite");
    const { store, list } = openStore({ path });
    store.keep(rowOf({ id: "first" }), 0);
    await list();
    const other = new DatabaseSync(path);
    other.exec("BEGIN IMMEDIATE");
    store.keep(rowOf({ id: "second" }), 0);
    expect(idsOf(await list())).toEqual(["first"]);
    await expect.poll(() => store.status().problem).not.toBeNull();
    other.exec("COMMIT");
    other.close();
    await expect.poll(() => store.status().kept).toBe(2);
    expect(idsOf(await list())).toEqual(["second", "first"]);
  });

  test("a damaged file is moved aside, and another one is begun", async () => {
    const path = join(scratchFolder(), "calls.sqlite");
    const before = openStore({ path });
    for (const call of CALLS) before.store.keep(rowOf(call), 0);
    await before.store.close();
    const file = openSync(path, "r+");
    const noise = Buffer.alloc(4_096, 0xa5);
    for (let at = 4_096; at < statSync(path).size; at += 4_096) writeSync(file, noise, 0, 4_096, at);
    closeSync(file);
    const { store, list, renewals, drops } = openStore({ path });
    store.keep(rowOf({ id: "after" }), 0);
    await expect.poll(() => store.status().kept).toBe(1);
    expect(idsOf(await list())).toEqual(["after"]);
    expect(renewals).toEqual(["corrupt"]);
    expect(drops).toEqual([]);
    expect(existsSync(`${path}.corrupt`)).toBe(true);
  });

  test("a file that is gone is replaced", async () => {
    const path = join(scratchFolder(), "calls.sqlite");
    const { store, list, renewals } = openStore({ path });
    store.keep(rowOf({ id: "first" }), 0);
    await list();
    for (const side of ["", "-wal", "-shm"]) rmSync(path + side, { force: true });
    store.keep(rowOf({ id: "second" }), 0);
    expect(idsOf(await list())).toEqual(["second"]);
    expect(renewals).toEqual(["gone"]);
    expect(existsSync(path)).toBe(true);
  });

  test("a file of another program is neither changed nor moved", async () => {
    const path = join(scratchFolder(), "calls.sqlite");
    const other = new DatabaseSync(path);
    other.exec("CREATE TABLE theirs (a); PRAGMA application_id = 7");
    other.close();
    const text = join(scratchFolder(), "notes.txt");
    writeFileSync(text, "These are notes, and no database of anybody.".repeat(100));
    for (const theirs of [path, text]) {
      const bytes = readFileSync(theirs);
      const { store, list } = openStore({ path: theirs });
      store.keep(rowOf({ id: "first" }), 0);
      await expect(list()).rejects.toThrow("the store");
      await store.close();
      expect(readFileSync(theirs)).toEqual(bytes);
    }
  });
});
