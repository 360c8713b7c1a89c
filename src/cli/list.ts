import { Command } from "commander";
import { CONFIG, TOOLS, openEngine, readConfig, type Sources, withFolder } from "./open-engine.ts";
import { NATIVE_TOOLS, openRegistry, orExit } from "./open-workflow.ts";
import { print, printJson, say } from "./output.ts";
import type { ToolInfo } from "../kernel/tool/definition.ts";

interface Options {
  readonly tools?: string;
  readonly config?: string;
  readonly json?: true;
}

/** `glovebox list`: the tools of a folder. */
export function listCommand(): Command {
  return withFolder(new Command("list"))
    .description("list the tools of a folder")
    .option(...TOOLS)
    .option(...CONFIG)
    .option("--json", "print every detail as JSON")
    .action(list);
}

async function list(_dir: string | undefined, { json, ...sources }: Options): Promise<void> {
  await using engine = await openEngine(sources, await readConfig(sources.config), {
    workers: 1,
    executor: { kind: "process", spare: false },
  });
  const infos = engine.list();
  if (json === true) return printJson(infos);
  if (infos.length === 0) say("there are no tools");
  const width = Math.max(...infos.map(({ name }) => name.length));
  for (const info of infos) print(lineOf(info, width));
}

function lineOf({ name, version, description }: ToolInfo, width: number): string {
  return `${name.padEnd(width)}  ${version.padEnd(7)}  ${description.split("\n")[0]}`;
}

/** `glovebox list-supported`: features that workflows may use. */
export function listSupportedCommand(): Command {
  return new Command("list-supported")
    .description("list the supported features of workflows")
    .option("--json", "print JSON")
    .action(listSupported);
}

async function listSupported({ json }: { readonly json?: true }): Promise<void> {
  const { SUPPORTED } = await import("../contrib/strands/index.ts");
  if (json === true) return printJson(SUPPORTED);
  for (const [feature, values] of Object.entries(SUPPORTED)) print(`${feature}: ${values.join(", ")}`);
}

interface Options extends Sources {
  readonly json?: true;
}

/** `glovebox list-tools`: IDs of the native tools that workflows may use. */
export function listToolsCommand(): Command {
  return new Command("list-tools")
    .description("list the native tools available to workflows")
    .option(...NATIVE_TOOLS)
    .option(...CONFIG)
    .option("--json", "print every detail as JSON")
    .action(listTools);
}

async function listTools({ json, ...sources }: Options): Promise<void> {
  await orExit(async () => {
    const registry = await openRegistry(sources);
    await using _engine = registry.engine;
    const tools = registry.list_all();
    if (json === true) return printJson(tools);
    for (const { id } of tools) print(id);
  });
}
