import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { mountPlan } from "../../../src/contrib/amplifier/index.ts";
import { validateModules } from "../../../src/testing/validation/index.ts";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";
import { expectPublished, type Published } from "../../conformance/published.ts";
import { works } from "../../kernel/executor/bubblewrap.ts";

const CHECKOUTS = process.env["GLOVEBOX_UPSTREAM_AMPLIFIER"];
const HOW =
  "of GLOVEBOX_UPSTREAM_AMPLIFIER, a folder with clones of https://github.com/microsoft/amplifier-module-tool-NAME and of amplifier-core, and a folder wheels with beautifulsoup4, soupsieve, typing_extensions and PyYAML,";
const MODULES_MS = 600_000;

const FS = { fs: { project: { mode: "rw" } } } as const;
const IN_PROJECT = { working_dir: "/project", allowed_read_paths: ["/project"], allowed_write_paths: ["/project"] };

interface Opened {
  readonly engine: Engine;
  readonly project: string;
  readonly origin: string;
  readonly run: (name: string, args: Record<string, unknown>) => Promise<unknown>;
}

/** A module with what its operator gives it, and its documentation's example. */
interface Module {
  readonly name: string;
  readonly config?: object;
  readonly options?: object | ((opened: Opened) => object);
  readonly tools: readonly string[];
  readonly example: (opened: Opened) => Promise<void>;
}

const MODULES: readonly Module[] = [
  {
    name: "filesystem",
    config: IN_PROJECT,
    options: { capabilities: FS },
    tools: ["read_file", "write_file", "edit_file"],
    example: async ({ run, project }) => {
      expect(await run("read_file", { file_path: "a.txt" })).toMatchObject({
        content: "     1\tone\n     2\ttwo\n     3\tthree",
      });
      expect(await run("read_file", { file_path: "/etc/passwd" })).toContain("not within allowed read paths");
      await run("write_file", { file_path: "sub/b.txt", content: "hello\nworld\n" });
      await run("edit_file", { file_path: "a.txt", old_string: "two", new_string: "2" });
      expect(readFileSync(join(project, "a.txt"), "utf8")).toBe("one\n2\nthree\n");
    },
  },
  {
    name: "search",
    config: { working_dir: "/project" },
    options: { capabilities: FS },
    tools: ["grep", "glob"],
    example: async ({ run }) => {
      expect(await run("grep", { pattern: "wor" })).toMatchObject({ files: ["/project/sub/b.txt"] });
      expect(await run("glob", { pattern: "**/*.txt" })).toMatchObject({ count: 2 });
    },
  },
  {
    name: "todo",
    options: { isolation: "shared" },
    tools: ["todo"],
    example: async ({ run }) => {
      const todos = [{ content: "Write", activeForm: "Writing", status: "pending" }];
      await run("todo", { action: "create", todos });
      expect(await run("todo", { action: "list" })).toEqual({ status: "listed", count: 1, todos });
    },
  },
  {
    name: "web",
    config: { blocked_domains: [] },
    options: ({ origin }) => ({ capabilities: { fetch: { origins: [origin] } } }),
    tools: ["web_search", "web_fetch"],
    example: async ({ run, origin }) => {
      expect(await run("web_fetch", { url: `${origin}/` })).toMatchObject({ content: "Hellowide world" });
    },
  },
  {
    name: "bash",
    config: { working_dir: "/project" },
    options: { capabilities: { exec: true } },
    tools: ["bash"],
    example: async ({ run }) => {
      expect(await run("bash", { command: "ls *.txt; echo $((1 + 1))" })).toMatchObject({ stdout: "a.txt\n2\n" });
    },
  },
  {
    name: "skills",
    config: { skills_dirs: ["/project/skills"] },
    options: { capabilities: FS },
    tools: ["load_skill"],
    example: async ({ run }) => {
      expect(await run("load_skill", { list: true })).toMatchObject({
        skills: [{ name: "python-standards", description: "Rules for Python code" }],
      });
      expect(await run("load_skill", { skill_name: "python-standards" })).toMatchObject({
        content: expect.stringContaining("Use type hints."),
        skill_directory: "/project/skills/python-standards",
      });
    },
  },
  {
    name: "slash-command",
    config: { project_dir: "/project" },
    options: { capabilities: FS },
    tools: ["slash_command"],
    example: async ({ run }) => {
      expect(await run("slash_command", { operation: "list" })).toMatchObject({
        commands: [{ name: "greet", description: "Greets somebody" }],
      });
      expect(await run("slash_command", { command: "greet", args: "Ann" })).toMatchObject({
        prompt: "Say hello to Ann.",
      });
    },
  },
  { name: "task", tools: ["task"], example: () => Promise.resolve() },
];

