import { execFile } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Engine } from "../../src/kernel/engine/engine.ts";
import { call, openEngine, sumOf } from "../engines.ts";
import { digest } from "../sampling.ts";
import type { Effort, Scenario } from "../scenario.ts";
import { type Sample, summarize } from "../statistics.ts";
import { addArguments, addTool } from "../tools.ts";

interface MemoryEffort extends Effort {
  readonly tools: number;
}

const GLOVEBOX = "glovebox process";
const RAW = "raw: isolate, context, script";
/** The executor tells its resident memory a few times a second: by then it has told it again. */
const HEARTBEATS_MS = 700;
const KIB = 1024;

/** Memory of a warm tool: one isolate each, compared with bare isolated-vm. */
export const memory: Scenario<MemoryEffort> = {
  name: "memory",
  description: "resident memory of the executor for each warm tool",
  smoke: { states: ["quiet"], rounds: 1, sampleMs: 0, tools: 5 },
  full: { states: ["quiet"], rounds: 3, sampleMs: 0, tools: 100 },
  async run({ size, progress, state }) {
    const own: Sample[] = [];
    const raw: Sample[] = [];
    let checksum = "";
    for (let round = 1; round <= size.rounds; round++) {
      progress(`${state}: rss_kib_per_tool, round ${round} of ${size.rounds}`);
      const { rssBytes, sums } = await growthOfEngine(size.tools);
      own.push({ value: rssBytes / size.tools / KIB });
      raw.push({ value: (await growthOfIsolates(size.tools)) / size.tools / KIB });
      checksum = digest(sums);
    }
    const samples = new Map([
      [GLOVEBOX, own],
      [RAW, raw],
    ]);
    const subjects = [
      { name: GLOVEBOX, against: [RAW] },
      { name: RAW, against: [] },
    ];
    return { rows: summarize({ name: "rss_kib_per_tool", unit: "KiB", better: "lower" }, subjects, samples), checksum };
  },
};

async function growthOfEngine(tools: number) {
  await using engine = await openEngine("process");
  await warm(engine, "first", 0);
  await delay(HEARTBEATS_MS);
  const before = engine.stats().executor.rssBytes;
  const sums: number[] = [];
  for (let index = 0; index < tools; index++) sums.push(await warm(engine, `tool-${index}`, index));
  await delay(HEARTBEATS_MS);
  return { rssBytes: engine.stats().executor.rssBytes - before, sums };
}

async function warm(engine: Engine, name: string, index: number): Promise<number> {
  await engine.register(addTool(name));
  return sumOf(await call(engine, name, addArguments(index)));
}

async function growthOfIsolates(count: number): Promise<number> {
  const script = fileURLToPath(new URL("../baselines/isolate-memory.ts", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, ["--no-node-snapshot", script, String(count)]);
  const bytes = Number(stdout);
  if (!Number.isFinite(bytes)) throw new Error(`the memory of bare isolates could not be measured: ${stdout}`);
  return bytes;
}
