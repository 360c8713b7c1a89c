import { Command } from "commander";
import type { Configuration, Source } from "../config/configuration.ts";
import type { EffectiveValue } from "../config/effective.ts";
import { SETTINGS } from "../config/names.ts";
import { EXIT } from "./exit.ts";
import { readSettings } from "./open-engine.ts";
import { print, printJson, say } from "./output.ts";

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
  withFile(add("check", "check the configuration and report every mistake")).action(check);
  add("names", "list every setting and its environment variable").action(printNames);
  return command;
}

function withFile(command: Command): Command {
  return command.option(
    "--config <file>",
    "configuration file (default: glovebox.config.yaml or .json in this folder, if present)",
  );
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

/** Prints every mistake on one line, in the format of compilers, so that editors and CI find the places. */
async function check({ config }: Options): Promise<void> {
  const { findMistakes } = await import("./config-findings.ts");
  const { file, findings } = await findMistakes(config, process.env);
  if (findings.length === 0) {
    return print(file === undefined ? "no configuration file here, and none is needed" : "the configuration is valid");
  }
  const widths = [findings.map(({ place }) => place.length), findings.map(({ rule }) => rule.length)];
  const [placeWidth = 0, ruleWidth = 0] = widths.map((lengths) => Math.max(...lengths));
  for (const { place, rule, message } of findings) {
    const start = placeWidth === 0 ? "" : `${place.padEnd(placeWidth)} `;
    say(`${start}error  ${rule.padEnd(ruleWidth)}  ${message}`);
  }
  say(`${findings.length} ${findings.length === 1 ? "error" : "errors"}`);
  process.exitCode = EXIT.USAGE;
}

function printNames(): void {
  const width = Math.max(...SETTINGS.map(({ path }) => path.join(".").length));
  for (const { path, variable } of SETTINGS) print(`${path.join(".").padEnd(width)}  ${variable}`);
}

/** Checks the configuration as the engine and the service do, then lists the effective values. */
async function checked(settings: Configuration): Promise<readonly EffectiveValue[]> {
  const { checkOptions, orUsage } = await import("./open-engine.ts");
  await orUsage(checkOptions(settings.values));
  const { ServiceKeys } = await import("./service-keys.ts");
  new ServiceKeys(settings.values, process.env);
  const { effectiveValues } = await import("../config/effective.ts");
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
