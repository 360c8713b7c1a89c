import { afterAll, beforeAll, expect, test } from "vitest";
import { RIGHT_LANGUAGE } from "../../fixtures/code-mode/right-language.ts";
import { RIGHT_TOOLS } from "../../fixtures/code-mode/right-tools.ts";
import { RIGHT } from "../../fixtures/code-mode/right.ts";
import { TOOLS } from "../../fixtures/code-mode/tools.ts";
import { type CodeMode, codeMode } from "../../src/code-mode/index.ts";
import { createEngine, type Engine, type ToolDefinition } from "../../src/glovebox/index.ts";

let engine: Engine;
let mode: CodeMode;
beforeAll(async () => {
  const tools = [...TOOLS, ...RIGHT_TOOLS] as unknown as readonly ToolDefinition[];
  engine = await createEngine({ workers: 1, tools });
  mode = codeMode(engine);
});
afterAll(() => engine.close());

const PROGRAMS = { ...RIGHT, ...RIGHT_LANGUAGE };
/** Programs of a list that wait for the checker at once. */
const AT_ONCE = 8;

test("there are two hundred right programs, each another one", () => {
  const programs = Object.values(PROGRAMS).flatMap((list) => list.map(([code]) => code));
  expect(new Set(programs).size).toBeGreaterThanOrEqual(200);
});

test.each(Object.entries(PROGRAMS))("no right program is refused for %s", async (_what, programs) => {
  for (let at = 0; at < programs.length; at += AT_ONCE) {
    const some = programs.slice(at, at + AT_ONCE);
    const results = await Promise.all(some.map(([code]) => mode.run(code)));
    const found = results.map((one, n) => [some[n]?.[0], one.error?.message ?? null, one.success && one.output.result]);
    expect(found).toEqual(some.map(([code, result]) => [code, null, result]));
  }
});
