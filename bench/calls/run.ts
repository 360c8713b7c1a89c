/** Times of a store of calls with many rows: `npm run bench:calls -- 100000 1000000`, or with `redis` before the numbers. */
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type CallCells, type CallFilter, readFilter } from "../../src/kernel/store/calls/call-record.ts";
import { DEFAULT_KEYS } from "../../src/kernel/store/calls/ledger.ts";
import { RedisKeptCalls } from "../../src/fleet/kept-calls/redis-kept-calls.ts";
import type { CallBackend } from "../../src/kernel/store/calls/thread/call-backend.ts";
import { FileCalls } from "../../src/kernel/store/calls/thread/file-calls.ts";
import { connectTo, startRedis } from "../../test/redis-server.ts";

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

function line(name: string, times: readonly number[]): void {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number): string => (sorted[Math.floor(share * (sorted.length - 1))] ?? 0).toFixed(2);
  console.log(`  ${name}: median ${at(0.5)} ms, most ${at(1)} ms`);
}

async function measure(rows: number, store: Measured): Promise<void> {
  const { calls, aged } = store;
  const detail = { json: JSON.stringify({ arguments: { text: "x".repeat(2_000) }, output: null }), run: null };
  const [before, ownBefore] = [await store.use(), process.cpuUsage()];
  const [writeMs = 0] = await timed(1, async () => {
    for (let at = 0; at < rows; at += BATCH) {
      const batch = Array.from({ length: Math.min(BATCH, rows - at) }, (_, more) => cellsOf(at + more));
      await calls.add(batch.map((cells) => [cells, cells[8] === "ok" ? null : detail]));
    }
  });
  const own = process.cpuUsage(ownBefore);
  const after = await store.use();
  const each = (total: number): string => (total / rows).toFixed(1);
  console.log(`${rows} calls, ${Math.floor(rows / FAILED_EVERY)} with a detail of 2 kB`);
  console.log(`  written: ${each(writeMs * 1_000)} µs for a call`);
  console.log(
    `  processor time for a call: ${each(own.user + own.system)} µs, of Redis ${each(after.cpuUs - before.cpuUs)} µs`,
  );
  console.log(
    `  size: ${((after.bytes - before.bytes) / 1024 ** 2).toFixed(0)} MiB, ${each(after.bytes - before.bytes)} bytes for a call`,
  );
  for (const [name, filter] of Object.entries(FILTERS)) {
    line(`50 calls ${name}`, await timed(ROUNDS, () => calls.list(readFilter(filter))));
  }
  const middle = Math.floor(rows / 2);
  line(
    "50 calls from the middle",
    await timed(ROUNDS, () => calls.list(readFilter({ cursor: `${BEGIN_MS + middle}-${middle}` }))),
  );
  line("one call by its id", await timed(ROUNDS, (round) => calls.get(`c${round * 50}`, null)));
  line("a piece of sweeping", await timed(40, () => aged.sweep(BEGIN_MS + rows)));
}

const [place, ...numbers] = process.argv.slice(2);
const isRedis = place === "redis";
const given = (isRedis || place === undefined ? numbers : [place, ...numbers]).map(Number);
for (const rows of given.length === 0 ? [100_000] : given) {
  await using store = await (isRedis ? openRedis() : openFile());
  await measure(rows, store);
}
