import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../kernel/tool/temporary.ts";
import { glovebox } from "./command.ts";

/** A tool in which a word and its examples can be changed. */
const greet = (word: string, examples: string): string => `
export const spec = {
  name: "greet",
  description: "Greets somebody.",
  inputSchema: { type: "object", properties: { name: { type: "string", minLength: 1 } }, required: ["name"] },
  capabilities: { env: ["PUNCTUATION"] },
  examples: ${examples},
};
export default async ({ name }, { host }) => {
  console.log("greeting");
  return { to: name, text: "${word}, " + name + (await host.env.get("PUNCTUATION")) };
};
`;
const RIGHT = `[
  { name: "a name", input: { name: "Ada" }, output: { text: "Hello, Ada!", to: "Ada" } },
  { input: { name: "Ada" } },
  { input: { name: "" }, error: "invalid_arguments" },
]`;
const PLAIN = 'export const spec = { name: "one", description: "One." }; export default () => 1;';
const CONFIG = "tools: [./tools]\npolicy: { rules: [{ allow: { env: [PUNCTUATION] } }] }\n";
const ENV = { PUNCTUATION: "!" };

test("runs the examples of tools, whose members may stand in any order, and ends with 0", async () => {
  const folder = await temporaryFolder({ "tools/greet.js": greet("Hello", RIGHT), "glovebox.config.yaml": CONFIG });
  expect(await glovebox(folder, ["test"], ENV)).toEqual({
    code: 0,
    stderr: "",
    stdout: [
      "ok       greet  example 1: a name",
      "ok       greet  example 2",
      "ok       greet  example 3",
      "passed: 3 ok, 0 failed\n",
    ].join("\n"),
  });
});

test("shows what was expected and what was received, and ends with 1", async () => {
  const wrong = `[
    { input: { name: "Ada" }, output: { text: "Hi, Ada!", to: "Ada" } },
    { input: { name: "Ada" }, error: "tool_error" },
    { input: { name: "" } },
  ]`;
  const folder = await temporaryFolder({ "tools/greet.js": greet("Hello", wrong), "glovebox.config.yaml": CONFIG });
  const { code, stdout } = await glovebox(folder, ["test"], ENV);
  expect(code).toBe(1);
  expect(stdout).toContain('  -     "text": "Hi, Ada!",\n  +     "text": "Hello, Ada!",\n');
  expect(stdout).toContain('  -   "error": "tool_error"\n  +   "output": {\n');
  expect(stdout).toContain("failed   greet  example 3: /name must be at least 1 character");
  expect(stdout).toContain("not passed: 0 ok, 3 failed");
});

test("replays recordings with the code that tools have now, and writes them anew with --update", async () => {
  const files = { "tools/greet.js": greet("Hello", "[]"), "glovebox.config.yaml": CONFIG, "recordings/note.txt": "" };
  const folder = await temporaryFolder(files);
  const record = ["run", "greet", "--input", '{"name":"Eve"}', "--record", "recordings/eve.json"];
  expect((await glovebox(folder, record, ENV)).code).toBe(0);
  // The recording answers in place of the world, which has no such variable now.
  expect(await glovebox(folder, ["test"])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("ok       greet  eve.json"),
  });
  await writeFile(join(folder, "tools/greet.js"), greet("Hallo", "[]"));
  const failed = await glovebox(folder, ["test", "--json"]);
  expect(failed.code).toBe(1);
  expect(JSON.parse(failed.stdout)).toMatchObject({
    passed: 0,
    failed: 1,
    cases: [
      {
        tool: "greet",
        kind: "recording",
        name: "eve.json",
        ok: false,
        expected: { success: true, output: { text: "Hello, Eve!" } },
        received: { success: true, output: { text: "Hallo, Eve!" } },
      },
    ],
  });
  const updated = await glovebox(folder, ["test", "--update"]);
  expect([updated.code, updated.stdout]).toEqual([0, expect.stringMatching(/^updated  greet  eve\.json\n/)]);
  await rename(join(folder, "recordings"), join(folder, "calls"));
  expect((await glovebox(folder, ["test", "--recordings", "calls"])).code).toBe(0);
  // Another capability call than the recorded one has no answer, so that there is nothing to update.
  const other = (await readFile(join(folder, "tools/greet.js"), "utf8")).replace('get("PUNCTUATION")', 'get("OTHER")');
  await writeFile(join(folder, "tools/greet.js"), other);
  const diverged = await glovebox(folder, ["test", "--recordings", "calls", "--update"]);
  expect([diverged.code, diverged.stdout]).toEqual([1, expect.stringContaining("record the call again")]);
});

test("ends with 3 where a tool does not load, with 2 where a folder is missing, and with 1 where nothing is tested", async () => {
  const folder = await temporaryFolder({
    "broken/bad.js": "export default (",
    "plain/one.js": PLAIN,
  });
  const codes = await Promise.all(
    [["broken"], ["plain", "--recordings", "nowhere"], ["plain"]].map((args) => glovebox(folder, ["test", ...args])),
  );
  expect(codes.map(({ code }) => code)).toEqual([3, 2, 1]);
  expect(codes[2]?.stdout).toBe("nothing to test: no tool has examples, and there are no recordings\n");
});
