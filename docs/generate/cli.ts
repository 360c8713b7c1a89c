import type { Argument, Command, Option } from "commander";
import { createProgram } from "../../src/service/cli/program.ts";
import { EXIT } from "../../src/service/cli/exit.ts";
import { WORKERS_DEFAULT } from "../../src/engine/options.ts";
import { code, page, sentence, table } from "./markdown.ts";

const EXIT_MEANINGS = {
  OK: "The command succeeded.",
  FAILED: "The tool failed, or a check found something.",
  USAGE: "The command line or the configuration is wrong.",
  INVALID: "The input, the tool or its package is not valid.",
  STALE: "With `--check`: the file is not what the command would write now.",
  RUNTIME: "A workflow's model or its tools failed.",
  IO: "A workflow's artifact cannot be written.",
  UNSUPPORTED: "A workflow asks for something that Glovebox cannot run.",
  UNEXPECTED: "An unexpected error ended a workflow.",
  INTERRUPTED: "A second signal stopped the command.",
} as const satisfies Record<keyof typeof EXIT, string>;

export function cliPage(): string {
  const program = createProgram();
  const commands = program.commands.flatMap((command) => leaves(command, "glovebox"));
  return page("Command line", [
    "Every command shows its options with `--help`. Flags go before environment variables, and these before the configuration file: see [config.md](config.md).",
    table(
      ["command", "what it does"],
      commands.map(({ name, command }) => [`[${code(name)}](#${anchor(name)})`, sentence(command.description())]),
    ),
    ...commands.flatMap(describe),
    "## Exit codes",
    table(
      ["code", "meaning"],
      Object.entries(EXIT).map(([name, exit]) => [`${exit}`, EXIT_MEANINGS[name as keyof typeof EXIT]]),
    ),
  ]);
}

interface NamedCommand {
  readonly name: string;
  readonly command: Command;
}

/** A command, or those below it where it only groups them. */
function leaves(command: Command, parent: string): readonly NamedCommand[] {
  const name = `${parent} ${command.name()}`;
  if (command.commands.length === 0) return [{ name, command }];
  return command.commands.flatMap((below) => leaves(below, name));
}

function describe({ name, command }: NamedCommand): readonly string[] {
  const args = command.registeredArguments.map((argument) => [code(written(argument)), sentence(argument.description)]);
  const options = command.options
    .filter(({ hidden }) => !hidden)
    .map((option) => [code(option.flags), sentence(meaning(option))]);
  return [
    `## ${code(name)}`,
    sentence(command.description()),
    code(`${name} ${command.usage()}`),
    ...(args.length === 0 ? [] : [table(["argument", "meaning"], args)]),
    ...(options.length === 0 ? [] : [table(["option", "meaning"], options)]),
  ];
}

function written(argument: Argument): string {
  return argument.required ? `<${argument.name()}>` : `[${argument.name()}]`;
}

/** An option's help. The number of processors is this machine's, so the page describes it. */
function meaning({ description, argChoices, defaultValue, long }: Option): string {
  const help =
    long === "--workers"
      ? description.replace(`default: ${WORKERS_DEFAULT}`, "default: processors, at most 4, and one more")
      : description;
  const choices = argChoices === undefined ? "" : ` One of ${argChoices.map(code).join(", ")}.`;
  const otherwise = defaultValue === undefined || defaultValue === "" ? "" : ` Default: ${code(String(defaultValue))}.`;
  return `${help}${choices === "" && otherwise === "" ? "" : "."}${choices}${otherwise}`;
}

function anchor(name: string): string {
  return name.replaceAll(" ", "-");
}
