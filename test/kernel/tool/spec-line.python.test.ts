import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";
import { refusalOf } from "./temporary.ts";

const folder = mkdtempSync(join(tmpdir(), "glovebox-lines-"));
let engine: Engine;

beforeAll(async () => {
  engine = await createEngine({ workers: 1, executor: "threads" });
});

afterAll(async () => {
  await engine.close();
  rmSync(folder, { recursive: true });
});

const RUN = "export default () => 1;\n";

test.each([
  [
    "raises",
    "raises.js",
    `const names = {};\n\nexport const spec = {\n  name: names.x.y,\n};\n${RUN}`,
    "(at raises.js:4)",
  ],
  [
    "is computed, and wrong",
    "wrong.js",
    `const base = {};\n\nexport const spec = { ...base, name: 5 };\n${RUN}`,
    "(spec at wrong.js:3)",
  ],
  ["is a function", "call.ts", `\nexport const spec: unknown = () => ({ name: "f" });\n${RUN}`, "(spec at call.ts:2)"],
  [
    "has no name",
    "none.js",
    "export const TOOL_SPEC = Object.create({ name: 'none' });\nexport function none() {}\n",
    "(TOOL_SPEC at none.js:1)",
  ],
  ["raises in Python", "raises.py", "NAMES = {}\n\nTOOL_SPEC = {\n    'name': NAMES['x'],\n}\n", "(at raises.py:4)"],
  [
    "is computed in Python, and wrong",
    "made.py",
    "def made():\n    return {'name': 5}\n\nTOOL_SPEC = made()\n",
    "(TOOL_SPEC at made.py:4)",
  ],
  [
    "has what JSON cannot hold",
    "odd.py",
    "spec = dict(name='odd', description=print)\ndef execute(given): pass\n",
    "(spec at odd.py:1)",
  ],
])("a specification that %s is refused with its line", async (_what, name, text, place) => {
  const file = join(folder, name);
  writeFileSync(file, text);
  expect((await refusalOf(engine.register(file))).message).toContain(place);
});
