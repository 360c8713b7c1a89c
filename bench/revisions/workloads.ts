import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ToolDefinition } from "../../src/kernel/tool/definition.ts";
import type { Subject } from "../sampling.ts";
import type { Metric } from "../statistics.ts";
import { addArguments, addTool } from "../tools.ts";

/** What a revision exports: the public names only, which later revisions keep. */
export type Library = typeof import("../../src/glovebox/index.ts");

/** One measured path through the engine. */
export interface Workload {
  readonly name: string;
  readonly metric: Metric;
  /** Calls in flight; `null` for one after the other. */
  readonly concurrency: number | null;
  readonly open: (bench: Opened) => Subject | Promise<Subject>;
}

/** An engine of the revision, with all that workloads need. */
export interface Opened extends AsyncDisposable {
  readonly engine: Awaited<ReturnType<Library["createEngine"]>>;
  readonly origin: string;
}

const FILE_BYTES = 4_096;
const ROWS_BYTES = 100 * 1_024;
const latency: Metric = { name: "p50", unit: "us", better: "lower" };
const rate: Metric = { name: "calls per second", unit: "/s", better: "higher" };

const ADD = "({ a, b }) => ({ sum: a + b })";
/** Plain JSON, as an API answers with. */
const ROWS = rowsOf(ROWS_BYTES);
const GIVE_ROWS = `((rows) => ({ a, b }) => ({ rows, sum: a + b }))(${JSON.stringify(ROWS)})`;
const CUSTOM = "async (input, { host }) => ({ sum: await host.adder.add(input) })";
const KV = "async ({ a, b }, { host }) => ({ sum: ((await host.kv.get('none'))?.a ?? 0) + a + b })";
const FS = `async ({ a, b }, { host }) => ({ sum: (await host.fs.readFile('/data/file', 'utf8')).length - ${FILE_BYTES} + a + b })`;
const fetching = (origin: string) =>
  `async ({ a, b }) => ({ sum: (await (await fetch('${origin}/')).json()) + a + b })`;

export const WORKLOADS: readonly Workload[] = [
  { name: "lone", metric: latency, concurrency: null, open: (opened) => warm(opened, "add", ADD) },
  { name: "dispatch-64", metric: rate, concurrency: 64, open: (opened) => warm(opened, "add", ADD) },
  { name: "dispatch-256", metric: rate, concurrency: 256, open: (opened) => warm(opened, "add", ADD) },
  {
    name: "rows-returned",
    metric: latency,
    concurrency: null,
    // A shared module makes them once.
    open: (opened) => warm(opened, "rows-returned", GIVE_ROWS, { isolation: "shared" }),
  },
  {
    name: "rows-given",
    metric: latency,
    concurrency: null,
    open: (opened) => warm(opened, "rows-given", ADD, {}, { rows: ROWS }),
  },
  { name: "cold", metric: latency, concurrency: null, open: ({ engine }) => cold(engine) },
  {
    name: "custom",
    metric: latency,
    concurrency: null,
    open: (opened) => warm(opened, "custom", CUSTOM, { capabilities: { adder: true } }),
  },
  {
    name: "kv",
    metric: latency,
    concurrency: null,
    open: (opened) => warm(opened, "kv", KV, { capabilities: { kv: true } }),
  },
  {
    name: "fs",
    metric: latency,
    concurrency: null,
    open: (opened) => warm(opened, "fs", FS, { capabilities: { fs: { data: { mode: "ro" } } } }),
  },
  {
    name: "fetch",
    metric: latency,
    concurrency: null,
    open: (opened) =>
      warm(opened, "fetch", fetching(opened.origin), { capabilities: { fetch: { origins: [opened.origin] } } }),
  },
];

/** Opens an engine of a revision, with one worker. */
export async function openRevision({ createEngine, defineCapability }: Library): Promise<Opened> {
  await using opened = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "glovebox-bench-"));
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, "file"), "x".repeat(FILE_BYTES));
  const server = opened.use(createServer((_, response) => response.end("0")));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const adder = defineCapability({
    name: "adder",
    methods: { add: { handler: ({ a, b }: { readonly a: number; readonly b: number }) => a + b } },
  });
  const engine = opened.use(
    await createEngine({
      workers: 1,
      executor: { kind: "process", spare: false },
      capabilities: [adder],
      policy: {
        rules: [
          {
            allow: {
              adder: true,
              kv: true,
              fetch: { origins: [], privateOrigins: [origin] },
              fs: { data: { path: folder, mode: "ro" } },
            },
          },
        ],
      },
    }),
  );
  const kept = opened.move();
  return { engine, origin, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

async function warm(
  { engine }: Opened,
  name: string,
  functionText: string,
  definition: Partial<ToolDefinition> = {},
  more: Readonly<Record<string, unknown>> = {},
): Promise<Subject> {
  if (engine.get(name) === undefined) await engine.register({ ...addTool(name, functionText), ...definition });
  return { name, against: [], run: (index) => sum(engine, name, index, more) };
}

function rowsOf(bytes: number): readonly object[] {
  const row = (id: number): object => {
    return { id, name: `Customer ${id}`, city: "Trondheim", total: id * 1.25, isOpen: id % 2 === 0, tags: ["a", "b"] };
  };
  return Array.from({ length: Math.round(bytes / JSON.stringify(row(1_000)).length) }, (_, id) => row(id));
}

let made = 0;

/** Registers a tool that nobody has seen before, and calls it once. */
function cold(engine: Opened["engine"]): Subject {
  let current = "";
  return {
    name: "cold",
    against: [],
    run: async (index) => {
      current = `cold-${++made}`;
      await engine.register(addTool(current, `({ a, b }) => ({ sum: a + b, made: ${made} })`));
      return sum(engine, current, index);
    },
    after: async () => {
      await engine.unregister(current);
    },
  };
}

async function sum(engine: Opened["engine"], name: string, index: number, more = {}): Promise<number> {
  const { success, output, error } = await engine.execute({ name, arguments: { ...addArguments(index), ...more } });
  if (!success) throw new Error(`"${name}" failed: ${error?.code}: ${error?.message}`);
  return (output as { readonly sum: number }).sum;
}
