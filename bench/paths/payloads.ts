import { openPiscina, PISCINA } from "../baselines/pools.ts";
import { call, openEngine } from "../engines.ts";
import type { Path, PathFamily } from "./path.ts";

const BYTES = 100 * 1024;
const ROWS = 1_000;

interface Sent extends Record<string, unknown> {
  readonly index: number;
  readonly rows?: readonly {
    readonly id: number;
    readonly title: string;
    readonly score: number;
    readonly ok: boolean;
  }[];
  readonly text?: string;
}

const makeRow = (id: number) => ({
  id,
  title: `The title of row number ${id} of the many rows`,
  score: id / 8,
  ok: id % 2 === 0,
});

/** 100 KiB there and back, against the same through a pool of threads, which copies objects by structured clone. */
export const payloads: PathFamily = async (opened) => {
  const engine = opened.use(await openEngine("process"));
  await engine.register({ name: "echo", description: "answers its input", source: "export default (input) => input;" });
  const pool = opened.adopt(openPiscina(), (piscina) => piscina.destroy());
  const path = (name: string, sentOf: (index: number) => Sent): Path => ({
    name,
    operations: 1,
    concurrency: null,
    expected: (index) => proofOf(sentOf(index)),
    subjects: [
      { name: "process", run: async (index) => proofOf((await call(engine, "echo", sentOf(index))) as Sent) },
      { name: PISCINA, run: async (index) => proofOf((await pool.run(sentOf(index))) as Sent) },
    ],
  });
  const rows = Array.from({ length: ROWS }, (_, id) => makeRow(id));
  const text = "x".repeat(BYTES);
  return [
    path(`${ROWS} rows of JSON there and back`, (index) => ({ index, rows })),
    path("text of 100 KiB there and back", (index) => ({ index, text })),
  ];
};

/** Depends on both ends of what was sent, and on how much lies between them. */
function proofOf({ index, rows = [], text = "" }: Sent): number {
  return index + rows.length * 1_000 + (rows.at(-1)?.score ?? 0) + text.length;
}
