import type { Engine } from "../kernel/engine/engine.ts";
import type { ProgramProblem } from "../kernel/tool/program/problem.ts";
import { codeMode, type ProgramRunner } from "./code-mode.ts";

/**
 * Finds mistakes of a program over all tools that a tenant's calls find. Rejects with a `GloveboxError` if it cannot be
 * read.
 */
export function checkProgram(engine: Engine, code: string, tenant: string): Promise<readonly ProgramProblem[]> {
  const whose = { tenant };
  const runner: ProgramRunner = {
    codeMode: engine.codeMode,
    list: () => engine.list(whose),
    get: (name) => engine.get(name, whose),
    execute: (call, options) => engine.execute(call, options),
    runProgram: (call, source, options) => engine.runProgram(call, source, options),
    answer: (call, work, options) => engine.answer(call, work, options),
    charge: (cpuMs, options) => engine.charge(cpuMs, options),
  };
  return codeMode(runner, { tenant }).check(code);
}
