import { Command } from "commander";
import type { NormalizedWorkflow, PatternParts } from "../contrib/strands/index.ts";
import { CliError, EXIT } from "./exit.ts";
import { CONFIG, type Sources } from "./open-engine.ts";
import { NATIVE_TOOLS, openWorkflow, orExit } from "./open-workflow.ts";
import { print, printJson, say } from "./output.ts";

interface Options extends Sources {
  readonly json?: true;
}

/** `glovebox plan`: the steps of a workflow. */
export function planCommand(): Command {
  return new Command("plan")
    .description("show the steps of a workflow without running it")
    .argument("<file>", "the workflow's YAML file")
    .option(...NATIVE_TOOLS)
    .option(...CONFIG)
    .option("--json", "print JSON")
    .action(plan);
}

async function plan(file: string, { json, ...sources }: Options): Promise<void> {
  await orExit(async () => {
    const { partsOf, remediationReport } = await import("../contrib/strands/index.ts");
    await using opened = await openWorkflow(file, sources);
    const { normalized } = opened.report;
    if (normalized === null) {
      say(remediationReport(opened.spec.name, opened.report));
      throw new CliError(EXIT.UNSUPPORTED, `${opened.spec.name} cannot be run as it is`);
    }
    if (json === true) return printJson(normalized);
    for (const line of lines(normalized, partsOf(normalized.pattern))) print(line);
  });
}

function lines({ name, runtime, pattern, tools, outputs }: NormalizedWorkflow, parts: PatternParts): string[] {
  const { provider, model_id, host } = runtime;
  const artifacts = outputs.artifacts.map(({ path, from }) => `  ${path}: ${firstLine(from)}`);
  return [
    `${name}: ${model_id} of ${provider}${host === undefined ? "" : ` at ${host}`}`,
    `${pattern.type}:`,
    ...steps(pattern, parts),
    `tools: ${tools.length === 0 ? "none" : tools.join(", ")}`,
    artifacts.length === 0 ? "artifacts: none" : "artifacts:",
    ...artifacts,
  ];
}

/** The agents in the order of the file; those of a chain are numbered. */
function steps(pattern: NormalizedWorkflow["pattern"], { agents }: PatternParts): readonly string[] {
  if (pattern.type === "chain") {
    return pattern.config.steps.map((step, index) => {
      const text = "agent" in step ? `${step.agent}: ${firstLine(step.input ?? "")}` : "a person";
      return `  ${index + 1}. ${text}`;
    });
  }
  return agents.map(([pointer, agent]) => `  ${pointer}: ${agent}`);
}

function firstLine(text: string): string {
  const [first = "", ...rest] = text.trim().split("\n");
  return rest.length === 0 ? first : `${first} …`;
}
