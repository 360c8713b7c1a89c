import { afterAll, beforeAll, expect, test } from "vitest";
import { createEngine, type Engine, type ToolResult } from "../../../src/glovebox/index.ts";

const TOOL = {
  name: "repeat",
  description: "Returns a list of as many texts as it is told.",
  source: `export default ({ count }) => Array.from({ length: count }, (_, at) => "text " + at);`,
};

let engine: Engine;

beforeAll(async () => {
  engine = await createEngine({
    workers: 1,
    executor: "threads",
    tools: [TOOL, { ...TOOL, name: "cut", outputChars: 100, source: 'export default () => "x".repeat(400_000)' }],
    limits: { outputBytes: 4 * 1024 * 1024 },
  });
});
afterAll(() => engine.close());

const isText = (result: ToolResult) => Object.getOwnPropertyDescriptor(result, "output")?.get !== undefined;
const call = (count: number) => engine.execute({ name: "repeat", arguments: { count } }, { tenant: "t" });

test("a long output is parsed when it is read, a short one at once, and both are the same to their callers", async () => {
  const [short, long] = [await call(10), await call(50_000)];
  expect([isText(short), isText(long)]).toEqual([false, true]);
  expect(structuredClone(long)).toEqual({ ...long });
  expect(long.output).toEqual(Array.from({ length: 50_000 }, (_, at) => `text ${at}`));
  expect(isText(long)).toBe(false);
});

test("listeners and the holder of the result see one value", async () => {
  const seen: unknown[] = [];
  const listen = ({ result }: { readonly result: ToolResult }) => void seen.push(result.output);
  engine.on("tool:post", listen);
  const { output } = await call(50_000);
  engine.off("tool:post", listen);
  expect(seen[0]).toBe(output);
});

test("the proof that a long output is JSON is charged to its tenant", async () => {
  const beforeMs = engine.usage("t").mainMs;
  await call(50_000);
  expect(engine.usage("t").mainMs).toBeGreaterThan(beforeMs);
});

test("long outputs beyond their limits, and those with a cut, end as short ones do", async () => {
  expect((await call(400_000)).error).toMatchObject({ code: "output_too_large" });
  const cut = await engine.execute({ name: "cut", arguments: {} });
  expect(cut.metadata.truncated).toEqual({ output: 400_000 - 100 });
});

test("calls with one key share a long output, and a repeat says so", async () => {
  const options = { idempotencyKey: "k" };
  const run = () => engine.execute({ name: "repeat", arguments: { count: 50_000 } }, options);
  const [first, second] = await Promise.all([run(), run()]);
  expect(second.output).toEqual(first.output);
  expect([first.metadata["isRepeated"], second.metadata["isRepeated"]]).toEqual([undefined, true]);
});
