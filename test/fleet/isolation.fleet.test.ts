import { expect, test } from "vitest";
import { createFleetEngine, startFleet } from "./fleet.ts";

test("a machine runs tools as isolated as they were registered, although it has inspected them otherwise", async () => {
  await using fleet = await startFleet(1, { slots: 1, workers: 1 });
  const source = "let calls = 0; export default () => ++calls;";
  const engine = await createFleetEngine({
    executor: { kind: "queue", url: fleet.url, fleet: fleet.name },
    tools: [
      { name: "shared", description: "Counts its calls.", isolation: "shared", source },
      { name: "apart", description: "Counts its calls.", isolation: "isolate", source },
    ],
  });
  try {
    const counted: unknown[] = [];
    for (const name of ["shared", "shared", "apart", "apart", "shared"]) {
      counted.push((await engine.execute({ name, arguments: {} })).output);
    }
    expect(counted).toEqual([1, 2, 1, 1, 3]);
  } finally {
    await engine.close({ drainMs: 0 });
  }
});
