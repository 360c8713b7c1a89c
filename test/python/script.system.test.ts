import { execFileSync } from "node:child_process";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { pythonFile } from "../../src/python/runtime/python-file.ts";
import { scriptOfFile, scriptOfPackage, scriptOfText } from "../../src/python/runtime/script.ts";
import { newFolder, newTree } from "../kernel/tool/package/opening.ts";
import { problemOf } from "./refusal.ts";

const FUNCTION = "code/function.py";
const packaged = async (tree: Readonly<Record<string, string | Buffer>>) =>
  scriptOfPackage(await newTree(tree), FUNCTION, {});

describe("a tool in Python is", () => {
  test("its text", () => {
    const files = { "tool.py": "x = 1\r\n" };
    expect(scriptOfText("x = 1\r\n")).toEqual({ entry: "tool.py", files, packages: {} });
    expect(scriptOfText("\ufeffx = 1\r\n")).toEqual({ entry: "tool.py", files, packages: {} });
  });

  test("its file, and nothing that lies beside it", async () => {
    const folder = await newTree({ "weather.py": "x = 1", "secret.py": "y = 2" });
    const script = { entry: "weather.py", files: { "weather.py": "x = 1" }, packages: {} };
    expect((await scriptOfFile(path.join(folder, "weather.py"))).script).toEqual(script);
  });

  test("a file of any name, as a module", async () => {
    const folder = await newTree({ tool: "x = 1" });
    expect((await scriptOfFile(path.join(folder, "tool"))).script).toMatchObject({ files: { "tool.py": "x = 1" } });
  });

  test("a package of Python's, with all below it, by its __init__.py", async () => {
    const folder = await newTree({
      "mine/__init__.py": "from .deep import x",
      "mine/deep/__init__.py": "x = 1",
      "mine/data.json": "{}",
      "mine/__pycache__/a.pyc": "",
      "mine/.env": "SECRET=1",
      "other.py": "",
    });
    expect((await scriptOfFile(path.join(folder, "mine/__init__.py"))).script).toEqual({
      entry: "mine/__init__.py",
      files: { "mine/__init__.py": "from .deep import x", "mine/data.json": "{}", "mine/deep/__init__.py": "x = 1" },
      packages: {},
    });
  });

  test("what lies in code/ of a package, without caches and what is hidden [C12 C13]", async () => {
    const script = await packaged({
      "tool.json": "{}",
      "code/function.py": "import sibling",
      "code/sibling.py": "",
      "code/requirements.txt": "",
      "code/lib/deep/text.py": "x = 'é'\r\n",
      "code/lib/data.bin": Buffer.from([0, 255]),
      "code/.git/config": "",
      "code/__pycache__/function.cpython-314.pyc": "x",
      "code/lib/__pycache__/x": "x",
    });
    expect(script).toEqual({
      entry: "function.py",
      files: {
        "function.py": "import sibling",
        "lib/data.bin": { base64: "AP8=" },
        "lib/deep/text.py": "x = 'é'\r\n",
        "requirements.txt": "",
        "sibling.py": "",
      },
      packages: {},
    });
  });
});

describe("a file of a tool in Python", () => {
  test.each<[string, string, Buffer | string, boolean]>([
    ["in UTF-8", "a.py", "x = 'é'\r\n", true],
    ["that says that it is", "a.py", "# -*- coding: UTF-8 -*-\nx = 1", true],
    ["that says so as another editor does", "a.py", "#!/usr/bin/python\n# vim: set fileencoding=utf_8 :\nx", true],
    ["that speaks of another coding later on", "a.py", "x = 1\ny = 2\n# coding: latin-1", true],
    ["that is no module", "a.txt", "# coding: latin-1", true],
    ["with a mark at its beginning", "a.py", "\ufeffx = 1", false],
    ["in another coding", "a.py", Buffer.from("# coding: latin-1\nx = '\xe9'", "latin1"), false],
    ["that says that it is in another coding", "a.py", "#!/usr/bin/python\r\n# coding=cp1252\nx", false],
    ["that is no text", "a.bin", Buffer.from([0xc3, 0x28]), false],
    ["with half of a character", "a.txt", Buffer.from([0xed, 0xa0, 0x80]), false],
  ])("%s is a text or its bytes", (_what, name, content, isText) => {
    const bytes = Buffer.from(content);
    expect(pythonFile(name, bytes)).toEqual(isText ? bytes.toString("utf8") : { base64: bytes.toString("base64") });
  });

  test("comes out as the bytes that it was", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.constantFrom("a.py", "a.txt"), (bytes, name) => {
        const file = pythonFile(name, bytes);
        const written = typeof file === "string" ? Buffer.from(file) : Buffer.from(file.base64, "base64");
        expect(written.equals(bytes)).toBe(true);
        expect(JSON.parse(JSON.stringify(file))).toEqual(file);
      }),
    );
  });
});

