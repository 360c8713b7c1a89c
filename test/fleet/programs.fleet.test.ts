import { expect, test } from "vitest";
import type { HostFunction } from "../../src/kernel/broker/capabilities/functions.ts";
import { createFleetEngine, startFleet } from "./fleet.ts";
import { runProgram } from "../kernel/tool/program/run-program.ts";

test("a program whose machine is killed goes on on another one, and its functions stay on the server", async () => {
  await using fleet = await startFleet(1, { slots: 1, workers: 1 });
  const engine = await createFleetEngine({ executor: { kind: "queue", url: fleet.url, fleet: fleet.name } });
  const counted: unknown[] = [];
  const functions = new Map<string, HostFunction>([
    ["count", (args) => counted.push(args)],
    [
      "kill",
      async () => {
        const [first] = fleet.machines;
        await fleet.add();
        return first?.end("SIGKILL");
      },
    ],
  ]);
  try {
    const code = 'return [await count("first"), await kill(), await count("second")]';
    const results = await Promise.all(
      [1, 2].map(() => runProgram(engine, { kind: "functions", code: "return 1", functions, limits: {} })),
    );
    expect(results.map(({ output }) => output)).toEqual([{ value: 1 }, { value: 1 }]);
    const result = await runProgram(engine, { kind: "functions", code, functions, limits: {} });
    expect(result).toMatchObject({ output: { value: [1, "SIGKILL", 2] }, metadata: { attempts: 2 } });
    expect(counted).toEqual(["first", "second"]);
  } finally {
    await engine.close({ drainMs: 0 });
  }
});
