import { symlink } from "node:fs/promises";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { RUNTIMES } from "../../../src/standard/plugins.ts";
import { type FindOptions, findSources } from "../../../src/kernel/tool/source.ts";
import { refusalOf, temporaryFolder } from "./temporary.ts";

const find = (given: string, options: Omit<FindOptions, "runtimes"> = {}) =>
  findSources(given, { runtimes: RUNTIMES, ...options });
const names = async (folder: string) => (await find(folder)).map((source) => source.name);

describe("tools are found", () => {
  test.each(["add.js", "add.mjs", "add.ts", "add.cjs", "add.mts", "add.cts", "add.test.js", "add.py", "test_add.py"])(
    "in the file %s",
    async (file) => {
      const folder = await temporaryFolder({ [file]: "" });
      const given = path.join(folder, file);
      expect(await find(given)).toEqual([
        { kind: "module", path: given, name: path.basename(file, path.extname(file)) },
      ]);
    },
  );

  test("in a folder's modules and its subfolders with an index, sorted by name", async () => {
    const folder = await temporaryFolder({
      "zeta.js": "",
      "alpha.ts": "",
      "mid/index.mjs": "",
      "mid/other.js": "",
      "no-tool/lib.js": "",
      "types.d.ts": "",
      "alpha.test.ts": "",
      ".hidden.js": "",
      "_shared.js": "",
      "node_modules/index.js": "",
      "README.md": "",
      "data.json": "",
    });
    expect(await find(folder)).toEqual([
      { kind: "module", path: path.join(folder, "alpha.ts"), name: "alpha" },
      { kind: "module", path: path.join(folder, "mid/index.mjs"), name: "mid" },
      { kind: "module", path: path.join(folder, "zeta.js"), name: "zeta" },
    ]);
  });

  test("in a folder once, where a build has left modules in two formats", async () => {
    const files = ["add.js", "add.cjs", "sub.cjs", "sub.d.cts", "sub.d.mts", "mul.mts", "div/index.cjs"];
    const folder = await temporaryFolder(Object.fromEntries(files.map((file) => [file, ""])));
    expect((await find(folder)).map((source) => path.relative(folder, source.path))).toEqual([
      "add.js",
      "div/index.cjs",
      "mul.mts",
      "sub.cjs",
    ]);
  });

  test("in a folder that has an index and is then one tool", async () => {
    const folder = await temporaryFolder({ "mine/index.ts": "", "mine/other.js": "" });
    expect(await find(path.join(folder, "mine"))).toEqual([
      { kind: "module", path: path.join(folder, "mine/index.ts"), name: "mine" },
    ]);
  });

  test("under a relative path", async () => {
    const folder = await temporaryFolder({ "add.js": "" });
    expect(await names(path.relative(process.cwd(), folder))).toEqual(["add"]);
  });

  test("through links that stay in the folder", async () => {
    const folder = await temporaryFolder({ "..data/add.js": "" });
    await symlink("..data/add.js", path.join(folder, "add.js"));
    expect(await names(folder)).toEqual(["add"]);
  });
});

describe("tools in Python are found", () => {
  test("in a folder of them, without private ones, tests, and what tests and installers need", async () => {
    const folder = await temporaryFolder({
      "echo.py": "",
      "weather.py": "",
      "add.js": "",
      "_shared.py": "",
      "__init__.py": "from tools.registry import get_registry\n",
      "test_echo.py": "",
      "echo_test.py": "",
      "conftest.py": "",
      "setup.py": "",
      "__pycache__/echo.cpython-314.pyc": "",
      "types.pyi": "",
      "requirements.txt": "",
    });
    expect(await names(folder)).toEqual(["add", "echo", "weather"]);
  });

  test("in a folder whose __init__.py is one, by itself or in a folder of tools", async () => {
    const folder = await temporaryFolder({
      "mine/__init__.py": "from .impl import mount\n",
      "mine/impl.py": "",
      "other/__init__.py": 'spec = {"name": "other"}\n',
      "lib/__init__.py": "",
      "lib/text.py": "",
    });
    const mine = { kind: "module", path: path.join(folder, "mine/__init__.py"), name: "mine" };
    const other = { kind: "module", path: path.join(folder, "other/__init__.py"), name: "other" };
    expect(await find(path.join(folder, "mine"))).toEqual([mine]);
    expect(await find(folder)).toEqual([mine, other]);
    expect(await names(path.join(folder, "lib"))).toEqual(["text"]);
  });

  test("in an __init__.py that is named itself, whatever it says", async () => {
    const folder = await temporaryFolder({ "mine/__init__.py": "from .impl import *\n" });
    const given = path.join(folder, "mine/__init__.py");
    expect(await find(given)).toEqual([{ kind: "module", path: given, name: "mine" }]);
  });

  test("in a package [C04]", async () => {
    const folder = await temporaryFolder({ "mine/code/function.py": "", "mine/code/requirements.txt": "" });
    const given = path.join(folder, "mine");
    expect(await find(folder)).toEqual([{ kind: "package", path: given, name: "mine" }]);
  });

  test("also by links to other places in the operator's project, and no further", async () => {
    const folder = await temporaryFolder({
      "p/package.json": "{}",
      "p/src/one.js": "",
      "p/tools/two.js": "",
      "outer.js": "",
    });
    const tools = path.join(folder, "p/tools");
    await symlink("../src/one.js", path.join(tools, "one.js"));
    expect((await find(tools, { project: {} })).map(({ name }) => name)).toEqual(["one", "two"]);
    expect((await refusalOf(find(tools))).message).toContain("a link to a file outside the folder");
    await symlink("../../outer.js", path.join(tools, "outer.js"));
    const refused = await refusalOf(find(tools, { project: {} }));
    expect(refused.message).toContain("outer.js, a link to a file outside the folder");
  });

  test("and refused where a link leads out of their folder", async () => {
    const folder = await temporaryFolder({ "secret.py": "", "tools/a.py": "" });
    await symlink("../secret.py", path.join(folder, "tools/evil.py"));
    expect((await refusalOf(find(path.join(folder, "tools")))).message).toContain(
      "a link to a file outside the folder",
    );
    const linked = await temporaryFolder({
      "real/__init__.py": "spec = {}",
      "tools/own/text.py": "",
      "tools/a.py": "",
    });
    await symlink("../../real/__init__.py", path.join(linked, "tools/own/__init__.py"));
    expect(await names(path.join(linked, "tools"))).toEqual(["a"]);
  });
});

