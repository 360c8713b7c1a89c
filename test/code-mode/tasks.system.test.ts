import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Task, TASKS } from "../../fixtures/code-mode/tasks.ts";
import { TOOLS } from "../../fixtures/code-mode/tools.ts";
import { type CodeMode, codeMode, type ProgramProblem } from "../../src/code-mode/index.ts";
import { createEngine, type Engine, type ToolDefinition } from "../../src/glovebox/index.ts";

let engine: Engine;
let mode: CodeMode;
let calls: unknown[] = [];
beforeAll(async () => {
  engine = await createEngine({ workers: 1, tools: TOOLS as readonly ToolDefinition[] });
  engine.on(
    "tool:post",
    ({ tool, result }) => void (tool !== "run_code" && calls.push({ tool, output: result.output })),
  );
  engine.on(
    "tool:error",
    ({ tool, result }) => void (tool !== "run_code" && calls.push({ tool, error: result.error })),
  );
  mode = codeMode(engine);
});
afterAll(() => engine.close());

const MISTAKES = [
  ["tool", /^there is no tool "[\w.-]+"\. Did you mean tools[.[]/],
  ["argument", /^tools[.[][^:]*: .* It takes \{ .* \}$/],
  ["text", /^This is a text, and a text has no member "\w+"\. Use the text itself/],
] as const;

test("there are forty tools and thirty tasks", () => {
  expect([TOOLS.length, TASKS.length]).toEqual([40, 30]);
});

describe.each(TASKS.map((task): [string, Task] => [task.task, task]))("%s", (_task, { program, result, wrong }) => {
  test("the right program is run", async () => {
    const ended = await mode.run(program);
    expect(ended.error).toBeNull();
    expect(ended.output).toMatchObject({ result });
    expect(ended.success && ended.output.warnings).toBeUndefined();
  });

  test.each(MISTAKES)(
    "a wrong %s is answered with line, column and what to write, and nothing is called",
    async (kind, message) => {
      calls = [];
      const { error } = await mode.run(wrong[kind]);
      expect(error?.code).toBe("invalid_arguments");
      const details = error?.details as { readonly problems: readonly ProgramProblem[] } | undefined;
      const [problem] = details?.problems ?? [];
      expect(problem?.message).toMatch(message);
      expect(problem?.line).toBe(wrong[kind].split("\n").length);
      expect(problem?.column).toBeGreaterThan(1);
      expect(calls).toEqual([]);
    },
  );
});

test("of the answers that a model reads call by call, it reads at most a fifth with programs", async () => {
  let [single, withCode] = [0, 0];
  for (const { program } of TASKS) {
    calls = [];
    const { output } = await mode.run(program);
    single += calls.reduce((sum: number, call) => sum + JSON.stringify((call as { output: unknown }).output).length, 0);
    withCode += JSON.stringify(output).length;
  }
  expect(single).toBeGreaterThan(40_000);
  expect(withCode / single).toBeLessThan(0.2);
});
