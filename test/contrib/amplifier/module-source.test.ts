import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import {
  findModule,
  type GitSource,
  ModuleSourceError,
  type SourceOptions,
} from "../../../src/contrib/amplifier/module-source.ts";
import { temporaryFolder } from "../../kernel/tool/temporary.ts";

const manifest = (modules: object) => JSON.stringify({ name: "a-package", amplifier: { modules } });

async function find(source: string | undefined, options: SourceOptions, module = "my-tool"): Promise<string> {
  return findModule({ module, config: {}, ...(source === undefined ? {} : { source }) }, options);
}

async function refusal(finding: Promise<unknown>): Promise<ModuleSourceError> {
  const error: unknown = await finding.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof ModuleSourceError) return error;
  throw new Error("it was not refused", { cause: error });
}

describe("a module without a source", () => {
  test("is found by the name that a package.json has for it [A20]", async () => {
    const folder = await temporaryFolder({
      "package.json": manifest({ "my-tool": "./my_tool.js:mount" }),
      "my_tool.js": "",
    });
    expect(await find(undefined, { folder })).toBe(join(folder, "my_tool.js"));
  });

  test("is found in the packages that are installed [A20]", async () => {
    const folder = await temporaryFolder({
      "node_modules/plain/package.json": "{}",
      "node_modules/broken/package.json": "{",
      "node_modules/@org/tools/package.json": manifest({ "my-tool": "./src/tool.js" }),
      "node_modules/@org/tools/src/tool.js": "",
    });
    expect(await find(undefined, { folder })).toBe(join(folder, "node_modules/@org/tools/src/tool.js"));
  });

  test("that nobody names is not found, and told how to be", async () => {
    const folder = await temporaryFolder({ "package.json": manifest({ other: "./a.js:mount" }) });
    const { reason, message } = await refusal(find(undefined, { folder }));
    expect(reason).toBe("not_found");
    expect(message).toContain('add "amplifier": { "modules": { "my-tool": "./file.js:mount" } } to a package.json');
    expect((await refusal(find(undefined, { folder }, "__proto__"))).reason).toBe("not_found");
  });

  test("is refused where its package.json leads elsewhere, or to another export", async () => {
    const folder = await temporaryFolder({
      "a/package.json": manifest({ out: "../secret.js", gone: "./gone.js", other: "./a.js:setup", self: "." }),
      "a/a.js": "",
      "secret.js": "",
    });
    const reasonOf = async (module: string) => (await refusal(find("./a", { folder }, module))).reason;
    expect(await reasonOf("out")).toBe("refused");
    expect(await reasonOf("gone")).toBe("not_found");
    expect(await reasonOf("other")).toBe("invalid");
    expect(await reasonOf("self")).toBe("refused");
  });
});

describe("a local source", () => {
  test("is a file, a folder, a folder that names the module, or a file's URL [A32]", async () => {
    const folder = await temporaryFolder({
      "one.js": "",
      "two/index.js": "",
      "three/package.json": manifest({ "my-tool": "./inner.js:mount" }),
      "three/inner.js": "",
    });
    expect(await find("./one.js", { folder })).toBe(join(folder, "one.js"));
    expect(await find(join(folder, "one.js"), { folder })).toBe(join(folder, "one.js"));
    expect(await find("./two", { folder })).toBe(join(folder, "two"));
    expect(await find("./three", { folder })).toBe(join(folder, "three/inner.js"));
    expect(await find(pathToFileURL(join(folder, "one.js")).href, { folder })).toBe(join(folder, "one.js"));
  });

  test("is a package that is installed [A32]", async () => {
    const folder = await temporaryFolder({ "node_modules/@org/tool/index.js": "", "node_modules/tool/index.js": "" });
    expect(await find("@org/tool", { folder })).toBe(join(folder, "node_modules/@org/tool"));
    expect(await find("tool", { folder })).toBe(join(folder, "node_modules/tool"));
  });

  test("outside of the folders that may have any is refused, links or not", async () => {
    const folder = await temporaryFolder({
      "plan/a.js": "",
      "elsewhere/b.js": "",
      "elsewhere/node_modules/c/index.js": "",
    });
    await symlink(join(folder, "elsewhere"), join(folder, "plan/link"));
    const inPlan = { folder: join(folder, "plan") };
    for (const source of ["../elsewhere/b.js", "./link/b.js", join(folder, "elsewhere/b.js"), "/etc/hostname"]) {
      const { reason, message } = await refusal(find(source, inPlan));
      expect(reason).toBe("refused");
      expect(message).not.toContain(folder);
    }
    const wider = { ...inPlan, roots: [inPlan.folder, join(folder, "elsewhere")] };
    expect(await find("./link/b.js", wider)).toBe(join(folder, "elsewhere/b.js"));
  });

  test("that an installed package's name leads to is refused there as well", async () => {
    const folder = await temporaryFolder({
      "plan/node_modules/plain/package.json": "{}",
      "elsewhere/package.json": manifest({ "my-tool": "./a.js:mount" }),
      "elsewhere/a.js": "",
    });
    await symlink(join(folder, "elsewhere"), join(folder, "plan/node_modules/linked"));
    const options = { folder: join(folder, "plan") };
    for (const source of [undefined, "linked"]) expect((await refusal(find(source, options))).reason).toBe("refused");
    const roots = [join(folder, "elsewhere")];
    expect(await find(undefined, { ...options, roots })).toBe(join(folder, "elsewhere/a.js"));
  });

  test("that is not there, or makes no sense, is told apart", async () => {
    const folder = await temporaryFolder({ "a.js": "" });
    expect((await refusal(find("./b.js", { folder }))).reason).toBe("not_found");
    expect((await refusal(find("../../../nowhere", { folder }))).reason).toBe("not_found");
    expect((await refusal(find("not-installed", { folder }))).reason).toBe("not_found");
    for (const source of ["a b", "folder/a.js", "@org", "file://host/a"]) {
      expect((await refusal(find(source, { folder }))).reason).toBe("invalid");
    }
  });
});

