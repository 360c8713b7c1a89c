import { Command } from "commander";
import type { Sources } from "./open-engine.ts";
import { openRegistry, orExit } from "./open-workflow.ts";
import { print, printJson } from "./output.ts";

interface Options extends Sources {
  readonly json?: true;
}

/** `glovebox list-tools`: the ids of the native tools that workflows may have. */
export function listToolsCommand(): Command {
  return new Command("list-tools")
    .description("list the native tools that workflows may have")
    .option(
      "--tools <dir>",
      "folder of native tools (default: the configuration's, else calculator, echo, js_exec and python_exec)",
    )
    .option("--config <file>", "configuration (default: glovebox.config.yaml or .json, where there is one)")
    .option("--json", "all that is known of them, as JSON")
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
