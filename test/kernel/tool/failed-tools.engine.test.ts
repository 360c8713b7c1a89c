import path from "node:path";
import { expect, test } from "vitest";
import { createEngine } from "../../../src/glovebox/index.ts";
import { refusalOf, temporaryFolder } from "./temporary.ts";

const SPEC = `export const spec = { description: "d", inputSchema: { type: "object" } };`;
const bad = (count: number, name: string): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`${name}${n}.js`, `import "none"; ${SPEC}`]));

test("an error names all tools of a folder that cannot be loaded, and the good ones are not registered", async () => {
  const folder = await temporaryFolder({ "good.js": `${SPEC} export default () => 1;`, ...bad(2, "bad") });
  await using engine = await createEngine({ workers: 1, executor: "threads" });
  const { code, message } = await refusalOf(engine.register(folder));
  const [first, ...lines] = message.split("\n");
  expect([code, first]).toEqual(["load_error", "2 tools could not be loaded, so none of them is registered:"]);
  expect(lines).toEqual([0, 1].map((n) => expect.stringContaining(`tool "bad${n}" imports "none"`) as unknown));
  expect(engine.list()).toEqual([]);
});

test("a start names the failed tools of all its folders, at most ten", async () => {
  const folder = await temporaryFolder({ "package.json": "{}", "one/x.js": "", "two/x.js": "" });
  const more = await temporaryFolder({ ...bad(9, "bad") });
  const tools = [path.join(folder, "one"), path.join(folder, "two"), more];
  const { message } = await refusalOf(createEngine({ workers: 1, executor: "threads", tools }));
  const [first, ...lines] = message.split("\n");
  expect(first).toContain("11 tools could not be loaded");
  expect([lines.length, lines.at(-1)]).toEqual([11, "and 1 more"]);
});

test("the error of one failed tool is its own", async () => {
  const folder = await temporaryFolder({ "good.js": `${SPEC} export default () => 1;`, ...bad(1, "bad") });
  await using engine = await createEngine({ workers: 1, executor: "threads" });
  expect((await refusalOf(engine.register(folder))).message).toMatch(/^tool "bad0" imports "none"/);
});
