/** What calls that wait take of the machine, and how long it is from a decision to a result. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { defineCapability, type Engine } from "../../src/glovebox/index.ts";
import type { ExecutorKind } from "../../src/kernel/executor/executor.ts";
import { openEngineAsItComes } from "../engines.ts";
import { formatNumber, renderTable } from "../report.ts";
import { median, percentile } from "../statistics.ts";

const MIB = 1024 * 1024;
const KIB = 1024;
/** Characters of an answer in a journal. */
const ANSWER = "x".repeat(200);
const STARTS_AT_ONCE = 32;
const LISTS = 30;
const LISTED = 50;
/**
 * Calls that pause before anything is measured. `npm run bench:durable` keeps V8's young generation small: it grows by 40 to
 * 80 MiB while thousands of calls run, whether they pause or end, and that is no memory of calls that wait.
 */
const WARM_CALLS = 2_500;
const MEMORY_LOOKS = 5;
const MEMORY_EVERY_MS = 100;
/** For the end of what does not wait. */
const END_MS = 60_000;

/** A figure beside what it may be at most; `null`: it is told only. */
export interface DurableFigure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly most: number | null;
}

/** Whether a figure is within its bound. */
export function isKept({ value, most }: DurableFigure): boolean {
  return most === null || value <= most;
}

interface Opened extends AsyncDisposable {
  readonly engine: Engine;
  readonly path: string;
}

/** An engine whose tool asks for something some times, one after the other, and waits then for a signal. */
async function open(kind: ExecutorKind, isSealed = false): Promise<Opened> {
  const folder = mkdtempSync(join(tmpdir(), "glovebox-bench-durable-"));
  const path = join(folder, "calls.sqlite");
  const desk = defineCapability({
    name: "desk",
    methods: { look: { isRead: true, handler: () => ANSWER } },
  });
  const limits = { capabilityCalls: 2_000, cpuMs: 20_000 };
  const engine = await openEngineAsItComes(kind, {
    workers: 1,
    capabilities: [desk],
    calls: { path, keep: "summaries", ...(isSealed && { secret: "a secret of the benchmark" }) },
    policy: { rules: [{ allow: { desk: true, pause: true } }] },
    maxLimits: limits,
    tools: [
      {
        name: "waits",
        description: "Looks, and waits for a signal.",
        capabilities: { desk: true, pause: true },
        limits,
        source: `export default async ({ steps }, { host }) => {
          let sum = 0;
          for (let at = 0; at < steps; at++) sum += (await host.desk.look({ at })).length;
          await host.pause.signal({ name: "go" });
          return sum;
        };`,
      },
    ],
  });
  return {
    engine,
    path,
    [Symbol.asyncDispose]: async () => {
      await engine.close();
      rmSync(folder, { recursive: true });
    },
  };
}

async function pause(engine: Engine, steps: number, tenant: string): Promise<string> {
  const { error } = await engine.execute({ name: "waits", arguments: { steps } }, { tenant });
  if (error?.code === "paused" && error.details?.id !== undefined) return error.details.id;
  throw new Error(`the call does not wait: ${error?.code}: ${error?.message}`);
}

async function pauseMany(engine: Engine, calls: number, steps: number, tenant: string): Promise<void> {
  let left = calls;
  const each = async (): Promise<void> => {
    while (left-- > 0) await pause(engine, steps, tenant);
  };
  await Promise.all(Array.from({ length: STARTS_AT_ONCE }, each));
}

/** The last runs end a moment after their callers have heard that they wait. */
async function ended(engine: Engine): Promise<void> {
  for (const untilMs = performance.now() + END_MS; performance.now() < untilMs; await delay(20)) {
    const { running, isolates } = engine.stats();
    if (running === 0 && isolates.active === 0) return;
  }
}

/** Memory that is still in use once garbage is collected. What V8 and the allocator give back comes and goes: the least counts. */
async function memory(): Promise<Pick<NodeJS.MemoryUsage, "rss" | "heapUsed">> {
  let [rss, heapUsed] = [Infinity, Infinity];
  for (let look = 0; look < MEMORY_LOOKS; look++) {
    globalThis.gc?.();
    const now = process.memoryUsage();
    [rss, heapUsed] = [Math.min(rss, now.rss), Math.min(heapUsed, now.heapUsed)];
    await delay(MEMORY_EVERY_MS);
  }
  return { rss, heapUsed };
}

