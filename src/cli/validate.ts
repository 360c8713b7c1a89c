import { CliError, EXIT } from "./exit.ts";
import { isWorkflow, orExit } from "./open-workflow.ts";
import { print, printJson } from "./output.ts";
import { stat } from "node:fs/promises";
import { Command, Option } from "commander";
import type { ToolCheck, Validation } from "../testing/validation/index.ts";
import { openEngine } from "./open-engine.ts";

interface Options {
  readonly json?: true;
}

const LEVELS = ["error", "warning", "info", "pass"] as const satisfies readonly ToolCheck["level"][];

/** `glovebox validate`: checks a module against its contract, or a workflow's file against its schema. */
export function validateCommand(): Command {
  return new Command("validate")
    .description("check a module against its contract, by loading and calling it in an isolate without any grants")
    .argument("<path>", "a module, or a folder of modules; or a workflow's YAML file")
    .addOption(new Option("--type <type>", "kind of module").choices(["tool"]).default("tool"))
    .option("--json", "print JSON")
    .action(validate);
}

/** `glovebox module validate`: the same under the name that Amplifier's command line uses. */
export function moduleCommand(): Command {
  return new Command("module").description("commands for modules").addCommand(validateCommand());
}

async function validate(given: string, { json }: Options): Promise<void> {
  const isThere = await stat(given).then(Boolean, () => false);
  if (!isThere) throw new CliError(EXIT.USAGE, `there is nothing at ${given}`);
  if (isWorkflow(given)) return validateWorkflow(given, json === true);
  const { validateModules } = await import("../testing/validation/index.ts");
  await using engine = await openEngine({}, { tools: [] }, { workers: 1, executor: { kind: "process", spare: false } });
  const validations = await validateModules(engine, given);
  const checks = validations.flatMap((validation) => validation.checks);
  if (checks.some(({ level }) => level === "error")) process.exitCode = EXIT.INVALID;
  if (json === true) return printJson(validations);
  for (const validation of validations) for (const line of lines(validation)) print(line);
  print(summary(checks));
}

function lines({ module, checks }: Validation): string[] {
  return checks.map(({ level, tool, about, message }) => {
    const subject = tool === undefined || tool === module ? module : `${module} ${tool}`;
    return `${level.padEnd(7)}  ${subject}  ${about}: ${message.replaceAll("\n", " ")}`;
  });
}

function summary(checks: readonly ToolCheck[]): string {
  const counts = LEVELS.map((level) => `${level} ${checks.filter((check) => check.level === level).length}`);
  return `${checks.some(({ level }) => level === "error") ? "not valid" : "valid"}: ${counts.join(", ")}`;
}

/** Validates a workflow's file and prints each problem on one line. */
async function validateWorkflow(file: string, json = false): Promise<void> {
  await orExit(async () => {
    const { load_spec, SpecError } = await import("../contrib/strands/index.ts");
    const problems = await load_spec(file).then(
      () => [],
      (error: unknown) => {
        if (error instanceof SpecError) return error.problems;
        throw error;
      },
    );
    if (problems.length > 0) process.exitCode = EXIT.INVALID;
    if (json) return printJson({ valid: problems.length === 0, problems });
    if (problems.length === 0) print(`${file} is valid`);
    for (const { message } of problems) print(`error: ${message}`);
  });
}
