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
import { type InstalledFolder, installedFolders, pack, run } from "./packed-folder.ts";
import { commandOf, exampleFolder, exampleNames } from "./run-example.ts";

/** One needs Redis, the other a package index: `examples.fleet.test.ts` and `examples.python.test.ts` run them. */
const ELSEWHERE = ["fleet", "python-wheels"];
/** Next checks the types of its application itself, when it builds. */
const CHECKS_ITSELF = ["next"];
/** It installs nothing beside the package. */
const PLAINEST = "hello";
const ENTRIES = Object.keys(manifest.exports)
  .filter((entry) => entry !== "./package.json")
  .map((entry) => entry.replace(".", "glovebox"));
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

/** `examples.system.test.ts` runs the others from the sources in every run. */
const names = byLength([PLAINEST, "agent-loop"], exampleNames(ELSEWHERE));

/**
 * Installed alone: the plainest, so that it has nothing but the package; Next's, which lays out its standalone server by
 * the folder that has the packages; and the workspace. All others are installed at once.
 */
const ALONE = [PLAINEST, "next", "monorepo"];
const GROUPS = [
  ...names.filter((name) => ALONE.includes(name)).map((name) => [name]),
  names.filter((name) => !ALONE.includes(name)),
];
/** Projects of `glovebox new`, which are installed with the examples. In every run those whose packages other tests use less. */
const TEMPLATE_NAMES = byLength(["tool-py", "mcp"], Object.keys(TEMPLATES)) as readonly TemplateName[];
const folders = new Map<string, InstalledFolder>();
beforeAll(async () => {
  await using packed = await pack();
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
  for (const folder of new Set(folders.values())) await folder[Symbol.asyncDispose]();
}, INSTALL_MS);

describe.each(names)("the example %s, installed from the packed package", (name) => {
  const path = (): string => folders.get(name)?.folderOf(name) ?? "";
  const write = (file: string, content: string): void => writeFileSync(join(path(), file), content);

  // `npm run check:types` compiles all of them against the sources.
  if (IS_LONG && !CHECKS_ITSELF.includes(name)) {
    test(
      "compiles under strict",
      async () => {
        write("tsconfig.json", JSON.stringify(CONFIG));
        expect(await run(path(), process.execPath, [TSC, "-p", "."])).toBe("");
      },
      RUN_MS,
    );
  }

  if (name === PLAINEST) {
    test(
      "has declarations that compile without optional packages, also where the compiler checks libraries",
      async () => {
        const checked = { ...CONFIG.compilerOptions, skipLibCheck: false };
        write("tsconfig.json", JSON.stringify({ compilerOptions: checked, files: ["all.ts"] }));
        write("all.ts", ENTRIES.map((entry) => `import "${entry}";\n`).join(""));
        expect(await run(path(), process.execPath, [TSC, "-p", "."])).toBe("");
      },
      RUN_MS,
    );
  }

  test(
    "prints what its README says, and leaves no process behind",
    async () => {
      const { script, prints } = commandOf(name);
      const printed = await run(path(), "npm", [script, "--silent"]);
      expect(printed.trimEnd()).toBe(prints);
      expect(await processesLeftIn(path())).toEqual([]);
    },
    RUN_MS,
  );

  if (name === PLAINEST) {
    test(
      "runs a tool in Python once the printed remedy of missing_package was pasted",
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
  }
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
