import { expect, test } from "vitest";
import { createEngine, type EngineOptions } from "../../src/glovebox/index.ts";

const ADD = new URL("../../fixtures/tools/add.js", import.meta.url).pathname;
const ENDLESS = {
  name: "endless",
  description: "Never ends.",
  source: "export default () => { for (;;); }",
  limits: { cpuMs: 50 },
};

const EXECUTORS: readonly (readonly [string, NonNullable<EngineOptions["executor"]>])[] = [
  ["threads", "threads"],
  ["process", { kind: "process", sandbox: "off" }],
];

test.each(EXECUTORS)("the executor %s answers a call, and cuts one that never ends", async (_name, executor) => {
  await using engine = await createEngine({ workers: 1, executor, tools: [ADD, ENDLESS] });
  const sum = await engine.execute({ name: "add", arguments: { a: 1, b: 2 } });
  expect(sum.output).toEqual({ sum: 3 });
  const cut = await engine.execute({ name: "endless", arguments: {} });
  expect(cut.error?.code).toBe("cpu_limit");
  expect(await engine.metrics()).toContain('glovebox_calls_total{tool="add",code="ok"} 1');
});
