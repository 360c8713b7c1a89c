import { CliError, EXIT } from "./exit.ts";
import { openEngine, readConfig, type Sources } from "./open-engine.ts";
import { isWorkflow, openWorkflow, orExit } from "./open-workflow.ts";
import { print, printJson } from "./output.ts";
import { Command } from "commander";
import type { Explanation } from "../../engine/explanation.ts";
import type { Finding } from "../../broker/grants.ts";

interface Options {
  readonly tenant: string;
  readonly tools?: string;
  readonly config?: string;
  readonly json?: true;
}

/** `glovebox explain`: the effective grants and limits of a tool, and their origins. */
export function explainCommand(): Command {
  return new Command("explain")
    .description("show a tool's grants, limits and denied requests; or which parts of a workflow are supported")
    .argument(
      "[tool]",
      "name of a tool, or a workflow's YAML file (default: denied requests and unused rules of all tools)",
    )
    .option("--tenant <name>", "tenant of the calls", "")
    .option("--tools <dir>", "folder of tools (default: the configuration's tools, else the samples)")
    .option("--config <file>", "configuration file (default: glovebox.config.yaml or .json in this folder, if present)")
    .option("--json", "print JSON")
    .action(explain);
}

async function explain(name: string | undefined, { tenant, json, ...sources }: Options): Promise<void> {
  if (name !== undefined && isWorkflow(name)) return explainWorkflow(name, json === true, sources);
  const config = await readConfig(sources.config);
  await using engine = await openEngine(sources, config, {
    workers: 1,
    executor: { kind: "process", spare: false },
  });
  if (name === undefined) {
    const findings = engine.lint();
    if (findings.length > 0) process.exitCode = EXIT.FAILED;
    if (json === true) return printJson(findings);
    for (const line of section("denied requests and unused rules", findings.map(rowOf), "none")) print(line);
    return;
  }
  const explanation = engine.explain(name, { tenant });
  if (explanation === undefined) throw new CliError(EXIT.USAGE, `there is no tool "${name}"`);
  if (json === true) return printJson(explanation);
  for (const line of lines(explanation)) print(line);
}

function lines(explanation: Explanation): string[] {
  const { tool, tenant, isolation, group, grants, limits, processorTime, findings, schemas } = explanation;
  const granted = grants.map(({ capability, granted: what, from }): Row => [capability, what, from]);
  const limited = limits.map(({ limit, value, from }): Row => {
    const isEstimated = limit === "cpuMs" && processorTime === "estimated";
    return [limit, String(value), isEstimated ? `${from}, estimated on this system` : from];
  });
  return [
    `${tool}${tenant === "" ? "" : ` for tenant ${tenant}`}, isolation ${isolation}${group === null ? "" : `, trust group ${group}`}`,
    ...section("granted", granted, "nothing"),
    ...section("limits", limited, "none"),
    ...section("denied requests", findings.map(rowOf), "none"),
    ...schemaLines(schemas),
  ];
}

/** Nothing where the schemas are applied before the module is evaluated, as they usually are. */
function schemaLines({ parses, parsesReason = "", wholeReason, evaluationMs }: Explanation["schemas"]): string[] {
  const cost = `each call evaluates the whole module, in ${evaluationMs.toFixed(1)} ms`;
  if (parses === "isolate") return [`parsed in the isolate: ${parsesReason}  (${cost})`];
  return wholeReason === undefined ? [] : [`module not split: ${wholeReason}  (${cost})`];
}

type Row = readonly [first: string, second: string, third: string];

function rowOf({ tool, pointer, reason, remediation }: Finding & { readonly tool?: string | null }): Row {
  return [`${tool ?? ""}${pointer}`, reason, remediation];
}

/** A heading, and rows of three columns. */
function section(title: string, rows: readonly Row[], none: string): string[] {
  if (rows.length === 0) return [`${title}: ${none}`];
  const width = Math.max(...rows.map(([first]) => first.length));
  return [`${title}:`, ...rows.map(([first, second, third]) => `  ${first.padEnd(width)}  ${second}  (${third})`)];
}

/** Prints which parts of a workflow are supported, and how to change the others. */
export async function explainWorkflow(file: string, json: boolean, sources: Sources): Promise<void> {
  await orExit(async () => {
    const { remediationReport } = await import("../../ecosystems/strands/index.ts");
    await using opened = await openWorkflow(file, sources);
    const { spec, report } = opened;
    if (!report.supported) process.exitCode = EXIT.UNSUPPORTED;
    if (json) printJson(report);
    else print(remediationReport(spec.name, report).trimEnd());
  });
}
