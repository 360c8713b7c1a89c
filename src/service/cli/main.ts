#!/usr/bin/env -S node --no-node-snapshot --no-warnings
import { Command, CommanderError } from "commander";
import { GloveboxError } from "../../base/errors.ts";
import { readVersion } from "../version.ts";
import { CliError, EXIT } from "./exit.ts";
import { benchCommand } from "./bench.ts";
import { configCommand } from "./config.ts";
import { doctorCommand } from "./doctor.ts";
import { explainCommand } from "./explain.ts";
import { keysCommand } from "./keys.ts";
import { listCommand } from "./list.ts";
import { listSupportedCommand } from "./list-supported.ts";
import { listToolsCommand } from "./list-tools.ts";
import { mcpCommand } from "./mcp.ts";
import { say } from "./output.ts";
import { planCommand } from "./plan.ts";
import { replayCommand } from "./replay.ts";
import { runCommand } from "./run.ts";
import { serveCommand } from "./serve.ts";
import { topCommand } from "./top.ts";
import { moduleCommand, validateCommand } from "./validate.ts";
import { versionCommand } from "./version.ts";
import { workerCommand } from "./worker.ts";

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
// Settings are inherited when a command is made, so this one reaches the others by hand.
for (const command of withCommands(program)) command.exitOverride();

// A reader that has seen enough, such as `head`, is no failure.
process.stdout.on("error", ({ code }: NodeJS.ErrnoException) => process.exit(code === "EPIPE" ? EXIT.OK : EXIT.FAILED));

try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = exitCodeOf(error);
}

/** A command, and those below it. */
function withCommands(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap(withCommands)];
}

function exitCodeOf(error: unknown): number {
  // It has said what is wrong, or shown what was asked for.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.OK : EXIT.USAGE;
  say(`glovebox: ${error instanceof Error ? error.message : String(error)}`);
  if (error instanceof CliError) return error.exitCode;
  return error instanceof GloveboxError && error.code === "load_error" ? EXIT.INVALID : EXIT.FAILED;
}
