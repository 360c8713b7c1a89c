import { CliError, EXIT } from "./exit.ts";
import type { Sources } from "./open-engine.ts";
import { openWorkflow, orExit } from "./open-workflow.ts";
import { print, printJson, say } from "./output.ts";

export interface WorkflowOptions extends Sources {
  readonly force?: true;
  readonly var?: readonly string[];
  /** Print the complete result instead of the last response. */
  readonly result?: true;
}

/** Runs a workflow. Its last response goes to stdout, the paths of written files to stderr. */
export async function runWorkflow(file: string, options: WorkflowOptions): Promise<void> {
  const { force, result, var: given = [], ...sources } = options;
  const variables = readVariables(given);
  await orExit(async () => {
    const { remediationReport, run_workflow } = await import("../contrib/strands/index.ts");
    await using opened = await openWorkflow(file, sources);
    const { spec, report, registry } = opened;
    if (!report.supported) {
      say(remediationReport(spec.name, report));
      throw new CliError(EXIT.UNSUPPORTED, `${spec.name} cannot be run as it is`);
    }
    const ended = await run_workflow(spec, variables, { registry, force: force === true });
    if (result === true) printJson(ended);
    else print(ended.last_response);
    for (const path of ended.artifacts) say(`glovebox: wrote ${path}`);
  });
}

function readVariables(given: readonly string[]): { readonly [name: string]: string } {
  const variables = new Map<string, string>();
  for (const one of given) {
    const [, name, value] = /^([A-Za-z_]\w{0,63})=(.*)$/s.exec(one) ?? [];
    if (name === undefined || value === undefined) {
      throw new CliError(
        EXIT.USAGE,
        `--var takes a name and its value, such as topic=weather, and not ${one.slice(0, 80)}`,
      );
    }
    variables.set(name, value);
  }
  return Object.fromEntries(variables);
}
