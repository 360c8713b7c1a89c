import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createEngine, type Engine } from "../../src/glovebox/index.ts";
import { PYTHON_MS } from "./bench.ts";
import { wheelFiles } from "./build-wheel.ts";

let engine: Engine;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), "glovebox-modules-"));
  const shout = "from softly import soft\ndef shout(text):\n    return soft(text).upper()\n";
  const wheels = wheelFiles(
    { name: "shout", files: { "shout/__init__.py": shout }, metadata: ["Requires-Dist: softly>=1"] },
    { name: "softly", files: { "softly.py": "def soft(text):\n    return text + '!'\n" } },
    { name: "needy", metadata: ["Requires-Dist: nowhere>=1"] },
  );
  for (const [name, bytes] of Object.entries(wheels)) await write(`wheels/${name}`, bytes);
  engine = await createEngine({
    workers: 1,
    executor: "threads",
    limits: { cpuMs: 20_000, wallMs: 60_000 },
    packages: { wheels: path.join(folder, "wheels") },
  });
}, PYTHON_MS);

afterAll(async () => {
  await engine.close();
  await rm(folder, { recursive: true });
});

async function write(name: string, content: string | Buffer): Promise<string> {
  const file = path.join(folder, name);
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, content);
  return file;
}

const tool = (name: string, imports: string, expression: string) =>
  `${imports}\nspec = {"name": "${name}", "description": "A tool."}\ndef execute(data):\n    return ${expression}\n`;

async function outputOf(name: string): Promise<unknown> {
  const { output, error } = await engine.execute({ name, arguments: {} });
  expect(error).toBeNull();
  return output;
}

test("a file in a package brings the modules of the package that it imports, and no others", async () => {
  await write("desk/__init__.py", "");
  await write("desk/words/__init__.py", "from .plain import WORD\n");
  await write("desk/words/plain.py", "WORD = 'word'\n");
  await write("desk/unused.py", "raise RuntimeError('evaluated')\n");
  const imports = "import os\nfrom .words import WORD\nfrom desk import words";
  const listed = "[WORD, words.WORD, sorted(os.listdir(os.path.dirname(__file__)))]";
  await engine.register(await write("desk/inside.py", tool("inside", imports, listed)));
  expect(await outputOf("inside")).toEqual(["word", "word", ["__init__.py", "inside.py", "words"]]);
});

test("a file gets the wheels that it imports, with what those require", async () => {
  await engine.register(await write("loud.py", tool("loud", "from shout import shout", "shout('hi')")));
  expect(await outputOf("loud")).toBe("HI!");
});

test("a file gets the wheels of modules that it imports by calls, where it names them", async () => {
  const imports = "import importlib\nshout = __import__('shout').shout\nloud = importlib.import_module('shout').shout";
  await engine.register(await write("called.py", tool("called", imports, "[shout('hi'), loud('ho')]")));
  expect(await outputOf("called")).toEqual(["HI!", "HO!"]);
});

test("a file whose import has no wheel, or a wheel without what it requires, says what is missing", async () => {
  const lone = await write("lone.py", tool("lone", "import nobody_has_it", "1"));
  await expect(engine.register(lone)).rejects.toThrow("No module named 'nobody_has_it'; ask for the package");
  const needy = await write("poor.py", tool("poor", "import needy", "1"));
  await expect(engine.register(needy)).rejects.toThrow(/nowhere.*which is not there/);
});

test("typing_extensions is there without a wheel", async () => {
  const imports = "import warnings\nfrom typing_extensions import Annotated, TypedDict, Unpack, deprecated, override";
  const body = `${imports}\nwarnings.simplefilter("error")\n@deprecated("no more")\ndef old(): pass\ndef tried():\n    try: old()\n    except DeprecationWarning as error: return str(error)`;
  await engine.register(await write("extended.py", tool("extended", body, "tried()")));
  expect(await outputOf("extended")).toBe("no more");
});
