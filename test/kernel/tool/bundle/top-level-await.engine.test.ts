import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createEngine, type Engine, type Isolation } from "../../../../src/glovebox/index.ts";

let engine: Engine;
let folder: string;
beforeAll(async () => {
  engine = await createEngine({ workers: 1, executor: "threads" });
  folder = await mkdtemp(path.join(tmpdir(), "glovebox-await-"));
});
afterAll(async () => {
  await engine.close();
  await rm(folder, { recursive: true });
});

/** Answers of two calls that run at once, and of one after them. */
async function answersOf(name: string): Promise<readonly unknown[]> {
  const call = async (at: number): Promise<unknown> => {
    const { error, output } = await engine.execute({ name, arguments: { at } });
    return error === null ? output : [error.code, error.message];
  };
  return [...(await Promise.all([call(1), call(2)])), await call(3)];
}

async function problemOf(source: string): Promise<string> {
  const [answer] = await Promise.allSettled([engine.register({ name: "waits", description: "Waits.", source })]);
  return answer.status === "rejected" ? String(answer.reason) : "none";
}

test.each<[Isolation, readonly number[]]>([
  ["instance", [1, 1, 1]],
  ["context", [1, 1, 1]],
  ["isolate", [1, 1, 1]],
  ["shared", [1, 2, 3]],
])("a module may await at its top level, with isolation %s", async (isolation, counts) => {
  const name = `ready_${isolation}`;
  const source = `const digest = await crypto.subtle.digest("SHA-256", new Uint8Array(3));
    let count = 0;
    await null;
    for await (const each of [Promise.resolve(1)]) count += each - 1;
    export default async ({ at }) => { await null; return [at, digest.byteLength, ++count]; };`;
  await engine.register({ name, description: "Is ready.", source, isolation });
  const answers = await answersOf(name);
  expect(answers.map((answer) => (answer as number[]).slice(0, 2))).toEqual([1, 2, 3].map((at) => [at, 32]));
  expect(answers.map((answer) => (answer as number[])[2])).toEqual(counts);
});

test("a tool of defineTool, whose schemas parse, awaits in a module that it imports", async () => {
  const project = path.join(folder, "project");
  await mkdir(project);
  await writeFile(path.join(project, "package.json"), `{ "type": "module" }`);
  await writeFile(path.join(project, "table.ts"), `export const table = await Promise.resolve({ vat: 19 });`);
  await writeFile(
    path.join(project, "tool.ts"),
    `import { defineTool } from "glovebox/tool";
import { table } from "./table.ts";
const { extra } = await import("./extra.ts");
export default defineTool({
  name: "vat",
  description: "Adds the tax.",
  inputSchema: { type: "object", properties: { at: { type: "integer" } } },
  run: ({ at }: { at: number }) => at * table.vat + extra,
});`,
  );
  await writeFile(path.join(project, "extra.ts"), `await null;\nexport const extra = 1;`);
  await engine.register(path.join(project, "tool.ts"));
  expect(await answersOf("vat")).toEqual([20, 39, 58]);
});

test("an error of the module, before and after an await, names its line", async () => {
  const problems = await Promise.all(
    ["await null;\nthrow new Error('no table');", "await Promise.reject(new Error('no table'));"].map((text) =>
      problemOf(`${text}\nexport default () => 1;`),
    ),
  );
  for (const problem of problems) expect(problem).toContain("the tool's module cannot be evaluated: no table");
});

test.each([
  ["a timer", "await new Promise((done) => setTimeout(done, 1));"],
  ["the host", 'await fetch("https://example.com");'],
  ["nothing", "await new Promise(() => {});"],
])("a module that awaits %s is told where waiting has its place", async (_what, text) => {
  expect(await problemOf(`${text}\nexport default () => 1;`)).toContain("do it in the call");
});

test("a module that awaits without end takes its processor time, and no more", async () => {
  const problem = await problemOf("for (;;) await null;\nexport default () => 1;");
  expect(problem).toMatch(/takes more than \d+ ms to evaluate/);
});

test("a module that is required, and awaits, is refused by its name", async () => {
  const project = path.join(folder, "required");
  await mkdir(project);
  await writeFile(path.join(project, "waits.mjs"), "export const a = await 1;");
  await writeFile(path.join(project, "tool.cjs"), `const { a } = require("./waits.mjs");\nmodule.exports = () => a;`);
  const [answer] = await Promise.allSettled([engine.register(path.join(project, "tool.cjs"))]);
  expect(answer).toMatchObject({ status: "rejected" });
  expect(String((answer as PromiseRejectedResult).reason)).toContain(
    "requires waits.mjs, which awaits outside of any function: import it",
  );
});
