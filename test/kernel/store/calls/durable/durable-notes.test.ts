import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { DEFAULT_DURABLE, type WaitKind } from "../../../../../src/kernel/store/calls/durable/durable-call.ts";
import {
  type CallNote,
  type DurableAnswer,
  type DurableStep,
  NOTE_EVENTS,
} from "../../../../../src/kernel/store/calls/durable/durable-step.ts";
import { DURABLE_SQL } from "../../../../../src/kernel/store/calls/durable/durable-layout.ts";
import { DurableTables } from "../../../../../src/kernel/store/calls/durable/durable-tables.ts";

/* Notes for those who are told of calls, as the tables keep them. */

const APPROVAL: WaitKind = {
  kind: "approval",
  tool: "pay",
  version: "v",
  arguments: {},
  digest: "d",
  message: "large",
  schema: null,
  from: "tool",
  self: false,
  by: [],
};
const DAY_MS = 24 * 60 * 60 * 1_000;

function open(perTenant = DEFAULT_DURABLE.perTenant) {
  const database = new DatabaseSync(":memory:");
  database.exec(DURABLE_SQL);
  const tables = new DurableTables(database, { ...DEFAULT_DURABLE, perTenant });
  let nowMs = 1_000_000;
  const take = (step: DurableStep): DurableAnswer => tables.take([step])[0] ?? { kind: "missing" };
  return {
    database,
    tables,
    pass: (ms: number) => (nowMs += ms),
    pause: (id: string) =>
      take({
        kind: "pause",
        call: {
          id,
          leg: 0,
          made: {
            callId: id,
            tool: "pay",
            tenant: "",
            key: null,
            parent: null,
            undoesOnFailure: false,
            createdMs: nowMs,
            expiresMs: nowMs + 9 * DAY_MS,
            record: "{}",
            script: null,
          },
          runs: "{}",
          plan: "",
          journal: '{"asks":[],"answers":[]}',
          waits: [{ step: 0, wait: APPROVAL, openedMs: nowMs, expiresMs: null }],
          wakeMs: null,
        },
        nowMs,
      }),
    cancel: (id: string) => take({ kind: "cancel", id, tenant: null, message: "no", nowMs }),
    told: (n: number, dueMs: number | null) => take({ kind: "told", n, dueMs }),
    notes: (target = "a", most = 4): readonly CallNote[] => {
      const answer = take({ kind: "notes", targets: [{ id: target, events: NOTE_EVENTS, most }], most, nowMs });
      return answer.kind === "notes" ? answer.notes : [];
    },
    dropped: (target = "a"): number => {
      const answer = take({ kind: "notes", targets: [{ id: target, events: NOTE_EVENTS, most: 0 }], most: 0, nowMs });
      return answer.kind === "notes" ? answer.dropped : -1;
    },
  };
}

test("a note that one process has taken is due for another after thirty seconds, and has the same id", () => {
  const { notes, pause, pass } = open();
  expect(notes()).toEqual([]);
  pause("c_1");
  const [first] = notes();
  expect(first).toMatchObject({ event: "paused", tries: 1, call: { id: "c_1", state: "paused", code: null } });
  expect(notes()).toEqual([]);
  pass(30_000);
  expect(notes()).toMatchObject([{ id: first?.id, tries: 2 }]);
});

test("a note that was told does not come again, and one that failed comes when it is due", () => {
  const { notes, pause, told, pass } = open();
  notes();
  pause("c_1");
  told(notes()[0]?.n ?? 0, 1_005_000);
  pass(4_999);
  expect(notes()).toEqual([]);
  pass(1);
  told(notes()[0]?.n ?? 0, null);
  pass(60_000);
  expect(notes()).toEqual([]);
});

test("the end of a call is told also where the call has gone, and its pause is not", () => {
  const { notes, pause, cancel } = open(1);
  notes();
  pause("c_1");
  cancel("c_1");
  pause("c_2");
  cancel("c_2");
  const ended = notes().filter(({ call }) => call.id === "c_1");
  expect(ended).toMatchObject([{ event: "ended", call: { state: "ended", code: "cancelled", waits: [] } }]);
});

test("of more than 10,000 notes the oldest are dropped, and counted once", () => {
  const { database, notes, pause, cancel, dropped } = open();
  notes();
  database.exec(`WITH RECURSIVE one(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM one WHERE i < 10000)
    INSERT INTO durable_note (call, target, event, leg, id, call_id, tool, tenant, made_ms, due_ms)
    SELECT -i, 'a', 'ended', 1, 'c_old', 'x', 'pay', '', 0, 2000000 FROM one`);
  expect(dropped()).toBe(0);
  pause("c_1");
  cancel("c_1");
  expect(dropped()).toBe(2);
  expect(dropped()).toBe(0);
  expect(database.prepare("SELECT count(*) AS n FROM durable_note").get()?.["n"]).toBe(10_000);
});

test("nothing is written for a target that no engine has named for a day", () => {
  const { database, tables, notes, pause, pass } = open();
  const count = (): unknown => database.prepare("SELECT count(*) AS n FROM durable_note").get()?.["n"];
  pause("c_1");
  expect(count()).toBe(0);
  notes();
  pause("c_2");
  expect(count()).toBe(1);
  pass(DAY_MS + 1);
  pause("c_3");
  expect(count()).toBe(1);
  tables.sweep(1_000_000 + DAY_MS + 1);
  expect(count()).toBe(0);
});
