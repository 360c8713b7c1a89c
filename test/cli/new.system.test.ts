import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { TEMPLATES } from "../../src/cli/new.ts";
import { temporaryFolder } from "../kernel/tool/temporary.ts";
import { glovebox } from "./command.ts";

const ROOT = join(import.meta.dirname, "../..");
const LINES_MAX = 60;

test("writes a project named as its folder, which depends on this version, and says what comes next", async () => {
  const folder = await temporaryFolder({});
  const { code, stdout, stderr } = await glovebox(folder, ["new", "My Tools", "--template", "mcp"]);
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout.split("\n")).toEqual([
    ".gitignore",
    "README.md",
    "mcp.test.ts",
    "package.json",
    "tools/greet.ts",
    "tsconfig.json",
    "",
    "now: cd 'My Tools' && npm install && npm test",
    "",
  ]);
  const own = JSON.parse(await readFile(join(folder, "My Tools/package.json"), "utf8")) as object;
  expect(own).toMatchObject({ name: "my-tools", dependencies: { glovebox: `^${manifest.version}` } });
});

test("overwrites nothing: where a file exists, it names it, writes none, and ends with 2", async () => {
  const folder = await temporaryFolder({ "package.json": "{}" });
  const { code, stdout, stderr } = await glovebox(folder, ["new"]);
  expect([code, stdout]).toEqual([2, ""]);
  expect(await glovebox(folder, ["init"])).toEqual({ code, stdout, stderr });
  expect(stderr).toBe("glovebox: . has package.json already: name another folder\n");
  expect(await readdir(folder)).toEqual(["package.json"]);
  const file = await glovebox(folder, ["new", "package.json"]);
  expect(file).toEqual({ code: 2, stdout: "", stderr: "glovebox: package.json is a file: name a folder\n" });
  const below = await glovebox(folder, ["new", "package.json/x"]);
  expect(below.stderr).toBe(
    "glovebox: package.json/x cannot be written: ENOTDIR; name a folder that this user may write\n",
  );
});

test("says the same as JSON, and names the templates where there is no such one", async () => {
  const folder = await temporaryFolder({});
  const [written, refused] = await Promise.all([
    glovebox(folder, ["new", "x", "--template", "tool-py", "--json"]),
    glovebox(folder, ["new", "y", "--template", "cobol"]),
  ]);
  expect(JSON.parse(written.stdout)).toEqual({
    folder: "x",
    template: "tool-py",
    files: [".gitignore", "README.md", "package.json", "tools/greet.py"],
  });
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("tool-py, express, fastify")]);
});

test("a project without packages of its own passes its tests", async () => {
  const folder = await temporaryFolder({});
  await glovebox(folder, ["new", "."]);
  const { scripts } = JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as { scripts: { test: string } };
  expect(scripts.test).toBe("glovebox test tools");
  await writeFile(
    join(folder, "tools/second.js"),
    'export const spec = { name: "second", description: "Second." }; export default () => 2;',
  );
  const { code, stdout } = await glovebox(folder, ["test", "tools"]);
  expect([code, stdout]).toEqual([0, expect.stringContaining("passed: 2 ok, 0 failed")]);
});

test.each(Object.keys(TEMPLATES).filter((name) => name !== "tool-py"))(
  "the template %s has its compiler look for the types of Node that it installs, and for no others",
  async (name) => {
    const folder = await temporaryFolder({});
    await glovebox(folder, ["new", ".", "--template", name]);
    const [manifest, config] = await Promise.all(
      ["package.json", "tsconfig.json"].map((file) => readFile(join(folder, file), "utf8")),
    );
    const { compilerOptions } = JSON.parse(config ?? "") as { compilerOptions: { types?: string[] } };
    expect(compilerOptions.types ?? []).toEqual(manifest?.includes('"@types/node"') ? ["node"] : []);
  },
);

test.each(Object.keys(TEMPLATES))("the template %s is short", async (name) => {
  const folder = join(ROOT, "templates", name);
  const files = await readdir(folder, { recursive: true });
  const code = files.filter((file) => /\.(?:tsx?|py)$/.test(file));
  const texts = await Promise.all(code.map((file) => readFile(join(folder, file), "utf8")));
  const lines = texts.flatMap((text) => text.split("\n")).filter((line) => line.trim() !== "");
  expect(lines.length).toBeLessThanOrEqual(LINES_MAX);
});
