import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, posix } from "node:path";
import { fileURLToPath } from "node:url";

/** Files by their paths below a folder. */
export type Files = ReadonlyMap<string, Buffer>;

/** What every module may import. */
const SUPPORT = ["__init__.py", "support"];
/** Modules of tests that a module names: `test.test_x`, or `from test import test_x`. */
const NAMED = /\btest\.(test_\w+)|\bfrom test import (test_\w+)/g;
const WORD = /\w+(?:\.txt|\.pck|\.html|\.types2?)?/g;
const COLLECT = fileURLToPath(new URL("collect.py", import.meta.url));

/**
 * The files of a tool that runs a module of the suite: the module, whatever in `test` is named in it or in what it
 * needs, and `test.support`. `collect.py` runs the tests.
 */
export function filesOf(suite: string, module: string): Files {
  const root = join(suite, "test");
  const entries = readdirSync(root).filter((name) => name !== "__pycache__");
  const files = new Map([["collect.py", readFileSync(COLLECT)]]);
  for (const entry of SUPPORT) add(files, root, entry);
  const waiting = [entryOf(entries, module)];
  const known = new Set([...SUPPORT, ...waiting]);
  for (let entry = waiting.pop(); entry !== undefined; entry = waiting.pop()) {
    for (const text of add(files, root, entry)) {
      for (const found of needs(text, entries)) {
        if (!known.has(found)) waiting.push(found);
        known.add(found);
      }
    }
  }
  return files;
}

/** The file or folder of a module such as `test_json` or `test_asyncio.test_protocols`. */
function entryOf(entries: readonly string[], module: string): string {
  const [name = ""] = module.split(".");
  const entry = entries.find((each) => each === name || each === `${name}.py`);
  if (entry === undefined) throw new Error(`the suite has no module ${module}`);
  return entry;
}

function needs(text: string, entries: readonly string[]): readonly string[] {
  const tests = new Set([...text.matchAll(NAMED)].map(([, first, second]) => first ?? second ?? ""));
  const words = new Set(text.match(WORD));
  return entries.filter((entry) => {
    const stem = entry.replace(/\.py$/, "");
    return stem.startsWith("test_") ? tests.has(stem) : words.has(stem);
  });
}

/** Adds a file, or all in a folder. Returns the texts of its modules. */
function add(files: Map<string, Buffer>, root: string, entry: string): readonly string[] {
  const names = statSync(join(root, entry)).isDirectory()
    ? readdirSync(join(root, entry), { recursive: true, encoding: "utf8" }).map((name) => posix.join(entry, name))
    : [entry];
  const texts: string[] = [];
  for (const name of names) {
    const path = join(root, name);
    if (name.includes("__pycache__") || !statSync(path).isFile()) continue;
    const bytes = readFileSync(path);
    files.set(`test/${name}`, bytes);
    if (name.endsWith(".py") && entry !== "support") texts.push(bytes.toString("latin1"));
  }
  return texts;
}
