import { symlink } from "node:fs/promises";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { findSources } from "../../../src/tool/source.ts";
import { refusalOf, temporaryFolder } from "./temporary.ts";

const names = async (folder: string) => (await findSources(folder)).map((source) => source.name);

describe("tools are found", () => {
  test.each(["add.js", "add.mjs", "add.ts", "add.test.js"])("in the file %s", async (file) => {
    const folder = await temporaryFolder({ [file]: "" });
    const given = path.join(folder, file);
    expect(await findSources(given)).toEqual([{ path: given, name: path.basename(file, path.extname(file)) }]);
  });

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
    expect(await findSources(folder)).toEqual([
      { path: path.join(folder, "alpha.ts"), name: "alpha" },
      { path: path.join(folder, "mid/index.mjs"), name: "mid" },
      { path: path.join(folder, "zeta.js"), name: "zeta" },
    ]);
  });

  test("in a folder that has an index and is then one tool", async () => {
    const folder = await temporaryFolder({ "mine/index.ts": "", "mine/other.js": "" });
    expect(await findSources(path.join(folder, "mine"))).toEqual([
      { path: path.join(folder, "mine/index.ts"), name: "mine" },
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

describe("a path is refused, as it was given,", () => {
  test("where nothing is", async () => {
    expect((await refusalOf(findSources("./no/such/tools"))).message).toMatch(/^\.\/no\/such\/tools does not exist/);
  });

  test("where a folder holds no tools", async () => {
    const folder = await temporaryFolder({ "README.md": "" });
    expect((await refusalOf(findSources(folder))).message).toContain("holds no tools");
  });

  test.each(["a.py", "a.d.ts", "a.json", "a"])("where %s is no module", async (file) => {
    const folder = await temporaryFolder({ [file]: "" });
    expect((await refusalOf(findSources(path.join(folder, file)))).message).toContain("is not a module");
  });

  test.each(["a.zip", "a.tar.gz", "a.tgz"])("where %s is an archive", async (file) => {
    const folder = await temporaryFolder({ [file]: "" });
    expect((await refusalOf(findSources(path.join(folder, file)))).message).toContain(
      "is an archive; packages are not supported by this version",
    );
  });

  test("where a folder holds more than a thousand tools", async () => {
    const folder = await temporaryFolder(
      Object.fromEntries(Array.from({ length: 1_001 }, (_, at) => [`t${at}.js`, ""])),
    );
    expect((await refusalOf(findSources(folder))).message).toContain("more than 1000 tools");
  });

  test.each(["file", "folder"])("where a link to a %s leads out", async (kind) => {
    const folder = await temporaryFolder({ "other/index.js": "", "tools/a.js": "" });
    const target = path.join(folder, kind === "file" ? "other/index.js" : "other");
    await symlink(target, path.join(folder, "tools", kind === "file" ? "evil.js" : "evil"));
    expect((await refusalOf(findSources(path.join(folder, "tools")))).message).toContain("a link out of the folder");
  });
});
