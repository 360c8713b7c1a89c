import type { Argument, Command, Option } from "commander";
import { createProgram } from "../../src/cli/program.ts";
import { EXIT, EXIT_MEANINGS } from "../../src/cli/exit.ts";
import { helpTextOf } from "../../src/cli/help-texts.ts";
import { WORKERS_DEFAULT } from "../../src/kernel/engine/options.ts";
import { code, page, sentence, table } from "./markdown.ts";

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
  const help = helpTextOf(name.replace(/^glovebox /, ""));
  return [
    `## ${code(name)}`,
    sentence(command.description()),
    code(`${name} ${command.usage()}`),
    ...(args.length === 0 ? [] : [table(["argument", "meaning"], args)]),
    ...(options.length === 0 ? [] : [table(["option", "meaning"], options)]),
    ...(help === undefined
      ? []
      : [`Example: ${code(help.example)}. [Exit codes](#exit-codes): ${help.codes.join(", ")}.`]),
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
