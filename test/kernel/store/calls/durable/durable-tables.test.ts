import { DatabaseSync, type StatementSync } from "node:sqlite";
import { DEFAULT_DURABLE } from "../../../../../src/kernel/store/calls/durable/durable-call.ts";
import { expect, test } from "vitest";
import { CALLS_LAYOUT } from "../../../../../src/kernel/store/calls/call-tables.ts";
import { layOut } from "../../../../../src/kernel/store/sqlite/layout.ts";
import { DURABLE_SQL } from "../../../../../src/kernel/store/calls/durable/durable-layout.ts";
import { DurableTables } from "../../../../../src/kernel/store/calls/durable/durable-tables.ts";
import { describeSnippets } from "./snippet-suite.ts";
import { claimed, describeDurableCalls, stepsOf } from "./suite.ts";

describeDurableCalls((room) => {
  const database = new DatabaseSync(":memory:");
  database.exec(DURABLE_SQL);
  const tables = new DurableTables(database, room);
  const sum = (sql: string): number => Number(database.prepare(sql).get()?.["bytes"]);
  return {
    take: (step) => tables.take([step])[0] ?? { kind: "missing" },
    sweep: (nowMs) => tables.sweep(nowMs),
    books: () => {
      const scripts = sum("SELECT coalesce(sum(octet_length(text)), 0) AS bytes FROM durable_script");
      const calls = sum("SELECT coalesce(sum(bytes), 0) AS bytes FROM durable");
      return [sum("SELECT bytes FROM durable_total"), scripts + calls];
    },
  };
}, 200);

describeSnippets(() => {
  const database = new DatabaseSync(":memory:");
  database.exec(DURABLE_SQL);
  const tables = new DurableTables(database, DEFAULT_DURABLE);
  return (step) => tables.take([step])[0] ?? { kind: "missing" };
});

// From the simulation of legs, seed 315373: the call's next timer was due that much later.
test("what a person says of an effect is not earlier than the loss of its process, though the clock was set back", async () => {
  using database = new DatabaseSync(":memory:");
  database.exec(DURABLE_SQL);
  const tables = new DurableTables(database, DEFAULT_DURABLE);
  const store = stepsOf({ take: (step) => tables.take([step])[0] ?? { kind: "missing" } });
  await store.start("c_1");
  const part = {
    asks: [{ capability: "charge", method: "first", args: "{}" }],
    answers: [],
    kept: 0,
    late: [],
    together: [],
  };
  await store.append("c_1", 1, [
    { seq: 1, part: JSON.stringify(part), begins: null },
    { seq: 2, part: null, begins: 1 },
  ]);
  await store.pass(60_000);
  await store.due();
  await store.pass(-100_000);
  await store.settle("c_1", "happened", 1, "1");
  const { plan } = claimed(await store.claim("c_1"));
  expect(JSON.parse(plan)).toMatchObject({ responses: [[1, 1_060_000]] });
});

const EARLIER = {
  5: `DROP INDEX durable_wake; DROP INDEX durable_approval; DROP TABLE snippet; DROP TABLE snippet_revision;
    DROP TRIGGER durable_run_gone; DROP TABLE durable_run;
    CREATE INDEX durable_wake ON durable (wake_ms) WHERE state IN ('paused', 'in_doubt')`,
  6: "DROP TRIGGER durable_run_gone; DROP TABLE durable_run",
};

test.each(Object.entries(EARLIER))("a file of layout %s becomes as a new one", (version, sql) => {
  using database = new DatabaseSync(":memory:");
  const layOutIt = () => layOut(database, 256 * 1024 ** 2, CALLS_LAYOUT);
  const schema = () => database.prepare("SELECT name, sql FROM sqlite_schema ORDER BY name").all();
  layOutIt();
  const made = schema();
  database.exec(`${sql}; PRAGMA user_version = ${version}`);
  expect(schema()).not.toEqual(made);
  layOutIt();
  expect(schema()).toEqual(made);
});

test("a page of a list reads no more calls than it shows: none is sorted, and no table is read whole", () => {
  const asked = new Set<string>();
  class Told extends DatabaseSync {
    override prepare(sql: string): StatementSync {
      asked.add(sql);
      return super.prepare(sql);
    }
  }
  using database = new Told(":memory:");
  database.exec(DURABLE_SQL);
  const tables = new DurableTables(database, DEFAULT_DURABLE);
  for (const states of [null, ["paused"], ["paused", "in_doubt"]] as const)
    for (const tenant of [null, "a"])
      tables.take([{ kind: "list", query: { states, tenant, tool: null, limit: 50, cursor: null } }]);
  const lists = [...asked].filter((sql) => sql.includes("FROM durable WHERE") && sql.includes("ORDER BY n"));
  expect(lists).toHaveLength(6);
  const plans = lists.flatMap((sql) => database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all());
  expect(plans.filter(({ detail }) => /SCAN|TEMP B-TREE/.test(`${detail as string}`))).toEqual([]);
});
