import { availableParallelism } from "node:os";
import { Command } from "commander";
import type { Engine } from "../kernel/engine/engine.ts";
import type { ToolResult } from "../kernel/base/result.ts";
import { CliError, EXIT } from "./exit.ts";
import { CONFIG, openEmptyEngine, readSettings } from "./open-engine.ts";
import { print, printJson, say } from "./output.ts";
import { addSettingFlags, readFlags, wholeNumber } from "./setting-flags.ts";

interface Options {
  readonly config?: string;
  readonly ms: string;
  readonly json?: true;
}

/** Results of a benchmark. */
export interface Measured {
  readonly node: string;
  readonly processors: number;
  readonly executor: string;
  readonly sandbox: string;
  /** Time to start an engine and register a tool. */
  readonly startMs: number;
  /** Sequential calls, each with a fresh instance of its tool. */
  readonly sequential: { readonly calls: number; readonly p50Us: number; readonly p99Us: number };
  /** `PARALLEL` concurrent calls. */
  readonly parallel: { readonly calls: number; readonly perSecond: number; readonly p99Us: number };
}

const FLAGS = [
  { flags: "--workers <number>", setting: "workers" },
  { flags: "--executor <kind>", setting: "executor/kind", otherwise: "process" },
  { flags: "--sandbox <mode>", setting: "executor/sandbox", otherwise: "auto" },
];
const DURATION_MS = 2_000;
const DURATION_MAX_MS = 60_000;
const WARM_UP_SHARE = 0.25;
const PARALLEL = 64;

const TOOL = {
  name: "bench",
  description: "Adds two numbers.",
  source: "export default ({ a, b }) => ({ sum: a + b })",
  inputSchema: {
    type: "object",
    properties: { a: { type: "number" }, b: { type: "number" } },
    required: ["a", "b"],
  },
} as const;

/** `glovebox bench`: call latency and throughput on this machine. */
export function benchCommand(): Command {
  const command = new Command("bench")
    .description("measure call latency and throughput on this machine, for a few seconds")
    .option(...CONFIG)
    .option("--json", "print JSON")
    .option(
      "--ms <number>",
      "duration of each of the two parts, in milliseconds",
      wholeNumber(10, DURATION_MAX_MS),
      String(DURATION_MS),
    );
  return addSettingFlags(command, FLAGS).action((options: Options) => bench(options, command));
}

async function bench({ config, ms, json }: Options, command: Command): Promise<void> {
  const { values } = await readSettings(config, readFlags(command, FLAGS));
  if (json !== true) say(`glovebox: measuring for ${((2 * Number(ms)) / 1_000).toFixed(1)} s`);
  const startedMs = performance.now();
  await using engine = await openEmptyEngine(values, {});
  await engine.register(TOOL);
  const startMs = performance.now() - startedMs;
  const measured = await measure(engine, startMs, Number(ms));
  if (json === true) return printJson(measured);
  for (const [name, value] of rows(measured)) print(`${name.padEnd(26)}${value}`);
}

async function measure(engine: Engine, startMs: number, durationMs: number): Promise<Measured> {
  const { kind, sandbox } = engine.stats().executor;
  await run(engine, PARALLEL, durationMs * WARM_UP_SHARE);
  const alone = await run(engine, 1, durationMs);
  const together = await run(engine, PARALLEL, durationMs);
  return {
    node: process.versions.node,
    processors: availableParallelism(),
    executor: kind,
    sandbox: sandbox.kind,
    startMs: Math.round(startMs),
    sequential: { calls: alone.timesMs.length, p50Us: quantileUs(alone, 0.5), p99Us: quantileUs(alone, 0.99) },
    parallel: {
      calls: together.timesMs.length,
      perSecond: Math.round((together.timesMs.length / together.tookMs) * 1_000),
      p99Us: quantileUs(together, 0.99),
    },
  };
}

interface Run {
  readonly timesMs: readonly number[];
  readonly tookMs: number;
}

/** Makes calls for a while, `atOnce` at a time. */
async function run(engine: Engine, atOnce: number, durationMs: number): Promise<Run> {
  const timesMs: number[] = [];
  const startedMs = performance.now();
  const keepCalling = async (): Promise<void> => {
    for (let nowMs = startedMs; nowMs - startedMs < durationMs;) {
      check(await engine.execute({ name: TOOL.name, arguments: { a: 1, b: 2 } }));
      const endMs = performance.now();
      timesMs.push(endMs - nowMs);
      nowMs = endMs;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, keepCalling));
  return { timesMs, tookMs: performance.now() - startedMs };
}

/** Stops the benchmark at the first failed call: its times have no meaning. */
function check({ success, error }: ToolResult): void {
  if (!success) throw new CliError(EXIT.FAILED, `a call failed: ${error?.code}: ${error?.message}`);
}

function quantileUs({ timesMs }: Run, share: number): number {
  const sorted = Float64Array.from(timesMs).sort();
  return Math.round((sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0) * 1_000);
}

function rows({ node, processors, executor, sandbox, startMs, sequential, parallel }: Measured): [string, string][] {
  return [
    ["machine", `Node ${node}, ${processors} processors, executor ${executor}, sandbox ${sandbox}`],
    ["start of the engine", `${startMs} ms`],
    ["one call after the other", `p50 ${sequential.p50Us} µs, p99 ${sequential.p99Us} µs`],
    [`${PARALLEL} calls at once`, `${parallel.perSecond} calls/s, p99 ${parallel.p99Us} µs`],
  ];
}
