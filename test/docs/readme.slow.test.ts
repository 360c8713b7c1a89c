import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { processesLeftIn } from "../processes.ts";
import { asSaid, commandsOf, fileOf, pattern, printsOf, readPage } from "./markdown.ts";
import { type InstalledFolder, pack, projectFolder, run } from "./packed-folder.ts";

const INSTALL_MS = 900_000;
const RUN_MS = 300_000;
const { text, blocks } = readPage("README.md");
/** The commands with which a reader begins a project. */
const BEGIN = /`(npm init -y [^`]* install glovebox)`/.exec(text)?.[1] ?? "";
const programs = blocks.filter((block) => block.language === "ts" && printsOf(block).length > 0);
/** Those of the section before call a server that is started from a clone. */
const commands = blocks
  .filter(({ language }) => language === "sh")
  .flatMap(commandsOf)
  .filter(({ line }) => line.startsWith("npx glovebox "));

let folder: InstalledFolder;

const path = (): string => folder.folderOf("");
const write = (file: string, content: string): void => writeFileSync(join(path(), file), content);

beforeAll(async () => {
  await using packed = await pack();
  folder = await projectFolder(BEGIN, packed);
  for (const block of blocks) {
    const file = fileOf(block);
    if (file !== undefined) write(file, block.text);
  }
}, INSTALL_MS);

afterAll(() => folder?.[Symbol.asyncDispose](), INSTALL_MS);

test("the README has commands and programs for an empty folder", () => {
  expect([commands.length, programs.length]).toEqual([1, 2]);
});

test.each(commands.map((command) => [command.line, command] as const))(
  "a command of the README prints what it says with the packed package: %s",
  async (line, { prints }) => {
    const printed = await run(path(), "sh", ["-c", line]);
    for (const said of prints) expect(printed).toMatch(pattern(said));
  },
  RUN_MS,
);

test.each(programs.map((block) => [block.line, block] as const))(
  "the README's program of line %i prints what it says with the packed package, and leaves no process behind",
  async (line, block) => {
    write(`program-${line}.ts`, block.text);
    const printed = await run(path(), process.execPath, [`program-${line}.ts`]);
    expect(asSaid(printed, printsOf(block))).toEqual(printsOf(block));
    expect(await processesLeftIn(path())).toEqual([]);
  },
  RUN_MS,
);
