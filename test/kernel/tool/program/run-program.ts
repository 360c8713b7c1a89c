import type { Engine } from "../../../../src/glovebox/index.ts";
import type { ToolResult } from "../../../../src/kernel/base/result.ts";
import type { ExecuteOptions } from "../../../../src/kernel/engine/execute-options.ts";
import { callOf, type Program, readySource } from "../../../../src/kernel/tool/program/program.ts";

/** Runs a program that nobody has to read first. */
export function runProgram(engine: Engine, program: Program, options?: ExecuteOptions): Promise<ToolResult> {
  return engine.runProgram(callOf(program), readySource(program), options);
}
