import { mkdir, readdir, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { openPackage } from "../../../../src/kernel/tool/package/open.ts";
import { refusalOf } from "../temporary.ts";
import { buildTarGz } from "./build-tar.ts";
import { buildZip } from "./build-zip.ts";
import { newContext, newFolder, newTree, openArchive, watchTemporary } from "./opening.ts";

type Tree = Readonly<Record<string, string>>;

const zipped = (tree: Tree): Buffer => buildZip(Object.entries(tree).map(([name, data]) => ({ name, data })));
const packed = (tree: Tree): Buffer => buildTarGz(Object.entries(tree).map(([name, data]) => ({ name, data })));

async function refusedFolder(tree: Tree): Promise<string> {
  const error = await refusalOf(openPackage(await newTree(tree), newContext()));
  expect(error).toMatchObject({ code: "load_error", details: { step: "extract" } });
  return error.message;
}

describe("a package", () => {
  test("that is a folder is used in place, and neither copied nor changed nor removed [C04]", async () => {
    const left = await watchTemporary();
    const folder = await newTree({ "code/function.ts": "", "README.md": "" });
    {
      await using found = await openPackage(folder, newContext());
      expect(found).toMatchObject({ name: path.basename(folder), folder, sha256: null });
      expect(await left()).toEqual([]);
    }
    expect((await readdir(folder, { recursive: true })).sort()).toEqual(["README.md", "code", "code/function.ts"]);
  });

  test.each(["weather-forecast-v1", "anything at all", "ünïcode"])(
    "has code/ in the top folder %j [C09]",
    async (top) => {
      const tree = {
        [`${top}/code/function.js`]: "",
        [`${top}/tool.json`]: '{"tool_id":"x"}',
        [`${top}/README.md`]: "",
      };
      for (const [name, bytes] of [
        ["a.zip", zipped(tree)],
        ["a.tgz", packed(tree)],
      ] as const) {
        await using found = await openArchive(name, bytes);
        expect(path.basename(found.folder)).toBe(top);
        expect(found).toMatchObject({
          layout: { runtime: "javascript", entry: "code/function.js" },
          record: { tool_id: "x" },
        });
      }
    },
  );

  test("has code/ at its root, as `zip -r x.zip code/` makes it [C10]", async () => {
    await using found = await openArchive("a.zip", zipped({ "code/function.js": "", "other/code/function.ts": "" }));
    expect(found.layout).toEqual({ runtime: "javascript", entry: "code/function.js" });
  });

  test("may have what desktops add to archives", async () => {
    const tree = { "tool/code/function.js": "", "__MACOSX/code/._function.js": "", ".DS_Store": "" };
    await using found = await openArchive("a.zip", zipped(tree));
    expect(path.basename(found.folder)).toBe("tool");
  });

  test("has the module that comes first of several, and Python only where it is missing", async () => {
    const folder = await newTree({ "code/function.py": "", "code/function.js": "" });
    expect((await openPackage(folder, newContext())).layout).toEqual({
      runtime: "javascript",
      entry: "code/function.js",
    });
    await writeFile(path.join(folder, "code/function.ts"), "");
    expect((await openPackage(folder, newContext())).layout).toEqual({
      runtime: "javascript",
      entry: "code/function.ts",
    });
  });

  test("is Python where function.py is alone [F14]", async () => {
    const folder = await newTree({ "code/function.py": "", "code/requirements.txt": "requests" });
    expect((await openPackage(folder, newContext())).layout).toEqual({ runtime: "python", entry: "code/function.py" });
  });

  test.each(["folder", "a.zip", "a.tar.gz"])(
    "is a binary where one file of another name is alone: %s [C62]",
    async (kind) => {
      const tree = { "code/increment": "\x7fELF", "code/.gitkeep": "" };
      const bytes = kind === "a.zip" ? zipped(tree) : packed(tree);
      const opening = kind === "folder" ? openPackage(await newTree(tree), newContext()) : openArchive(kind, bytes);
      await using found = await opening;
      expect(found.layout).toEqual({ runtime: "native", entry: "code/increment" });
    },
  );

  test("is a WebAssembly module where that one file begins as such [C62]", async () => {
    const folder = await newTree({ "code/increment": "\0asm\u0001\0\0\0" });
    expect((await openPackage(folder, newContext())).layout).toEqual({ runtime: "wasi", entry: "code/increment" });
  });
});

describe("a package is refused", () => {
  test.each([
    ["without code/", { "src/function.js": "" }],
    ["with code/ too deep", { "a/b/code/function.js": "" }],
    ["with a file called code", { code: "" }],
    ["with nothing in it", {}],
  ])("%s [C11]", async (_what, tree: Tree) => {
    expect(await refusedFolder(tree)).toContain("no folder code/");
    const left = await watchTemporary();
    const error = await refusalOf(openArchive("a.zip", zipped(tree)));
    expect(error.message).toContain("no folder code/");
    expect(await left()).toEqual([]);
  });

  test("with several top folders that hold code/", async () => {
    const error = await refusalOf(openArchive("a.zip", zipped({ "a/code/function.js": "", "b/code/function.js": "" })));
    expect(error.message).toContain("more than one");
  });

  test.each([
    ["nothing else", { "code/requirements.txt": "" }],
    ["modules of other names", { "code/main.js": "", "code/index.js": "" }],
  ])("with code/ that has no function.* but %s, by the name of that file [C12]", async (_what, tree: Tree) => {
    expect(await refusedFolder(tree)).toContain(
      "code/ has no file function.ts, function.mjs, function.js or function.py",
    );
  });

  test.each([
    ["a folder", { "code/bin/increment": "" }],
    ["a folder beside it", { "code/increment": "", "code/lib/a.so": "" }],
    ["no file", { "code/package.json": "{}" }],
    ["two files", { "code/increment": "", "code/decrement": "" }],
  ])("as a binary with %s in code/ [C63]", async (_what, tree: Tree) => {
    expect(await refusedFolder(tree)).toMatch(/a binary tool must be a single file|no other file/);
  });

  test.each(["code", "code/function.js", "tool.json"])(
    "where %s is a link to what is not the package's",
    async (name) => {
      const elsewhere = await newTree({ "code/function.js": "", "tool.json": "{}" });
      const folder = await newFolder();
      await mkdir(path.join(folder, "code"));
      if (name === "code") await symlink(path.join(elsewhere, name), path.join(await newFolder(), name));
      const root = name === "code" ? await newFolder() : folder;
      if (name === "tool.json") await writeFile(path.join(root, "code/function.js"), "");
      await symlink(path.join(elsewhere, name), path.join(root, name));
      const error = await refusalOf(openPackage(root, newContext()));
      expect(error.message).not.toContain(elsewhere);
    },
  );
});

describe("what a package says of itself", () => {
  const module = { "code/function.js": "" };

  test("is what tool.json holds, and nothing where it is missing", async () => {
    const said = await openPackage(await newTree({ ...module, "tool.json": '\ufeff{"tool_id": "a"}' }), newContext());
    expect(said.record).toEqual({ tool_id: "a" });
    expect((await openPackage(await newTree(module), newContext())).record).toBeUndefined();
  });

  test.each([
    ["no JSON", "{", "is not JSON"],
    ["nested too deep", "[".repeat(100_000), "nested deeper"],
    ["too large", `"${"x".repeat(300_000)}"`, "larger than"],
  ])("is refused where it is %s", async (_what, text, problem) => {
    expect(await refusedFolder({ ...module, "tool.json": text })).toContain(problem);
  });
});

describe("a package is found at its path, or refused with the forms that are read [C08],", () => {
  test.each(["tool.rar", "tool.tar", "tool.gz", "tool"])("as %s", async (name) => {
    const folder = await newTree({ [name]: "" });
    const error = await refusalOf(openPackage(path.join(folder, name), newContext()));
    expect(error).toMatchObject({ code: "load_error", details: { step: "fetch" } });
    expect(error.message).toContain("ends in .zip, .tar.gz or .tgz");
    expect(error.message).not.toContain(folder);
  });

  test("where it is missing", async () => {
    const error = await refusalOf(openPackage("/no/such/tool.zip", newContext()));
    expect(error.message).toBe('package "tool.zip": fetch: it does not exist; check its path');
  });

  test("at a URL of something else", async () => {
    const error = await refusalOf(openPackage("https://example.com/tool.rar", newContext({ origins: ["*"] })));
    expect(error.message).toContain("ends in .zip, .tar.gz or .tgz");
  });
});
