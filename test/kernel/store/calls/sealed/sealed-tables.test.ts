import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { StoreError } from "../../../../../src/kernel/base/errors.ts";
import { DEFAULT_DURABLE, type DurableCapacity } from "../../../../../src/kernel/store/calls/durable/durable-call.ts";
import { DURABLE_SQL } from "../../../../../src/kernel/store/calls/durable/durable-layout.ts";
import type { DurableAnswer, DurableStep } from "../../../../../src/kernel/store/calls/durable/durable-step.ts";
import { SealedTables } from "../../../../../src/kernel/store/calls/sealed/sealed-tables.ts";
import { Seal } from "../../../../../src/kernel/store/seal.ts";
import { describeNotes } from "../durable/note-suite.ts";
import { describeSnippets } from "../durable/snippet-suite.ts";
import { APPROVAL, claimed, describeDurableCalls, stepsOf } from "../durable/suite.ts";

/* Calls that wait, sealed in a file: all rules of one without a secret, and what is changed in it is found. */

const SEAL = Seal.of("a secret of the file");

function openTables(room: DurableCapacity = DEFAULT_DURABLE) {
  const database = new DatabaseSync(":memory:");
  database.exec(DURABLE_SQL);
  const tables = new SealedTables(database, room, SEAL);
  const take = (step: DurableStep): DurableAnswer => {
    const [answer = { kind: "missing" }] = tables.take([step]);
    if (answer instanceof StoreError) throw answer;
    return answer;
  };
  const sum = (sql: string): number => Number(database.prepare(sql).get()?.["bytes"]);
  return { database, tables, take, sum };
}

describe("calls that wait, sealed in a file", () => {
  describeDurableCalls((room) => {
    const { tables, take, sum } = openTables(room);
    return {
      take,
      sweep: (nowMs) => tables.sweep(nowMs),
      books: () => {
        const scripts = sum("SELECT coalesce(sum(octet_length(text)), 0) AS bytes FROM durable_script");
        return [
          sum("SELECT bytes FROM durable_total"),
          scripts + sum("SELECT coalesce(sum(bytes), 0) AS bytes FROM durable"),
        ];
      },
    };
  }, 50);
});

describe("notes of calls, sealed in a file", () => {
  describeNotes((room) => {
    const { database, tables, take } = openTables(room);
    return {
      take,
      sweep: (nowMs) => tables.sweep(nowMs),
      count: async () => Number(database.prepare("SELECT count(*) AS n FROM durable_note").get()?.["n"]),
      fill: async () =>
        database.exec(`WITH RECURSIVE one(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM one WHERE i < 10000)
          INSERT INTO durable_note (call, target, event, leg, id, call_id, tool, tenant, made_ms, due_ms)
          SELECT -i, 'a', 'ended', 1, 'c_old', 'x', 'pay', '', 0, 2000000 FROM one`),
    };
  });
});

describe("snippets, sealed in a file", () => {
  describeSnippets(() => openTables().take);
});

type Row = Readonly<Record<string, string | number | null>>;

/** Two calls that wait for the same, of which the first has told two targets. */
async function openTwo() {
  const { database, take, tables } = openTables();
  const store = stepsOf({ take });
  const journal = '{"asks":[{"capability":"pay","method":"now","args":"[1]"}],"answers":[]}';
  for (const id of ["c_1", "c_2"]) await store.pause(id, [APPROVAL, { kind: "signal", name: "payment" }], { journal });
  const rowOf = (id: string) => database.prepare("SELECT * FROM durable WHERE id = ?").get(id) as Row;
  /** All that readers get of the first call: its head, its body and its run. */
  const read = () => JSON.stringify([take({ kind: "get", id: "c_1", tenant: "" }), effectsOf(take, "c_1")]);
  const write = (column: string, value: string | number | null): void =>
    void database.prepare(`UPDATE durable SET ${column} = ? WHERE id = 'c_1'`).run(value);
  return { database, tables, take, store, rowOf, read, write };
}

function effectsOf(take: (step: DurableStep) => DurableAnswer, id: string): DurableAnswer {
  return take({ kind: "effects", id, toolCalls: ["tools.call"] });
}

/** A value with each of its bytes changed, dropped, or followed by another one, and nothing in its place. */
function changedOf(value: string | number | null): readonly (string | number | null)[] {
  if (typeof value !== "string")
    return value === null ? ["x", 1] : [value + 1, value - 1, 0, null].filter((one) => one !== value);
  const others = ["A", "b", "7", "+", "/", "=", " "];
  return value.split("").flatMap((char, at) => {
    const other = others.find((one) => one !== char) ?? "";
    const [before, after] = [value.slice(0, at), value.slice(at + 1)];
    return [before + other + after, before + after, `${before}${char}${other}${after}`];
  });
}

