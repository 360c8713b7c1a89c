import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type CallState,
  type ClaimedCall,
  DEFAULT_DURABLE,
  type DurableCapacity,
  type KeptCall,
  type KeptPast,
  LOST_MAX,
  type MadeCall,
  type NewWait,
  type WaitKind,
} from "../../../../../src/kernel/store/calls/durable/durable-call.ts";
import type {
  CallPlace,
  DurableAnswer,
  DurableStep,
  JournalLine,
  NoteTarget,
} from "../../../../../src/kernel/store/calls/durable/durable-step.ts";

/* Calls that wait, in each place where they are kept: each step is done whole, and its answer is what it has become. */

/** A place of calls that wait, whose clock is the time of each step. */
export interface DurablePlace {
  take(step: DurableStep): DurableAnswer | Promise<DurableAnswer>;
  /** Removes what was kept long enough by then. */
  sweep(nowMs: number): unknown;
  /** Bytes as they were counted, and as they are. */
  books(): readonly [counted: number, real: number] | Promise<readonly [counted: number, real: number]>;
  /** Time goes by while other servers are there. */
  pass?(fromMs: number, toMs: number): Promise<void>;
}

type OpenPlace = (room: DurableCapacity) => DurablePlace | Promise<DurablePlace>;

export const APPROVAL: Extract<WaitKind, { readonly kind: "approval" }> = {
  kind: "approval",
  tool: "pay",
  version: "v",
  arguments: { amount: 1 },
  digest: "d",
  message: "large",
  schema: null,
  from: "tool",
  self: false,
  by: [],
};
const SIGNAL: WaitKind = { kind: "signal", name: "payment" };

/** Steps of a test, at a time that it lets go by. */
export function stepsOf(place: Pick<DurablePlace, "take"> & Partial<DurablePlace>, startMs = 1_000_000) {
  let nowMs = startMs;
  const take = async (step: DurableStep): Promise<DurableAnswer> => place.take(step);
  return {
    take,
    sweep: (atMs: number) => place.sweep?.(atMs),
    books: () => place.books?.() ?? NO_BOOKS,
    async pass(ms: number): Promise<void> {
      await place.pass?.(nowMs, nowMs + ms);
      nowMs += ms;
    },
    pause(id: string, waits: readonly WaitKind[], more: Partial<PauseMore> = {}): Promise<DurableAnswer> {
      const {
        leg = 0,
        from = 1,
        tenant = "",
        parent = null,
        wakeMs = null,
        expiresMs = null,
        journal = NO_JOURNAL,
        begun,
      } = more;
      const script = { hash: "h", text: "script" };
      const own = { callId: id, tool: "pay", tenant, key: null, parent, undoesOnFailure: false };
      const made = { ...own, createdMs: nowMs, record: "{}", script };
      const list = waits.map((wait, at): NewWait => ({ step: at + from, wait, openedMs: nowMs, expiresMs }));
      const isFirst = leg === 0 || begun !== undefined;
      const first = isFirst ? { ...made, expiresMs: nowMs + 1_000_000, ...(begun && { begun }) } : null;
      return take({
        kind: "pause",
        call: { id, leg, made: first, runs: "{}", plan: "", journal, waits: list, wakeMs },
        nowMs,
      });
    },
    claim: (id: string, holder = "a") => take({ kind: "claim", id, holder, nowMs }),
    start(id: string, holder = "a"): Promise<DurableAnswer> {
      const script = { hash: "h", text: "script" };
      const own = { callId: id, tool: "pay", tenant: "", key: null, parent: null, undoesOnFailure: true };
      const made = { ...own, createdMs: nowMs, expiresMs: nowMs + 1_000_000, record: "{}", script };
      const call = { id, leg: 1, made, runs: "{}", plan: "", journal: NO_JOURNAL, waits: [], wakeMs: null };
      return take({ kind: "start", call, holder, nowMs });
    },
    end: (id: string, leg: number, output = "1", isFailed = false) =>
      take({ kind: "end", id, leg, isFailed, result: resultOf(isFailed, output), nowMs }),
    undo: (id: string, after: string | null = null, within?: CallPlace) =>
      take({ kind: "undo", id, tenant: null, after, ...(within === undefined ? {} : { within }), nowMs }),
    effects: (id: string) => take({ kind: "effects", id, toolCalls: ["tools.call"] }),
    append: (id: string, leg: number, lines: readonly JournalLine[]) =>
      take({ kind: "append", id, leg, lines, runs: '{"run":1}', nowMs }),
    settle: (id: string, decision: "happened" | "did_not_happen", wait: number, data: string | null = null) =>
      take({
        kind: "decide",
        id,
        tenant: null,
        decisions: [{ arguments: null, data, wait, decision, by: "ada" }],
        nowMs,
      }),
    release: (id: string, leg: number) => take({ kind: "release", id, leg, nowMs }),
    cancel: (id: string) => take({ kind: "cancel", id, tenant: null, message: "enough", nowMs }),
    due: (most = 10) => take({ kind: "due", most, nowMs }),
    notes: (targets: readonly NoteTarget[], most: number) => take({ kind: "notes", targets, most, nowMs }),
    standing: () => take({ kind: "standing", nowMs }),
    signal: (id: string, payload: unknown) =>
      take({ kind: "signal", id, tenant: null, name: "payment", payload: JSON.stringify(payload), by: null, nowMs }),
    approve: (id: string, wait = 1, digest = "d", by = "ada") =>
      take({
        kind: "decide",
        id,
        tenant: null,
        decisions: [{ ...MADE, wait, decision: "approve", digest, by }],
        nowMs,
      }),
    refuse: (id: string, wait = 1) =>
      take({ kind: "decide", id, tenant: null, decisions: [{ ...MADE, wait, decision: "refuse", by: "ada" }], nowMs }),
    async call(id: string): Promise<KeptCall> {
      const answer = await take({ kind: "get", id, tenant: null });
      if (answer.kind !== "call") throw new Error("there is no such call");
      return answer.call;
    },
  };
}