/** Modules that do not work, and why. */
const REASONS: ReadonlyMap<string, Pick<Published, "verdict" | "why">> = new Map([
  [
    "amplifier-module-tool-task",
    { verdict: "refused", why: "It starts sessions of agents by amplifier_foundation, which is no tool's package." },
  ],
  ...["examples/wasm-modules/calculator-tool.wasm", "tests/fixtures/wasm/echo-tool.wasm"].map(
    (name) =>
      [
        `amplifier-core/${name}`,
        { verdict: "refused", why: "It is a component, and only modules of WASI preview 1 run." },
      ] as const,
  ),
]);

/** An engine that grants what the modules need: a folder, commands, and a server with one page. */
async function open(checkouts: string): Promise<Opened> {
  const project = await mkdtemp(join(tmpdir(), "glovebox-amplifier-"));
  await writeFile(join(project, "a.txt"), "one\ntwo\nthree\n");
  await mkdir(join(project, "skills/python-standards"), { recursive: true });
  const skill = "---\nname: python-standards\ndescription: Rules for Python code\n---\n\nUse type hints.\n";
  await writeFile(join(project, "skills/python-standards/SKILL.md"), skill);
  await mkdir(join(project, ".amplifier/commands"), { recursive: true });
  const command = "---\ndescription: Greets somebody\n---\nSay hello to $ARGUMENTS.\n";
  await writeFile(join(project, ".amplifier/commands/greet.md"), command);
  const page = "<html><style>x{}</style><h1>Hello</h1><script>1</script><p>wide world</p></html>";
  const server = createServer((_request, response) => response.setHeader("content-type", "text/html").end(page));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const allow = {
    fs: { project: { mode: "rw", path: project } },
    exec: { mounts: { "/project": { path: project, mode: "rw" } } },
    fetch: { origins: [], privateOrigins: [origin] },
  } as const;
  const engine = await createEngine({
    workers: 1,
    executor: "threads",
    packages: { wheels: join(checkouts, "wheels") },
    policy: { rules: [{ tools: ["*"], allow }] },
  });
  onTestFinished(async () => {
    await engine.close();
    server.close();
    await rm(project, { recursive: true });
  });
  const run = async (name: string, args: Record<string, unknown>): Promise<unknown> =>
    (await engine.execute({ name, arguments: args })).output;
  return { engine, project, origin, run };
}

/** What comes of a module: mounted by its plan, validated by its folder, run by its example. */
async function tried(module: Module, folder: string, opened: Opened): Promise<Published> {
  const name = `amplifier-module-tool-${module.name}`;
  const options = typeof module.options === "function" ? module.options(opened) : module.options;
  const plan = { tools: [{ module: `tool-${module.name}`, source: `./${name}`, config: module.config ?? {} }] };
  const [mounted] = await mountPlan(opened.engine, plan, { folder, ...options });
  const isMounted = mounted?.state === "mounted" && isDeepStrictEqual(mounted.tools, module.tools);
  if (isMounted) await module.example(opened);
  return published(name, isMounted, await isValid(opened, join(folder, name)), isMounted);
}

async function isValid({ engine }: Opened, path: string): Promise<boolean> {
  const validations = await validateModules(engine, path);
  return validations.every(({ checks }) => checks.every(({ level }) => level !== "error"));
}

function published(name: string, loads: boolean, validates: boolean, runs: boolean): Published {
  const reason = REASONS.get(name);
  // Whatever has no reason works.
  expect([name, loads && validates && runs]).toEqual([name, reason === undefined]);
  const [loaded, valid, ran] = [loads, validates, runs].map((one) => (one ? "yes" : "no"));
  return { name, loads: loaded ?? "no", validates: valid ?? "no", runs: ran ?? "no", verdict: "works", ...reason };
}

test.skipIf(CHECKOUTS === undefined || !works)(
  `the published tool modules ${HOW} mount and run`,
  { timeout: MODULES_MS },
  async () => {
    const folder = CHECKOUTS ?? "";
    const opened = await open(folder);
    const all: Published[] = [];
    for (const module of MODULES) all.push(await tried(module, folder, opened));
    for (const name of [...REASONS.keys()].filter((one) => one.endsWith(".wasm"))) {
      const path = join(folder, name);
      expect(existsSync(path)).toBe(true);
      const isLoaded = await opened.engine.register(path).then(
        () => true,
        () => false,
      );
      all.push(published(name, isLoaded, await isValid(opened, path), isLoaded));
    }
    await expectPublished("amplifier-tool-modules", {
      title: "Amplifier, tool modules",
      source: "https://github.com/microsoft/amplifier-core",
      version:
        "core 7a47143, filesystem 355fa41, search 3dacee9, todo 483c5a8, web 26b6d90, bash d8cc410, skills db1d5c7, slash-command 2b0addc, task 5401322",
      given:
        "A folder, commands in bubblewrap and one origin are granted; beautifulsoup4, soupsieve, typing_extensions and PyYAML are wheels.",
      published: all,
    });
  },
);
