/** A service that shares two processors with endless loops: whether calls are cut for the work of others, and how long they take. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { offer, poissonArrivals } from "../../bench/open-loop.ts";
import type { Report } from "../../bench/report.ts";
import { percentile } from "../../bench/statistics.ts";
import { openScene } from "../faults/scene.ts";
import { Dice } from "./dice.ts";
import { type Innocent, INNOCENTS } from "./innocents.ts";

const ON_TWO = ["taskset", "-c", "0,1"] as const;
const LOOP = "for (;;);";
const SEED = 11;
/** Longest wait of a tool that waits. */
const SLOW_MS = 50;
const ASK_MS = 60_000;
/** Before the first line: each tool is built and warm. */
const WARM_MS = 3_000;
/** Codes of calls that took more than they may have. */
const CUT: ReadonlySet<string> = new Set(["cpu_limit", "wall_limit", "memory_limit", "queue_timeout", "queue_full"]);
/** The others ask for a capability that only a program of its own has. */
const ALONE = INNOCENTS.filter(({ tool }) => tool.capabilities === undefined);

export interface BusyReport extends Pick<Report, "machine" | "startedAt"> {
  readonly perSecond: number;
  readonly lines: readonly BusyLine[];
}

/** What callers had beside so many loops. Times are from when a call was due until its answer, in milliseconds. */
export interface BusyLine {
  readonly loops: number;
  readonly calls: number;
  /** Calls that a limit ended. */
  readonly cut: number;
  /** Calls that ended otherwise than they should have, those included. */
  readonly wrong: Readonly<Record<string, number>>;
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
}

/** Offers innocent calls at a steady rate, in open loop, beside each of these numbers of loops. */
export async function measureBusy(counts: readonly number[], perSecond: number, ms: number): Promise<BusyLine[]> {
  await using scene = await openScene({
    within: () => ON_TWO,
    files: () => Object.fromEntries(ALONE.map((innocent) => [`tools/${innocent.tool.name}.js`, moduleOf(innocent)])),
  });
  const { url } = scene.server;
  await offerCalls(url, perSecond, WARM_MS);
  const lines: BusyLine[] = [];
  for (const loops of counts) {
    await using owned = new AsyncDisposableStack();
    for (let loop = 0; loop < loops; loop++) owned.defer(startLoop());
    lines.push({ loops, ...(await offerCalls(url, perSecond, ms)) });
  }
  return lines;
}

function moduleOf({ tool: { source, ...spec } }: Innocent): string {
  return `export const spec = ${JSON.stringify(spec)};\n${String(source)}\n`;
}

/** Starts an endless loop beside the service; answers what ends it. */
function startLoop(): () => Promise<void> {
  const [program, ...args] = [...ON_TWO, process.execPath, "-e", LOOP];
  const child = spawn(program, args, { stdio: "ignore" });
  const exit = once(child, "exit");
  return async () => {
    child.kill("SIGKILL");
    await exit;
  };
}

async function offerCalls(url: string, perSecond: number, ms: number): Promise<Omit<BusyLine, "loops">> {
  const dice = new Dice(SEED);
  const took: number[] = [];
  const wrong = new Map<string, number>();
  await offer(poissonArrivals(perSecond, ms), "sleep", async (_nth, dueMs) => {
    const innocent = dice.pick(WEIGHTED);
    const { args, end } = innocent.draw(dice, SLOW_MS);
    const code = await call(url, innocent.tool.name, args);
    took.push(performance.now() - dueMs);
    if (code !== end) wrong.set(code, (wrong.get(code) ?? 0) + 1);
  });
  const sorted = took.toSorted((one, other) => one - other);
  const cut = [...wrong].reduce((sum, [code, count]) => sum + (CUT.has(code) ? count : 0), 0);
  const at = (share: number): number => percentile(sorted, share);
  return { calls: took.length, cut, wrong: Object.fromEntries(wrong), p50: at(0.5), p99: at(0.99), p999: at(0.999) };
}

const WEIGHTED = ALONE.flatMap((innocent) => Array.from({ length: Math.ceil(innocent.weight) }, () => innocent));

/** Calls a tool; answers its code, or what a request without an answer came to. */
async function call(url: string, name: string, args: object): Promise<string> {
  const response = await fetch(`${url}/v1/execute`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ name, arguments: args }),
    signal: AbortSignal.timeout(ASK_MS),
  });
  const { success, error } = (await response.json()) as {
    readonly success: boolean;
    readonly error: { readonly code: string } | null;
  };
  return success ? "ok" : (error?.code ?? `status ${response.status}`);
}
