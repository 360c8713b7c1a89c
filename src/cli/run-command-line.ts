import { type Command, CommanderError } from "commander";
import { RedisProblemError } from "../fleet/redis/problem.ts";
import { GloveboxError } from "../kernel/base/errors.ts";
import { CliError, EXIT } from "./exit.ts";
import { say, sayError } from "./output.ts";
import { createProgram } from "./program.ts";
import { sayWhatToDo } from "./remedies.ts";

/** Runs a command line to its end. A failure sets the exit code of the process. */
export async function runCommandLine(args: readonly string[]): Promise<void> {
  const program = createProgram();
  // Commander copies settings when a command is created, so set these on each command.
  for (const command of withCommands(program)) {
    command.exitOverride().configureOutput({
      writeErr: (text) => say(text.trimEnd()),
      outputError: (text) => sayError(text.trimEnd()),
    });
  }
  try {
    await program.parseAsync(args, { from: "user" });
  } catch (error) {
    process.exitCode = exitCodeOf(error);
  }
}

/** A command and all its subcommands. */
function withCommands(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap(withCommands)];
}

function exitCodeOf(error: unknown): number {
  // Commander has already printed the error, or the requested help.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.OK : EXIT.USAGE;
  sayError(`glovebox: ${error instanceof Error ? error.message : String(error)}`);
  if (error instanceof GloveboxError) sayWhatToDo(error);
  if (error instanceof CliError) return error.exitCode;
  if (error instanceof Error && error.cause instanceof RedisProblemError)
    return error.cause.problem.isLasting ? EXIT.USAGE : EXIT.UNREACHABLE;
  return error instanceof GloveboxError && error.code === "load_error" ? EXIT.INVALID : EXIT.FAILED;
}
