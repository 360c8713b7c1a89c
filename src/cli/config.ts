import { Command, Option } from "commander";
import type { Configuration, Source } from "../server/config/configuration.ts";
import type { EffectiveValue } from "../server/config/effective.ts";
import { SETTINGS } from "../server/config/names.ts";
import { EXIT } from "./exit.ts";
import { CONFIG, readSettings } from "./open-engine.ts";
import { print, printJson, say } from "./output.ts";

interface CheckOptions extends Options {
  readonly fix?: true;
  readonly format?: Format;
}

const FORMATS = ["text", "json", "sarif", "github"] as const;
type Format = (typeof FORMATS)[number];

interface Options {
  readonly config?: string;
  readonly json?: true;
}

/** `glovebox config`: the effective configuration and the origin of each value. */
export function configCommand(): Command {
  const command = new Command("config").description("show or check the configuration that commands use in this folder");
  const add = (name: string, description: string) => command.command(name).description(description);
  withFile(add("print", "print every effective value and its source"))
    .option("--json", "print JSON")
    .action(printSettings);
  withFile(add("check", "check the configuration and its tools, and report every mistake"))
    .option("--fix", "repair misspelt names and words, and numbers in quotes; all else in the file stays as it is")
    .option("--json", "print JSON")
    .addOption(
      new Option("--format <format>", "form of the report: text, JSON, SARIF, or annotations of GitHub")
        .choices(FORMATS)
        .conflicts("json"),
    )
    .action(check);
  add("names", "list every setting and its environment variable").option("--json", "print JSON").action(printNames);
  return command;
}

function withFile(command: Command): Command {
  return command.option(...CONFIG);
}

async function printSettings({ config, json }: Options): Promise<void> {
  const values = await checked(await readSettings(config));
  if (json === true) return printJson(values);
  const [settings, shown] = [values.map(({ setting }) => setting), values.map(({ value }) => JSON.stringify(value))];
  const widths = [settings, shown].map((texts) => Math.max(...texts.map((text) => Math.min(text.length, 40))));
  for (const [at, { setting, source }] of values.entries()) {
    print(`${setting.padEnd(widths[0] ?? 0)}  ${(shown[at] ?? "").padEnd(widths[1] ?? 0)}  ${describe(source)}`);
  }
}

async function check({ config, fix, json, format = json === true ? "json" : "text" }: CheckOptions): Promise<void> {
  const { findMistakes } = await import("./config-findings.ts");
  const { relative, reportFindings } = await import("./config-report.ts");
  let mistakes = await findMistakes(config, process.env);
  const { file } = mistakes;
  if (fix === true && file !== undefined && mistakes.findings.some((one) => one.fix !== undefined)) {
    const { fixFile } = await import("./config-edit.ts");
    const count = await fixFile(file, mistakes.findings);
    say(`${relative(file)}: repaired ${count}`);
    mistakes = await findMistakes(config, process.env);
  }
  if (mistakes.findings.some(({ severity }) => severity === undefined)) process.exitCode = EXIT.USAGE;
  reportFindings(mistakes, format);
}

function printNames({ json }: Options): void {
  if (json === true) return printJson(SETTINGS.map(({ path, variable }) => ({ setting: path.join("."), variable })));
  const width = Math.max(...SETTINGS.map(({ path }) => path.join(".").length));
  for (const { path, variable } of SETTINGS) print(`${path.join(".").padEnd(width)}  ${variable}`);
}

/** Checks the configuration as the engine and the service do, then lists the effective values. */
async function checked(settings: Configuration): Promise<readonly EffectiveValue[]> {
  const { checkOptions, orUsage } = await import("./open-engine.ts");
  await orUsage(checkOptions(settings.values));
  const { ServiceKeys } = await import("./service-keys.ts");
  new ServiceKeys(settings.values, process.env);
  const { effectiveValues } = await import("../server/config/effective.ts");
  return effectiveValues(settings);
}

function describe(source: Source): string {
  switch (source.kind) {
    case "file":
      return `${source.file}:${source.line}`;
    case "variable":
    case "flag":
      return source.name;
    case "default":
      return "default";
    default:
      return source satisfies never;
  }
}