describe("a git source", () => {
  const source = "git+https://github.com/org/my-tool@main";

  test("is refused, and the refusal says how the operator may allow it [A32]", async () => {
    const folder = await temporaryFolder({});
    const error = await refusal(find(source, { folder }));
    expect(error.reason).toBe("refused");
    expect(error.message).toBe(
      'module "my-tool" is to be fetched from https://github.com/org/my-tool, and git sources are not allowed here; ' +
        "check it out and name its folder, or give the option git, which answers the folder of a source",
    );
  });

  test("is what the option git answers, where there is one [A32]", async () => {
    const folder = await temporaryFolder({});
    const checkout = await temporaryFolder({ "packages/one/index.js": "", "index.js": "" });
    const asked: GitSource[] = [];
    const git = async (wanted: GitSource): Promise<string> => {
      asked.push(wanted);
      return checkout;
    };
    expect(await find(source, { folder, git })).toBe(checkout);
    const inner = await find("git+https://github.com/org/my-tool@feature/x#subdirectory=packages/one", { folder, git });
    expect(inner).toBe(join(checkout, "packages/one"));
    expect(asked).toEqual([
      { url: "https://github.com/org/my-tool", ref: "main", subdirectory: "" },
      { url: "https://github.com/org/my-tool", ref: "feature/x", subdirectory: "packages/one" },
    ]);
    const out = find(`${source}#subdirectory=../..`, { folder, git });
    expect((await refusal(out)).reason).toBe("refused");
  });

  test("that cannot be fetched says so, with what it failed with as its cause", async () => {
    const folder = await temporaryFolder({});
    const git = async (): Promise<string> => Promise.reject(new Error("no route to 10.0.0.1"));
    const error = await refusal(find(source, { folder, git }));
    expect(error.message).not.toContain("10.0.0.1");
    expect(error.cause).toEqual(new Error("no route to 10.0.0.1"));
  });

  test("with a user or a password is not accepted, nor shown", async () => {
    const folder = await temporaryFolder({});
    for (const secret of [
      "git+https://hunter2@github.com/org/a@main",
      "git+https://me:hunter2@github.com/org/a",
      "git+https://:hunter2@github.com/org/a",
      "git+https://github.com/org/a?token=hunter2",
    ]) {
      const { reason, message } = await refusal(find(secret, { folder }));
      expect([reason, message.includes("hunter2")]).toEqual(["invalid", false]);
    }
  });

  test("by any other way is refused", async () => {
    const folder = await temporaryFolder({});
    for (const other of [
      "git+ssh://git@github.com/org/a",
      "https://example.com/a.zip",
      "zip+https://example.com/a",
      "data:,a",
    ]) {
      expect((await refusal(find(other, { folder }))).reason).toBe("refused");
    }
  });
});
