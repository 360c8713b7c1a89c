/**
 * Times and memory of a store of calls with many rows: `npm run bench:calls -- 100000 1000000 [--json FILE]`, or with
 * `redis` before the numbers. It exits with 1 where a list of 50 calls takes longer than its bound. The report goes to
 * FILE as JSON.
 */
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type CallCells, type CallFilter, readFilter } from "../../src/kernel/store/calls/call-record.ts";
import { DEFAULT_KEYS } from "../../src/kernel/store/calls/ledger.ts";
import { RedisKeptCalls } from "../../src/fleet/kept-calls/redis-kept-calls.ts";
import type { CallBackend } from "../../src/kernel/store/calls/thread/call-backend.ts";
import { FileCalls } from "../../src/kernel/store/calls/thread/file-calls.ts";
import { connectTo, startRedis } from "../../test/redis-server.ts";
import { describeMachine, type Report, renderReport, type ScenarioReport } from "../report.ts";
import type { Row } from "../scenario.ts";

const BATCH = 256;
const ROUNDS = 15;
/** Longest time for a list of 50 calls of a million, in milliseconds: of the median, as others use the machine too. */
const LIST_MAX_MS = 20;
const LISTS = "list_ms";
const MIB = 1024 ** 2;
const EXIT_MISSED = 1;
const EXIT_USAGE = 2;
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

/** A store that is measured. */
interface Measured extends AsyncDisposable {
  readonly calls: CallBackend;
  /** Another process that keeps no call for longer than it has to. */
  readonly aged: CallBackend;
  /** Bytes that it needs, and its own processor time in microseconds, if it has one. */
  use(): Promise<{ readonly bytes: number; readonly cpuUs: number }>;
}

const LASTING = { maxAgeMs: 1e15, detailAgeMs: 1e15, maxBytes: 8 * 1024 ** 3, keys: DEFAULT_KEYS };
const PASSING = { ...LASTING, maxAgeMs: 0, detailAgeMs: 0 };

async function openFile(): Promise<Measured> {
  const folder = mkdtempSync(join(tmpdir(), "glovebox-bench-calls-"));
  const path = join(folder, "calls.sqlite");
  const open = (room: typeof LASTING) => FileCalls.open({ path, ...room }, () => undefined);
  const [calls, aged] = [await open(LASTING), await open(PASSING)];
  return {
    calls,
    aged,
    use: async () => ({ bytes: statSync(path, { throwIfNoEntry: false })?.size ?? 0, cpuUs: 0 }),
    [Symbol.asyncDispose]: async () => {
      await Promise.all([calls.close(), aged.close()]);
      rmSync(folder, { recursive: true });
    },
  };
}

async function openRedis(): Promise<Measured> {
  const server = await startRedis({ args: ["--appendonly", "no"] });
  const admin = await connectTo(server.url);
  const place = { url: server.url, fleet: "bench", secret: "a secret of the bench" };
  const [calls, aged] = await Promise.all([LASTING, PASSING].map((room) => RedisKeptCalls.open({ ...place, ...room })));
  if (calls === undefined || aged === undefined) throw new Error("there is no store");
  const figure = async (section: string, name: string): Promise<number> =>
    Number(new RegExp(`${name}:([0-9.]+)`).exec(await admin.client.info(section))?.[1]);
  return {
    calls,
    aged,
    use: async () => ({
      bytes: await figure("memory", "used_memory"),
      cpuUs: 1e6 * ((await figure("cpu", "used_cpu_user")) + (await figure("cpu", "used_cpu_sys"))),
    }),
    [Symbol.asyncDispose]: async () => {
      await Promise.all([calls.close(), aged.close(), admin.close()]);
      await server[Symbol.asyncDispose]();
    },
  };
}

async function timed(rounds: number, work: (round: number) => Promise<unknown>): Promise<readonly number[]> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const startMs = performance.now();
    await work(round);
    times.push(performance.now() - startMs);
  }
  return times;
}

function rowOf(subject: string, metric: string, unit: string, figures: readonly number[]): Row {
  const sorted = figures.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.floor(share * (sorted.length - 1))] ?? NaN;
  return { subject, metric, unit, better: "lower", median: at(0.5), min: at(0), max: at(1), ratios: {} };
}

