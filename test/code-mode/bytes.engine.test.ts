import { expect, test } from "vitest";
import { codeMode } from "../../src/code-mode/index.ts";
import { callTools, type ToolRunner } from "../../src/standard/contracts.ts";
import { createEngine } from "../../src/glovebox/index.ts";

const TOOLS = 50;
const ANSWER_CHARS = 2_000;

/** Fifty sensors, each with an answer of 2 KB, in which one number is wanted. */
const SENSORS = Array.from({ length: TOOLS }, (_, at) => ({
  name: `sensors.read_${at}`,
  description: `Reads sensor ${at}.`,
  source: `export default () => ({ celsius: ${at}, log: "all is well; ".repeat(200).slice(0, ${ANSWER_CHARS}) });`,
}));

const PROGRAM = `const all = await Promise.all(Array.from({ length: ${TOOLS} }, (_, at) => tools.sensors["read_" + at]({})));
return Math.max(...all.map(({ celsius }) => celsius));`;

/** Bytes of calls and their results as OpenAI writes them, which a model sends and reads. */
async function bytesOf(runner: ToolRunner, calls: readonly (readonly [name: string, args: object])[]) {
  const tool_calls = calls.map(([name, args], at) => ({
    id: `call_${at}`,
    type: "function",
    function: { name, arguments: JSON.stringify(args) },
  }));
  const message = { role: "assistant", content: null, tool_calls };
  const answers = await callTools(runner, "openai-chat", message);
  return { bytes: Buffer.byteLength(JSON.stringify([message, ...answers])), answers: JSON.stringify(answers) };
}

test("of 50 tools with answers of 2 KB, a program and its result are at most 5 % of the calls and theirs", async () => {
  await using engine = await createEngine({ workers: 1, executor: "threads", tools: SENSORS });
  const mode = codeMode(engine, { typeCheck: "off" });
  const single = await bytesOf(
    engine,
    SENSORS.map(({ name }) => [name, {}] as const),
  );
  const program = await bytesOf(mode, [["run_code", { code: PROGRAM }]]);
  expect(program.answers).toContain('\\"result\\":49');
  expect(single.bytes).toBeGreaterThan(TOOLS * ANSWER_CHARS);
  expect(program.bytes / single.bytes).toBeLessThanOrEqual(0.05);
  console.info(`a program: ${program.bytes} bytes; 50 calls: ${single.bytes} bytes`);
});
