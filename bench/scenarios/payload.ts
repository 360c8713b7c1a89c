import { openPiscina, PISCINA } from "../baselines/pools.ts";
import { call, EXECUTORS, openEngine } from "../engines.ts";
import { combine, measure, type Subject } from "../sampling.ts";
import type { Findings, Scenario } from "../scenario.ts";

const PISCINA_JSON = "piscina no-op, JSON text";
const LIMIT_BYTES = 8 * 1024 * 1024;
const ECHO_MODULE = "export default (input) => input;";

interface Item {
  readonly id: number;
  readonly title: string;
  readonly score: number;
  readonly tags: readonly string[];
}

interface Payload extends Record<string, unknown> {
  readonly index: number;
  readonly items: readonly Item[];
}

interface Size {
  readonly label: string;
  readonly bytes: number;
  /** Large ones are fewer at a time, or the heap is what is measured. */
  readonly concurrency: number;
}

const SIZES: readonly Size[] = [
  { label: "10kB", bytes: 10_000, concurrency: 64 },
  { label: "1MB", bytes: 1_000_000, concurrency: 4 },
];

/** What large arguments and answers cost: a tool that answers what it was given. */
export const payload: Scenario = {
  name: "payload",
  description: "an echo of 10 kB and of 1 MB, as records of strings and numbers",
  smoke: { states: ["quiet"], rounds: 1, sampleMs: 20 },
  full: { states: ["quiet", "busy"], rounds: 5, sampleMs: 400 },
  async run(context) {
    await using opened = new AsyncDisposableStack();
    const limits = { inputBytes: LIMIT_BYTES, outputBytes: LIMIT_BYTES };
    const echoes: { readonly name: string; readonly echo: (payload: Payload) => Promise<unknown> }[] = [];
    for (const kind of EXECUTORS) {
      const engine = opened.use(await openEngine(kind, { limits }));
      await engine.register({ name: "echo", description: "answers its input", source: ECHO_MODULE });
      echoes.push({ name: `glovebox ${kind}`, echo: (sent) => call(engine, "echo", sent) });
    }
    const pool = opened.adopt(openPiscina(), (piscina) => piscina.destroy());
    echoes.push({ name: PISCINA, echo: (sent) => pool.run(sent) });
    const rewrite = async (sent: Payload): Promise<unknown> =>
      JSON.parse((await pool.run(JSON.stringify(sent), { name: "rewrite" })) as string);
    echoes.push({ name: PISCINA_JSON, echo: rewrite });
    const parts: Findings[] = [];
    for (const { label, bytes, concurrency } of SIZES) {
      const items = makeItems(bytes);
      const subjects = echoes.map(({ name, echo }): Subject => {
        const against = name.startsWith("glovebox") ? [PISCINA, PISCINA_JSON] : [];
        return { name, against, run: async (index) => proofOf(await echo({ index, items })) };
      });
      const plan = {
        subjects,
        expected: (index: number) => proofOf({ index, items }),
        latency: { name: "latency_us", unit: "us" },
        concurrencies: [concurrency],
        suffix: `_${label}`,
      } as const;
      parts.push(await measure(context, plan));
    }
    return combine(parts);
  },
};

/** Records that have so many bytes of JSON, or a few more. */
function makeItems(bytes: number): Item[] {
  const items: Item[] = [];
  for (let written = 0; written < bytes;) {
    const id = items.length;
    const item = { id, title: `Item number ${id} of the list`, score: id / 8, tags: ["red", "green", "blue"] };
    items.push(item);
    written += JSON.stringify(item).length + 1;
  }
  return items;
}

/** Depends on both ends of the payload and on how much lies between them. */
function proofOf(output: unknown): number {
  const { index, items } = output as Payload;
  const last = items.at(-1);
  return index + items.length * 1e4 + (last?.score ?? Number.NaN) + (last?.title.length ?? Number.NaN);
}