describe("a tool in Python is refused", () => {
  test("where there is nothing in it", async () => {
    expect(await problemOf(() => scriptOfText(" \n"))).toContain("is empty");
    expect(await problemOf(() => packaged({ [FUNCTION]: "" }))).toContain("is empty");
    const folder = await newTree({ "a.py": "", "mine/__init__.py": "\n" });
    expect(await problemOf(() => scriptOfFile(path.join(folder, "a.py")))).toContain("is empty");
    expect(await problemOf(() => scriptOfFile(path.join(folder, "mine/__init__.py")))).toContain("is empty");
  });

  test("where its text is invalid", async () => {
    expect(await problemOf(() => scriptOfText("x = '\ud800'"))).toContain("a lone surrogate");
  });

  test("where its file is not there, or is a folder, and no path of the host is told", async () => {
    const folder = await newTree({ "a.py/x": "" });
    for (const name of ["absent.py", "a.py"]) {
      const message = await problemOf(() => scriptOfFile(path.join(folder, name)));
      expect(message).toContain(name);
      expect(message).not.toContain(folder);
    }
  });

  test.each(["/etc/passwd", "../outside.py", "sibling.py", "lib"])("where it holds a link to %s", async (target) => {
    const root = await newTree({ [FUNCTION]: "x", "outside.py": "", "code/sibling.py": "", "code/lib/a.py": "" });
    await symlink(target, path.join(root, "code/link.py"));
    const message = await problemOf(() => scriptOfPackage(root, FUNCTION, {}));
    expect(message).toBe('"link.py" is a link; replace it by its target');
  });

  test("where function.py is a link", async () => {
    const root = await newTree({ "secret.py": "x", "code/sibling.py": "" });
    await symlink("../secret.py", path.join(root, FUNCTION));
    expect(await problemOf(() => scriptOfPackage(root, FUNCTION, {}))).toContain("is a link");
  });

  test("where it holds a pipe, which nobody writes to", async () => {
    const root = await newTree({ [FUNCTION]: "x" });
    execFileSync("sh", ["-c", 'mkfifo "$0"', path.join(root, "code/pipe.py")]);
    expect(await problemOf(() => scriptOfPackage(root, FUNCTION, {}))).toContain("neither a file nor a folder");
  });

  test("where it holds too many files, too large ones, or too deep ones", async () => {
    const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`code/f${at}.py`, ""]));
    expect(await problemOf(() => packaged({ [FUNCTION]: "x", ...many }))).toContain("more than 1000 files");
    const half = Buffer.alloc(6 * 1024 * 1024, "x");
    const large = { [FUNCTION]: "x", "code/a.bin": half, "code/b.bin": half };
    expect(await problemOf(() => packaged(large))).toContain("more than 10485760 bytes");
    const deep = { [FUNCTION]: "x", [`code/${"d/".repeat(40)}a.py`]: "" };
    expect(await problemOf(() => packaged(deep))).toContain("is nested too deeply");
  });

  test.each(["a\nb.py", "a\\b.py", "a\u007f.py"])("where it holds a file called %j", async (name) => {
    const root = await newTree({ [FUNCTION]: "x" });
    await writeFile(path.join(root, "code", name), "");
    expect(await problemOf(() => scriptOfPackage(root, FUNCTION, {}))).toContain(
      "has a name with a control or reserved character",
    );
  });

  test("by a problem that is short, however long its names are", async () => {
    const folder = await newFolder();
    const name = "n".repeat(250);
    await mkdir(path.join(folder, "code", name), { recursive: true });
    await symlink("x", path.join(folder, "code", name, name));
    expect((await problemOf(() => scriptOfPackage(folder, FUNCTION, {}))).length).toBeLessThan(400);
  });
});

test("a file called as a member of every object is one of the tool's", async () => {
  const script = await packaged({ [FUNCTION]: "x", "code/__proto__": "1", "code/constructor": "2" });
  expect(JSON.stringify(script.files)).toBe('{"__proto__":"1","constructor":"2","function.py":"x"}');
});
