import { matchesName } from "../base/name-patterns.ts";
import type { BrokerClient } from "../broker/thread/broker-client.ts";
import { CODE_LIMITS, type CodeModeOptions, type ResolvedCodeMode, resolveCodeMode } from "./code-mode-options.ts";
import { DEFAULT_LIMITS, type Limits } from "../base/limits.ts";
import { HOST_TOOLS, PROGRAM_NAMES } from "../tool/program/program.ts";
import type { Programs } from "../tool/program/programs.ts";
import type { RegisteredTool } from "../tool/registered-tool.ts";
import type { ToolRegistry } from "../tool/registry.ts";
import {
  type ExplainedParts,
  type Explanation,
  explainTool,
  type GrantLine,
  grantLines,
  type LimitLine,
  type ProgramExplanation,
  type ProgramTool,
} from "./explanation.ts";

const TOOLS_MAX = 500;

/** The caller whose programs are explained. */
interface ExplainedPrograms {
  readonly codeMode: ResolvedCodeMode;
  readonly tenant: string;
  /** Names of the tools that the caller may call, each of which may end in `*`. Default: all. */
  readonly tools: readonly string[] | undefined;
}

interface ExplainingParts extends ExplainedParts {
  readonly broker: BrokerClient;
  readonly programs: Programs;
  readonly registry: ToolRegistry;
}

/** The explanation of `run_code` for a caller. */
export function explainRunCode(
  { programs, registry, ...parts }: ExplainingParts,
  given: CodeModeOptions,
  { tenant, tools }: Omit<ExplainedPrograms, "codeMode">,
): Explanation {
  const codeMode = resolveCodeMode(given);
  const runner = programs.runnerOf("tools", codeMode.limits);
  const all = registry.list(tenant).flatMap(({ name }) => registry.get(name, tenant) ?? []);
  return {
    ...explainTool(runner, tenant, parts),
    limits: programLimits(runner.limits, codeMode.limits),
    program: explainPrograms(all, { codeMode, tenant, tools }, parts.broker),
  };
}

function explainPrograms(
  registered: readonly RegisteredTool[],
  { codeMode, tenant, tools }: ExplainedPrograms,
  broker: BrokerClient,
): ProgramExplanation {
  const lines = registered.map((tool) => ({ tool, line: lineOf(tool.info.name, codeMode.tools, tools) }));
  const callable = lines.filter(({ line }) => line.isCallable);
  const shown = [...callable, ...lines.filter(({ line }) => !line.isCallable)].slice(0, TOOLS_MAX);
  return {
    mayRun: tools === undefined || patternOf(tools, PROGRAM_NAMES.tools) !== null,
    callable: callable.length,
    total: lines.length,
    tools: shown.map(({ tool, line }) => {
      if (!line.isCallable || Object.keys(tool.capabilities).length === 0) return line;
      const rules = grantLines(tool, tenant, broker).map(({ from }: GrantLine) => from);
      return { ...line, from: [...new Set([...line.from, ...rules])] };
    }),
  };
}

function lineOf(tool: string, ofMode: readonly string[], ofCaller: readonly string[] | undefined): ProgramTool {
  const refuse = (reason: string): ProgramTool => ({ tool, isCallable: false, from: [], reason });
  if (HOST_TOOLS.has(tool)) return refuse("a tool of code mode has this name");
  const mode = patternOf(ofMode, tool);
  if (mode === null) return refuse("no name in codeMode.tools matches it");
  if (ofCaller === undefined) return { tool, isCallable: true, from: [`codeMode.tools[${mode}]`] };
  const caller = patternOf(ofCaller, tool);
  if (caller === null) return refuse("no name in key.tools matches it");
  return { tool, isCallable: true, from: [`codeMode.tools[${mode}]`, `key.tools[${caller}]`] };
}

function patternOf(patterns: readonly string[], name: string): number | null {
  const at = patterns.findIndex((pattern) => matchesName(pattern, name));
  return at === -1 ? null : at;
}

/** The limits of programs. `limits`: those in force. */
function programLimits(limits: Limits, asked: Partial<Limits>): readonly LimitLine[] {
  const defaults: Partial<Limits> = CODE_LIMITS;
  return (Object.keys(DEFAULT_LIMITS) as (keyof Limits)[]).map((limit) => {
    const value = limits[limit];
    const wanted = asked[limit];
    if (wanted === undefined) return { limit, value, from: value === DEFAULT_LIMITS[limit] ? "default" : "limits" };
    if (value < wanted) return { limit, value, from: "maxLimits", declared: wanted };
    return { limit, value, from: wanted === defaults[limit] ? "default" : "codeMode" };
  });
}
