import { expect, test } from "vitest";
import { adapter } from "../../../../src/contrib/amplifier/guest/adapter.ts";
import type { ToolContext } from "../../../../src/kernel/guest/tool-context.ts";

const FACTS = { name: "later", version: "1", config: "null", contract: "amplifier" };
// None of these tools looks at it.
const CONTEXT = {} as ToolContext;

test("a module that calls share is mounted once, and again only where that has failed", async () => {
  let mounts = 0;
  const mount = async (): Promise<object> => {
    if (++mounts === 1) throw new Error("not yet");
    return { name: "later", description: "Comes later.", execute: async () => ({ output: mounts }) };
  };
  const tool = adapter.open({ mount }, FACTS, true);
  await expect(tool({}, CONTEXT, undefined)).rejects.toThrow("not yet");
  const outputs = [await tool({}, CONTEXT, undefined), await tool({}, CONTEXT, undefined)];
  expect(outputs).toMatchObject([{ output: 2 }, { output: 2 }]);
});
