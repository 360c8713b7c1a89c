import { mkdtemp, rm } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SqliteEntries } from "../../src/kernel/broker/capabilities/kv/sqlite-store.ts";
import { layOut } from "../../src/kernel/store/sqlite/layout.ts";
import { call, EXECUTORS, openEngine, sumOf } from "../engines.ts";
import { measure, type Subject } from "../sampling.ts";
import type { Scenario } from "../scenario.ts";
import { addArguments, addTool, expectedSum } from "../tools.ts";

const CONCURRENCY = 64;
const MIB = 1024 * 1024;
const KEYS = 64;

/** The version is a number above 0, so it says that the entry is there and changes no sum. */
const SETTING = `async ({ a, b }, { host }) => {
  const version = await host.kv.set("k" + (a % ${KEYS}), { a, b });
  return { sum: version > 0 ? a + b : NaN };
}`;
const GETTING = `async ({ a, b }, { host }) => ({ sum: (await host.kv.get("fixed")).a + a + b })`;

/** Cost of a kv entry: set and read through the engine, and by the same statements without one. */
export const kv: Scenario = {
  name: "kv",
  description: "one kv.set or kv.get by a tool, against node:sqlite with the same statements",
  smoke: { states: ["quiet"], rounds: 1, sampleMs: 20 },
  full: { states: ["quiet", "busy"], rounds: 5, sampleMs: 300 },
  async run(context) {
    await using opened = new AsyncDisposableStack();
    const folder = await mkdtemp(join(tmpdir(), "glovebox-bench-"));
    opened.defer(() => rm(folder, { recursive: true, force: true }));
    const subjects: Subject[] = [];
    for (const kind of EXECUTORS) {
      const policy = { rules: [{ allow: { kv: true } }] } as const;
      const engine = opened.use(await openEngine(kind, { policy, kv: { path: join(folder, `${kind}.sqlite`) } }));
      const prepare = 'async (i, { host }) => ({ sum: await host.kv.set("fixed", { a: 0 }) })';
      for (const [tool, text] of [
        ["set", SETTING],
        ["get", prepare],
      ] as const) {
        await engine.register({ ...addTool(tool, text), capabilities: { kv: true } });
      }
      await call(engine, "get", addArguments(0));
      await engine.register({ ...addTool("get", GETTING), capabilities: { kv: true } });
      for (const tool of ["set", "get"]) {
        const run = async (index: number) => sumOf(await call(engine, tool, addArguments(index)));
        subjects.push({ name: `glovebox ${kind}, ${tool}`, against: [`node:sqlite, ${tool}`], run });
      }
    }
    const database = new DatabaseSync(join(folder, "alone.sqlite"));
    opened.defer(() => database.close());
    subjects.push(...baselines(database));
    return await measure(context, {
      subjects,
      expected: expectedSum,
      latency: { name: "latency_us", unit: "us" },
      concurrencies: [CONCURRENCY],
      cpuConcurrency: CONCURRENCY,
    });
  },
};

/** The same file and the same statements, with nobody between them and whoever asks. */
function baselines(database: DatabaseSync): Subject[] {
  layOut(database, 64 * MIB);
  const entries = new SqliteEntries(database);
  const set = (key: string, value: unknown) => {
    const entry = { key, value: JSON.stringify(value), ttlMs: null, condition: ALWAYS, quotaBytes: MIB };
    return entries.set("alone", entry, Date.now()).kind === "set";
  };
  set("fixed", { a: 0 });
  return [
    {
      name: "node:sqlite, set",
      against: [],
      sync: true,
      run: (a) => (set(`k${a % KEYS}`, { a, b: 1 }) ? a + 1 : Number.NaN),
    },
    {
      name: "node:sqlite, get",
      against: [],
      sync: true,
      run: (a) => {
        const entry = entries.get("alone", "fixed", Date.now());
        return (JSON.parse(entry?.value ?? "{}") as { readonly a: number }).a + a + 1;
      },
    },
  ];
}

const ALWAYS = { kind: "always" } as const;