const NO_BOOKS = [0, 0] as const;

interface PauseMore {
  readonly leg: number;
  /** Step of the first wait. */
  readonly from: number;
  readonly tenant: string;
  readonly parent: { readonly id: string; readonly step: number; readonly leg?: number } | null;
  readonly wakeMs: number | null;
  readonly expiresMs: number | null;
  readonly journal: string;
  readonly begun: MadeCall["begun"];
}

const MADE = { arguments: null, data: null };
const NO_JOURNAL = '{"asks":[],"answers":[]}';

function resultOf(isFailed: boolean, output: string): string {
  return `{"success":${!isFailed},"output":${output},"error":null,"metadata":{}}`;
}

export function claimed(answer: DurableAnswer): ClaimedCall {
  if (answer.kind !== "claimed") throw new Error(`the call is ${answer.kind}`);
  return answer.call;
}

export function describeDurableCalls(openPlace: OpenPlace, numRuns: number): void {
  const open = async (room: Partial<DurableCapacity> = {}) => stepsOf(await openPlace({ ...DEFAULT_DURABLE, ...room }));

  describe("a call that waits", () => {
    test("is ready when it is decided, and one process takes it", async () => {
      const store = await open();
      await store.pause("c_1", [APPROVAL]);
      expect(await store.call("c_1")).toMatchObject({
        state: "paused",
        legs: 0,
        waits: [{ state: "open", digest: "d" }],
      });
      expect((await store.claim("c_1")).kind).toBe("lost");
      await store.approve("c_1");
      expect(claimed(await store.claim("c_1"))).toMatchObject({
        leg: 1,
        script: "script",
        waits: [{ state: "approved" }],
      });
      expect((await store.claim("c_1", "b")).kind).toBe("lost");
    });

    test("is decided by the digest of what is shown; the same again is the same, and another one a conflict", async () => {
      const store = await open();
      await store.pause("c_1", [APPROVAL]);
      expect((await store.approve("c_1", 1, "other")).kind).toBe("conflict");
      expect((await store.approve("c_1")).kind).toBe("done");
      expect((await store.approve("c_1")).kind).toBe("done");
      expect((await store.refuse("c_1")).kind).toBe("conflict");
    });

    test("hears of what was settled while it ran, in the order in which it was", async () => {
      const store = await open();
      await store.pause("c_1", [APPROVAL, APPROVAL, APPROVAL]);
      await store.approve("c_1", 3);
      await store.claim("c_1");
      await store.refuse("c_1", 1);
      expect(await store.pause("c_1", [APPROVAL, APPROVAL], { leg: 1 })).toMatchObject({
        kind: "settled",
        waits: [{ step: 1 }],
      });
      expect((await store.call("c_1")).waits.map(({ step, state }) => `${step} ${state}`)).toEqual([
        "3 approved",
        "1 refused",
        "2 open",
      ]);
    });

    test("gets signals that came before it waited for them, each once", async () => {
      const store = await open();
      await store.pause("c_1", [APPROVAL]);
      await store.signal("c_1", 1);
      await store.signal("c_1", 2);
      await store.approve("c_1");
      await store.claim("c_1");
      await store.pause("c_1", [SIGNAL], { leg: 1, from: 2 });
      expect(await store.call("c_1")).toMatchObject({ state: "ready" });
      const { waits } = claimed(await store.claim("c_1"));
      expect(waits.find(({ step }) => step === 2)).toMatchObject({ state: "arrived", settled: { data: "1" } });
    });

    test("is ready at its time, and what nobody decides expires", async () => {
      const store = await open();
      const until = new Date(1_005_000).toISOString();
      await store.pause("c_1", [{ kind: "time", until }]);
      await store.pause("c_2", [APPROVAL], { expiresMs: 1_004_000 });
      await store.pause("c_3", [APPROVAL], { wakeMs: 1_003_000 });
      expect(await store.due()).toMatchObject({ ids: [], wakeMs: 1_003_000 });
      await store.pass(5_000);
      expect(await store.due()).toMatchObject({ ids: ["c_1", "c_2", "c_3"] });
      const states = await Promise.all(["c_1", "c_2", "c_3"].map(async (id) => (await store.call(id)).waits[0]?.state));
      expect(states).toEqual(["due", "expired", "open"]);
    });

    // Found by the simulation: a run may end while its pause is stored.
    test("ends with the run that has paused, and not with an earlier one", async () => {
      const store = await open();
      await store.pause("c_1", [APPROVAL]);
      await store.approve("c_1");
      const { leg } = claimed(await store.claim("c_1"));
      await store.pause("c_1", [SIGNAL], { leg, from: 2 });
      expect((await store.end("c_1", leg - 1)).kind).toBe("lost");
      expect(await store.call("c_1")).toMatchObject({ state: "paused" });
      expect((await store.end("c_1", leg)).kind).toBe("done");
      expect(await store.call("c_1")).toMatchObject({ state: "ended" });
    });

    test("is counted, with the age of the oldest approval, until that is decided or needless", async () => {
      const store = await open();
      const oldestMs = async (): Promise<number | null> => {
        const answer = await store.standing();
        return answer.kind === "standing" ? answer.oldestApprovalMs : Number.NaN;
      };
      await store.pause("c_1", [SIGNAL]);
      expect(await oldestMs()).toBeNull();
      await store.pass(1_000);
      await store.pause("c_2", [APPROVAL]);
      await store.pass(1_000);
      await store.pause("c_3", [APPROVAL, APPROVAL]);
      expect(await store.standing()).toMatchObject({ paused: 3, inDoubt: 0, oldestApprovalMs: 1_000 });
      await store.approve("c_2");
      expect(await store.standing()).toMatchObject({ paused: 2, oldestApprovalMs: 0 });
      await store.approve("c_3", 1);
      await store.claim("c_3");
      await store.pass(1_000);
      await store.pause("c_3", [APPROVAL], { leg: 1, from: 2 });
      expect(await oldestMs()).toBe(1_000);
      await store.cancel("c_3");
      expect(await oldestMs()).toBeNull();
    });

    test("ends once, and tells the call that waits for it, also where that was stored later", async () => {
      const store = await open();
      await store.pause("c_child", [APPROVAL], { parent: { id: "c_parent", step: 1 } });
      await store.approve("c_child");
      await store.claim("c_child");
      expect((await store.end("c_child", 1)).kind).toBe("done");
      expect((await store.end("c_child", 1)).kind).toBe("lost");
      await store.pause("c_parent", [{ kind: "call", id: "c_child" }]);
      expect(await store.call("c_parent")).toMatchObject({ state: "ready", waits: [{ state: "done" }] });
    });

    test("goes on where its process is gone and nothing was under way, and not before", async () => {
      const store = await open();
      await store.pause("c_1", [APPROVAL]);
      await store.approve("c_1");
      await store.claim("c_1");
      expect(await store.due()).toMatchObject({ ids: [] });
      await store.pass(60_000);
      expect(await store.due()).toMatchObject({ ids: ["c_1"], lost: [{ id: "c_1", state: "ready" }] });
      expect(claimed(await store.claim("c_1"))).toMatchObject({ leg: 2, waits: [{ state: "approved" }] });
    });

    test("ends sooner where its executors are lost, which may be its own doing", async () => {
      const store = await open();
      await store.pause("c_1", [APPROVAL]);
      await store.approve("c_1");
      for (let leg = 1; leg <= 5; leg++) {
        expect((await store.call("c_1")).state).toBe("ready");
        await store.claim("c_1");
        await store.take({ kind: "abandon", id: "c_1", leg, losses: 4, nowMs: 1_000_000 });
      }
      expect(JSON.parse((await store.call("c_1")).result ?? "")).toMatchObject({ error: { code: "outcome_unknown" } });
    });

    test("ends where its processes are lost again and again", async () => {
      const store = await open();
      await store.pause("c_1", [APPROVAL]);
      await store.approve("c_1");
      for (let run = 0; run < LOST_MAX; run++) {
        await store.claim("c_1");
        await store.pass(60_000);
        await store.due();
      }
      expect(JSON.parse((await store.call("c_1")).result ?? "")).toMatchObject({
        error: { code: "outcome_unknown" },
        metadata: { callId: "c_1", tool: "pay" },
      });
    });

    test("is refused beyond its tenant's room, which ended calls do not fill", async () => {
      const store = await open({ perTenant: 2 });
      await store.pause("c_1", [APPROVAL], { tenant: "a" });
      await store.pause("c_2", [APPROVAL], { tenant: "a" });
      expect(await store.pause("c_3", [APPROVAL], { tenant: "a" })).toMatchObject({ kind: "full" });
      expect((await store.pause("c_4", [APPROVAL], { tenant: "b" })).kind).toBe("done");
      await store.approve("c_1");
      await store.claim("c_1");
      await store.end("c_1", 1);
      expect((await store.pause("c_3", [APPROVAL], { tenant: "a" })).kind).toBe("done");
      expect(
        await store.pause(
          "c_5",
          Array.from({ length: 33 }, () => APPROVAL),
          { tenant: "c" },
        ),
      ).toMatchObject({ kind: "full" });
    });

    test("goes on in the turn of its tenant, however many calls of another are ready", async () => {
      const store = await open();
      for (let at = 0; at < 20; at++) await store.pause(`c_a${at}`, [APPROVAL], { tenant: "a" });
      await store.pause("c_b", [APPROVAL], { tenant: "b" });
      for (let at = 0; at < 20; at++) await store.approve(`c_a${at}`);
      await store.approve("c_b");
      const due = await store.due(4);
      expect(due.kind === "ready" && due.ids).toContain("c_b");
    });

    /* More than one look settles, in each place. */
    test("is settled by the clock in the turn of its tenant, however many calls of another are due before it", async () => {
      const store = await open();
      for (let at = 0; at < 300; at++)
        await store.pause(`c_a${at}`, [APPROVAL], { tenant: "a", wakeMs: 1_001_000 + at });
      await store.pause("c_b", [APPROVAL], { tenant: "b", wakeMs: 1_002_000 });
      await store.pass(5_000);
      const due = await store.due(4);
      expect(due.kind === "ready" && due.ids).toContain("c_b");
    });

    test("is removed, with its script, a day after its end", async () => {
      const store = await open();
      await store.pause("c_1", [APPROVAL]);
      await store.cancel("c_1");
      await store.sweep(1_000_000);
      expect((await store.call("c_1")).state).toBe("ended");
      await store.sweep(1_000_000 + DEFAULT_DURABLE.keepMs);
      expect((await store.take({ kind: "get", id: "c_1", tenant: null })).kind).toBe("missing");
    });
  });

  describe("an effect that was under way when the process of its call was lost", () => {
    const ask = (method: string) => ({ capability: "charge", method, args: "{}" });
    const part = (asks: readonly unknown[], answers: readonly unknown[], kept = 0): string =>
      JSON.stringify({ asks, answers, kept, late: [], together: [] });
    const answer = (step: number, asked: number) => ({ step, asked, nowMs: 5, ok: true, payload: `"${step}"` });

    /** A call whose run has had the answer of its first effect, and has begun the second. */
    async function lost() {
      const store = await open();
      await store.pause("c_1", [APPROVAL], { from: 0 });
      await store.approve("c_1", 0);
      await store.claim("c_1");
      await store.append("c_1", 1, [
        { seq: 1, part: part([ask("first")], []), begins: null },
        { seq: 2, part: null, begins: 1 },
      ]);
      const rest = [
        { seq: 3, part: part([ask("second")], [answer(1, 1)]), begins: null },
        { seq: 4, part: null, begins: 2 },
      ];
      await store.append("c_1", 1, rest);
      expect((await store.append("c_1", 1, rest)).kind).toBe("done");
      await store.pass(60_000);
      await store.due();
      return store;
    }

    test("is in doubt: a person says what became of it, and one that was answered is not", async () => {
      const store = await lost();
      expect(await store.call("c_1")).toMatchObject({
        state: "in_doubt",
        waits: [
          { kind: "approval", state: "approved" },
          { kind: "outcome", step: 2, state: "open", asked: "charge.second", arguments: "{}" },
        ],
      });
      expect(await store.due()).toMatchObject({ ids: [] });
      expect(await store.approve("c_1", 2)).toMatchObject({ kind: "conflict" });
    });

    test("has its answer in the journal where it happened", async () => {
      const store = await lost();
      expect((await store.settle("c_1", "happened", 2, '{"id":1915883588174806058}')).kind).toBe("done");
      expect((await store.settle("c_1", "happened", 2, '{"id":1915883588174806058}')).kind).toBe("done");
      expect(await store.settle("c_1", "did_not_happen", 2)).toMatchObject({ kind: "conflict" });
      const { journal, plan, runs } = claimed(await store.claim("c_1"));
      expect(JSON.parse(journal)).toMatchObject({
        asks: [{ method: "first" }, { method: "second" }],
        answers: [
          { step: 1, payload: '"1"' },
          { step: 2, payload: '{"id":1915883588174806058}' },
        ],
      });
      expect(JSON.parse(plan)).toMatchObject({
        asked: 2,
        responses: [
          [1, 5],
          [2, 1_060_000],
        ],
      });
      expect(runs).toBe('{"run":1}');
    });

    test("is asked for again where it did not happen", async () => {
      const store = await lost();
      await store.settle("c_1", "did_not_happen", 2);
      const { journal } = claimed(await store.claim("c_1"));
      expect(JSON.parse(journal)).toMatchObject({ asks: [{}, { method: "second" }], answers: [{ step: 1 }] });
    });

    test("of a run that another one has followed is not begun", async () => {
      const store = await lost();
      expect((await store.append("c_1", 1, [{ seq: 5, part: null, begins: 3 }])).kind).toBe("lost");
    });

    test("is not in doubt where it is a call that is kept: its end is heard", async () => {
      const store = await open();
      await store.start("c_1");
      await store.append("c_1", 1, [
        { seq: 1, part: part([ask("call")], []), begins: null },
        { seq: 2, part: null, begins: 1 },
      ]);
      await store.pause("c_child", [SIGNAL], { parent: { id: "c_1", step: 1, leg: 1 } });
      await store.pass(60_000);
      await store.due();
      expect(await store.call("c_1")).toMatchObject({ state: "ready", waits: [{ kind: "call", state: "open" }] });
      expect(claimed(await store.claim("c_1"))).toMatchObject({ leg: 2, waits: [{ kind: "call", id: "c_child" }] });
      await store.signal("c_child", 1);
      await store.claim("c_child");
      await store.end("c_child", 1, "7");
      const heard = await store.pause("c_1", [{ kind: "call", id: "c_child" }], { leg: 2 });
      expect(heard).toMatchObject({ kind: "settled", waits: [{ id: "c_child", state: "done" }] });
    });

    test("begins no call that is kept once another run has followed", async () => {
      const store = await open();
      await store.start("c_1");
      const parent = { id: "c_1", step: 1, leg: 1 };
      await store.pass(60_000);
      await store.due();
      expect((await store.pause("c_late", [SIGNAL], { parent })).kind).toBe("lost");
      await store.claim("c_1");
      expect((await store.pause("c_later", [SIGNAL], { parent })).kind).toBe("lost");
      expect((await store.pause("c_new", [SIGNAL], { parent: { ...parent, leg: 2 } })).kind).toBe("done");
    });

    test("stays unknown where nobody says so: the call ends", async () => {
      const store = await lost();
      await store.pass(1_000_000);
      await store.due();
      expect(JSON.parse((await store.call("c_1")).result ?? "")).toMatchObject({ error: { code: "outcome_unknown" } });
    });

    test("is told with an answer whose order was not known when it was first stored", async () => {
      const store = await open();
      await store.pause("c_1", [APPROVAL], { from: 0 });
      await store.approve("c_1", 0);
      await store.claim("c_1");
      await store.append("c_1", 1, [
        { seq: 1, part: part([ask("a"), ask("b")], [answer(2, 2)]), begins: null },
        { seq: 2, part: part([ask("c")], [answer(2, 3), answer(1, 3)]), begins: null },
      ]);
      await store.pass(60_000);
      await store.due();
      const { journal } = claimed(await store.claim("c_1"));
      expect(JSON.parse(journal)).toMatchObject({ answers: [answer(2, 3), answer(1, 3)] });
    });
  });

  describe("what is kept of calls that wait", () => {
    test("is stored once, however often the same pause is asked for, and whatever became of the call meanwhile", async () => {
      const store = await open();
      expect((await store.pause("c_1", [APPROVAL])).kind).toBe("done");
      expect((await store.pause("c_1", [APPROVAL])).kind).toBe("done");
      await store.approve("c_1");
      expect((await store.pause("c_1", [APPROVAL])).kind).toBe("done");
      expect(await store.call("c_1")).toMatchObject({ state: "ready", waits: [{ state: "approved" }] });
      await store.claim("c_1");
      expect((await store.pause("c_1", [APPROVAL])).kind).toBe("done");
      expect((await store.call("c_1")).state).toBe("running");
    });

    test("is not ended, and not released, by a run that another one has followed", async () => {
      const store = await open();
      await store.pause("c_1", [APPROVAL]);
      await store.approve("c_1");
      const { leg } = claimed(await store.claim("c_1"));
      expect((await store.release("c_1", leg)).kind).toBe("done");
      const again = claimed(await store.claim("c_1", "b"));
      expect((await store.end("c_1", leg)).kind).toBe("lost");
      expect((await store.release("c_1", leg)).kind).toBe("lost");
      expect(await store.call("c_1")).toMatchObject({ state: "running", legs: 1 });
      expect((await store.end("c_1", again.leg)).kind).toBe("done");
    });

    test("is not decided after its time, however late anybody looks at the clock", async () => {
      const store = await open();
      await store.pause("c_1", [APPROVAL], { expiresMs: 1_004_000 });
      await store.pass(5_000);
      expect(await store.approve("c_1")).toMatchObject({ kind: "conflict", message: "it is expired already" });
      expect(await store.call("c_1")).toMatchObject({ state: "ready", waits: [{ state: "expired" }] });
    });

    test("ends as cancelled when it has waited as long as it is kept", async () => {
      const store = await open();
      await store.pause("c_1", [APPROVAL]);
      await store.pass(1_000_000);
      expect(await store.approve("c_1")).toMatchObject({
        kind: "conflict",
        message: "the call does not wait for it any more",
      });
      expect(JSON.parse((await store.call("c_1")).result ?? "")).toMatchObject({ error: { code: "cancelled" } });
    });

    test("is decided by the same again only where it is the same who decides", async () => {
      const store = await open();
      await store.pause("c_1", [APPROVAL]);
      await store.approve("c_1");
      expect((await store.approve("c_1", 1, "d", "ada")).kind).toBe("done");
      expect(await store.approve("c_1", 1, "d", "bob")).toMatchObject({
        kind: "conflict",
        message: "it is approved already",
      });
    });

    test("goes with the call that waits for it", async () => {
      const store = await open();
      await store.pause("c_child", [APPROVAL], { parent: { id: "c_parent", step: 1 } });
      await store.pause("c_parent", [{ kind: "call", id: "c_child" }]);
      await store.cancel("c_parent");
      expect(await store.call("c_child")).toMatchObject({ state: "ended", waits: [{ state: "void" }] });
    });

    test("goes where the call that waited for it has ended before it was stored", async () => {
      const store = await open();
      await store.pause("c_parent", [APPROVAL]);
      await store.cancel("c_parent");
      await store.pause("c_child", [APPROVAL], { parent: { id: "c_parent", step: 1 } });
      expect(await store.call("c_child")).toMatchObject({ state: "ended" });
    });

    test("keeps the digits of long integers in a child's result, a signal and a call's result", async () => {
      const store = await open();
      await store.pause("c_child", [APPROVAL], { parent: { id: "c_parent", step: 1 } });
      await store.pause("c_parent", [{ kind: "call", id: "c_child" }, SIGNAL]);
      await store.approve("c_child");
      await store.end("c_child", claimed(await store.claim("c_child")).leg, "1915883588174806058");
      const payload = "[1915883588174806058]";
      await store.take({
        kind: "signal",
        id: "c_parent",
        tenant: null,
        name: "payment",
        payload,
        by: null,
        nowMs: 1_000_000,
      });
      const [child, signal] = claimed(await store.claim("c_parent")).waits;
      expect(child?.settled?.data).toContain('"output":1915883588174806058');
      expect(signal?.settled?.data).toBe(payload);
      expect((await store.call("c_child")).result).toContain('"output":1915883588174806058');
      expect((await store.call("c_parent")).waits[1]?.settled?.data).toEqual(["1915883588174806058"]);
    });

    test("stays ready by its own timer, whatever is sent to it before it goes on", async () => {
      const store = await open();
      await store.pause("c_1", [APPROVAL], { wakeMs: 1_003_000 });
      await store.pass(5_000);
      expect(await store.due()).toMatchObject({ ids: ["c_1"] });
      await store.signal("c_1", 1);
      expect(await store.due()).toMatchObject({ ids: ["c_1"] });
    });

    test("of a tenant has a limit also once it has ended: the oldest results go", async () => {
      const store = await open({ perTenant: 2 });
      for (const id of ["c_1", "c_2", "c_3"]) {
        await store.pause(id, [APPROVAL], { tenant: "a" });
        await store.cancel(id);
        await store.pass(1);
      }
      await expect(store.call("c_1")).rejects.toThrow();
      expect([await store.call("c_2"), await store.call("c_3")]).toMatchObject([
        { state: "ended" },
        { state: "ended" },
      ]);
    });

    test("is refused beyond the bytes of a call, and then nothing of it is stored", async () => {
      const store = await open({ callBytes: 4_000 });
      expect((await store.pause("c_1", [APPROVAL], { journal: "x".repeat(4_000) })).kind).toBe("full");
      await expect(store.call("c_1")).rejects.toThrow();
      expect((await store.pause("c_1", [APPROVAL])).kind).toBe("done");
      expect(await store.signal("c_1", "x".repeat(4_000))).toMatchObject({ kind: "conflict" });
    });

    test("is listed in pages that stay short, and without results", async () => {
      const store = await open();
      const long: WaitKind = { ...APPROVAL, arguments: "x".repeat(1_500_000) };
      for (const id of ["c_1", "c_2", "c_3", "c_4"]) await store.pause(id, [long]);
      const query = { states: null, tenant: null, tool: null, limit: 50, cursor: null };
      const first = await store.take({ kind: "list", query });
      if (first.kind !== "page") throw new Error(first.kind);
      expect(first.page.calls.map(({ id }) => id)).toEqual(["c_4", "c_3"]);
      const next = await store.take({ kind: "list", query: { ...query, cursor: first.page.cursor } });
      expect(next).toMatchObject({ page: { calls: [{ id: "c_2", result: null }, { id: "c_1" }], cursor: null } });
    });

    test("is listed by one state or several, the newest first, page by page", async () => {
      const store = await open();
      for (const id of ["c_1", "c_2", "c_3", "c_4"]) await store.pause(id, [SIGNAL]);
      await store.signal("c_2", 1);
      await store.cancel("c_3");
      const list = async (states: readonly CallState[], cursor: string | null = null) => {
        const query = { states, tenant: "", tool: "pay", limit: 2, cursor };
        const answer = await store.take({ kind: "list", query });
        if (answer.kind !== "page") throw new Error(answer.kind);
        return { ids: answer.page.calls.map(({ id }) => id), cursor: answer.page.cursor };
      };
      expect((await list(["paused"])).ids).toEqual(["c_4", "c_1"]);
      expect((await list(["ready", "ended"])).ids).toEqual(["c_3", "c_2"]);
      const first = await list(["paused", "ready"]);
      expect(first.ids).toEqual(["c_4", "c_2"]);
      expect((await list(["paused", "ready"], first.cursor)).ids).toEqual(["c_1"]);
    });
  });

  const answered = (step: number, payload: string) => ({ step, asked: step, nowMs: step, ok: true, payload });
  const past = async (store: Awaited<ReturnType<typeof open>>, id: string): Promise<KeptPast | undefined> => {
    const answer = await store.take({ kind: "get", id, tenant: null, isWhole: true });
    return answer.kind === "call" ? answer.past : undefined;
  };

  describe("a call, for its readers,", () => {
    const isoOf = (ms: number): string => new Date(1_000_000 + ms).toISOString();

    test("has its runs: who ran each, when, and why it ended", async () => {
      const store = await open();
      await store.pause("c_1", [APPROVAL], { leg: 1, begun: { holder: "a", atMs: 999_000 } });
      await store.approve("c_1");
      await store.pass(1_000);
      await store.claim("c_1", "b");
      await store.pass(1_000);
      await store.pause("c_1", [SIGNAL], { leg: 2, from: 2 });
      await store.signal("c_1", 1);
      await store.claim("c_1", "c");
      // It found no place in the queue.
      await store.release("c_1", 3);
      await store.claim("c_1", "d");
      await store.pass(60_000);
      await store.due();
      await store.claim("c_1", "e");
      await store.end("c_1", 5);
      const runs = (await past(store, "c_1"))?.runs.map(({ number, holder, outcome }) => [number, holder, outcome]);
      expect(runs).toEqual([
        [1, "a", "paused"],
        [2, "b", "paused"],
        [3, "d", "lost"],
        [4, "e", "ended"],
      ]);
      expect((await past(store, "c_1"))?.runs.slice(0, 2)).toMatchObject([
        { begunAt: isoOf(-1_000), endedAt: isoOf(0) },
        { begunAt: isoOf(1_000), endedAt: isoOf(2_000) },
      ]);
      expect((await store.call("c_1")).legs).toBe(4);
      const [counted, real] = await store.books();
      expect(counted).toBe(real);
    });

    test("has the last 20 of its runs", async () => {
      const store = await open();
      await store.start("c_1");
      for (let leg = 1; leg <= 25; leg++) {
        await store.pause("c_1", [SIGNAL], { leg, from: leg });
        await store.signal("c_1", leg);
        await store.claim("c_1");
      }
      const runs = (await past(store, "c_1"))?.runs ?? [];
      expect([runs.length, runs[0]?.number, runs.at(-1)]).toMatchObject([20, 7, { number: 26, endedAt: null }]);
    });

    test("has what it has asked for, with what came of it, while it runs, waits, and after its end", async () => {
      const store = await open();
      const ask = (method: string, args = "{}") => ({ capability: "fetch", method, args });
      const failed = { ...answered(2, '{"code":"tool_error","message":"no"}'), ok: false };
      const journal = {
        asks: [ask("request"), ask("post"), ask("put"), ask("long", "x".repeat(5_000))],
        answers: [failed, answered(1, JSON.stringify("secret"))],
      };
      const part = { ...journal, kept: 0, late: [], together: [] };
      await store.start("c_1");
      await store.append("c_1", 1, [{ seq: 1, part: JSON.stringify(part), begins: 3 }]);
      const asks = (args: string | null) => [
        { step: 1, capability: "fetch", method: "request", args: "{}", answer: "ok", answeredMs: 1 },
        { step: 2, capability: "fetch", method: "post", args: "{}", answer: "failed", answeredMs: 2 },
        { step: 3, capability: "fetch", method: "put", args: "{}", answer: null, answeredMs: null },
        { step: 4, capability: "fetch", method: "long", args, answer: null, answeredMs: null },
      ];
      expect((await past(store, "c_1"))?.asks).toEqual(asks(null));
      await store.pause("c_1", [SIGNAL], { leg: 1, from: 5, journal: JSON.stringify(journal) });
      expect((await past(store, "c_1"))?.asks).toEqual(asks(null));
      await store.cancel("c_1");
      expect((await past(store, "c_1"))?.asks).toEqual(asks(null));
      expect(await store.undo("c_1")).toMatchObject({ kind: "conflict", message: "the call has called no tools" });
      const [counted, real] = await store.books();
      expect(counted).toBe(real);
    });
  });

  describe("a call that is undone", () => {
    const called = (name: string) => ({
      capability: "tools",
      method: "call",
      args: `{"name":"${name}","arguments":{"id":1915883588174806058}}`,
    });
    const PART = {
      kept: 0,
      late: [],
      together: [],
      asks: [called("a"), called("b"), { capability: "fetch", method: "request", args: "{}" }, called("c")],
      answers: [answered(2, '{"ok":true,"output":7}'), answered(1, '{"ok":true}'), answered(3, "{}")],
    };
    const LINE = { seq: 1, part: JSON.stringify(PART), begins: null };

    test("was stored before it began, and is undone with its end where it has failed", async () => {
      const store = await open();
      expect((await store.start("c_1")).kind).toBe("done");
      expect([(await store.start("c_1")).kind, (await store.start("c_1", "b")).kind]).toEqual(["done", "lost"]);
      await store.append("c_1", 1, [LINE]);
      expect(await store.undo("c_1")).toMatchObject({
        kind: "conflict",
        message: expect.stringContaining("not ended"),
      });
      await store.end("c_1", 1, "null", true);
      expect(await store.call("c_1.undo")).toMatchObject({ state: "ready", tool: "pay", parentId: null });
      expect(await store.undo("c_1")).toMatchObject({ kind: "done", call: { id: "c_1.undo", state: "ready" } });
      expect(await store.undo("c_1.undo")).toMatchObject({ kind: "conflict" });
      expect(await store.undo("c_2")).toEqual({ kind: "missing" });
      const [counted, real] = await store.books();
      expect(counted).toBe(real);
      expect(claimed(await store.claim("c_1.undo"))).toMatchObject({ leg: 1, record: "{}", runs: "", script: null });
    });

    test("is undone once where somebody asks, and has what it asked for, the last answer first", async () => {
      const store = await open();
      await store.start("c_1");
      await store.append("c_1", 1, [LINE]);
      await store.end("c_1", 1);
      await expect(store.call("c_1.undo")).rejects.toThrow("no such call");
      for (let times = 0; times < 2; times++) expect((await store.undo("c_1")).kind).toBe("done");
      const values = { input: '"{\\"id\\":1915883588174806058}"' };
      expect(await store.effects("c_1")).toMatchObject({
        effects: [
          { step: 4, isAnswered: false, tool: { name: "c" } },
          { step: 3, capability: "fetch", method: "request", isAnswered: true, args: "{}", tool: null },
          { step: 1, tool: { name: "a", ...values, output: '"null"' } },
          { step: 2, tool: { name: "b", ...values, output: '"7"' } },
        ],
      });
    });

    test("tells which call below it has waited for, and that one's undoing settles the wait of its own undoing", async () => {
      const store = await open();
      for (const id of ["c_1", "c_2"]) {
        await store.start(id);
        await store.append(id, 1, [LINE]);
      }
      const below = { kind: "call", id: "c_2" } as const;
      await store.pause("c_1", [below], {
        leg: 1,
        journal: JSON.stringify({ asks: PART.asks, answers: PART.answers }),
      });
      await store.end("c_2", 1);
      await store.cancel("c_1");
      const { effects } = (await store.effects("c_1")) as Extract<DurableAnswer, { readonly kind: "effects" }>;
      expect(effects.map(({ tool }) => tool?.keptAs)).toEqual([null, undefined, "c_2", null]);
      await store.undo("c_1");
      await store.claim("c_1.undo");
      const within = { id: "c_1.undo", step: 1 };
      expect(await store.undo("c_2", null, within)).toMatchObject({ call: { id: "c_2.undo", parentId: "c_1.undo" } });
      expect((await store.pause("c_1.undo", [{ kind: "call", id: "c_2.undo" }], { leg: 1 })).kind).toBe("done");
      expect(await store.call("c_1.undo")).toMatchObject({ state: "paused" });
      await store.claim("c_2.undo");
      await store.end("c_2.undo", 1);
      expect(await store.call("c_1.undo")).toMatchObject({ state: "ready", waits: [{ state: "done" }] });
      const [counted, real] = await store.books();
      expect(counted).toBe(real);
    });

    test("is undone by another call after the last one has ended, where somebody asks for that, up to four times", async () => {
      const store = await open();
      await store.start("c_1");
      await store.append("c_1", 1, [LINE]);
      await store.end("c_1", 1);
      await store.undo("c_1");
      expect(await store.undo("c_1", "c_1.undo")).toMatchObject({ call: { id: "c_1.undo", state: "ready" } });
      let last = "c_1.undo";
      for (let nth = 2; nth <= 5; nth++) {
        await store.claim(last);
        await store.end(last, 1);
        expect(await store.undo("c_1")).toMatchObject({ call: { id: last, result: resultOf(false, "1") } });
        const next = { call: { id: `c_1.undo.${nth}`, callId: `c_1.undo.${nth}`, state: "ready" } };
        expect(await store.undo("c_1", last)).toMatchObject(next);
        expect(await store.undo("c_1", last)).toMatchObject(next);
        last = next.call.id;
      }
      await store.claim(last);
      await store.end(last, 1);
      expect(await store.undo("c_1", last)).toMatchObject({ kind: "conflict" });
      expect(await store.undo("c_1.undo.2")).toMatchObject({ kind: "conflict" });
      const [counted, real] = await store.books();
      expect(counted).toBe(real);
    });

    test("names a call of a tool whose arguments were not kept, and not the tool", async () => {
      const store = await open();
      await store.start("c_1");
      const part = { ...PART, asks: [{ ...called("a"), args: "300:digest" }], answers: [answered(1, '{"ok":true}')] };
      await store.append("c_1", 1, [{ ...LINE, part: JSON.stringify(part) }]);
      await store.end("c_1", 1);
      expect((await store.undo("c_1")).kind).toBe("done");
      expect(await store.effects("c_1")).toMatchObject({
        effects: [{ step: 1, capability: "tools", method: "call", isAnswered: true, args: "300:digest", tool: null }],
      });
    });

    test("keeps nothing to undo where it has called no tool", async () => {
      const store = await open();
      await store.start("c_1");
      await store.end("c_1", 1, "null", true);
      expect(await store.undo("c_1")).toMatchObject({ kind: "conflict", message: "the call has called no tools" });
      expect(await store.effects("c_1")).toEqual({ kind: "effects", effects: [] });
    });
  });

  test("whatever is done in whatever order, a call has one holder, is never lost, and a wait is settled once", async () => {
    const ids = ["c_1", "c_2"];
    const step = fc.record({
      what: fc.constantFrom("pause", "claim", "end", "due", "approve", "refuse", "signal", "cancel", "pass"),
      id: fc.constantFrom(...ids),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const store = await open();
        for (const id of ids) await store.pause(id, [APPROVAL, SIGNAL]);
        const legs = new Map<string, number>();
        const settled = new Map<string, string>();
        for (const { what, id } of steps) {
          const leg = legs.get(id) ?? 0;
          if (what === "pause") await store.pause(id, [APPROVAL, SIGNAL], { leg: Math.max(1, leg) });
          else if (what === "claim") {
            const answer = await store.claim(id);
            if (answer.kind === "claimed") {
              expect(answer.call.leg).toBe(leg + 1);
              legs.set(id, leg + 1);
            }
          } else if (what === "end") await store.end(id, leg);
          else if (what === "cancel") await store.cancel(id);
          else if (what === "pass") await store.pass(1_000);
          else if (what === "due") await store.due();
          else if (what === "signal") await store.signal(id, 1);
          else await store[what as "approve" | "refuse"](id);
          const [counted, real] = await store.books();
          expect(counted).toBe(real);
          for (const one of ids) {
            const call = await store.call(one);
            expect(call.state === "ended").toBe(call.result !== null);
            const [approval] = call.waits.filter(({ step: at }) => at === 1);
            const before = settled.get(one);
            if (before !== undefined) expect(approval?.state).toBe(before);
            if (approval !== undefined && approval.state !== "open") settled.set(one, approval.state);
          }
        }
      }),
      { numRuns },
    );
  });
}
