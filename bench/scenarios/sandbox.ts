import type { Engine } from "../../src/kernel/engine/engine.ts";
import type { SandboxMode } from "../../src/kernel/executor/executor.ts";
import { openEngine } from "../engines.ts";
import { runInEngine } from "../runs.ts";
import { combine, measure, type Subject } from "../sampling.ts";
import type { Scenario } from "../scenario.ts";
import { addArguments, addTool, expectedSum } from "../tools.ts";

const CONCURRENCY = 64;

/** With the operating system's walls around the executor, where they can be had, and without them. */
const MODES: readonly SandboxMode[] = ["auto", "off"];

/** What the operating system's sandbox costs: at the start of an engine, and at each call. */
export const sandbox: Scenario = {
  name: "sandbox",
  description: "an executor inside bubblewrap, where it works, against one without it",
  smoke: { states: ["quiet"], rounds: 1, sampleMs: 20 },
  full: { states: ["quiet", "busy"], rounds: 7, sampleMs: 500 },
  async run(context) {
    const start = await measure(context, {
      subjects: MODES.map(starting),
      expected: expectedSum,
      latency: { name: "engine_start_ms", unit: "ms" },
    });
    await using opened = new AsyncDisposableStack();
    const subjects: Subject[] = [];
    for (const mode of MODES) {
      const engine = opened.use(await open(mode));
      await engine.register(addTool("add"));
      subjects.push({ ...compared(mode), run: runInEngine(engine, "add", addArguments) });
      context.progress(`sandbox: ${mode} is ${engine.stats().executor.sandbox.kind} here`);
    }
    const calls = await measure(context, {
      subjects,
      expected: expectedSum,
      latency: { name: "latency_us", unit: "us" },
      concurrencies: [CONCURRENCY],
      cpuConcurrency: CONCURRENCY,
    });
    return combine([start, calls]);
  },
};

function open(mode: SandboxMode): Promise<Engine> {
  return openEngine("process", { executor: { kind: "process", spare: false, sandbox: mode } });
}

function compared(mode: SandboxMode) {
  const name = (each: SandboxMode) => `glovebox process, sandbox: ${each}`;
  return { name: name(mode), against: mode === "off" ? [] : [name("off")] };
}

/** From nothing to an engine whose executor answers. */
function starting(mode: SandboxMode): Subject {
  let engine: Engine | undefined;
  return {
    ...compared(mode),
    run: async (index) => {
      engine = await open(mode);
      return engine.stats().executor.ready ? expectedSum(index) : Number.NaN;
    },
    after: async () => engine?.close(),
  };
}
