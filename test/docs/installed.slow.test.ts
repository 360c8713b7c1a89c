import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { TEMPLATES, type TemplateName } from "../../src/cli/new.ts";
import { writeTemplate } from "../../src/cli/write-template.ts";
import { byLength, IS_LONG } from "../length.ts";
import { processesLeftIn } from "../processes.ts";
import { ROOT } from "./linked-folder.ts";
import { asSaid, commandsOf, fileOf, pattern, printsOf, readPage } from "./markdown.ts";
import { type InstalledFolder, installedFolders, pack, projectFolder, run } from "./packed-folder.ts";
import { commandOf, exampleFolder, exampleNames } from "./run-example.ts";

/** One needs Redis, the other a package index: `examples.fleet.test.ts` and `examples.python.test.ts` run them. */
const ELSEWHERE = ["fleet", "python-wheels"];
/** Next checks the types of its application itself, when it builds. */
const CHECKS_ITSELF = ["next"];
const TSC = join(ROOT, "node_modules/typescript/bin/tsc");
const INSTALL_MS = 900_000;
const RUN_MS = 900_000;

const CONFIG = {
  compilerOptions: {
    strict: true,
    noEmit: true,
    target: "esnext",
    lib: ["esnext", "dom"],
    module: "nodenext",
    types: ["node"],
    typeRoots: ["node_modules/@types", "../node_modules/@types", join(ROOT, "node_modules/@types")],
    allowImportingTsExtensions: true,
    skipLibCheck: true,
  },
};

/** `examples.system.test.ts` runs the others from the sources in every run, and a plain project is the README's. */
const names = byLength(["agent-loop"], exampleNames(ELSEWHERE));

/**
 * Installed alone: the plainest, so that it has nothing but the package; Next's, which lays out its standalone server by
 * the folder that has the packages; and the workspace. All others are installed at once.
 */
const ALONE = ["hello", "next", "monorepo"];
const GROUPS = [
  ...names.filter((name) => ALONE.includes(name)).map((name) => [name]),
  names.filter((name) => !ALONE.includes(name)),
];
/** Projects of `glovebox new`, which are installed with the examples. In every run those whose packages other tests use less. */
const TEMPLATE_NAMES = byLength(["tool-py", "mcp"], Object.keys(TEMPLATES)) as readonly TemplateName[];
const { text, blocks } = readPage("README.md");
/** The commands with which a reader begins a project. */
const BEGIN = /`(npm init -y [^`]* install glovebox)`/.exec(text)?.[1] ?? "";
const programs = blocks.filter((block) => block.language === "ts" && printsOf(block).length > 0);
/** Those of the section before call a server that is started from a clone. */
const commands = blocks
  .filter(({ language }) => language === "sh")
  .flatMap(commandsOf)
  .filter(({ line }) => line.startsWith("npx glovebox "));

const ENTRIES = Object.keys(manifest.exports)
  .filter((entry) => entry !== "./package.json")
  .map((entry) => entry.replace(".", "glovebox"));
/** The project that the README begins: it has nothing but the package. */
let readme: InstalledFolder;
const path = (): string => readme.folderOf("");
const write = (file: string | undefined, content: string): void => {
  if (file !== undefined) writeFileSync(join(path(), file), content);
};
const folders = new Map<string, InstalledFolder>();
beforeAll(async () => {
  await using packed = await pack();
  readme = await projectFolder(BEGIN, packed);
  for (const block of blocks) write(fileOf(block), block.text);
  const written = mkdtempSync(join(tmpdir(), "glovebox-new-"));
  for (const name of TEMPLATE_NAMES) await writeTemplate(name, join(written, `new-${name}`));
  for (const group of GROUPS) {
    const projects = ALONE.includes(group[0] ?? "") ? [] : TEMPLATE_NAMES.map((name) => `new-${name}`);
    const copied = [...group.map(exampleFolder), ...projects.map((name) => join(written, name))];
    const folder = await installedFolders(copied, packed);
    for (const name of [...group, ...projects]) folders.set(name, folder);
  }
  rmSync(written, { recursive: true });
}, INSTALL_MS);
afterAll(async () => {
  for (const folder of new Set([readme, ...folders.values()])) await folder?.[Symbol.asyncDispose]();
}, INSTALL_MS);

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

test(
  "the packed package has declarations that compile without optional packages, also where the compiler checks libraries",
  async () => {
    write(
      "tsconfig.json",
      JSON.stringify({ compilerOptions: { ...CONFIG.compilerOptions, skipLibCheck: false }, files: ["all.ts"] }),
    );
    write("all.ts", ENTRIES.map((entry) => `import "${entry}";\n`).join(""));
    expect(await run(path(), process.execPath, [TSC, "-p", "."])).toBe("");
  },
  RUN_MS,
);

test(
  "a tool in Python runs once the printed remedy of missing_package was pasted",
  async () => {
    write("hello.py", 'def hello(name: str) -> str:\n    """Greets."""\n    return "Hello, " + name\n');
    const hello = () => run(path(), "npx", ["glovebox", "run", "hello.py", "--input", '{"name":"Ada"}']);
    const refused = await hello().catch(String);
    const [, command = ""] = /^remedy, a command:\n {2}(.*)$/m.exec(refused) ?? [];
    expect(command).toBe(`npm install pyodide@${manifest.peerDependencies.pyodide}`);
    await run(path(), "sh", ["-c", command]);
    expect(await hello()).toBe('"Hello, Ada"\n');
  },
  RUN_MS,
);

describe.each(names)("the example %s, installed from the packed package", (name) => {
  const own = (): string => folders.get(name)?.folderOf(name) ?? "";

  // `npm run check:types` compiles all of them against the sources.
  if (IS_LONG && !CHECKS_ITSELF.includes(name)) {
    test(
      "compiles under strict",
      async () => {
        writeFileSync(join(own(), "tsconfig.json"), JSON.stringify(CONFIG));
        expect(await run(own(), process.execPath, [TSC, "-p", "."])).toBe("");
      },
      RUN_MS,
    );
  }

  test(
    "prints what its README says, and leaves no process behind",
    async () => {
      const { script, prints } = commandOf(name);
      const printed = await run(own(), "npm", [script, "--silent"]);
      expect(printed.trimEnd()).toBe(prints);
      expect(await processesLeftIn(own())).toEqual([]);
    },
    RUN_MS,
  );
});

test.each(TEMPLATE_NAMES)(
  "a project of the template %s, installed with the packed package, passes its tests and leaves no process behind",
  async (name) => {
    const folder = folders.get(`new-${name}`)?.folderOf(`new-${name}`) ?? "";
    expect(await run(folder, "npm", ["test", "--silent"])).toContain("passed: 2 ok, 0 failed");
    expect(await processesLeftIn(folder)).toEqual([]);
  },
  RUN_MS,
);
