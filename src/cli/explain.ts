import { ERRORS } from "../kernel/base/errors.ts";
import { CliError, EXIT } from "./exit.ts";
import { CONFIG, TOOLS, openEngine, readConfig, type Sources } from "./open-engine.ts";
import { isWorkflow, openWorkflow, orExit } from "./open-workflow.ts";
import { print, printJson } from "./output.ts";
import { Command } from "commander";
import type { Explanation, ProgramExplanation } from "../kernel/engine/explanation.ts";
import type { ExplainOptions } from "../kernel/engine/local-engine.ts";
import { PROGRAM_NAMES } from "../kernel/tool/program/program.ts";
import type { Config } from "../server/config/schema.ts";
import type { Finding } from "../kernel/broker/grants.ts";

const RUN_CODE = PROGRAM_NAMES.tools;

interface Options {
  readonly tenant: string;
  readonly key?: string;
  readonly tools?: string;
  readonly config?: string;
  readonly yaml?: true;
  readonly apply?: true;
  readonly json?: true;
}

/** `glovebox explain`: the effective grants and limits of a tool, and their origins. */
export function explainCommand(): Command {
  return new Command("explain")
    .description(
      "show a tool's grants, limits and denied requests; what an error's code means; or which parts of a workflow are supported",
    )
    .argument(
      "[tool]",
      "name of a tool, run_code for programs, an error's code, or a workflow's YAML file (default: denied requests and unused rules of all tools)",
    )
    .option("--tenant <name>", "tenant of the calls", "")
    .option("--key <name>", "key of the configuration whose programs run_code explains, with its tenant and tools")
    .option(...TOOLS)
    .option(...CONFIG)
    .option("--yaml", "print the least policy rule under which the tool is granted what it asks for")
    .option(
      "--apply",
      "add that rule to the configuration file, and show the difference; all else in the file stays as it is",
    )
    .option("--json", "print JSON")
    .action(explain);
}

async function explain(
  name: string | undefined,
  { tenant, key, json, yaml, apply, ...sources }: Options,
): Promise<void> {
  const isOffer = yaml === true || apply === true;
  if (isOffer && (name === undefined || isWorkflow(name))) {
    throw new CliError(EXIT.USAGE, "--yaml and --apply are for one tool: name it");
  }
  if (name !== undefined && !isOffer && Object.hasOwn(ERRORS, name)) {
    const { showPage } = await import("./docs.ts");
    if (await showPage(`reference/errors/${name}`, json === true)) return;
  }
  if (name !== undefined && isWorkflow(name)) return explainWorkflow(name, json === true, sources);
  const config = await readConfig(sources.config);
  await using engine = await openEngine(sources, config, {
    workers: 1,
    executor: { kind: "process", spare: false },
    // Commands run programs even if surfaces have no code mode.
    ...(name === RUN_CODE ? { codeMode: config.codeMode ?? {} } : {}),
  });
  if (name === undefined) {
    const findings = engine.lint();
    if (findings.length > 0) process.exitCode = EXIT.FAILED;
    if (json === true) return printJson(findings);
    for (const line of section("denied requests and unused rules", findings.map(rowOf), "none")) print(line);
    return;
  }
  if (isOffer) {
    const offer = engine.offerRule(name, { tenant });
    if (offer === undefined) throw new CliError(EXIT.USAGE, `there is no tool "${name}"`);
    const { reportOffer } = await import("./explain-offer.ts");
    return await reportOffer(offer, { ...sources, apply, json });
  }
  const explanation = engine.explain(name, { tenant, ...callerOf(key, config) });
  if (explanation === undefined) throw new CliError(EXIT.USAGE, `there is no tool "${name}"`);
  if (explanation.findings.length > 0) process.exitCode = EXIT.FAILED;
  if (json === true) return printJson(explanation);
  for (const line of lines(explanation)) print(line);
}

/** The tenant and the tools of a key. */
function callerOf(name: string | undefined, { keys = [] }: Config): ExplainOptions {
  if (name === undefined) return {};
  const key = keys.find((one) => one.name === name);
  if (key === undefined) throw new CliError(EXIT.USAGE, `the configuration has no key "${name}"`);
  return { ...(typeof key.tenant === "string" ? { tenant: key.tenant } : {}), tools: key.tools };
}

function lines(explanation: Explanation): string[] {
  const { tool, tenant, isolation, group, grants, limits, processorTime, findings, schemas, node, program } =
    explanation;
  const granted = grants.map(({ capability, granted: what, from }): Row => [capability, what, from]);
  const limited = limits.map(({ limit, value, from }): Row => {
    const isEstimated = limit === "cpuMs" && processorTime === "estimated";
    return [limit, String(value), isEstimated ? `${from}, estimated on this system` : from];
  });
  return [
    `${tool}${tenant === "" ? "" : ` for tenant ${tenant}`}, isolation ${isolation}${group === null ? "" : `, trust group ${group}`}`,
    ...(program === undefined ? section("granted", granted, "nothing") : programLines(program)),
    ...section("limits", limited, "none"),
    ...section("denied requests", findings.map(rowOf), "none"),
    ...schemaLines(schemas),
    ...nodeLines(node),
  ];
}

function programLines({ mayRun, callable, total, tools }: ProgramExplanation): string[] {
  const [may, mayNot] = [tools.filter(({ isCallable }) => isCallable), tools.filter(({ isCallable }) => !isCallable)];
  const width = Math.max(0, ...tools.map(({ tool }) => tool.length));
  const row = (tool: string, why: string): string => `  ${tool.padEnd(width)}  ${why}`;
  const rest = total - tools.length;
  return [
    ...(mayRun ? [] : ["no program may run: no name in key.tools matches run_code"]),
    `programs may call ${callable} of ${total} tools:`,
    ...may.map(({ tool, from }) => row(tool, from.join(", "))),
    ...(mayNot.length === 0 ? [] : ["programs may not call:"]),
    ...mayNot.map(({ tool, reason = "" }) => row(tool, reason)),
    ...(rest > 0 ? [`${rest} more tools are not shown`] : []),
  ];
}

/** Empty if the schemas are applied before the module is evaluated, as usual. */
function schemaLines({ parses, parsesReason = "", wholeReason, evaluationMs }: Explanation["schemas"]): string[] {
  const cost = `each call evaluates the whole module, in ${evaluationMs.toFixed(1)} ms`;
  if (parses === "isolate") return [`parsed in the isolate: ${parsesReason}  (${cost})`];
  return wholeReason === undefined ? [] : [`module not split: ${wholeReason}  (${cost})`];
}

/** Empty for a tool that uses no name of Node. */
function nodeLines(names: Explanation["node"]): string[] {
  if (names.length === 0) return [];
  const works = names.flatMap(({ name, instead }) => (instead === undefined ? [name] : []));
  const refused = names.flatMap(({ name, instead }): Row[] =>
    instead === undefined ? [] : [[name, "refuses when used", instead]],
  );
  return [
    ...(works.length === 0 ? [] : [`names of Node: ${works.join(", ")}`]),
    ...(refused.length === 0 ? [] : section("names of Node that an isolate has not", refused, "none")),
  ];
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
async function explainWorkflow(file: string, json: boolean, sources: Sources): Promise<void> {
  await orExit(async () => {
    const { remediationReport } = await import("../contrib/strands/index.ts");
    await using opened = await openWorkflow(file, sources);
    const { spec, report } = opened;
    if (!report.supported) process.exitCode = EXIT.UNSUPPORTED;
    if (json) printJson(report);
    else print(remediationReport(spec.name, report).trimEnd());
  });
}
