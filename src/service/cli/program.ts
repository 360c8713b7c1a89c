import { Command } from "commander";
import { readVersion } from "../version.ts";
import { benchCommand } from "./bench.ts";
import { configCommand } from "./config.ts";
import { doctorCommand } from "./doctor.ts";
import { explainCommand } from "./explain.ts";
import { keysCommand } from "./keys.ts";
import { listCommand } from "./list.ts";
import { listSupportedCommand } from "./list-supported.ts";
import { listToolsCommand } from "./list-tools.ts";
import { mcpCommand } from "./mcp.ts";
import { planCommand } from "./plan.ts";
import { replayCommand } from "./replay.ts";
import { runCommand } from "./run.ts";
import { serveCommand } from "./serve.ts";
import { topCommand } from "./top.ts";
import { moduleCommand, validateCommand } from "./validate.ts";
import { versionCommand } from "./version.ts";
import { workerCommand } from "./worker.ts";

/** The command line: `glovebox` and every command below it. */
export function createProgram(): Command {
  const program = new Command("glovebox")
    .description("Runs tools nobody has to trust.")
    .version(readVersion())
    .showHelpAfterError("(add --help for all that there is)");
  const commands = [
    serveCommand(),
    workerCommand(),
    topCommand(),
    keysCommand(),
    mcpCommand(),
    runCommand(),
    planCommand(),
    listCommand(),
    listToolsCommand(),
    listSupportedCommand(),
    explainCommand(),
    replayCommand(),
    validateCommand(),
    moduleCommand(),
    configCommand(),
    doctorCommand(),
    benchCommand(),
    versionCommand(),
  ];
  for (const command of commands) {
    program.addCommand(command.copyInheritedSettings(program));
  }
  return program;
}
