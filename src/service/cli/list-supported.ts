import { Command } from "commander";
import { print, printJson } from "./output.ts";

/** `glovebox list-supported`: what workflows may ask for. */
export function listSupportedCommand(): Command {
  return new Command("list-supported")
    .description("list the supported features of workflows")
    .option("--json", "print JSON")
    .action(listSupported);
}

async function listSupported({ json }: { readonly json?: true }): Promise<void> {
  const { SUPPORTED } = await import("../../ecosystems/strands/index.ts");
  if (json === true) return printJson(SUPPORTED);
  for (const [feature, values] of Object.entries(SUPPORTED)) print(`${feature}: ${values.join(", ")}`);
}
