// needs: curl
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import PQueue from "p-queue";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FLAGS, type LinkedFolder, linkedFolder, PACKAGES, ROOT } from "./linked-folder.ts";
import {
  type Block,
  type Command,
  commandsOf,
  fileOf,
  type Page,
  pattern,
  printsOf,
  readProgramPages,
  skipOf,
} from "./markdown.ts";

/** Where pages say that a server listens. */
const ADDRESS = "http://127.0.0.1:8080";
const SERVE = /^npx glovebox serve\b/;
const INSTALL = /^npm (?:install|i|ci)\b/;
/** A test waits for the programs of pages before its own. */
const TEST_MS = 600_000;
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
  /** The command that starts the page's server, where the page has one or calls it. */
  readonly server: string | undefined;
}

// The examples have a test of their own.
const pages = readProgramPages()
  .filter(({ path }) => !path.startsWith("examples/"))
  .map(programsOf)
  .filter(({ programs, commands, configurations }) => programs.length + commands.length + configurations.length > 0);
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
  ];
  const results = lines.map((line) => [line, Promise.withResolvers<string>()] as const);
  const runCommands = async (): Promise<void> => {
    await using server = page.server === undefined ? undefined : await startServer(folder, page.server);
    for (const [line, { resolve, reject }] of results) {
      const command = line.replaceAll("npx glovebox", "glovebox").replaceAll(ADDRESS, server?.url ?? ADDRESS);
      await folder.run("sh", ["-c", command]).then(resolve, reject);
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

interface PageServer extends AsyncDisposable {
  readonly url: string;
}

/** A page's server: the command that it names, on any port, in the page's folder; without one the samples' server. */
async function startServer(folder: LinkedFolder, command: string): Promise<PageServer> {
  const args = command.replace(SERVE, "").match(/\S+/g) ?? [];
  const line = [...FLAGS, `${ROOT}/src/cli/main.ts`, "serve", ...args, "--port", "0"];
  const server = spawn(process.execPath, line, {
    cwd: args.length === 0 ? ROOT : folder.path,
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [said] = (await once(createInterface({ input: server.stdout }), "line")) as [string];
  return {
    url: /http:\S+/.exec(said)?.[0] ?? "",
    [Symbol.asyncDispose]: async () => {
      const ended = once(server, "exit");
      server.kill("SIGTERM");
      await ended;
    },
  };
}

const runs = new Map<Programs, Runs>();

beforeAll(() => {
  for (const page of pages) runs.set(page, start(page));
});

afterAll(() => Promise.all([...runs.values()].map(({ ended }) => ended)), TEST_MS);

describe.each(pages.map((one) => [one.page.path, one] as const))("%s", (_path, page) => {
  test.each(page.programs.map((block) => [block.line, block] as const))(
    "the program of line %i prints what it says",
    async (_line, block) => {
      const printed = await runs.get(page)?.programs.get(block);
      expectLines(printed?.trimEnd().split("\n") ?? [], printsOf(block));
    },
    TEST_MS,
  );

  test.each(page.commands.map((command) => [command.line, command] as const))(
    "the command prints what it says: %s",
    async (line, { prints }) => {
      const printed = await runs.get(page)?.commands.get(line);
      for (const each of prints) expect(printed).toMatch(pattern(each));
      expect(prints).not.toEqual([]);
    },
    TEST_MS,
  );

  test.each(page.configurations)(
    "%s can be used",
    async (file) => {
      const printed = await runs.get(page)?.commands.get(`npx glovebox config check --config ${file}`);
      expect(printed).toContain("is valid");
    },
    TEST_MS,
  );
});

/** The lines are these, as many and in this order; `…` stands for anything within a line. */
function expectLines(lines: readonly string[], expected: readonly string[]): void {
  const matches = expected.every((line, at) => pattern(line).test(lines[at] ?? ""));
  expect(matches && lines.length === expected.length ? expected : lines).toEqual(expected);
}
