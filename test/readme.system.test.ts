import { execFile, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import manifest from "../package.json" with { type: "json" };

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const CLI = join(ROOT, "src/service/cli/main.ts");
const FLAGS = ["--no-node-snapshot", "--no-warnings"];
const README = readFileSync(join(ROOT, "README.md"), "utf8");

/** What says that a block is a file, before its name. */
const FILE = /^(?:tool|file)=/;

interface Block {
  readonly language: string;
  readonly info: string;
  readonly text: string;
}

interface Command {
  readonly line: string;
  /** What the README says it prints; `…` stands for anything. */
  readonly prints: readonly string[];
}

const blocks: Block[] = [...README.matchAll(/^```(\w+) ?(.*)\n([\s\S]*?)^```$/gm)].map(
  ([, language = "", info = "", text = ""]) => ({ language, info, text }),
);
const programs = blocks.filter(({ language, text }) => language === "ts" && /from "glovebox["/]/.test(text));
const written = blocks.filter(({ info }) => FILE.test(info));
const commands = blocks.filter(({ language }) => language === "sh").flatMap(({ text }) => readCommands(text));

/** A program that imports the package by its names, with the sources in their place. */
function fromSource(text: string): string {
  return text.replaceAll(/from "glovebox(\/\w+)?"/g, (_all, name = "") => {
    const { default: built } = manifest.exports[`.${name}` as keyof typeof manifest.exports] as { default: string };
    return `from ${JSON.stringify(join(ROOT, built.replace("./dist/", "src/").replace(/js$/, "ts")))}`;
  });
}

function readCommands(text: string): Command[] {
  const found: { line: string; prints: string[] }[] = [];
  for (const line of text.replaceAll("\\\n", " ").split("\n")) {
    if (line.startsWith("# ")) found.at(-1)?.prints.push(line.slice(2));
    else if (line.trim() !== "") found.push({ line, prints: [] });
  }
  return found;
}

function run(file: string, args: readonly string[], cwd: string): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(file, args, { cwd, timeout: 20_000, killSignal: "SIGKILL" }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`${stderr}${stdout}${error.message}`));
    });
  });
}

/** A pattern for a line in which `…` stands for anything. */
function pattern(line: string): RegExp {
  return new RegExp(
    `^${line
      .split("…")
      .map((part) => RegExp.escape(part))
      .join("[\\s\\S]*")}$`,
    "m",
  );
}

describe("the README", () => {
  let folder = "";
  let server: ReturnType<typeof spawn>;
  let url = "";

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "glovebox-readme-"));
    for (const { info, text } of written) writeFileSync(join(folder, info.replace(FILE, "")), text);
    server = spawn(process.execPath, [...FLAGS, CLI, "serve", "--port", "0"], {
      cwd: ROOT,
      stdio: ["ignore", "pipe", "ignore"],
    });
    if (server.stdout === null) throw new Error("the server has no output");
    for await (const line of createInterface({ input: server.stdout })) {
      url = /http:\S+/.exec(line)?.[0] ?? "";
      break;
    }
  });

  afterAll(async () => {
    const ended = new Promise((resolve) => server.once("exit", resolve));
    server.kill("SIGTERM");
    await ended;
    rmSync(folder, { recursive: true });
  });

  test("has examples of every kind", () => {
    expect([programs.length, written.length, commands.length].every((count) => count > 0)).toBe(true);
  });

  test.each(programs.map((block, index) => [index + 1, block] as const))(
    "prints what program %i says",
    async (index, { text }) => {
      const file = join(folder, `program-${index}.ts`);
      writeFileSync(file, fromSource(text));
      const expected = [...text.matchAll(/\/\/ prints: (.*)$/gm)].map((match) => match[1]);
      const stdout = await run(process.execPath, [...FLAGS, file], folder);
      expect(stdout.trimEnd().split("\n")).toEqual(expected);
    },
  );

  test.each(commands.map((command) => [command.line, command] as const))(
    "prints what it says for: %s",
    async (_line, { line, prints }) => {
      const cli = [process.execPath, ...FLAGS, CLI].map((part) => `'${part}'`).join(" ");
      const command = line.replace("npx glovebox", cli).replaceAll("http://127.0.0.1:8080", url);
      const stdout = await run("sh", ["-c", command], folder);
      for (const each of prints) expect(stdout).toMatch(pattern(each));
      expect(prints).not.toEqual([]);
    },
  );

  test("has a table of the metrics that a scrape shows", async () => {
    const text = await (await fetch(`${url}/metrics`)).text();
    const shown = [...text.matchAll(/^# TYPE (glovebox_\w+) (\w+)$/gm)].map(
      ([, name = "", type = ""]) => `${name} ${type}`,
    );
    const table = README.split("<!-- metrics")[1]?.split("<!-- /metrics -->")[0] ?? "";
    const said = [...table.matchAll(/^\| `(\w+)` +\| (\w+)/gm)].map(([, name = "", type = ""]) => `${name} ${type}`);
    expect(said.toSorted()).toEqual(shown.toSorted());
  });
});
