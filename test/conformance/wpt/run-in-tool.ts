import type { Engine, Isolation, ToolDefinition } from "../../../src/glovebox/index.ts";
import { lostRun, REPORT_MS, type Report, type RunProgram, runnerText, runOf, type Scope } from "./program-runner.ts";

/** Levels that a tool may have, with the scope in which a program's script finds its globals there. */
const SCOPES = { instance: "with", context: "eval" } as const satisfies Partial<Record<Isolation, Scope>>;

export type Level = keyof typeof SCOPES;

/** Programs have megabytes of test data and report thousands of subtests. */
export const LIMITS = {
  cpuMs: 20_000,
  wallMs: 2 * REPORT_MS,
  memoryMb: 256,
  inputBytes: 2 ** 24,
  outputBytes: 2 ** 24,
};

/** What the engine of these tools has to allow. */
export const ENGINE_LIMITS = { inputBytes: LIMITS.inputBytes, outputBytes: LIMITS.outputBytes };

/** Tools that run programs of the suite, one for each level. `before`: what a tool does first, such as to define a global. */
export function programTools(harness: string, limits: typeof LIMITS = LIMITS, before = ""): readonly ToolDefinition[] {
  return Object.entries(SCOPES).map(([level, scope]) => ({
    name: level,
    description: "Runs a program of the Web Platform Tests.",
    isolation: level as Level,
    limits,
    source: `const run = new Function(...${JSON.stringify(runnerText(scope, limits.wallMs / 2))});
const harness = ${JSON.stringify(harness)};
export default (program) => {
  ${before}
  return run(harness, program, globalThis);
};`,
  }));
}

/** Runs a program as a call of the level's tool. */
export function runInTool(engine: Engine, level: Level): RunProgram {
  return async (program) => {
    const result = await engine.execute({ name: level, arguments: { ...program } });
    return result.success ? runOf(result.output as Report) : lostRun(`${result.error.code}: ${result.error.message}`);
  };
}
