import { expect, test } from "vitest";
import { codeMode } from "../../src/code-mode/index.ts";
import { defineCapability } from "../../src/glovebox/index.ts";
import { createFleetEngine, startFleet } from "./fleet.ts";

test("a program whose machine is killed between its calls goes on on another one, and no call happens twice", async () => {
  await using fleet = await startFleet(1, { slots: 4, workers: 2 });
  const deeds: unknown[] = [];
  const capability = defineCapability({
    name: "deeds",
    methods: {
      add: { handler: (what: unknown) => deeds.push(what) },
      kill: {
        handler: async () => {
          const [first] = fleet.machines;
          await fleet.add();
          return first?.end("SIGKILL");
        },
      },
    },
  });
  await using engine = await createFleetEngine({
    executor: { kind: "queue", url: fleet.url, fleet: fleet.name },
    capabilities: [capability],
    policy: { rules: [{ allow: { deeds: true } }] },
    tools: [
      {
        name: "deeds.add",
        description: "Does a deed.",
        capabilities: { deeds: true },
        source: "export default ({ what }, { host }) => host.deeds.add(what)",
      },
      {
        name: "deeds.kill",
        description: "Ends the machine.",
        capabilities: { deeds: true },
        source: "export default (_, { host }) => host.deeds.kill()",
      },
    ],
  });
  const mode = codeMode(engine, { typeCheck: "off" });
  const before = await mode.run('return tools.deeds.add({ what: "before" })');
  expect(before.output).toMatchObject({ result: 1 });
  const { output, error, metadata } = await mode.run(`
    const first = await tools.deeds.add({ what: "first" });
    const killed = await tools.deeds.kill({});
    const rest = await Promise.all(["second", "third"].map((what) => tools.deeds.add({ what })));
    console.log("rest", rest.length);
    return { first, killed, rest };
  `);
  expect(error).toBe(null);
  expect(output).toMatchObject({
    result: { first: 2, killed: "SIGKILL" },
    logs: ["rest 2"],
    calls: [{ tool: "deeds.add" }, { tool: "deeds.kill" }, { tool: "deeds.add" }, { tool: "deeds.add" }],
  });
  expect(metadata.attempts).toBe(2);
  expect(new Set(deeds)).toEqual(new Set(["before", "first", "second", "third"]));
  expect(deeds).toHaveLength(4);
});