describe("a sealed call of which something was changed in the file", () => {
  test("is not read, whichever byte of whichever column of its row was changed or dropped, unless that decides nothing", async () => {
    const { rowOf, read, write } = await openTwo();
    const [row, sound] = [rowOf("c_1"), read()];
    const found = new Set<string>();
    for (const [column, value] of Object.entries(row)) {
      if (column === "id" || column === "n") continue;
      for (const changed of changedOf(value)) {
        try {
          write(column, changed);
        } catch {
          // The table does not have such a value.
          continue;
        }
        let answer = "";
        try {
          answer = read();
        } catch (error) {
          expect(error).toBeInstanceOf(StoreError);
          found.add(column);
        }
        expect([column, changed, answer === "" || answer === sound]).toEqual([column, changed, true]);
      }
      write(column, value);
      expect(read()).toBe(sound);
    }
    const sealed = ["record", "journal", "runs", "plan"];
    const indexes = [
      "tenant",
      "tool",
      "parent",
      "state",
      "leg",
      "holder",
      "wake_ms",
      "updated_ms",
      "ends_ms",
      "script",
    ];
    expect([...found].toSorted()).toEqual([...sealed, ...indexes].toSorted());
    for (const column of sealed)
      for (const changed of changedOf(row[column] ?? null)) {
        write(column, changed);
        expect(read, `${column}: ${changed}`).toThrow(StoreError);
      }
  });

  const COLUMNS = ["record", "journal", "runs", "plan", "state", "tenant", "wake_ms", "script"];

  test.each(COLUMNS)(
    "ends without another effect, and others go on, where its %s is another call's, an earlier one's, or not there",
    async (column) => {
      for (const from of ["other", "earlier", "nothing"]) {
        const { store, rowOf, write, database } = await openTwo();
        const earlier = rowOf("c_1")[column];
        await store.signal("c_1", 5);
        // A value that is the same at both times, or in both calls, is no change.
        const other = { other: rowOf("c_2")[column], earlier, nothing: column === "wake_ms" ? 0 : "" }[from];
        if (other === rowOf("c_1")[column]) continue;
        write(column, other ?? null);
        await expect(store.approve("c_1")).rejects.toThrow(/^the call was changed in its file by another program/);
        expect((await store.claim("c_1")).kind).toBe("lost");
        expect(await store.due()).toMatchObject({ kind: "ready", ids: [], lost: [] });
        await expect(store.call("c_1")).rejects.toThrow(StoreError);
        expect(await store.take({ kind: "list", query: ALL })).toMatchObject({ page: { calls: [{ id: "c_2" }] } });
        await store.approve("c_2");
        expect(await store.due()).toMatchObject({ ids: ["c_2"] });
        expect(claimed(await store.claim("c_2"))).toMatchObject({ leg: 1, script: "script" });
        expect((await store.end("c_2", 1)).kind).toBe("done");
        database.close();
      }
    },
  );

  test("is not run where an index says that it is ready, due, or lost with its process", async () => {
    const { store, write } = await openTwo();
    write("state", "ready");
    expect(await store.due()).toMatchObject({ ids: ["c_1"] });
    expect((await store.claim("c_1")).kind).toBe("lost");
    expect(await store.due()).toMatchObject({ ids: [], wakeMs: expect.any(Number) });
    const due = await openTwo();
    due.write("wake_ms", 5);
    expect(await due.store.due()).toMatchObject({ ids: [], lost: [], wakeMs: 2_000_000 });
    const lost = await openTwo();
    lost.write("state", "running");
    expect(await lost.store.due()).toMatchObject({ ids: [], lost: [] });
    await expect(lost.store.call("c_1")).rejects.toThrow(StoreError);
    expect(await lost.store.call("c_2")).toMatchObject({ state: "paused" });
  });

  test.each(["", "gcm1:AAAA"])("does not run without its script: %o", async (text) => {
    const { store, database } = await openTwo();
    await store.approve("c_1");
    if (text === "") database.exec("DELETE FROM durable_script");
    else database.prepare("UPDATE durable_script SET text = ?").run(text);
    expect((await store.claim("c_1")).kind).toBe("lost");
    expect(await store.due()).toMatchObject({ ids: [] });
    await expect(store.call("c_1")).rejects.toThrow(StoreError);
  });

  test("is removed in time, with what it counts for", async () => {
    const { store, write, tables, database } = await openTwo();
    write("record", "gcm1:AAAA");
    await expect(store.cancel("c_1")).rejects.toThrow(StoreError);
    await store.cancel("c_2");
    expect(tables.sweep(1_000_000 + DEFAULT_DURABLE.keepMs)).toBe(false);
    expect(database.prepare("SELECT count(*) AS n FROM durable").get()).toEqual({ n: 0 });
    expect(database.prepare("SELECT bytes FROM durable_total").get()).toEqual({ bytes: 0 });
    expect(database.prepare("SELECT count(*) AS n FROM durable_tenant").get()).toEqual({ n: 0 });
  });

  test("keeps neither the call that it has made nor the one that has made it from going on", async () => {
    const { take, database } = openTables();
    const store = stepsOf({ take });
    await store.pause("c_child", [APPROVAL], { parent: { id: "c_parent", step: 1 } });
    await store.pause("c_parent", [{ kind: "call", id: "c_child" }]);
    database.exec("UPDATE durable SET record = 'gcm1:AAAA' WHERE id = 'c_parent'");
    await store.approve("c_child");
    await store.claim("c_child");
    expect((await store.end("c_child", 1)).kind).toBe("done");
    expect(await store.call("c_child")).toMatchObject({ state: "ended" });
    await expect(store.call("c_parent")).rejects.toThrow(StoreError);
  });

  test("tells nobody of a note that was changed, or that is another call's", async () => {
    const { store, database } = await openTwo();
    const target = { id: "a", events: ["paused", "ended"], most: 4 } as const;
    await store.notes([target], 4);
    for (const id of ["c_1", "c_2"]) await store.cancel(id);
    database.exec(
      "UPDATE durable_note SET call_id = (SELECT call_id FROM durable_note WHERE id = 'c_2') WHERE id = 'c_1'",
    );
    expect(await store.notes([target], 4)).toMatchObject({ notes: [{ call: { id: "c_2", tool: "pay" } }] });
  });
});

const ALL = { states: null, tenant: null, tool: null, limit: 50, cursor: null };
