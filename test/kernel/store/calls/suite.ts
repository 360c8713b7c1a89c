import { expect, test } from "vitest";
import { readFilter } from "../../../../src/kernel/store/calls/call-record.ts";
import { WAITING_MAX } from "../../../../src/kernel/store/calls/call-store.ts";
import { rowOf } from "./kept-row.ts";
import { openStore, type StorePlace } from "./stored-calls.ts";

export const BEGIN_MS = Date.now() - 60_000;
const TENANTS = ["acme", "beta", ""];

/** 1,000 calls of 5 tools and 3 tenants; every tenth has failed. */
export const CALLS = Array.from({ length: 1_000 }, (_, at) => {
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

export const idsOf = (calls: readonly { readonly id: string }[]): readonly string[] => calls.map(({ id }) => id);
const expected = (fits: (call: Call) => boolean): readonly string[] => idsOf(CALLS.filter(fits)).toReversed();

/** What a store of calls promises. `placed`: a new place for one. */
export function describeCallStore(placed: () => StorePlace | Promise<StorePlace>): void {
  test("lists exactly the calls that match a filter, newest first, also after a restart", async () => {
    const place = await placed();
    const before = openStore(place);
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
      expect(idsOf(await list({ text: "number", code: "ok" }))).toEqual([]);
      expect(idsOf(await list({ text: "number 1", tenant: "acme", tools: ["tool*"] }))).toEqual(
        expected(({ error, tenant }) => tenant === "acme" && /Number 1/.test(error ?? "")),
      );
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
    await look(openStore(place));
  });

  test("pages do not change while newer calls come, and each call is on one of them", async () => {
    const { store } = openStore(await placed());
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
    const { store } = openStore(await placed());
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
    const place = await placed();
    const now = Date.now();
    const first = openStore(place);
    const detail = { arguments: "{}" };
    for (let at = 0; at < 600; at++) first.store.keep(rowOf({ id: `old${at}`, beginMs: now - 900_000 }, detail), 0);
    first.store.keep(rowOf({ id: "known", beginMs: now - 300_000 }, detail), 0);
    first.store.keep(rowOf({ id: "new", beginMs: now }, detail), 0);
    await expect.poll(() => first.store.status().kept).toBe(602);
    await first.store.close();
    const { store, list } = openStore({ ...place, maxAgeMs: 750_000, detailAgeMs: 200_000 });
    await expect.poll(async () => idsOf(await list())).toEqual(["new", "known"]);
    await expect.poll(async () => (await store.get("known", null))?.detail).toBeNull();
    expect((await store.get("new", null))?.detail).not.toBeNull();
  });

  test("what comes faster than it is written is dropped, counted and told", async () => {
    const { store, drops } = openStore(await placed());
    for (let at = 0; at < WAITING_MAX + 500; at++) store.keep(rowOf({ id: `c${at}` }), 0);
    await expect.poll(() => store.status().kept).toBe(WAITING_MAX);
    expect(store.status().dropped).toMatchObject({ busy: 500, full: 0 });
    await expect.poll(() => drops).toEqual([{ dropped: 500, reason: "busy", since: expect.any(String) }]);
  });

  test("values that wait are bounded, too", async () => {
    const { store } = openStore(await placed());
    const text = JSON.stringify("x".repeat(256 * 1024 - 2));
    for (let at = 0; at < 80; at++) store.keep(rowOf({ id: `c${at}` }, { output: text }), text.length);
    const { dropped } = store.status();
    expect(dropped.busy).toBeGreaterThan(10);
    await expect.poll(() => store.status().kept).toBe(80 - dropped.busy);
  });
}
