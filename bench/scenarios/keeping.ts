import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { DatabaseSync } from "node:sqlite";
import type { Keep } from "../../src/kernel/store/calls/call-record.ts";
import { CALLS_LAYOUT } from "../../src/kernel/store/calls/call-tables.ts";
import { layOut } from "../../src/kernel/store/sqlite/layout.ts";
import { openEngine } from "../engines.ts";
import { inRounds, pick } from "../rounds.ts";
import { runInEngine } from "../runs.ts";
import { measure, sampleThroughput, type Subject, type Throughput } from "../sampling.ts";
import type { Context, Row, Scenario } from "../scenario.ts";
import { summarize } from "../statistics.ts";
import { addArguments, addTool, expectedSum } from "../tools.ts";

const CONCURRENCY = 256;
const NANOSECONDS = 1e6;
/** How often a file is harmed that the store begins anew. */
const HARM_MS = 100;
const PAGE_BYTES = 4_096;
const BASELINE = "nothing is kept";
const KEPT = {
  [BASELINE]: { keep: "nothing" },
  "failures are kept": { keep: "failures" },
  "everything is kept": { keep: "everything" },
  "the file is locked": { keep: "failures", harm: lock },
  "the file is of another program": { keep: "failures", harm: (path: string) => writeFileSync(path, "something") },
  "the file is deleted again and again": { keep: "failures", harm: (path: string) => again(() => remove(path)) },
  "the file is damaged again and again": { keep: "failures", harm: (path: string) => again(() => damage(path)) },
  "the disk is full": { keep: "failures", harm: fullDisk },
  "the disk is read-only": { keep: "failures", harm: readOnlyDisk },
} as const satisfies Readonly<Record<string, Kept>>;

type Measured = Throughput & { readonly delayMs: number };

interface Kept {
  readonly keep: Keep;
  /** Makes a file unusable before its first use, or from then on. Throws where this machine does not let it. */
  readonly harm?: (path: string) => Disposable | void;
}

/** What it costs to keep calls: the goals are 0.95 of the rate without, and a millisecond of the event loop. */
export const keeping: Scenario = {
  name: "keeping",
  description: "a small warm tool of one tenant, in engines that keep calls in a file, or do not",
  smoke: { states: ["quiet"], rounds: 1, sampleMs: 20 },
  full: { states: ["quiet"], rounds: 40, sampleMs: 250 },
  async run(context) {
    const folder = mkdtempSync(join(tmpdir(), "glovebox-bench-keeping-"));
    await using opened = new AsyncDisposableStack();
    opened.defer(() => rmSync(folder, { recursive: true }));
    const subjects: Subject[] = [];
    for (const [name, { keep, harm }] of Object.entries<Kept>(KEPT)) {
      const path = join(folder, `${subjects.length}`, "calls.sqlite");
      mkdirSync(dirname(path));
      try {
        const harmed = harm?.(path);
        if (harmed !== undefined) opened.use(harmed);
      } catch (error) {
        context.progress(`${name}: left out, as it needs root on Linux (${String(error)})`);
        rmSync(dirname(path), { recursive: true });
        continue;
      }
      const engine = opened.use(await openEngine("process", { calls: { keep, path }, stateDir: folder }));
      await engine.register(addTool("add"));
      const against = name === BASELINE ? [] : [BASELINE];
      subjects.push({ name, against, run: runInEngine(engine, "add", addArguments) });
    }
    const { rows, checksum } = await measure(context, {
      subjects,
      expected: expectedSum,
      latency: { name: "latency_us", unit: "us" },
    });
    return { rows: [...rows, ...(await measureTogether(context, subjects))], checksum };
  },
};

/** Holds the lock of a file, as another process that writes for ever. */
function lock(path: string): Disposable {
  const database = create(path);
  database.exec("BEGIN IMMEDIATE");
  return { [Symbol.dispose]: () => database.close() };
}

function create(path: string): DatabaseSync {
  const database = new DatabaseSync(path);
  layOut(database, 2 ** 30, CALLS_LAYOUT);
  return database;
}

function again(harm: () => void): Disposable {
  const timer = setInterval(harm, HARM_MS).unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

function remove(path: string): void {
  for (const end of ["", "-wal", "-shm"]) rmSync(path + end, { force: true });
}

/** Leaves the first page, and zeros in the place of all others. */
function damage(path: string): void {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size <= PAGE_BYTES) return;
  truncateSync(path, PAGE_BYTES);
  truncateSync(path, size);
}

/** Gives a file a small disk of its own. */
function onDisk(path: string): Disposable {
  const place = dirname(path);
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", place], { stdio: "pipe" });
  create(path).close();
  // The engine is closed after it.
  return { [Symbol.dispose]: () => void execFileSync("umount", ["--lazy", place], { stdio: "pipe" }) };
}

function fullDisk(path: string): Disposable {
  const disk = onDisk(path);
  for (let size = 2 ** 20; size >= 1; size /= 2) {
    try {
      writeFileSync(join(dirname(path), "ballast"), Buffer.alloc(size), { flag: "a" });
    } catch {
      // Less is left.
    }
  }
  return disk;
}

function readOnlyDisk(path: string): Disposable {
  const disk = onDisk(path);
  execFileSync("mount", ["-o", "remount,ro", dirname(path)], { stdio: "pipe" });
  return disk;
}

/**
 * Rate, processor time, and the event loop's delay in the worst hundredth of the time. More calls are kept at once after a
 * quiet time: each sample begins after those.
 */
async function measureTogether(context: Context, subjects: readonly Subject[]): Promise<Row[]> {
  const tail = `c${CONCURRENCY}`;
  const samples = await inRounds(context, subjects, `rate and delay, ${tail}`, async (subject, ms) => {
    await sampleThroughput(subject, expectedSum, CONCURRENCY, ms / 2);
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    const rate = await sampleThroughput(subject, expectedSum, CONCURRENCY, ms);
    delay.disable();
    return { ...rate, delayMs: delay.percentile(99) / NANOSECONDS };
  });
  const rowsOf = (
    name: string,
    unit: string,
    better: Row["better"],
    figure: (one: Measured) => number | null,
  ): Row[] => {
    const picked = pick(samples, figure);
    // Where the system does not tell processor times, there is no row of them.
    return picked.size < subjects.length ? [] : summarize({ name: `${name}_${tail}`, unit, better }, subjects, picked);
  };
  return [
    ...rowsOf("calls_per_second", "/s", "higher", ({ value }) => value),
    ...rowsOf("cpu_us_per_call", "us", "lower", ({ cpuUsPerCall }) => cpuUsPerCall),
    ...rowsOf("loop_p99_ms", "ms", "lower", ({ delayMs }) => delayMs),
  ];
}
