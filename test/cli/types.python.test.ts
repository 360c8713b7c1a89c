import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Compiler } from "../kernel/tool/declarations/compiler.ts";
import { serve } from "../server/served.ts";
import { glovebox, ROOT } from "./command.ts";

const FOLDER = "examples/python-tools/tools";

test("tools in Python are declared, from a folder and by a server", async () => {
  using compiler = new Compiler();
  const types = async (...args: string[]) => (await glovebox(ROOT, ["types", ...args])).stdout;
  const text = await types("--tools", FOLDER);
  const uses = `
export const counted: Tools["word_count"]["input"] = { text: "a", top: 1 };
// @ts-expect-error The text is missing.
export const wrong: Tools["word_count"]["input"] = { top: 1 };
`;
  expect(compiler.errorsOf(`${text}${uses}`)).toEqual([]);
  await using server = await serve(["--tools", FOLDER]);
  expect(await types("--url", server.url)).toBe(text);
}, 300_000);

test("a file with one function is run by its name", async () => {
  const folder = mkdtempSync(join(tmpdir(), "glovebox-hello-"));
  writeFileSync(
    join(folder, "hello.py"),
    'def greet(name: str = "you") -> str:\n    """Greets."""\n    return f"Hello, {name}!"\n',
  );
  try {
    expect((await glovebox(folder, ["run", "hello.py"])).stdout).toBe('"Hello, you!"\n');
  } finally {
    rmSync(folder, { recursive: true });
  }
}, 300_000);
