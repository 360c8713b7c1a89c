import { cpuTimeUs } from "../cpu-time.ts";
import { call, openEngine, sumOf } from "../engines.ts";
import { fit } from "../fleet/costs.ts";
import { median } from "../statistics.ts";
import { addArguments, addTool, expectedSum } from "../tools.ts";
import type { BatchCost, DispatchCosts } from "./simulation.ts";

/** Calls in flight: with one worker they travel as one batch. */
const SIZES = [1, 4, 16, 64];
const CALLS = 40_000;

interface Sample {
  readonly hostUs: number;
  readonly workerUs: number;
}

/** Processor time of both threads by the size of a batch. Linux only: elsewhere nothing tells that of a process's children. */
export async function measureDispatch(rounds: number, progress: (text: string) => void): Promise<DispatchCosts> {
  await using engine = await openEngine("process");
  await engine.register(addTool("add"));
  const run = async (index: number) => {
    if (sumOf(await call(engine, "add", addArguments(index))) !== expectedSum(index)) throw new Error("a wrong sum");
  };
  const samples = new Map<number, Sample[]>(SIZES.map((size) => [size, []]));
  for (let round = 0; round <= rounds; round++) {
    progress(round === 0 ? "warm-up" : `round ${round} of ${rounds}`);
    for (const size of round % 2 === 0 ? SIZES : SIZES.toReversed()) {
      const sample = await measure(run, size);
      if (round > 0) samples.get(size)?.push(sample);
    }
  }
  const cost = (pick: (sample: Sample) => number): BatchCost => {
    // For a batch: the line's parts are then those of a batch and of a call.
    const points = [...samples].map(([size, of]) => ({ size, value: size * median(of.map(pick)) }));
    const { fixed, each } = fit(points);
    return { batchUs: fixed, callUs: each };
  };
  return { host: cost(({ hostUs }) => hostUs), worker: cost(({ workerUs }) => workerUs) };
}

/** Processor time of a call with so many in flight: of this thread, and of the processes below this one. */
async function measure(run: (index: number) => Promise<void>, size: number): Promise<Sample> {
  const before = read();
  let calls = 0;
  const total = size === 1 ? CALLS / 8 : CALLS;
  await Promise.all(
    Array.from({ length: size }, async () => {
      while (calls < total) await run(calls++ % 1_024);
    }),
  );
  const after = read();
  return { hostUs: (after.hostUs - before.hostUs) / calls, workerUs: (after.belowUs - before.belowUs) / calls };
}

function read() {
  const all = cpuTimeUs();
  if (all === null) throw new Error("this system does not tell the processor time of processes below this one");
  const own = process.cpuUsage();
  const { user, system } = process.threadCpuUsage();
  return { hostUs: user + system, belowUs: all - own.user - own.system };
}
