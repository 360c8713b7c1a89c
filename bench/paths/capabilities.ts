import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineCapability } from "../../src/kernel/broker/capabilities/custom.ts";
import { SqliteEntries } from "../../src/kernel/broker/capabilities/kv/sqlite-store.ts";
import { layOut } from "../../src/kernel/store/sqlite/layout.ts";
import { MessageWorker } from "../baselines/pools.ts";
import { SqliteWorker } from "../baselines/sqlite-worker.ts";
import { openEngine } from "../engines.ts";
import { AT_ONCE, IN_A_ROW, type Path, type PathFamily, toolSubject } from "./path.ts";

const FILE_BYTES = 4_096;
const KV_BYTES = 64 * 1024 * 1024;
/** A negative index sets the entry: a tool reads what was set by its own name. */
const SET = "if (index < 0) return { sum: await host.kv.set('k', 1) };";
const row = (one: string, before = ""): string => `async ({ index }, { host }) => {
  ${before}
  let sum = index;
  for (let nth = 0; nth < ${IN_A_ROW}; nth++) sum += ${one};
  return { sum };
}`;
const atOnce = (one: string, before = ""): string => `async ({ index }, { host }) => {
  ${before}
  const all = await Promise.all(Array.from({ length: ${AT_ONCE} }, (_, nth) => ${one}));
  return { sum: all.reduce((sum, each) => sum + each, index) };
}`;

const echo = defineCapability({
  name: "echo",
  methods: { one: { handler: ({ value }: { readonly value: number }) => value } },
});

async function inARow(index: number, one: (nth: number) => number | Promise<number>): Promise<number> {
  let sum = index;
  for (let nth = 0; nth < IN_A_ROW; nth++) sum += await one(nth);
  return sum;
}

/** Asks of the host, made by a tool one after the other or at once, against what answers them without an engine. */
export const capabilities: PathFamily = async (opened) => {
  const folder = await mkdtemp(join(tmpdir(), "glovebox-bench-"));
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, "file");
  await writeFile(file, "x".repeat(FILE_BYTES));
  const engine = opened.use(
    await openEngine("process", {
      capabilities: [echo],
      kv: { path: join(folder, "kv.sqlite") },
      policy: {
        rules: [{ allow: { echo: true, kv: true, tools: ["one"], fs: { data: { path: folder, mode: "ro" } } } }],
      },
    }),
  );
  await engine.register({ name: "one", description: "one", source: "export default () => ({ sum: 1 });" });
  const reads = await toolSubject(engine, "process", "reads", row("await host.kv.get('k')", SET), { kv: true });
  const readsAll = await toolSubject(engine, "process", "reads-all", atOnce("host.kv.get('k')", SET), { kv: true });
  for (const each of [reads, readsAll]) await each.run(-1);
  const worker = opened.use(await MessageWorker.start());
  const sqlite = opened.use(await SqliteWorker.start(join(folder, "alone.sqlite")));
  const entries = openEntries(opened, join(folder, "direct.sqlite"));
  const expected = (index: number) => index + IN_A_ROW;
  const inRow = { operations: IN_A_ROW, concurrency: null, expected } as const;
  return [
    {
      name: "custom capability",
      ...inRow,
      subjects: [
        await toolSubject(engine, "process", "echoes", row("await host.echo.one({ value: 1 })"), { echo: true }),
        { name: "round trip of a MessagePort", run: (i) => inARow(i, async () => Number(await worker.run(1))) },
      ],
    },
    {
      name: "kv.get, one after the other",
      ...inRow,
      subjects: [reads, { name: "SQLite in a thread", run: (i) => inARow(i, () => sqlite.get("k")) }],
    },
    {
      name: `kv.get, ${AT_ONCE} at once`,
      operations: AT_ONCE,
      concurrency: null,
      expected: (index) => index + AT_ONCE,
      subjects: [
        readsAll,
        {
          name: "SQLite",
          sync: true,
          run: (index) => {
            let sum = index;
            for (let nth = 0; nth < AT_ONCE; nth++) {
              sum += Number(JSON.parse(entries.get("alone", "k", Date.now())?.value ?? "0"));
            }
            return sum;
          },
        },
      ],
    },
    {
      name: "child call",
      ...inRow,
      subjects: [
        await toolSubject(engine, "process", "parent", row("(await host.tools.call('one', {})).sum"), {
          tools: ["one"],
        }),
        {
          name: "call by the caller",
          run: (i) => inARow(i, async () => oneOf(await engine.execute({ name: "one", arguments: {} }))),
        },
      ],
    },
    {
      name: "fs.readFile of 4 KiB",
      ...inRow,
      subjects: [
        await toolSubject(
          engine,
          "process",
          "files",
          row(`(await host.fs.readFile('/data/file', 'utf8')).length / ${FILE_BYTES}`),
          { fs: { data: { mode: "ro" } } },
        ),
        { name: "fs.promises", run: (i) => inARow(i, async () => (await readFile(file, "utf8")).length / FILE_BYTES) },
      ],
    },
  ] satisfies Path[];
};

function oneOf({ output }: { readonly output: unknown }): number {
  return (output as { readonly sum: number }).sum;
}

/** The same statements as the engine's, with nobody between them and whoever asks. */
function openEntries(opened: AsyncDisposableStack, path: string): SqliteEntries {
  const database = new DatabaseSync(path);
  opened.defer(() => database.close());
  layOut(database, KV_BYTES);
  const entries = new SqliteEntries(database);
  const entry = { key: "k", value: "1", ttlMs: null, condition: { kind: "always" }, quotaBytes: KV_BYTES } as const;
  entries.set("alone", entry, Date.now());
  return entries;
}
