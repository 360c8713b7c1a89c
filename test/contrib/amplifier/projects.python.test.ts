import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { mountPlan, parseMountPlan } from "../../../src/contrib/amplifier/index.ts";
import { validateModules } from "../../../src/testing/validation/index.ts";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";
import { refusalOf, temporaryFolder } from "../../kernel/tool/temporary.ts";

/** A project as the kernel's own modules are written, by its published interface. */
const PROJECTS = fileURLToPath(new URL("../../../fixtures/contracts/amplifier/python", import.meta.url));
const NOTES = join(PROJECTS, "tool-notes");
/** The first tool in Python starts the interpreter. */
const START_MS = 120_000;

let notes: string;
let engine: Engine;

beforeAll(async () => {
  notes = await mkdtemp(join(tmpdir(), "glovebox-notes-"));
  const allow = { fs: { notes: { mode: "rw", path: notes } } } as const;
  engine = await createEngine({ workers: 1, executor: "threads", policy: { rules: [{ tools: ["*"], allow }] } });
}, START_MS);
afterAll(async () => {
  await engine.close();
  await rm(notes, { recursive: true });
});

const CAPABILITIES = { fs: { notes: { mode: "rw" } } } as const;

describe("a Python project of Amplifier's", { timeout: START_MS }, () => {
  test("is mounted by the name that its pyproject.toml has for it, and by a git source [A20 A31 A32 A33]", async () => {
    const plan = parseMountPlan(`
      tools:
        - module: tool-notes
          config: { allowed_write_paths: [/notes/mine] }
    `);
    const options = { folder: PROJECTS, capabilities: CAPABILITIES, isolation: "shared" } as const;
    expect(await mountPlan(engine, plan, options)).toMatchObject([
      { module: "tool-notes", state: "mounted", tools: ["write_note", "list_notes"], error: null },
    ]);
    const source = { module: "tool-notes", source: "git+https://github.com/org/tool-notes@main" };
    const fetched = await mountPlan(engine, { tools: [source] }, { ...options, replace: true, git: async () => NOTES });
    expect(fetched).toMatchObject([{ state: "mounted" }]);
  });

  test("runs over its relative imports, hooks, mount points and attributes of the coordinator", async () => {
    await mountPlan(
      engine,
      { tools: [{ module: "tool-notes" }] },
      { folder: PROJECTS, capabilities: CAPABILITIES, isolation: "shared", replace: true },
    );
    const written = await engine.execute({ name: "write_note", arguments: { path: "a/b.txt", text: "hello" } });
    expect(written.output).toEqual({ path: "/notes/a/b.txt", notes: ["/notes/a/b.txt"] });
    expect(await readFile(join(notes, "a/b.txt"), "utf8")).toBe("hello");
    const denied = await engine.execute({ name: "write_note", arguments: { path: "../b.txt", text: "hello" } });
    expect(denied.error?.message).toBe("Access denied: ../b.txt is not within allowed write paths");
    expect(denied.output).toBe(denied.error?.message);
  });

  test("is registered by its folder, as one of a folder of tools, and is valid", async () => {
    const [validation] = await validateModules(engine, NOTES);
    expect(validation?.checks.filter(({ level }) => level === "error")).toEqual([]);
    expect(validation?.checks).toContainEqual({ level: "pass", about: "entry point", message: 'is "tool-notes"' });
  });
});

describe("a project that cannot be mounted says why, and registers nothing", () => {
  const PROJECT = (modules: string, dependencies = "[]") =>
    `[project]\nname = "p"\ndependencies = ${dependencies}\n[project.entry-points."amplifier.modules"]\n${modules}\n`;
  test.each([
    [
      "names what is not there",
      PROJECT('p = "missing:mount"'),
      'pyproject.toml names the module "missing", and there is neither missing/__init__.py nor missing.py',
    ],
    [
      "names a path",
      PROJECT('p = "../../etc:mount"'),
      'pyproject.toml names "../../etc:mount", which is not the form "package.module:mount"',
    ],
    [
      "names another function",
      PROJECT('p = "p:start"'),
      'pyproject.toml names "p:start", which is not the form "package.module:mount"',
    ],
    [
      "names several",
      PROJECT('p = "p:mount"\nq = "q:mount"'),
      'pyproject.toml names 2 modules in [project.entry-points."amplifier.modules"]; register the file of each',
    ],
    ["is not TOML", `${PROJECT('p = "p:mount"')}\nx = [`, "pyproject.toml, line"],
    [
      "asks for a package that is not there",
      PROJECT('p = "p:mount"', '["left-pad>=1"]'),
      'pyproject.toml, dependency 1, asks for "left-pad>=1", which is not there; the operator can put a wheel of pure Python',
    ],
    [
      "asks for a compiled package",
      PROJECT('p = "p:mount"', '["numpy"]'),
      'pyproject.toml, dependency 1, asks for "numpy", which is compiled',
    ],
  ])("one that %s", async (_what, text, message) => {
    const folder = await temporaryFolder({
      "pyproject.toml": text,
      "p.py": "async def mount(coordinator, config=None):\n    return None\n",
    });
    const [mounted] = await mountPlan(
      engine,
      { tools: [{ module: "x", source: folder }] },
      { folder, roots: [folder] },
    );
    expect(mounted).toMatchObject({ state: "failed", tools: [] });
    expect(mounted?.error?.message).toContain(message);

    const before = engine.list();
    expect((await refusalOf(engine.register(folder))).message).toContain(message);
    const validations = await validateModules(engine, folder);
    const errors = validations.flatMap(({ checks }) => checks.filter(({ level }) => level === "error"));
    expect(errors).toMatchObject([{ message: expect.stringContaining(message) }]);
    expect(engine.list()).toEqual(before);
  });

  test("one whose module is a link to another place", async () => {
    const outside = await temporaryFolder({ "secret.py": "x = 1" });
    const folder = await temporaryFolder({ "pyproject.toml": PROJECT('p = "p:mount"') });
    await mkdir(join(folder, "p"));
    await writeFile(
      join(folder, "p/__init__.py"),
      "from . import secret\nasync def mount(coordinator, config=None):\n    return None\n",
    );
    await symlink(join(outside, "secret.py"), join(folder, "p/secret.py"));
    const [mounted] = await mountPlan(
      engine,
      { tools: [{ module: "x", source: folder }] },
      { folder, roots: [folder] },
    );
    expect(mounted?.error?.message).toContain('"p/secret.py" is a link; replace it by its target');
  });

  test.each([
    [
      "from amplifier_core import AmplifierSession",
      "amplifier_core.AmplifierSession is not available to tools; available are HookRegistry",
    ],
    ["import bs4", "No module named 'bs4'; ask for the package beautifulsoup4 in requirements.txt or pyproject.toml"],
    ["import tkinter", "No module named 'tkinter'; this part of Python's library is not available in an isolate"],
  ])("one with the line %s", async (line, message) => {
    const registered = engine.register({ name: "p", description: "p", runtime: "python", source: `${line}\n` });
    const error = await registered.catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: "load_error", message: expect.stringContaining(message) });
  });
});
