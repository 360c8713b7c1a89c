import { afterAll, beforeAll, expect, test } from "vitest";
import { createEngine, type Engine, type Isolation } from "../../../../src/glovebox/index.ts";

/** Tools with `AsyncLocalStorage`, in an engine. `kernel/guest/async-stores.test.ts` compares them with Node. */

let engine: Engine;
beforeAll(async () => {
  engine = await createEngine({ workers: 1, executor: "threads" });
});
afterAll(() => engine.close());

const HEAD = `import { AsyncLocalStorage } from "node:async_hooks";
const storage = new AsyncLocalStorage();
`;

test.each<Isolation>(["instance", "context", "isolate", "shared"])(
  "calls that run at once have stores of their own, with isolation %s",
  async (isolation) => {
    const source = `${HEAD}export default async ({ name }) => {
      storage.enterWith(name);
      const run = (at) => storage.run(name + at, async () => {
        await new Promise((done) => setTimeout(done, 5 - at));
        return storage.getStore();
      });
      return [...await Promise.all([run(1), run(2)]), storage.getStore()];
    };`;
    const name = `stores_${isolation}`;
    await engine.register({ name, description: "Has stores.", source, isolation });
    const call = async (caller: string): Promise<unknown> =>
      (await engine.execute({ name, arguments: { name: caller } })).output;
    const answers = await Promise.all(["ada", "bob", "eve"].map(call));
    expect(answers).toEqual(["ada", "bob", "eve"].map((caller) => [`${caller}1`, `${caller}2`, caller]));
  },
);

test("an error after an await names its line, though the function was lowered", async () => {
  const source = `${HEAD}const fails = async () => {\n  await null;\n  throw new Error("no luck");\n};\nexport default () => storage.run(1, fails);`;
  await engine.register({ name: "fails", description: "Fails.", source });
  const { error } = await engine.execute({ name: "fails", arguments: {} });
  expect(error?.details).toMatchObject({ stack: expect.stringContaining("fails.js:5") as string });
});

test("a module that awaits at its top level cannot have stores", async () => {
  const source = `${HEAD}await null;\nexport default () => storage.getStore();`;
  const [answer] = await Promise.allSettled([engine.register({ name: "both", description: "Both.", source })]);
  expect(String((answer as PromiseRejectedResult).reason)).toContain(
    "awaits outside of any function at both.js:3, which a tool cannot that uses AsyncLocalStorage",
  );
});
