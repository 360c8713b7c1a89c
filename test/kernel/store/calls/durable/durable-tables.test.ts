import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type CallState,
  type ClaimedCall,
  DEFAULT_DURABLE,
  type DurableAnswer,
  type DurableCapacity,
  type DurableStep,
  type JournalLine,
  type KeptCall,
  LOST_MAX,
  type NewWait,
  type WaitKind,
} from "../../../../../src/kernel/store/calls/durable/durable-call.ts";
import { DURABLE_SQL } from "../../../../../src/kernel/store/calls/durable/durable-layout.ts";
import { DurableTables } from "../../../../../src/kernel/store/calls/durable/durable-tables.ts";

/* Calls that wait, as the tables keep them: each step is one transaction, and its answer what it has become. */

const APPROVAL: WaitKind = {
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

function open(room: Partial<DurableCapacity> = {}) {
  const database = new DatabaseSync(":memory:");
  database.exec(DURABLE_SQL);
  const tables = new DurableTables(database, { ...DEFAULT_DURABLE, ...room });
  let nowMs = 1_000_000;
  const take = (step: DurableStep): DurableAnswer => tables.take([step])[0] ?? { kind: "missing" };
  return {
    tables,
    take,
    pass: (ms: number) => (nowMs += ms),
    pause(id: string, waits: readonly WaitKind[], more: Partial<PauseMore> = {}): DurableAnswer {
      const {
        leg = 0,
        from = 1,
        tenant = "",
        parent = null,
        wakeMs = null,
        expiresMs = null,
        journal = '{"asks":[],"answers":[]}',
      } = more;
      const script = { hash: "h", text: "script" };
      const own = { callId: id, tool: "pay", tenant, key: null, parent, undoesOnFailure: false };
      const made = { ...own, createdMs: nowMs, record: "{}", script };
      const list = waits.map((wait, at): NewWait => ({ step: at + from, wait, openedMs: nowMs, expiresMs }));
      const first = leg === 0 ? { ...made, expiresMs: nowMs + 1_000_000 } : null;
      return take({
        kind: "pause",
        call: { id, leg, made: first, runs: "{}", plan: "", journal, waits: list, wakeMs },
        nowMs,
      });
    },
    claim: (id: string, holder = "a") => take({ kind: "claim", id, holder, nowMs }),
    end: (id: string, leg: number, output = "1") =>
      take({
        kind: "end",
        id,
        leg,
        isFailed: false,
        result: `{"success":true,"output":${output},"error":null,"metadata":{}}`,
        nowMs,
      }),
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
    /** Bytes as triggers have counted them, and as they are. */
    books: () => Number(database.prepare("SELECT bytes FROM durable_total").get()?.["bytes"]),
    counted() {
      const sum = (sql: string) => Number(database.prepare(sql).get()?.["bytes"]);
      const scripts = sum("SELECT coalesce(sum(octet_length(text)), 0) AS bytes FROM durable_script");
      return scripts + sum("SELECT coalesce(sum(bytes), 0) AS bytes FROM durable");
    },
    call(id: string): KeptCall {
      const answer = take({ kind: "get", id, tenant: null });
      if (answer.kind !== "call") throw new Error("there is no such call");
      return answer.call;
    },
  };
}

interface PauseMore {
  readonly leg: number;
  /** Step of the first wait. */
  readonly from: number;
  readonly tenant: string;
  readonly parent: { readonly id: string; readonly step: number } | null;
  readonly wakeMs: number | null;
  readonly expiresMs: number | null;
  readonly journal: string;
}

const MADE = { arguments: null, data: null };

function claimed(answer: DurableAnswer): ClaimedCall {
  if (answer.kind !== "claimed") throw new Error(`the call is ${answer.kind}`);
  return answer.call;
}

describe("a call that waits", () => {
  test("is ready when it is decided, and one process takes it", () => {
    const store = open();
    store.pause("c_1", [APPROVAL]);
    expect(store.call("c_1")).toMatchObject({ state: "paused", legs: 0, waits: [{ state: "open", digest: "d" }] });
    expect(store.claim("c_1").kind).toBe("lost");
    store.approve("c_1");
    expect(claimed(store.claim("c_1"))).toMatchObject({ leg: 1, script: "script", waits: [{ state: "approved" }] });
    expect(store.claim("c_1", "b").kind).toBe("lost");
  });

  test("is decided by the digest of what is shown; the same again is the same, and another one a conflict", () => {
    const store = open();
    store.pause("c_1", [APPROVAL]);
    expect(store.approve("c_1", 1, "other").kind).toBe("conflict");
    expect(store.approve("c_1").kind).toBe("done");
    expect(store.approve("c_1").kind).toBe("done");
    expect(store.refuse("c_1").kind).toBe("conflict");
  });

  test("hears of what was settled while it ran, in the order in which it was", () => {
    const store = open();
    store.pause("c_1", [APPROVAL, APPROVAL, APPROVAL]);
    store.approve("c_1", 3);
    store.claim("c_1");
    store.refuse("c_1", 1);
    expect(store.pause("c_1", [APPROVAL, APPROVAL], { leg: 1 })).toMatchObject({
      kind: "settled",
      waits: [{ step: 1 }],
    });
    expect(store.call("c_1").waits.map(({ step, state }) => `${step} ${state}`)).toEqual([
      "3 approved",
      "1 refused",
      "2 open",
    ]);
  });

  test("gets signals that came before it waited for them, each once", () => {
    const store = open();
    store.pause("c_1", [APPROVAL]);
    store.signal("c_1", 1);
    store.signal("c_1", 2);
    store.approve("c_1");
    store.claim("c_1");
    store.pause("c_1", [SIGNAL], { leg: 1, from: 2 });
    expect(store.call("c_1")).toMatchObject({ state: "ready" });
    const { waits } = claimed(store.claim("c_1"));
    expect(waits.find(({ step }) => step === 2)).toMatchObject({ state: "arrived", settled: { data: "1" } });
  });

  test("is ready at its time, and what nobody decides expires", () => {
    const store = open();
    const until = new Date(1_005_000).toISOString();
    store.pause("c_1", [{ kind: "time", until }]);
    store.pause("c_2", [APPROVAL], { expiresMs: 1_004_000 });
    store.pause("c_3", [APPROVAL], { wakeMs: 1_003_000 });
    expect(store.due()).toMatchObject({ ids: [], wakeMs: 1_003_000 });
    store.pass(5_000);
    expect(store.due()).toMatchObject({ ids: ["c_1", "c_2", "c_3"] });
    const states = ["c_1", "c_2", "c_3"].map((id) => store.call(id).waits[0]?.state);
    expect(states).toEqual(["due", "expired", "open"]);
  });

  test("ends once, and tells the call that waits for it, also where that was stored later", () => {
    const store = open();
    store.pause("c_child", [APPROVAL], { parent: { id: "c_parent", step: 1 } });
    store.approve("c_child");
    store.claim("c_child");
    expect(store.end("c_child", 1).kind).toBe("done");
    expect(store.end("c_child", 1).kind).toBe("lost");
    store.pause("c_parent", [{ kind: "call", id: "c_child" }]);
    expect(store.call("c_parent")).toMatchObject({ state: "ready", waits: [{ state: "done" }] });
  });

  test("goes on where its process is gone and nothing was under way, and not before", () => {
    const store = open();
    store.pause("c_1", [APPROVAL]);
    store.approve("c_1");
    store.claim("c_1");
    expect(store.due()).toMatchObject({ ids: [] });
    store.pass(60_000);
    expect(store.due()).toMatchObject({ ids: ["c_1"], lost: [{ id: "c_1", state: "ready" }] });
    expect(claimed(store.claim("c_1"))).toMatchObject({ leg: 2, waits: [{ state: "approved" }] });
  });

  test("ends sooner where its executors are lost, which may be its own doing", () => {
    const store = open();
    store.pause("c_1", [APPROVAL]);
    store.approve("c_1");
    for (let leg = 1; leg <= 5; leg++) {
      expect(store.call("c_1").state).toBe("ready");
      store.claim("c_1");
      store.take({ kind: "abandon", id: "c_1", leg, losses: 4, nowMs: 1_000_000 });
    }
    expect(JSON.parse(store.call("c_1").result ?? "")).toMatchObject({ error: { code: "outcome_unknown" } });
  });

  test("ends where its processes are lost again and again", () => {
    const store = open();
    store.pause("c_1", [APPROVAL]);
    store.approve("c_1");
    for (let run = 0; run < LOST_MAX; run++) {
      store.claim("c_1");
      store.pass(60_000);
      store.due();
    }
    expect(JSON.parse(store.call("c_1").result ?? "")).toMatchObject({
      error: { code: "outcome_unknown" },
      metadata: { callId: "c_1", tool: "pay" },
    });
  });

  test("is refused beyond its tenant's room, which ended calls do not fill", () => {
    const store = open({ perTenant: 2 });
    store.pause("c_1", [APPROVAL], { tenant: "a" });
    store.pause("c_2", [APPROVAL], { tenant: "a" });
    expect(store.pause("c_3", [APPROVAL], { tenant: "a" })).toMatchObject({ kind: "full" });
    expect(store.pause("c_4", [APPROVAL], { tenant: "b" }).kind).toBe("done");
    store.approve("c_1");
    store.claim("c_1");
    store.end("c_1", 1);
    expect(store.pause("c_3", [APPROVAL], { tenant: "a" }).kind).toBe("done");
    expect(
      store.pause(
        "c_5",
        Array.from({ length: 33 }, () => APPROVAL),
        { tenant: "c" },
      ),
    ).toMatchObject({ kind: "full" });
  });

  test("goes on in the turn of its tenant, however many calls of another are ready", () => {
    const store = open();
    for (let at = 0; at < 20; at++) store.pause(`c_a${at}`, [APPROVAL], { tenant: "a" });
    store.pause("c_b", [APPROVAL], { tenant: "b" });
    for (let at = 0; at < 20; at++) store.approve(`c_a${at}`);
    store.approve("c_b");
    const due = store.due(4);
    expect(due.kind === "ready" && due.ids).toContain("c_b");
  });

  test("is removed, with its script, a day after its end", () => {
    const store = open();
    store.pause("c_1", [APPROVAL]);
    store.cancel("c_1");
    store.tables.sweep(1_000_000);
    expect(store.call("c_1").state).toBe("ended");
    store.tables.sweep(1_000_000 + DEFAULT_DURABLE.keepMs);
    expect(store.take({ kind: "get", id: "c_1", tenant: null }).kind).toBe("missing");
  });
});

describe("an effect that was under way when the process of its call was lost", () => {
  const ask = (method: string) => ({ capability: "charge", method, args: "{}" });
  const part = (asks: readonly unknown[], answers: readonly unknown[], kept = 0): string =>
    JSON.stringify({ asks, answers, kept, late: [], together: [] });
  const answer = (step: number, asked: number) => ({ step, asked, nowMs: 5, ok: true, payload: `"${step}"` });

  /** A call whose run has had the answer of its first effect, and has begun the second. */
  function lost() {
    const store = open();
    store.pause("c_1", [APPROVAL], { from: 0 });
    store.approve("c_1", 0);
    store.claim("c_1");
    store.append("c_1", 1, [
      { seq: 1, part: part([ask("first")], []), begins: null },
      { seq: 2, part: null, begins: 1 },
    ]);
    const rest = [
      { seq: 3, part: part([ask("second")], [answer(1, 1)]), begins: null },
      { seq: 4, part: null, begins: 2 },
    ];
    store.append("c_1", 1, rest);
    expect(store.append("c_1", 1, rest).kind).toBe("done");
    store.pass(60_000);
    store.due();
    return store;
  }

  test("is in doubt: a person says what became of it, and one that was answered is not", () => {
    const store = lost();
    expect(store.call("c_1")).toMatchObject({
      state: "in_doubt",
      waits: [
        { kind: "approval", state: "approved" },
        { kind: "outcome", step: 2, state: "open", asked: "charge.second", arguments: "{}" },
      ],
    });
    expect(store.due()).toMatchObject({ ids: [] });
    expect(store.approve("c_1", 2)).toMatchObject({ kind: "conflict" });
  });

  test("has its answer in the journal where it happened", () => {
    const store = lost();
    expect(store.settle("c_1", "happened", 2, '{"id":1915883588174806058}').kind).toBe("done");
    expect(store.settle("c_1", "happened", 2, '{"id":1915883588174806058}').kind).toBe("done");
    expect(store.settle("c_1", "did_not_happen", 2)).toMatchObject({ kind: "conflict" });
    const { journal, plan, runs } = claimed(store.claim("c_1"));
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

  test("is asked for again where it did not happen", () => {
    const store = lost();
    store.settle("c_1", "did_not_happen", 2);
    const { journal } = claimed(store.claim("c_1"));
    expect(JSON.parse(journal)).toMatchObject({ asks: [{}, { method: "second" }], answers: [{ step: 1 }] });
  });

  test("of a run that another one has followed is not begun", () => {
    const store = lost();
    expect(store.append("c_1", 1, [{ seq: 5, part: null, begins: 3 }]).kind).toBe("lost");
  });

  test("stays unknown where nobody says so: the call ends", () => {
    const store = lost();
    store.pass(1_000_000);
    store.due();
    expect(JSON.parse(store.call("c_1").result ?? "")).toMatchObject({ error: { code: "outcome_unknown" } });
  });

  test("is told with an answer whose order was not known when it was first stored", () => {
    const store = open();
    store.pause("c_1", [APPROVAL], { from: 0 });
    store.approve("c_1", 0);
    store.claim("c_1");
    store.append("c_1", 1, [
      { seq: 1, part: part([ask("a"), ask("b")], [answer(2, 2)]), begins: null },
      { seq: 2, part: part([ask("c")], [answer(2, 3), answer(1, 3)]), begins: null },
    ]);
    store.pass(60_000);
    store.due();
    const { journal } = claimed(store.claim("c_1"));
    expect(JSON.parse(journal)).toMatchObject({ answers: [answer(2, 3), answer(1, 3)] });
  });
});

describe("what is kept of calls that wait", () => {
  test("is stored once, however often the same pause is asked for, and whatever became of the call meanwhile", () => {
    const store = open();
    expect(store.pause("c_1", [APPROVAL]).kind).toBe("done");
    expect(store.pause("c_1", [APPROVAL]).kind).toBe("done");
    store.approve("c_1");
    expect(store.pause("c_1", [APPROVAL]).kind).toBe("done");
    expect(store.call("c_1")).toMatchObject({ state: "ready", waits: [{ state: "approved" }] });
    store.claim("c_1");
    expect(store.pause("c_1", [APPROVAL]).kind).toBe("done");
    expect(store.call("c_1").state).toBe("running");
  });

  test("is not ended, and not released, by a run that another one has followed", () => {
    const store = open();
    store.pause("c_1", [APPROVAL]);
    store.approve("c_1");
    const { leg } = claimed(store.claim("c_1"));
    expect(store.release("c_1", leg).kind).toBe("done");
    const again = claimed(store.claim("c_1", "b"));
    expect(store.end("c_1", leg).kind).toBe("lost");
    expect(store.release("c_1", leg).kind).toBe("lost");
    expect(store.call("c_1")).toMatchObject({ state: "running", legs: 1 });
    expect(store.end("c_1", again.leg).kind).toBe("done");
  });

  test("is not decided after its time, however late anybody looks at the clock", () => {
    const store = open();
    store.pause("c_1", [APPROVAL], { expiresMs: 1_004_000 });
    store.pass(5_000);
    expect(store.approve("c_1")).toMatchObject({ kind: "conflict", message: "it is expired already" });
    expect(store.call("c_1")).toMatchObject({ state: "ready", waits: [{ state: "expired" }] });
  });

  test("ends as cancelled when it has waited as long as it is kept", () => {
    const store = open();
    store.pause("c_1", [APPROVAL]);
    store.pass(1_000_000);
    expect(store.approve("c_1")).toMatchObject({ kind: "conflict", message: "the call does not wait for it any more" });
    expect(JSON.parse(store.call("c_1").result ?? "")).toMatchObject({ error: { code: "cancelled" } });
  });

  test("is decided by the same again only where it is the same who decides", () => {
    const store = open();
    store.pause("c_1", [APPROVAL]);
    store.approve("c_1");
    expect(store.approve("c_1", 1, "d", "ada").kind).toBe("done");
    expect(store.approve("c_1", 1, "d", "bob")).toMatchObject({ kind: "conflict", message: "it is approved already" });
  });

  test("goes with the call that waits for it", () => {
    const store = open();
    store.pause("c_child", [APPROVAL], { parent: { id: "c_parent", step: 1 } });
    store.pause("c_parent", [{ kind: "call", id: "c_child" }]);
    store.cancel("c_parent");
    expect(store.call("c_child")).toMatchObject({ state: "ended", waits: [{ state: "void" }] });
  });

  test("goes where the call that waited for it has ended before it was stored", () => {
    const store = open();
    store.pause("c_parent", [APPROVAL]);
    store.cancel("c_parent");
    store.pause("c_child", [APPROVAL], { parent: { id: "c_parent", step: 1 } });
    expect(store.call("c_child")).toMatchObject({ state: "ended" });
  });

  test("keeps the digits of long integers in a child's result, a signal and a call's result", () => {
    const store = open();
    store.pause("c_child", [APPROVAL], { parent: { id: "c_parent", step: 1 } });
    store.pause("c_parent", [{ kind: "call", id: "c_child" }, SIGNAL]);
    store.approve("c_child");
    store.end("c_child", claimed(store.claim("c_child")).leg, "1915883588174806058");
    const payload = "[1915883588174806058]";
    store.take({ kind: "signal", id: "c_parent", tenant: null, name: "payment", payload, by: null, nowMs: 1_000_000 });
    const [child, signal] = claimed(store.claim("c_parent")).waits;
    expect(child?.settled?.data).toContain('"output":1915883588174806058');
    expect(signal?.settled?.data).toBe(payload);
    expect(store.call("c_child").result).toContain('"output":1915883588174806058');
    expect(store.call("c_parent").waits[1]?.settled?.data).toEqual(["1915883588174806058"]);
  });

  test("stays ready by its own timer, whatever is sent to it before it goes on", () => {
    const store = open();
    store.pause("c_1", [APPROVAL], { wakeMs: 1_003_000 });
    store.pass(5_000);
    expect(store.due()).toMatchObject({ ids: ["c_1"] });
    store.signal("c_1", 1);
    expect(store.due()).toMatchObject({ ids: ["c_1"] });
  });

  test("of a tenant has a limit also once it has ended: the oldest results go", () => {
    const store = open({ perTenant: 2 });
    for (const id of ["c_1", "c_2", "c_3"]) {
      store.pause(id, [APPROVAL], { tenant: "a" });
      store.cancel(id);
      store.pass(1);
    }
    expect(() => store.call("c_1")).toThrow();
    expect([store.call("c_2"), store.call("c_3")]).toMatchObject([{ state: "ended" }, { state: "ended" }]);
  });

  test("is refused beyond the bytes of a call, and then nothing of it is stored", () => {
    const store = open({ callBytes: 4_000 });
    expect(store.pause("c_1", [APPROVAL], { journal: "x".repeat(4_000) }).kind).toBe("full");
    expect(() => store.call("c_1")).toThrow();
    expect(store.pause("c_1", [APPROVAL]).kind).toBe("done");
    expect(store.signal("c_1", "x".repeat(4_000))).toMatchObject({ kind: "conflict" });
  });

  test("is listed in pages that stay short, and without results", () => {
    const store = open();
    const long: WaitKind = { ...APPROVAL, arguments: "x".repeat(1_500_000) };
    for (const id of ["c_1", "c_2", "c_3", "c_4"]) store.pause(id, [long]);
    const query = { states: null, tenant: null, tool: null, limit: 50, cursor: null };
    const first = store.take({ kind: "list", query });
    if (first.kind !== "page") throw new Error(first.kind);
    expect(first.page.calls.map(({ id }) => id)).toEqual(["c_4", "c_3"]);
    const next = store.take({ kind: "list", query: { ...query, cursor: first.page.cursor } });
    expect(next).toMatchObject({ page: { calls: [{ id: "c_2", result: null }, { id: "c_1" }], cursor: null } });
  });

  test("is listed by one state or several, the newest first, page by page", () => {
    const store = open();
    for (const id of ["c_1", "c_2", "c_3", "c_4"]) store.pause(id, [SIGNAL]);
    store.signal("c_2", 1);
    store.cancel("c_3");
    const list = (states: readonly CallState[], cursor: string | null = null) => {
      const query = { states, tenant: "", tool: "pay", limit: 2, cursor };
      const answer = store.take({ kind: "list", query });
      if (answer.kind !== "page") throw new Error(answer.kind);
      return { ids: answer.page.calls.map(({ id }) => id), cursor: answer.page.cursor };
    };
    expect(list(["paused"]).ids).toEqual(["c_4", "c_1"]);
    expect(list(["ready", "ended"]).ids).toEqual(["c_3", "c_2"]);
    const first = list(["paused", "ready"]);
    expect(first.ids).toEqual(["c_4", "c_2"]);
    expect(list(["paused", "ready"], first.cursor).ids).toEqual(["c_1"]);
  });
});

test("whatever is done in whatever order, a call has one holder, is never lost, and a wait is settled once", () => {
  const ids = ["c_1", "c_2"];
  const step = fc.record({
    what: fc.constantFrom("pause", "claim", "end", "due", "approve", "refuse", "signal", "cancel", "pass"),
    id: fc.constantFrom(...ids),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const store = open();
      for (const id of ids) store.pause(id, [APPROVAL, SIGNAL]);
      const legs = new Map<string, number>();
      const settled = new Map<string, string>();
      for (const { what, id } of steps) {
        const leg = legs.get(id) ?? 0;
        if (what === "pause") store.pause(id, [APPROVAL, SIGNAL], { leg: Math.max(1, leg) });
        else if (what === "claim") {
          const answer = store.claim(id);
          if (answer.kind === "claimed") {
            expect(answer.call.leg).toBe(leg + 1);
            legs.set(id, leg + 1);
          }
        } else if (what === "end") store.end(id, leg);
        else if (what === "cancel") store.cancel(id);
        else if (what === "pass") store.pass(1_000);
        else if (what === "due") store.due();
        else if (what === "signal") store.signal(id, 1);
        else store[what as "approve" | "refuse"](id);
        expect(store.books()).toEqual(store.counted());
        for (const one of ids) {
          const call = store.call(one);
          expect(call.state === "ended").toBe(call.result !== null);
          const [approval] = call.waits.filter(({ step: at }) => at === 1);
          const before = settled.get(one);
          if (before !== undefined) expect(approval?.state).toBe(before);
          if (approval !== undefined && approval.state !== "open") settled.set(one, approval.state);
        }
      }
    }),
    { numRuns: 200 },
  );
});