describe("packages are found", () => {
  test.each(["a.zip", "a.tar.gz", "a.TGZ"])("in the archive %s [C05 C06]", async (file) => {
    const folder = await temporaryFolder({ [file]: "" });
    const given = path.join(folder, file);
    expect(await find(given)).toEqual([{ kind: "package", path: given, name: file }]);
  });

  test("in a folder with code/ [C04]", async () => {
    const folder = await temporaryFolder({ "mine/code/function.js": "", "mine/build.js": "" });
    const given = path.join(folder, "mine");
    expect(await find(given)).toEqual([{ kind: "package", path: given, name: "mine" }]);
  });

  test("in a folder with code/ and nothing to run, so that it can be said what is missing [C12]", async () => {
    const folder = await temporaryFolder({ "mine/code/main.rb": "", "mine/README.md": "" });
    const given = path.join(folder, "mine");
    expect(await find(given)).toEqual([{ kind: "package", path: given, name: "mine" }]);
  });

  test("once, where a package lies there as a folder, and packed beside it", async () => {
    const folder = await temporaryFolder({
      "greeting/code/function.js": "",
      "greeting.zip": "",
      "greeting.tar.gz": "",
      "other.zip": "",
      "other.tar.gz": "",
      "other.js": "",
    });
    const found = await find(folder);
    expect(found.map(({ path: place }) => path.basename(place))).toEqual(["greeting", "other.js", "other.tar.gz"]);
  });

  test("at a URL, which is not looked at before it is opened [C07]", async () => {
    const given = "https://assets.example.com/tools/weather.zip?signature=abc";
    expect(await find(given)).toEqual([{ kind: "package", path: given, name: given.replace("?signature=abc", "") }]);
  });

  test("beside modules, in a folder of tools, where a folder called code may be a tool as well", async () => {
    const folder = await temporaryFolder({
      "add.ts": "",
      "code/index.ts": "",
      "mine/code/function.js": "",
      "packed.zip": "",
      "_work.zip": "",
    });
    expect((await find(folder)).map(({ kind, name }) => [kind, name])).toEqual([
      ["module", "add"],
      ["module", "code"],
      ["package", "mine"],
      ["package", "packed.zip"],
    ]);
  });
});

describe("a path is refused, as it was given,", () => {
  test("where nothing is", async () => {
    expect((await refusalOf(find("./no/such/tools"))).message).toMatch(/^\.\/no\/such\/tools does not exist/);
  });

  test("where a folder holds no tools", async () => {
    const folder = await temporaryFolder({ "README.md": "" });
    expect((await refusalOf(find(folder))).message).toContain("holds no tools");
  });

  test.each(["a.rb", "a.pyc", "a.pyi", "a.d.ts", "a.json", "a"])("where %s is no module", async (file) => {
    const folder = await temporaryFolder({ [file]: "" });
    expect((await refusalOf(find(path.join(folder, file)))).message).toContain("is not a module");
  });

  test.each(["a.rar", "a.7z", "a.tar", "a.tar.bz2"])(
    "where %s is packed in a way that is not read [C08]",
    async (file) => {
      const folder = await temporaryFolder({ [file]: "" });
      const { code, message } = await refusalOf(find(path.join(folder, file)));
      expect(code).toBe("load_error");
      expect(message).toContain(".zip, .tar.gz or .tgz");
    },
  );

  test("where a folder holds more than a thousand tools", async () => {
    const folder = await temporaryFolder(
      Object.fromEntries(Array.from({ length: 1_001 }, (_, at) => [`t${at}.js`, ""])),
    );
    expect((await refusalOf(find(folder))).message).toContain("more than 1000 tools");
  });

  test.each(["mine", "mine.zip"])("where a link to the package %s leads out", async (name) => {
    const folder = await temporaryFolder({ "mine/code/function.js": "", "mine.zip": "", "tools/a.js": "" });
    await symlink(path.join(folder, name), path.join(folder, "tools", name));
    expect((await refusalOf(find(path.join(folder, "tools")))).message).toContain(
      "a link to a file outside the folder",
    );
  });

  test.each(["file", "folder"])("where a link to a %s leads out", async (kind) => {
    const folder = await temporaryFolder({ "other/index.js": "", "tools/a.js": "" });
    const target = path.join(folder, kind === "file" ? "other/index.js" : "other");
    await symlink(target, path.join(folder, "tools", kind === "file" ? "evil.js" : "evil"));
    expect((await refusalOf(find(path.join(folder, "tools")))).message).toContain(
      "a link to a file outside the folder",
    );
  });
});
