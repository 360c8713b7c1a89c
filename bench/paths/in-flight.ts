import { openPiscina, openPiscinaTuned, PISCINA, PISCINA_TUNED } from "../baselines/pools.ts";
import { EXECUTORS, openEngine, sumOf } from "../engines.ts";
import { runInEngine, runNoop } from "../runs.ts";
import { addArguments, addTool, expectedSum } from "../tools.ts";
import type { Path, PathFamily, PathSubject } from "./path.ts";

/** Calls of a small tool, against a pool's task that does nothing; and those with limits, against those without. */
export const inFlight: PathFamily = async (opened) => {
  const calls: PathSubject[] = [];
  const quick: PathSubject[] = [];
  const limited: Path[] = [];
  for (const kind of EXECUTORS) {
    const engine = opened.use(await openEngine(kind));
    await engine.register(addTool("add"));
    calls.push({ name: kind, run: runInEngine(engine, "add", addArguments) });
    const low = opened.use(await openEngine(kind, { executor: { kind, spare: false, latency: "low" } }));
    await low.register(addTool("add"));
    quick.push({ name: `${kind}, low latency`, run: runInEngine(low, "add", addArguments) });
    const withLimits = async (index: number): Promise<number> => {
      const limits = { wallMs: 5_000 + (index % 7) };
      const { output } = await engine.execute({ name: "add", arguments: addArguments(index) }, { limits });
      return sumOf(output);
    };
    const subjects = [
      { name: kind, run: withLimits },
      { name: `${kind}, without`, run: runInEngine(engine, "add", addArguments) },
    ];
    limited.push({
      name: `limits of their own, ${kind}`,
      operations: 1,
      concurrency: 64,
      subjects,
      expected: expectedSum,
    });
  }
  const tuned = opened.adopt(openPiscinaTuned(), (pool) => pool.destroy());
  const plain = opened.adopt(openPiscina(), (pool) => pool.destroy());
  const together = [...calls, { name: PISCINA_TUNED, run: runNoop(tuned) }];
  const alone = [...calls, ...quick, { name: PISCINA, run: runNoop(plain) }];
  const rest = { operations: 1, expected: expectedSum };
  return [
    { name: "64 in flight", concurrency: 64, subjects: together, ...rest },
    { name: "256 in flight", concurrency: 256, subjects: together, ...rest },
    ...limited,
    { name: "lone call", concurrency: null, subjects: alone, ...rest },
  ];
};