/** Memory of this process, in which the store of a file works, before and after it has done something. */
function memoryRow(subject: string): Row {
  return rowOf(subject, "resident_mib", "MiB", [process.memoryUsage.rss() / MIB]);
}

async function write(rows: number, store: Measured): Promise<readonly Row[]> {
  const detail = { json: JSON.stringify({ arguments: { text: "x".repeat(2_000) }, output: null }), run: null };
  const [before, ownBefore] = [await store.use(), process.cpuUsage()];
  const [writeMs = 0] = await timed(1, async () => {
    for (let at = 0; at < rows; at += BATCH) {
      const batch = Array.from({ length: Math.min(BATCH, rows - at) }, (_, more) => cellsOf(at + more));
      await store.calls.add(batch.map((cells) => [cells, cells[8] === "ok" ? null : detail]));
    }
  });
  const own = process.cpuUsage(ownBefore);
  const after = await store.use();
  const each = (subject: string, total: number): Row => rowOf(subject, "for_a_call_us", "us", [total / rows]);
  return [
    each("written", writeMs * 1_000),
    each("processor time", own.user + own.system),
    ...(after.cpuUs > 0 ? [each("processor time of Redis", after.cpuUs - before.cpuUs)] : []),
    rowOf("size", "bytes_for_a_call", "bytes", [(after.bytes - before.bytes) / rows]),
  ];
}

/** `place`: where the calls are, in words. */
async function measure(rows: number, store: Measured, place: string): Promise<ScenarioReport> {
  const { calls, aged } = store;
  const found = createHash("sha256");
  const measured: Row[] = [memoryRow("before"), ...(await write(rows, store)), memoryRow("after writing")];
  const list = async (name: string, filter: CallFilter): Promise<void> => {
    const page = await calls.list(readFilter(filter));
    for (const { id } of page.calls) found.update(id);
    const times = await timed(ROUNDS, () => calls.list(readFilter(filter)));
    measured.push(rowOf(`50 calls ${name}`, LISTS, "ms", times));
  };
  for (const [name, filter] of Object.entries(FILTERS)) await list(name, filter);
  const middle = Math.floor(rows / 2);
  await list("from the middle", { cursor: `${BEGIN_MS + middle}-${middle}` });
  const gets = await timed(ROUNDS, (round) => calls.get(`c${round * 50}`, null));
  const sweeps = await timed(40, () => aged.sweep(BEGIN_MS + rows));
  measured.push(
    memoryRow("after lists"),
    rowOf("one call by its id", "get_ms", "ms", gets),
    rowOf("a piece of sweeping", "sweep_ms", "ms", sweeps),
  );
  return { name: `${rows} calls ${place}`, state: "quiet", rows: measured, checksum: found.digest("hex").slice(0, 16) };
}

/** The lists that took longer than they may. */
function missed({ scenarios }: Report): readonly string[] {
  const lists = scenarios.flatMap(({ name, rows }) => rows.map((row) => ({ name, ...row })));
  return lists
    .filter(({ metric, median }) => metric === LISTS && !(median <= LIST_MAX_MS))
    .map(
      ({ name, subject, median }) => `${name}: ${subject} took ${median.toFixed(1)} ms, the bound is ${LIST_MAX_MS} ms`,
    );
}

async function main(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: { json: { type: "string" } },
    allowPositionals: true,
  });
  const isRedis = positionals[0] === "redis";
  const given = positionals.slice(isRedis ? 1 : 0).map(Number);
  if (given.some((rows) => !Number.isInteger(rows) || rows < 1)) throw new RangeError("numbers of calls are whole");
  const startedAt = new Date().toISOString();
  const scenarios: ScenarioReport[] = [];
  for (const rows of given.length === 0 ? [100_000] : given) {
    await using store = await (isRedis ? openRedis() : openFile());
    scenarios.push(await measure(rows, store, isRedis ? "in Redis" : "in a file"));
  }
  const report: Report = { machine: describeMachine(), startedAt, smoke: false, scenarios };
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(report, null, 2)}\n`);
  console.log(renderReport(report));
  const late = missed(report);
  for (const each of late) console.error(each);
  return late.length === 0 ? 0 : EXIT_MISSED;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof TypeError || error instanceof RangeError)) throw error;
  console.error(`${error.message}\nUsage: bench:calls [redis] [NUMBER]… [--json FILE]`);
  process.exitCode = EXIT_USAGE;
}
