import { setTimeout as delay } from "node:timers/promises";
import type { Engine } from "../../src/kernel/engine/engine.ts";
import type { ToolDefinition } from "../../src/kernel/tool/definition.ts";
import { RawPython } from "../baselines/raw-python.ts";
import { call, openEngine, sumOf } from "../engines.ts";
import { runInEngine } from "../runs.ts";
import { combine, digest, measure } from "../sampling.ts";
import type { Context, Effort, Findings, Scenario } from "../scenario.ts";
import { type Sample, summarize } from "../statistics.ts";
import { addArguments, addTool, expectedSum } from "../tools.ts";

interface PythonEffort extends Effort {
  /** How many tools stay warm while memory is measured. */
  readonly tools: number;
  /** Calls until V8 has compiled the interpreter's hot parts. */
  readonly warmUpCalls: number;
}

const RAW = "raw: the image restored in an isolate, one call";
const JAVASCRIPT = "glovebox, JavaScript";
const PYTHON = "glovebox, Python";
const CONCURRENCY = 64;
/** The executor tells its resident memory a few times a second, and makes interpreters ahead while it rests. */
const SETTLE_MS = 1_500;
const MIB = 1024 * 1024;

/** What Python costs: a tool's first answer, a warm call beside one of JavaScript, and the memory of a warm tool. */
export const python: Scenario<PythonEffort> = {
  name: "python",
  description: "Python tools: first answer, warm calls, memory of each",
  smoke: { states: ["quiet"], rounds: 1, sampleMs: 20, tools: 1, warmUpCalls: 10 },
  full: { states: ["quiet"], rounds: 5, sampleMs: 500, tools: 7, warmUpCalls: 3_000 },
  async run(context) {
    return combine([await cold(context), await warm(context), await memory(context)]);
  },
};

let made = 0;

/** Text that was never compiled before. */
function nextSource(): string {
  return `made = ${++made}\ndef execute(input):\n    return {"sum": input["a"] + input["b"]}\n`;
}

function pythonTool(name: string): ToolDefinition {
  const { source: _javascript, ...definition } = addTool(name);
  return { ...definition, runtime: "python", source: nextSource() };
}

/** An engine on which Python has run before. */
async function openWarm(): Promise<Engine> {
  const engine = await openEngine("process");
  await engine.register(pythonTool("first"));
  await call(engine, "first", addArguments(0));
  return engine;
}

async function cold(context: Context): Promise<Findings> {
  await using engine = await openWarm();
  using raw = await RawPython.open();
  let current = "";
  const after = async () => {
    await engine.unregister(current);
  };
  const run = async (index: number) => {
    const { name } = await engine.register(pythonTool(`cold-${made}`));
    current = name;
    return sumOf(await call(engine, name, addArguments(index)));
  };
  const once = (index: number) => sumOf(raw.callOnce(nextSource(), addArguments(index)));
  return await measure(context, {
    subjects: [
      { name: "glovebox: register a Python tool and call it", against: [RAW], after, run },
      { name: RAW, against: [], sync: true, run: once },
    ],
    expected: expectedSum,
    latency: { name: "first_answer_ms", unit: "ms" },
  });
}

async function warm(context: Context<PythonEffort>): Promise<Findings> {
  await using engine = await openWarm();
  await engine.register(addTool("add"));
  for (let index = 0; index < context.size.warmUpCalls; index++) await call(engine, "first", addArguments(index));
  return await measure(context, {
    subjects: [
      { name: PYTHON, against: [JAVASCRIPT], run: runInEngine(engine, "first", addArguments) },
      { name: JAVASCRIPT, against: [], run: runInEngine(engine, "add", addArguments) },
    ],
    expected: expectedSum,
    latency: { name: "warm_call_us", unit: "us" },
    concurrencies: [CONCURRENCY],
  });
}

/** Between the first tool and the last, so that what all of them share is nobody's. */
async function memory({ size, progress, state }: Context<PythonEffort>): Promise<Findings> {
  const samples: Sample[] = [];
  const sums: number[] = [];
  progress(`${state}: rss_mib_per_tool`);
  await using engine = await openWarm();
  await delay(SETTLE_MS);
  const before = engine.stats().executor.rssBytes;
  for (let tool = 0; tool < size.tools; tool++) {
    const { name } = await engine.register(pythonTool(`warm-${tool}`));
    sums.push(sumOf(await call(engine, name, addArguments(tool))));
  }
  await delay(SETTLE_MS);
  samples.push({ value: (engine.stats().executor.rssBytes - before) / size.tools / MIB });
  const metric = { name: "rss_mib_per_tool", unit: "MiB", better: "lower" } as const;
  const rows = summarize(metric, [{ name: PYTHON, against: [] }], new Map([[PYTHON, samples]]));
  return { rows, checksum: digest(sums) };
}
