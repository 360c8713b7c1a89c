import { expect, test } from "vitest";
import { createFleetEngine, startFleet } from "./fleet.ts";

test("calls on behalf of others need no room of their tenant, which those that wait for them have", async () => {
  await using fleet = await startFleet(1, { slots: 1, workers: 1 });
  const engine = await createFleetEngine({
    executor: { kind: "queue", url: fleet.url, fleet: fleet.name },
    queue: { perTenant: 1 },
    policy: { rules: [{ tools: ["*"], allow: { tools: ["add"] } }] },
    tools: [
      { name: "add", description: "Adds.", source: "export default ({ a, b }) => a + b;" },
      {
        name: "ask",
        description: "Has another tool add.",
        capabilities: { tools: ["add"] },
        source: "export default (args, { host }) => host.tools.call('add', args);",
      },
    ],
  });
  try {
    const calls = [1, 2, 3].map((a) => engine.execute({ name: "ask", arguments: { a, b: 1 } }, { tenant: "one" }));
    expect((await Promise.all(calls)).map(({ output }) => output)).toEqual([2, 3, 4]);
  } finally {
    await engine.close({ drainMs: 0 });
  }
});
