import { DatabaseSync } from "node:sqlite";
import { describe } from "vitest";
import { DURABLE_SQL } from "../../../../../src/kernel/store/calls/durable/durable-layout.ts";
import { DurableTables } from "../../../../../src/kernel/store/calls/durable/durable-tables.ts";
import { describeNotes } from "./note-suite.ts";

describe("notes of calls, in a file", () => {
  describeNotes((room) => {
    const database = new DatabaseSync(":memory:");
    database.exec(DURABLE_SQL);
    const tables = new DurableTables(database, room);
    return {
      take: (step) => tables.take([step])[0] ?? { kind: "missing" },
      sweep: (nowMs) => tables.sweep(nowMs),
      count: async () => Number(database.prepare("SELECT count(*) AS n FROM durable_note").get()?.["n"]),
      fill: async () =>
        database.exec(`WITH RECURSIVE one(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM one WHERE i < 10000)
          INSERT INTO durable_note (call, target, event, leg, id, call_id, tool, tenant, made_ms, due_ms)
          SELECT -i, 'a', 'ended', 1, 'c_old', 'x', 'pay', '', 0, 2000000 FROM one`),
    };
  });
});
