// needs: curl
import PQueue from "p-queue";
import { beforeAll, describe, expect, test } from "vitest";
import { glovebox } from "../cli/command.ts";
import { FLAGS, type LinkedFolder, linkedFolder, PACKAGES } from "./linked-folder.ts";
import {
  asSaid,
  type Block,
  type Command,
  commandsOf,
  fileOf,
  type Page,
  pattern,
  printsOf,
  readProgramPages,
  RUNBOOKS,
  skipOf,
} from "./markdown.ts";
import { ADDRESS, SERVE, startServer } from "./page-server.ts";

const INSTALL = /^npm (?:install|i|ci)\b/;
/** A word of a command, and what only a shell understands outside of quotes. */
const WORD = /'([^']*)'|(\S+)/g;
const SHELL = /["$&;<>`|\\]/;
const ALL_MS = 900_000;
/** Runs the programs of a page one after the other, and says where each begins: most of their time is the engine's start. */
const RUNNER = "run-programs.mjs";
const BEGIN = "program begins: ";
const RUN = `for (const file of process.argv.slice(2)) {
  console.log(${JSON.stringify(BEGIN)} + file);
  await import("./" + file);
}`;

interface Programs {
  readonly page: Page;
  readonly written: readonly Block[];
  readonly programs: readonly Block[];
  readonly commands: readonly Command[];
  readonly configurations: readonly string[];
  /** Tools in JavaScript that no program and no command of the page uses. */
  readonly tools: readonly string[];
  /** The command that starts the page's server, where the page has one or calls it. */
  readonly server: string | undefined;
}

// The examples and the runbooks have tests of their own.
const pages = readProgramPages()
  .filter(({ path }) => !path.startsWith("examples/") && !path.startsWith(RUNBOOKS))
  .map(programsOf)
  .filter((page) => [page.programs, page.commands, page.configurations, page.tools].some(({ length }) => length > 0));
/** Programs of all pages wait here: more than two at once only slow each other down. */
const queue = new PQueue({ concurrency: 2 });

function programsOf(page: Page): Programs {
  const blocks = page.blocks.filter((block) => skipOf(block) === undefined);
  const lines = blocks.filter(({ language }) => language === "sh").flatMap(commandsOf);
  const served = lines.find(({ line }) => SERVE.test(line))?.line;
  return {
    page,
    written: blocks.filter((block) => fileOf(block) !== undefined),
    programs: blocks.filter((block) => block.language === "ts" && printsOf(block).length > 0),
    commands: lines.filter(({ line }) => !SERVE.test(line) && !INSTALL.test(line)),
    configurations: blocks.flatMap((block) => {
      const file = fileOf(block) ?? "";
      return block.language === "yaml" && file.includes("config") ? [file] : [];
    }),
    tools: blocks.flatMap((block) => {
      const file = fileOf(block) ?? "";
      const [folder = "", name = folder] = [file.split("/")[0], file.split("/").at(-1)];
      const isUsed = blocks.some((one) => one !== block && (one.text.includes(name) || one.text.includes(folder)));
      return block.language === "js" && !isUsed ? [file] : [];
    }),
    server: served ?? (lines.some(({ line }) => line.includes(ADDRESS)) ? "npx glovebox serve" : undefined),
  };
}

/** What the programs and commands of a page print, as soon as each has ended. */
interface Runs {
  readonly programs: ReadonlyMap<Block, Promise<string>>;
  readonly commands: ReadonlyMap<string, Promise<string>>;
  readonly ended: Promise<unknown>;
}

/** Starts everything of a page: its programs and then its commands, one after the other. */
function start(page: Programs): Runs {
  const folder = linkedFolder(PACKAGES);
  for (const block of page.written) folder.write(fileOf(block) ?? "", block.text);
  const printed = queue.add(() => runPrograms(folder, page.programs));
  const programs = new Map(page.programs.map((block) => [block, printed.then((all) => all.get(nameOf(block)) ?? "")]));
  const lines = [
    ...page.commands.map(({ line }) => line),
    ...page.configurations.map((file) => `npx glovebox config check --config ${file}`),
    ...page.tools.map((file) => `npx glovebox validate ${file}`),
  ];
  const results = lines.map((line) => [line, Promise.withResolvers<string>()] as const);
  const runCommands = async (): Promise<void> => {
    await using server = page.server === undefined ? undefined : await startServer(folder.path, page.server);
    for (const [line, { resolve, reject }] of results) {
      await runCommand(folder, line.replaceAll(ADDRESS, server?.url ?? ADDRESS)).then(resolve, reject);
    }
  };
  const ended = Promise.allSettled([printed])
    .then(() => queue.add(runCommands))
    .catch((error: unknown) => results.forEach(([, { reject }]) => reject(error)))
    .finally(() => folder[Symbol.dispose]());
  const commands = new Map(results.map(([line, { promise }]) => [line, promise]));
  // Whoever waits for one hears of it: until then nobody may.
  for (const promise of [...programs.values(), ...results.map(([, one]) => one.promise)])
    promise.catch(() => undefined);
  return { programs, commands, ended };
}

/** A command of `glovebox` alone needs no process of its own, which takes most of its time; any other line has a shell. */
async function runCommand(folder: LinkedFolder, line: string): Promise<string> {
  const [npx, command, ...args] = Array.from(line.matchAll(WORD), ([, quoted, plain]) => quoted ?? plain ?? "");
  const isPlain = npx === "npx" && command === "glovebox" && !SHELL.test(line.replaceAll(/'[^']*'/g, ""));
  if (!isPlain) return folder.run("sh", ["-c", line.replaceAll("npx glovebox", "glovebox")]);
  const { code, stdout, stderr } = await glovebox(folder.path, args);
  if (code !== 0) throw new Error(`${stderr}${stdout}${line} ended with ${code}`);
  return stdout;
}

function nameOf(block: Block): string {
  return fileOf(block) ?? `program-${block.line}.ts`;
}

/** What each program prints, by its name. */
async function runPrograms(folder: LinkedFolder, blocks: readonly Block[]): Promise<ReadonlyMap<string, string>> {
  if (blocks.length === 0) return new Map();
  folder.write(RUNNER, RUN);
  for (const block of blocks) folder.write(nameOf(block), block.text);
  const printed = await folder.run(process.execPath, [...FLAGS, RUNNER, ...blocks.map(nameOf)]);
  const parts = printed.split(BEGIN).slice(1);
  return new Map(parts.map((part) => [part.slice(0, part.indexOf("\n")), part.slice(part.indexOf("\n") + 1)]));
}

const runs = new Map<Programs, Runs>();

// Before all tests, as mocks end with each: commands of this process have its output caught.
beforeAll(async () => {
  for (const page of pages) runs.set(page, start(page));
  await Promise.all(Array.from(runs.values(), ({ ended }) => ended));
}, ALL_MS);

describe.each(pages.map((one) => [one.page.path, one] as const))("%s", (_path, page) => {
  test.each(page.programs.map((block) => [block.line, block] as const))(
    "the program of line %i prints what it says",
    async (_line, block) => {
      const printed = await runs.get(page)?.programs.get(block);
      expect(asSaid(printed ?? "", printsOf(block))).toEqual(printsOf(block));
    },
  );

  test.each(page.commands.map((command) => [command.line, command] as const))(
    "the command prints what it says: %s",
    async (line, { prints }) => {
      const printed = await runs.get(page)?.commands.get(line);
      for (const each of prints) expect(printed).toMatch(pattern(each));
      expect(prints).not.toEqual([]);
    },
  );

  test.each(page.configurations)("%s can be used", async (file) => {
    const printed = await runs.get(page)?.commands.get(`npx glovebox config check --config ${file}`);
    expect(printed).toContain("is valid");
  });

  test.each(page.tools)("%s is a tool", async (file) => {
    expect(await runs.get(page)?.commands.get(`npx glovebox validate ${file}`)).toMatch(/^valid: error 0/m);
  });
});
