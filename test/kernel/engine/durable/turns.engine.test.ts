import { mkdtemp, rm } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { createEngine, type Engine } from "../../../../src/glovebox/index.ts";
import { byLength } from "../../../length.ts";

/* Calls of one tenant that are all due at once do not keep those of another waiting: the order of events says so. */

const CALLS = byLength(2_000, 10_000);
/** Runs that go on at once, and so the calls of one round. */
const ROUND = 64;
const HOUR_MS = 3_600_000;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "glovebox-turns-"));
});
afterEach(() => void vi.restoreAllMocks());
afterAll(() => rm(folder, { recursive: true }));

function open(path: string): Promise<Engine> {
  return createEngine({
    workers: 1,
    executor: { kind: "threads" },
    calls: { path },
    tools: [
      {
        name: "sleeps",
        description: "Sleeps.",
        source: "export default async ({ date }, { host }) => host.pause.until({ date });",
        capabilities: { pause: true },
      },
    ],
    policy: { rules: [{ allow: { pause: true } }] },
  });
}

/** A file with many calls of a tenant, all of which sleep until the same time, and one of another until a later one. */
async function kept(name: string, untilMs: number, laterMs: number): Promise<string> {
  const path = join(folder, `${name}.sqlite`);
  await using engine = await open(path);
  for (const [tenant, date] of [
    ["many", untilMs],
    ["one", laterMs],
  ] as const) {
    const { error } = await engine.execute({ name: "sleeps", arguments: { date } }, { tenant });
    expect(error?.code).toBe("paused");
  }
  await engine.close();
  using database = new DatabaseSync(path);
  copyCall(database, "many", CALLS);
  return path;
}

/** Adds calls as a tenant's call is, each with what it waits for. */
function copyCall(database: DatabaseSync, tenant: string, number: number): void {
  const columns = (table: string, but: readonly string[]) =>
    database
      .prepare(`SELECT name FROM pragma_table_info('${table}')`)
      .all()
      .map((row) => String(row["name"]))
      .filter((column) => !but.includes(column));
  const own = columns("durable", ["n", "id", "bytes"]).join(", ");
  const wait = columns("durable_wait", ["call"]).join(", ");
  const nth = `WITH RECURSIVE nth(at) AS (SELECT 2 UNION ALL SELECT at + 1 FROM nth WHERE at < ?)`;
  database
    .prepare(`INSERT INTO durable (id, ${own}) ${nth} SELECT 'c_' || at, ${own} FROM durable, nth WHERE tenant = ?`)
    .run(number, tenant);
  const first = "(SELECT min(n) FROM durable WHERE tenant = ?1)";
  const copied = `(SELECT ${wait} FROM durable_wait WHERE call = ${first})`;
  const copies = `SELECT copy.n, copied.* FROM (SELECT n FROM durable WHERE tenant = ?1 AND n > ${first}) AS copy, ${copied} AS copied`;
  database.prepare(`INSERT INTO durable_wait (call, ${wait}) ${copies}`).run(tenant);
}

const now = Date.now.bind(Date);

/** Lets the host's clock be ahead by some time. */
function forward(ms: number): void {
  vi.spyOn(Date, "now").mockImplementation(() => now() + ms);
}

/** Tenants of the calls that go on, in their order. */
function resumedOf(engine: Engine): string[] {
  const tenants: string[] = [];
  engine.on("call:resume", ({ tenant, outcome }) => void (outcome === "resumed" && tenants.push(tenant)));
  return tenants;
}

test("a call that is due after thousands of another tenant goes on in the first round", async () => {
  const untilMs = Date.now() + HOUR_MS;
  const path = await kept("after", untilMs, untilMs + 1);
  forward(2 * HOUR_MS);
  await using engine = await open(path);
  const resumed = resumedOf(engine);
  await expect.poll(() => resumed.indexOf("one"), { timeout: 60_000 }).not.toBe(-1);
  expect(resumed.indexOf("one")).toBeLessThan(ROUND);
}, 300_000);

test("a call that becomes due while thousands of another tenant go on waits for one round of them at most", async () => {
  const untilMs = Date.now() + HOUR_MS;
  const path = await kept("meanwhile", untilMs, untilMs + 2 * HOUR_MS);
  forward(2 * HOUR_MS);
  await using engine = await open(path);
  const resumed = resumedOf(engine);
  await expect.poll(() => resumed.length, { timeout: 60_000 }).toBeGreaterThan(ROUND);
  const before = resumed.length;
  forward(4 * HOUR_MS);
  await expect.poll(() => resumed.indexOf("one"), { timeout: 60_000 }).not.toBe(-1);
  // The round that one look has begun, and the first of the next.
  expect(resumed.indexOf("one") - before).toBeLessThanOrEqual(ROUND + 1);
}, 300_000);
