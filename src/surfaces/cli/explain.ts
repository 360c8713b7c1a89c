import { Command } from "commander";
import type { Explanation, Finding } from "../../index.ts";
import { CliError, EXIT } from "./exit.ts";
import { openEngine, readConfig } from "./open-engine.ts";
import { print, printJson } from "./output.ts";

interface Options {
  readonly tenant: string;
  readonly tools?: string;
  readonly config?: string;
  readonly json?: true;
}

/** `glovebox explain`: what a tool may do, and whose word that is. */
export function explainCommand(): Command {
  return new Command("explain")
    .description("show what a tool is granted, within which limits, and where each comes from")
    .argument("<tool>", "name of a tool")
    .option("--tenant <name>", "the tenant whose calls are meant", "")
    .option("--tools <dir>", "folder of tools (default: the configuration's, else the samples)")
    .option("--config <file>", "configuration (default: glovebox.config.yaml or .json, where there is one)")
    .option("--json", "as JSON")
    .action(explain);
}

async function explain(name: string, { tenant, json, ...sources }: Options): Promise<void> {
  const config = await readConfig(sources.config);
  await using engine = await openEngine(sources, config, {
    workers: 1,
    executor: { kind: "process", spare: false },
  });
  const explanation = engine.explain(name, { tenant });
  if (explanation === undefined) throw new CliError(EXIT.USAGE, `there is no tool "${name}"`);
  const policy = engine.lint();
  if (json === true) printJson({ ...explanation, policy });
  else for (const line of lines(explanation, policy)) print(line);
}

function lines(
  { tool, tenant, isolation, grants, limits, findings }: Explanation,
  policy: readonly Finding[],
): string[] {
  return [
    `${tool}${tenant === "" ? "" : ` for tenant ${tenant}`}, isolation ${isolation}`,
    ...section(
      "granted",
      grants.map(({ capability, granted, from }) => [capability, granted, from]),
      "nothing",
    ),
    ...section(
      "limits",
      limits.map(({ limit, value, from }) => [limit, String(value), from]),
      "none",
    ),
    ...section(
      "asks in vain for",
      [...findings, ...policy].map(({ pointer, reason, remediation }) => [pointer, reason, remediation]),
      "nothing",
    ),
  ];
}

/** A headline, and rows of three. */
function section(title: string, rows: readonly (readonly [string, string, string])[], none: string): string[] {
  if (rows.length === 0) return [`${title}: ${none}`];
  const width = Math.max(...rows.map(([first]) => first.length));
  return [`${title}:`, ...rows.map(([first, second, third]) => `  ${first.padEnd(width)}  ${second}  (${third})`)];
}
