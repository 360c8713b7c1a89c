// needs: curl
import { type ChildProcess, spawn } from "node:child_process";
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
  readPages,
  skipOf,
} from "./markdown.ts";

/** Where pages say that a server listens. */
const ADDRESS = "http://127.0.0.1:8080";
const SERVE = /^npx glovebox serve\b/;
const INSTALL = /^npm (?:install|i|ci)\b/;
const TEST_MS = 120_000;

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
const pages = readPages()
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

/** A page's server: the command that it names, on any port, in the page's folder; without one the samples' server. */
async function startServer(folder: LinkedFolder, command: string): Promise<{ url: string; process: ChildProcess }> {
  const args = command
    .replace(SERVE, "")
    .split(/\s+/)
    .filter((word) => word !== "");
  const line = [...FLAGS, `${ROOT}/src/service/cli/main.ts`, "serve", ...args, "--port", "0"];
  const server = spawn(process.execPath, line, {
    cwd: args.length === 0 ? ROOT : folder.path,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [said] = (await once(createInterface({ input: server.stdout }), "line")) as [string];
  return { url: /http:\S+/.exec(said)?.[0] ?? "", process: server };
}

describe.each(pages.map((one) => [one.page.path, one] as const))("%s", (_path, page) => {
  let folder: LinkedFolder;
  let server: Awaited<ReturnType<typeof startServer>> | undefined;

  beforeAll(async () => {
    folder = linkedFolder(PACKAGES);
    for (const block of page.written) folder.write(fileOf(block) ?? "", block.text);
    if (page.server !== undefined) server = await startServer(folder, page.server);
  });

  afterAll(async () => {
    if (server !== undefined) {
      const ended = once(server.process, "exit");
      server.process.kill("SIGTERM");
      await ended;
    }
    folder[Symbol.dispose]();
  });

  test.concurrent.each(page.programs.map((block) => [block.line, block] as const))(
    "the program of line %i prints what it says",
    async (line, block) => {
      const file = fileOf(block) ?? `program-${line}.ts`;
      folder.write(file, block.text);
      const printed = await queue.add(() => folder.run(process.execPath, [...FLAGS, file]));
      expectLines(printed.trimEnd().split("\n"), printsOf(block));
    },
    TEST_MS,
  );

  test.each(page.commands.map((command) => [command.line, command] as const))(
    "the command prints what it says: %s",
    async (_line, { line, prints }) => {
      const command = line.replaceAll("npx glovebox", "glovebox").replaceAll(ADDRESS, server?.url ?? ADDRESS);
      const printed = await folder.run("sh", ["-c", command]);
      for (const each of prints) expect(printed).toMatch(pattern(each));
      expect(prints).not.toEqual([]);
    },
    TEST_MS,
  );

  test.each(page.configurations)("%s can be used", async (file) => {
    expect(await folder.run("glovebox", ["config", "check", "--config", file])).toContain("can be used");
  });
});

/** The lines are these, as many and in this order; `…` stands for anything within a line. */
function expectLines(lines: readonly string[], expected: readonly string[]): void {
  const matches = expected.every((line, at) => pattern(line).test(lines[at] ?? ""));
  expect(matches && lines.length === expected.length ? expected : lines).toEqual(expected);
}
