import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { Compiler } from "../../tool/declarations/compiler.ts";
import { MAIN, serve } from "../served.ts";

const FOLDER = "examples/python-tools/tools";
const run = promisify(execFile);

test("tools in Python are declared, from a folder and by a server", async () => {
  using compiler = new Compiler();
  const types = async (...args: string[]) => (await run(process.execPath, [...MAIN, "types", ...args])).stdout;
  const text = await types("--tools", FOLDER);
  const uses = `
export const counted: Tools["word_count"]["input"] = { text: "a", top: 1 };
// @ts-expect-error The text is missing.
export const wrong: Tools["word_count"]["input"] = { top: 1 };
`;
  expect(compiler.errorsOf(`${text}${uses}`)).toEqual([]);
  await using server = await serve(["--tools", FOLDER]);
  expect(await types("--url", server.url)).toBe(text);
}, 120_000);
