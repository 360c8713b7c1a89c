/** Times of a store of calls with many rows: `npm run bench:calls -- 100000 1000000`. */
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type CallCells, type CallFilter, readFilter } from "../../src/store/calls/call-record.ts";
import { DEFAULT_KEYS } from "../../src/store/calls/ledger.ts";
import { CallFile } from "../../src/store/calls/thread/call-file.ts";

const BATCH = 256;
const ROUNDS = 15;
const BEGIN_MS = 1_800_000_000_000;
/** One of so many calls has failed, and has a detail. */
const FAILED_EVERY = 50;

const FILTERS: Readonly<Record<string, CallFilter>> = {
  newest: {},
  "of a tenant": { tenant: "tenant7" },
  "of a tool": { tool: "tool3" },
  failed: { code: "tool_error" },
  "with a text": { text: "number 77" },
  "of a tenant and a tool": { tenant: "tenant7", tool: "tool3" },
  "of a tool that is not there": { tool: "nothing" },
  "that a call has made": { parent: "c500" },
};

function cellsOf(at: number): CallCells {
  const isFailed = at % FAILED_EVERY === 0;
  const [code, error] = isFailed ? ["tool_error", `number ${at} has failed`] : ["ok", null];
  const parent = at % 20 === 1 ? `c${at - 1}` : null;
  const names = [
    `c${at}`,
    `tool${at % 17}`,
    "1.0.0",
    "d".repeat(64),
    `tenant${at % 31}`,
    parent,
    "http",
    "key1",
  ] as const;
  return [...names, code, error, BEGIN_MS + at, 0.5, 1.25, 0.75, 200, 1, 1];
}

function msOf(work: () => void): number {
  const startMs = performance.now();
  work();
  return performance.now() - startMs;
}

function line(name: string, times: readonly number[]): void {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number): string => (sorted[Math.floor(share * (sorted.length - 1))] ?? 0).toFixed(2);
  console.log(`  ${name}: median ${at(0.5)} ms, most ${at(1)} ms`);
}

function measure(rows: number): void {
  const folder = mkdtempSync(join(tmpdir(), "glovebox-bench-calls-"));
  const settings = {
    path: join(folder, "calls.sqlite"),
    maxAgeMs: 1e15,
    detailAgeMs: 1e15,
    maxBytes: 8 * 1024 ** 3,
    keys: DEFAULT_KEYS,
  };
  const file = new CallFile(settings, () => undefined);
  const detail = { json: JSON.stringify({ arguments: { text: "x".repeat(2_000) }, output: null }), run: null };
  const beforeBytes = process.memoryUsage.rss();
  const writeMs = msOf(() => {
    for (let at = 0; at < rows; at += BATCH) {
      const batch = Array.from({ length: Math.min(BATCH, rows - at) }, (_, more) => cellsOf(at + more));
      file.write((writer) => writer.add(batch.map((cells) => [cells, cells[8] === "ok" ? null : detail])));
    }
  });
  console.log(`${rows} calls, ${Math.floor(rows / FAILED_EVERY)} with a detail of 2 kB`);
  console.log(`  written: ${((writeMs * 1_000) / rows).toFixed(1)} µs for a call`);
  console.log(
    `  size: ${(statSync(settings.path).size / 1024 ** 2).toFixed(0)} MiB, ${Math.round(statSync(settings.path).size / rows)} bytes for a call`,
  );
  for (const [name, filter] of Object.entries(FILTERS)) {
    line(
      `50 calls ${name}`,
      Array.from({ length: ROUNDS }, () => msOf(() => file.read((reader) => reader.list(readFilter(filter))))),
    );
  }
  const after = `${BEGIN_MS + Math.floor(rows / 2)}-${Math.floor(rows / 2)}`;
  line(
    "50 calls from the middle",
    Array.from({ length: ROUNDS }, () => msOf(() => file.read((reader) => reader.list(readFilter({ cursor: after }))))),
  );
  line(
    "one call by its id",
    Array.from({ length: ROUNDS }, (_, at) => msOf(() => file.read((reader) => reader.get(`c${at * 50}`, null)))),
  );
  file.close();
  const aged = new CallFile({ ...settings, maxAgeMs: 0, detailAgeMs: 0 }, () => undefined);
  line(
    "a piece of sweeping",
    Array.from({ length: 40 }, () => msOf(() => void aged.sweep(BEGIN_MS + rows))),
  );
  aged.close();
  console.log(`  memory: ${((process.memoryUsage.rss() - beforeBytes) / 1024 ** 2).toFixed(0)} MiB more than before`);
  rmSync(folder, { recursive: true });
}

const given = process.argv.slice(2).map(Number);
for (const rows of given.length === 0 ? [100_000] : given) measure(rows);
