import { expect, test } from "vitest";
import { createEngine, type Isolation } from "../../../../src/glovebox/index.ts";

const REMEDY = { kind: "tool", pointer: "/isolation", ts: 'isolation: "context",' };

async function resultOf(body: string, isolation?: Isolation) {
  await using engine = await createEngine({ executor: "threads", workers: 1 });
  const own = isolation === undefined ? {} : { isolation };
  await engine.register({ name: "tried", description: "A tool.", source: `export default () => { ${body} };`, ...own });
  return await engine.execute({ name: "tried", arguments: {} });
}

const NEEDS_ITS_OWN = [
  ["forgets to declare a variable in code that it makes", "return new Function('a', 't_ = a; return t_ + 1')(1);", 2],
  ["adds to a built-in", "Array.prototype.last = 1; return [].last;", 1],
  ["changes a built-in", "Math.max = () => 1; return Math.max(2);", 1],
  ["defines what is there in a built-in", "Object.defineProperty(Math, 'max', { value: 1 }); return Math.max;", 1],
] as const;

test.each(NEEDS_ITS_OWN)(
  "A call that %s is told that the isolation context helps, as it does",
  async (_what, body, output) => {
    const { error } = await resultOf(body);
    expect(error).toMatchObject({
      code: "tool_error",
      details: { remedy: expect.stringContaining('isolation "context"') },
    });
    expect(error?.remedies).toEqual([REMEDY]);
    expect(await resultOf(body, "context")).toMatchObject({ success: true, output });
  },
);

test.each([
  ["names a variable that nobody has", "return missing + 1;"],
  ["throws another error", "throw new TypeError('Cannot do it');"],
])("A call that %s is not told so", async (_what, body) => {
  const { error } = await resultOf(body);
  expect(error).toMatchObject({ code: "tool_error" });
  expect(error?.remedies).toBeUndefined();
});

test("A call at the isolation context is not told so", async () => {
  const { error } = await resultOf("'use strict'; Object.freeze({ a: 1 }).a = 2;", "context");
  expect(error).toMatchObject({ code: "tool_error", message: expect.stringContaining("read only") });
  expect(error?.remedies).toBeUndefined();
});
