import { Command } from "commander";
import type { ToolInfo } from "../../tool/definition.ts";
import { openEngine, readConfig } from "./open-engine.ts";
import { print, printJson } from "./output.ts";

interface Options {
  readonly tools?: string;
  readonly config?: string;
  readonly json?: true;
}

/** `glovebox list`: what tools there are. */
export function listCommand(): Command {
  return new Command("list")
    .description("list the tools of a folder")
    .option("--tools <dir>", "folder of tools (default: the configuration's tools, else the samples)")
    .option("--config <file>", "configuration file (default: glovebox.config.yaml or .json in this folder, if present)")
    .option("--json", "print every detail as JSON")
    .action(list);
}

async function list({ json, ...sources }: Options): Promise<void> {
  await using engine = await openEngine(sources, await readConfig(sources.config), {
    workers: 1,
    executor: { kind: "process", spare: false },
  });
  const infos = engine.list();
  if (json === true) return printJson(infos);
  const width = Math.max(...infos.map(({ name }) => name.length));
  for (const info of infos) print(lineOf(info, width));
}

function lineOf({ name, version, description }: ToolInfo, width: number): string {
  return `${name.padEnd(width)}  ${version.padEnd(7)}  ${description.split("\n")[0]}`;
}
