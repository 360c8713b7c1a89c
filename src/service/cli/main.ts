#!/usr/bin/env -S node --no-node-snapshot --no-warnings
import { type Command, CommanderError } from "commander";
import { GloveboxError } from "../../base/errors.ts";
import { CliError, EXIT } from "./exit.ts";
import { say } from "./output.ts";
import { createProgram } from "./program.ts";

const program = createProgram();
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
