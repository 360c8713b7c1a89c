import type { Command } from "commander";
import { describe, expect, test } from "vitest";
import { EXIT } from "../../src/cli/exit.ts";
import { helpTextOf } from "../../src/cli/help-texts.ts";
import { createProgram } from "../../src/cli/program.ts";

/** Commands whose output is no data: services, a terminal's dialogue, code and scripts. */
const NO_DATA = ["serve", "worker", "mcp", "complete", "calls import", "calls backup"];

function leaves(command: Command, name: string): readonly (readonly [name: string, command: Command])[] {
  if (command.commands.length === 0) return [[name, command]];
  return command.commands.flatMap((below) => leaves(below, `${name} ${below.name()}`.trim()));
}

function helpOf(command: Command): string {
  let text = "";
  command.configureOutput({ writeOut: (part) => void (text += part) }).outputHelp();
  return text;
}

describe.each(leaves(createProgram(), ""))("glovebox %s", (name, command) => {
  test("has a help with an example of options that there are, and its exit codes", () => {
    const [, example = "", codes = ""] =
      /\nExample:\n {2}(.+)\n\nExit codes:\n((?: {2}\d+ .+\n)+)$/.exec(helpOf(command)) ?? [];
    expect(example).toContain(`glovebox ${name}`);
    const flags = [...example.matchAll(/ (--[\w-]+)/g)].map(([, flag]) => flag);
    expect(flags.filter((flag) => !command.options.some(({ long }) => long === flag))).toEqual([]);
    const numbers = [...codes.matchAll(/^ {2}(\d+)/gm)].map(([, code]) => Number(code));
    expect(numbers).toEqual(expect.arrayContaining([EXIT.OK, EXIT.USAGE]));
    // The reference names each code once, though two meanings share one.
    expect(helpTextOf(name)?.codes).toEqual([...new Set(numbers)]);
  });

  test("takes --json if it prints data", () => {
    expect(command.options.some(({ long }) => long === "--json")).toBe(!NO_DATA.includes(name));
  });
});

test("the help of glovebox has all exit codes", () => {
  const help = helpOf(createProgram());
  expect(Object.values(EXIT).filter((code) => !new RegExp(`^  ${code} +\\S`, "m").test(help))).toEqual([]);
});