/** Bytes in use of a file. Its log beside it grows to the same size, and is written anew, whatever it has. */
function bytesOf(path: string): number {
  using database = new DatabaseSync(path, { readOnly: true });
  const sql = `SELECT (page_count - freelist_count) * page_size AS bytes
    FROM pragma_page_count, pragma_freelist_count, pragma_page_size`;
  return Number(database.prepare(sql).get()?.["bytes"]);
}

async function times(rounds: number, work: (round: number) => Promise<unknown>): Promise<readonly number[]> {
  const all: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const startMs = performance.now();
    await work(round);
    all.push(performance.now() - startMs);
  }
  return all.toSorted((left, right) => left - right);
}

const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;

/** Many calls wait, each with a journal of 10 steps of 200 characters. */
export async function measureWaiting(
  calls: number,
  isSealed = false,
  kind: ExecutorKind = "process",
): Promise<readonly DurableFigure[]> {
  await using opened = await open(kind, isSealed);
  const { engine, path } = opened;
  await pauseMany(engine, Math.min(WARM_CALLS, calls), 10, "warm");
  await ended(engine);
  const [before, beforeBytes, beforeTimers] = [await memory(), bytesOf(path), timers()];
  const [pausedMs = 0] = await times(1, () => pauseMany(engine, calls, 10, "many"));
  await ended(engine);
  const { running, isolates } = engine.stats();
  const after = await memory();
  const { durable } = engine.calls;
  const state = "paused" as const;
  const listed = await times(LISTS, () => durable.list({ state, limit: LISTED }));
  const ofTenant = await times(LISTS, () => durable.list({ tenant: "many", limit: LISTED }));
  const ms = { unit: "ms", most: 20 };
  return [
    { name: "calls that run", value: running, unit: "", most: 0 },
    { name: "isolates at work", value: isolates.active, unit: "", most: 0 },
    { name: "more timers", value: timers() - beforeTimers, unit: "", most: 2 },
    { name: "more memory of the process", value: (after.rss - before.rss) / MIB, unit: "MiB", most: 40 },
    { name: "more objects in its heap", value: (after.heapUsed - before.heapUsed) / MIB, unit: "MiB", most: 40 },
    {
      name: "on disk for each",
      value: (bytesOf(path) - beforeBytes) / calls / KIB,
      unit: "KiB",
      most: isSealed ? 20 : 12,
    },
    { name: `a list of ${LISTED}, median`, value: median(listed), ...ms },
    { name: `a list of ${LISTED}, most`, value: percentile(listed, 1), ...ms },
    { name: `a list of ${LISTED} of a tenant, median`, value: median(ofTenant), ...ms },
    { name: "a call until it waits", value: pausedMs / calls, unit: "ms", most: null },
  ];
}

/** From the signal that a call waits for to its result, one call after the other. */
export async function measureResumption(
  steps: number,
  mostMs: number,
  rounds: number,
  kind: ExecutorKind = "process",
): Promise<readonly DurableFigure[]> {
  await using opened = await open(kind);
  const { engine } = opened;
  const { durable } = engine.calls;
  const goOn = async (id: string): Promise<void> => {
    await durable.signal(id, "go");
    const result = await durable.result(id, {}, { waitMs: 25_000 });
    const output = result?.success === true ? result.output : result?.error?.code;
    if (output !== steps * ANSWER.length) throw new Error(`the call ended with ${String(output)}`);
  };
  await goOn(await pause(engine, steps, "one"));
  const all: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const id = await pause(engine, steps, "one");
    all.push(...(await times(1, () => goOn(id))));
  }
  const name = `from the signal to the result, ${steps} steps`;
  return [
    { name: `${name}, median`, value: median(all), unit: "ms", most: mostMs },
    { name: `${name}, most`, value: Math.max(...all), unit: "ms", most: null },
  ];
}

export function renderFigures(figures: readonly DurableFigure[]): string {
  const told = (value: number, unit: string): string => `${formatNumber(value)} ${unit}`.trim();
  const lines = figures.map((figure) => {
    const { name, value, unit, most } = figure;
    const bound = most === null ? ["", ""] : [told(most, unit), isKept(figure) ? "kept" : "missed"];
    return [name, told(value, unit), ...bound];
  });
  return renderTable([["", "value", "at most", ""], ...lines]);
}
