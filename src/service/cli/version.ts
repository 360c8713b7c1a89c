import { Command } from "commander";
import { print, printJson } from "./output.ts";

/** `glovebox version`: the same as `--version`, and what it runs on. */
export function versionCommand(): Command {
  return new Command("version")
    .description("show the version")
    .option("--json", "print the versions of Glovebox, Node and V8 as JSON")
    .action(({ json }: { readonly json?: true }, command: Command) => {
      const version = command.parent?.version() ?? "0.0.0";
      if (json === true) printJson({ glovebox: version, node: process.versions.node, v8: process.versions.v8 });
      else print(version);
    });
}
