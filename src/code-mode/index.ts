import "../kernel/base/check-node.ts";

export { codeMode, type CodeMode, type ProgramRunner, type RunOptions } from "./code-mode.ts";
export type { Declarations } from "./declarations.ts";
export { CODE_LIMITS, type CodeModeOptions } from "../kernel/engine/code-mode-options.ts";
export type { CallLine, RunCodeOutput } from "./result.ts";
export type { ProgramProblem } from "../kernel/tool/program/problem.ts";
