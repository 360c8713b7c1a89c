import { symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import vm from "node:vm";
import { afterAll, describe, expect, test } from "vitest";
import { SCRIPT_EXPORTS } from "../../../../src/kernel/base/protocol/script.ts";
import { type Bundle, bundleModule, stopBundler } from "../../../../src/kernel/tool/bundle/bundle.ts";
import type { ProjectOptions } from "../../../../src/kernel/tool/bundle/project.ts";
import { refusalOf, temporaryFolder } from "../temporary.ts";
import { link, MANAGERS, workspaceOf } from "../workspaces.ts";

afterAll(stopBundler);

const MIB = 1024 * 1024;

const bundled = (folder: string, entry: string, project: ProjectOptions = {}): Promise<Bundle> =>
  bundleModule({ kind: "file", path: path.join(folder, entry), name: "x", project });

async function refusalIn(folder: string, entry: string, project?: ProjectOptions): Promise<string> {
  const { message, details } = await refusalOf(bundled(folder, entry, project));
  expect(message + JSON.stringify(details)).not.toContain(folder);
  return message;
}

function valueOf(bundle: Bundle): unknown {
  const text = `(function (globalThis) { "use strict"; ${bundle.text}\nreturn ${SCRIPT_EXPORTS}.default(); })`;
  const make = vm.runInNewContext(text, { URL }) as (global: object) => unknown;
  return make({});
}

const PROJECT = { "package.json": `{ "name": "acme" }` };
const IMPORTS = (specifier: string): string => `import value from "${specifier}"; export default () => value;`;

describe("the project of a tool", () => {
  test("is its workspace, before the nearest package.json", async () => {
    const folder = await temporaryFolder({
      "package.json": `{ "workspaces": ["apps/*"] }`,
      "value.js": "export default 1;",
      "apps/a/package.json": "{}",
      "apps/a/tools/tool.js": IMPORTS("../../../value.js"),
    });
    expect(valueOf(await bundled(folder, "apps/a/tools/tool.js"))).toBe(1);
  });

  test("is the nearest package.json where there is no workspace", async () => {
    const folder = await temporaryFolder({
      "outer.js": "",
      "package.json": `{ "name": "outer" }`,
      "a/package.json": `{ "name": "inner" }`,
      "a/value.js": "export default 1;",
      "a/tools/tool.js": IMPORTS("../value.js"),
      "a/tools/out.js": IMPORTS("../../outer.js"),
    });
    expect(valueOf(await bundled(folder, "a/tools/tool.js"))).toBe(1);
    expect(await refusalIn(folder, "a/tools/out.js")).toBe(
      'tool "x" imports "../../outer.js", which leads out of the project "inner"; move it into the project, ' +
        "or name a folder around both as root (at a/tools/out.js:1)".replace("a/tools/", ""),
    );
  });

  test("is the folder that root names, whatever is above the tool", async () => {
    const folder = await temporaryFolder({
      "value.js": "export default 1;",
      "a/package.json": `{ "workspaces": [] }`,
      "a/tool.js": IMPORTS("../value.js"),
    });
    expect(valueOf(await bundled(folder, "a/tool.js", { root: folder }))).toBe(1);
    expect(await refusalIn(folder, "a/tool.js", { root: path.join(folder, "a") })).toContain('out of the project "a";');
    expect(await refusalIn(folder, "a/tool.js", { root: path.join(folder, "none") })).toContain("the option root");
  });

  test("is its own folder outside of what root names, and above which there is nothing", async () => {
    const folder = await temporaryFolder({ "value.js": "", "a/tool.js": IMPORTS("../value.js"), "b/c.js": "" });
    const own = /which leads out of the tool's folder/;
    expect(await refusalIn(folder, "a/tool.js", { root: path.join(folder, "b") })).toMatch(own);
    expect(await refusalIn(folder, "a/tool.js")).toMatch(own);
  });

  test("is not the user's own folder, nor one above an installed package", async () => {
    const folder = await temporaryFolder({
      ...PROJECT,
      "value.js": "",
      "tools/tool.js": IMPORTS("../value.js"),
      "node_modules/p/tool.js": IMPORTS("../../value.js"),
    });
    expect(await refusalIn(folder, "tools/tool.js", { home: folder })).toContain("out of the tool's folder");
    expect(await refusalIn(folder, "node_modules/p/tool.js")).toContain("out of the tool's folder");
  });

  test("is nothing to a tool that no operator names", async () => {
    const folder = await temporaryFolder({
      ...PROJECT,
      "value.js": "",
      "tsconfig.json": `{ "compilerOptions": { "paths": { "~": ["./tools/b.js"] } } }`,
      "tools/b.js": "",
      "tools/tool.js": IMPORTS("../value.js"),
      "tools/alias.js": IMPORTS("~"),
    });
    const input = (name: string) => ({ kind: "file", path: path.join(folder, "tools", name), name: "x" }) as const;
    expect((await refusalOf(bundleModule(input("tool.js")))).message).toContain("out of the tool's folder");
    expect((await refusalOf(bundleModule(input("alias.js")))).message).toContain("was not found");
  });

  test("has no hidden files but modules in hidden folders", async () => {
    const folder = await temporaryFolder({
      ...PROJECT,
      ".env": "SECRET=1",
      ".git/config": "secret",
      ".cache/secret.json": "1",
      ".generated/value.ts": "export default 1;",
      "tools/env.js": `import value from "../.env" with { type: "text" }; export default () => value;`,
      "tools/git.js": `import value from "../.git/config" with { type: "text" }; export default () => value;`,
      "tools/json.js": IMPORTS("../.cache/secret.json"),
      "tools/tool.js": IMPORTS("../.generated/value.ts"),
    });
    for (const name of ["env", "git", "json"])
      expect(await refusalIn(folder, `tools/${name}.js`)).toContain("a hidden file of the project");
    expect(valueOf(await bundled(folder, "tools/tool.js"))).toBe(1);
  });
});

describe("an installed package", () => {
  const SECRET = `"s3cret"`;
  const files = (index: string): Promise<string> =>
    temporaryFolder({
      ...PROJECT,
      "src/secret.json": SECRET,
      "tools/tool.js": IMPORTS("p"),
      "node_modules/p/package.json": `{ "exports": "./index.mjs" }`,
      "node_modules/p/index.mjs": index,
    });

  test("may not import the project's own files, by path, by a link, or by a data: module", async () => {
    const problem = "which is a file of the project; an installed package may import packages only";
    const byPath = await files(`export { default } from "../../src/secret.json";`);
    expect(await refusalIn(byPath, "tools/tool.js")).toContain(`imports "../../src/secret.json", ${problem}`);
    const byLink = await files(`export { default } from "src/secret.json";`);
    await link(byLink, "node_modules/src", "src");
    expect(await refusalIn(byLink, "tools/tool.js")).toContain(`imports "src/secret.json", ${problem}`);
    const byData = await files(
      `export { default } from "data:text/javascript,export { default } from '../src/secret.json'";`,
    );
    expect(await refusalIn(byData, "tools/tool.js")).toContain(`imports "../src/secret.json", ${problem}`);
  });

  test("is refused also what a module of the project imports in the same way", async () => {
    const folder = await files(
      `export { default } from "data:text/javascript,export { default } from '../src/secret.json'";`,
    );
    await writeFile(path.join(folder, "tools/tool.js"), `import "../src/secret.json"; ${IMPORTS("p")}`);
    expect(await refusalIn(folder, "tools/tool.js")).toContain("is a file of the project;");
  });

  test("brings no file of the project by its import.meta", async () => {
    const folder = await files(`export default new URL("../../src/secret.json", import.meta.url).href;`);
    expect((await bundled(folder, "tools/tool.js")).text).not.toContain("s3cret");
  });

  test("imports other packages, also where it is installed for one package of a workspace", async () => {
    const folder = await temporaryFolder({
      ...PROJECT,
      "tools/tool.js": IMPORTS("../packages/a/index.js"),
      "packages/a/index.js": `export { default } from "p";`,
      "packages/a/node_modules/p/index.js": `export { default } from "./.inner/value";`,
      "packages/a/node_modules/p/.inner/value.js": `export { default } from "q";`,
      "packages/a/node_modules/q/index.js": `export { default } from "../r/index.js";`,
      "packages/a/node_modules/r/index.js": "export default 1;",
    });
    expect(valueOf(await bundled(folder, "tools/tool.js"))).toBe(1);
  });

  test("is treated alike where one package of a workspace has it", async () => {
    const folder = await temporaryFolder({
      ...PROJECT,
      "tools/tool.js": IMPORTS("../packages/a/index.js"),
      "packages/a/index.js": `export { default } from "p";`,
      "packages/a/node_modules/p/index.js": `
        const load = (name) => { try { return require("./locale/" + name); } catch { return 1; } };
        const optional = () => { try { return require("not-installed"); } catch (error) { return error.code; } };
        module.exports = [load("none"), optional()];`,
    });
    expect(valueOf(await bundled(folder, "tools/tool.js"))).toEqual([1, "MODULE_NOT_FOUND"]);
  });
});

describe("a workspace", () => {
  test.each(MANAGERS)("of %s names no path of the host in a bundle", async (manager) => {
    const folder = await workspaceOf(manager);
    const { text, sourceMap, sources, files } = await bundled(folder, "apps/agent/tools/convert.ts");
    expect(text + sourceMap + sources.join()).not.toContain(folder);
    expect(files?.map((file) => path.relative(folder, file))).toEqual(
      expect.arrayContaining([
        "apps/agent/lib/tax.ts",
        "apps/agent/tools/convert.ts",
        "apps/agent/tools/data/rates.json",
        "apps/agent/tools/note.txt",
        "apps/agent/tools/table.json",
        "apps/agent/tsconfig.json",
        "packages/shared/package.json",
        "packages/shared/src/index.ts",
        "packages/shared/src/sign.ts",
        "packages/tsconfig/strict.json",
        "shared/round.ts",
        "tsconfig.base.json",
      ]),
    );
  });

  test("refuses links that lead out of it, in a circle, or to nothing, and says so", async () => {
    const outer = await temporaryFolder({ "index.js": "export default 's3cret'", "package.json": "{}" });
    const folder = await temporaryFolder({
      ...PROJECT,
      ...Object.fromEntries(
        ["out", "circle", "nothing", "file", "deep/x"].map((name) => [
          `tools/${name.slice(0, 4)}.js`,
          IMPORTS(name === "file" ? "../loop.js" : name),
        ]),
      ),
    });
    await link(folder, "node_modules/circle", "node_modules/other");
    await link(folder, "node_modules/other", "node_modules/circle");
    await link(folder, "node_modules/nothing", "packages/nothing");
    await link(folder, "loop.js", "loop.js");
    await symlink(outer, path.join(folder, "node_modules/out"));
    expect(await refusalIn(folder, "tools/out.js")).toContain('"out", a link that leads out of the project "acme"');
    expect(await refusalIn(folder, "tools/circ.js")).toContain('"circle", a link that leads in a circle');
    expect(await refusalIn(folder, "tools/noth.js")).toContain('"nothing", a link to nothing');
    expect(await refusalIn(folder, "tools/file.js")).toContain('"../loop.js", a link that leads in a circle');
    expect(await refusalIn(folder, "tools/deep.js")).toContain("was not found");
  });

  test.each([
    ["p", `{ "main": "./dist/index.js" }`],
    ["p", `{ "exports": "./dist/index.js" }`],
    ["p/part", `{ "exports": { ".": "./index.js" } }`],
  ])("says of %s with %s that its package is there, and the file is not", async (specifier, manifest) => {
    const folder = await temporaryFolder({
      ...PROJECT,
      "tool.ts": IMPORTS(specifier),
      "packages/p/package.json": manifest,
      "packages/p/source.js": "",
    });
    await link(folder, "node_modules/p", "packages/p");
    const told = `imports "${specifier}" at tool.ts:1, of which the package is there, and the file is not: build the package`;
    expect(await refusalIn(folder, "tool.ts")).toContain(told);
  });

  test("lets a tool's own file be a link to any place inside", async () => {
    const folder = await temporaryFolder({
      ...PROJECT,
      "src/tool.js": IMPORTS("./value.js"),
      "src/value.js": "export default 1;",
    });
    await link(folder, "tools/tool.js", "src/tool.js");
    expect(valueOf(await bundled(folder, "tools/tool.js"))).toBe(1);
  });

  test("shows files outside the tool's folder by their place in it", async () => {
    const folder = await temporaryFolder({
      ...PROJECT,
      "lib/value.js": "export default 1;",
      "tools/tool.js": `import "../lib/none.js";\n${IMPORTS("../lib/value.js")}`,
      "lib/none.js": `\nimport "nowhere";`,
    });
    expect(await refusalIn(folder, "tools/tool.js")).toContain('imports "nowhere" at lib/none.js:2');
    await writeFile(path.join(folder, "lib/none.js"), "");
    expect((await bundled(folder, "tools/tool.js")).sources).toEqual(
      expect.arrayContaining(["tool.js", "lib/value.js"]),
    );
  });
});

describe("tsconfig.json", () => {
  const VALUES = {
    ...PROJECT,
    "a/value.ts": "export default 'a';",
    "b/value.ts": "export default 'b';",
    "b/only.ts": "export default 'only b';",
  };
  const within = (config: string, specifier: string, more: Record<string, string> = {}): Promise<string> =>
    temporaryFolder({ ...VALUES, "tsconfig.json": config, "tools/tool.ts": IMPORTS(specifier), ...more });

  test.each([
    ["an exact name", `{ "paths": { "value": ["./a/value.ts"] } }`, "value", "a"],
    ["the longest pattern", `{ "paths": { "*": ["./a/*"], "x/*": ["./a/*"], "x/y/*": ["./b/*"] } }`, "x/y/value", "b"],
    ["a pattern with an end", `{ "paths": { "x/*.ts": ["./b/*"], "x/*": ["./a/*"] } }`, "x/value", "a"],
    ["the first target that is there", `{ "paths": { "x/*": ["./a/*", "./b/*"] } }`, "x/only", "only b"],
    ["a target that is no declaration", `{ "paths": { "x": ["./a/value.d.ts", "./b/value"] } }`, "x", "b"],
    ["its base", `{ "baseUrl": "./a" }`, "value", "a"],
    ["paths from its base", `{ "baseUrl": "./b", "paths": { "x": ["value"] } }`, "x", "b"],
    ["the place of the config", `{ "paths": { "x": ["\${configDir}/b/value"] } }`, "x", "b"],
  ])("leads by %s", async (_what, options, specifier, expected) => {
    const folder = await within(`{ "compilerOptions": ${options} }`, specifier);
    expect(valueOf(await bundled(folder, "tools/tool.ts"))).toBe(expected);
  });

  test("adds to what it extends, by path, package and list, in a circle as well", async () => {
    const folder = await within(`\ufeff{ /* "x" */ "extends": ["./base", "conf", "@c/d/e"], } // end`, "x", {
      "base.json": `{ "extends": "./tsconfig.json", "compilerOptions": { "paths": { "x": ["./a/value"] } } }`,
      "node_modules/conf/tsconfig.json": `{ "compilerOptions": { "paths": { "x": ["../../b/value"] } } }`,
      "node_modules/@c/d/package.json": `{ "exports": { "./e": "./f.json" } }`,
      "node_modules/@c/d/f.json": `{ "extends": "./missing.json", "compilerOptions": { "strict": true } }`,
    });
    expect(valueOf(await bundled(folder, "tools/tool.ts"))).toBe("b");
  });

  test("is the nearest of each module, and none for an installed package", async () => {
    const folder = await within(`{ "compilerOptions": { "paths": { "x": ["./a/value"] } } }`, "../b/uses.ts", {
      "b/tsconfig.json": `{ "compilerOptions": { "paths": { "x": ["./value"] } } }`,
      "b/uses.ts": IMPORTS("x"),
      "b/tool.ts": IMPORTS("p"),
      "node_modules/p/index.js": IMPORTS("x"),
    });
    expect(valueOf(await bundled(folder, "tools/tool.ts"))).toMatchObject({});
    expect(await refusalIn(folder, "b/tool.ts")).toContain('imports "x" at node_modules/p/index.js:1');
  });

  const DECORATED = `
    const seen: unknown[] = [];
    const mark = (...args: unknown[]): void => void seen.push(args.length, typeof args[1]);
    class Value { @mark first = 1; constructor(@mark readonly second: number) {} }
    class Field { set first(value: number) { seen.push("set", value); } }
    class Assigned extends Field { override first = 2; }
    export const value = () => [new Assigned(), new Value(3)] && seen;`;
  const LEGACY = `{ "compilerOptions": { "experimentalDecorators": true, "target": "ES2020" } }`;
  const MARKS = [3, "string", 3, "undefined", "set", 2];

  test("says what decorators and class fields are, to each module of its own", async () => {
    const folder = await temporaryFolder({
      ...PROJECT,
      "old/tsconfig.json": LEGACY,
      "old/value.ts": DECORATED,
      "old/tool.ts": `import { value } from "./value.ts"; export default () => [value(), import.meta.dirname];`,
      "old/alone.ts": `${DECORATED} export default value;`,
      "new/tool.ts": `import { value } from "../old/value.ts"; class A { a = 1 } export default () => [value(), new A().a];`,
    });
    expect(valueOf(await bundled(folder, "old/tool.ts"))).toEqual([MARKS, "/tool/old"]);
    expect(valueOf(await bundled(folder, "old/alone.ts"))).toEqual(MARKS);
    const other = await bundled(folder, "new/tool.ts");
    expect(valueOf(other)).toEqual([MARKS, 1]);
    expect(other.text).toContain("a = 1;");
  });

  test("lets a module with options of its own export names of types from others, as TypeScript does", async () => {
    const folder = await temporaryFolder({
      ...PROJECT,
      "tool.ts": `import { type Sum, one } from "./old/index.ts"; export default (): Sum => one;`,
      "old/tsconfig.json": LEGACY,
      "old/index.ts": `export { Sum, one } from "./sum.ts"; import { Sum } from "./sum.ts"; export class Kept { sum: Sum = 1 }`,
      "old/sum.ts": "export type Sum = number; export const one: Sum = 1;",
    });
    expect(valueOf(await bundled(folder, "tool.ts"))).toBe(1);
  });

  test.each(["react-jsx", "preserve"])("says what elements of JSX are, by a function or a runtime: %s", async (jsx) => {
    const made = "export default (name: string) => <p class={name}>Hello</p>;";
    const folder = await temporaryFolder({
      ...PROJECT,
      "tool.ts": `import one from "./one/view.js"; import other from "./other/view"; export default () => [one("a"), other("b")];`,
      "one/tsconfig.json": `{ "compilerOptions": { "jsx": "react", "jsxFactory": "h" } }`,
      "one/view.tsx": `const h = (...all: unknown[]) => all; ${made}`,
      "other/tsconfig.json": `{ "compilerOptions": { "jsx": "${jsx}", "jsxImportSource": "own" } }`,
      "other/view.tsx": made,
      "node_modules/own/package.json": `{ "exports": { "./jsx-runtime": "./runtime.js" } }`,
      "node_modules/own/runtime.js": "exports.jsx = (type, properties) => ({ type, properties });",
    });
    expect(valueOf(await bundled(folder, "tool.ts"))).toEqual([
      ["p", { class: "a" }, "Hello"],
      { type: "p", properties: { class: "b", children: "Hello" } },
    ]);
  });

  test.each([
    ["of 10 MB", `{ "a": "${"x".repeat(10 * MIB)}" }`, "uses tsconfig.json, which is larger than 1048576 bytes"],
    ["of 1 MB of open comments", "/*".repeat(MIB / 2 - 1), "which is not JSON with comments"],
    ["of 1 MB of commas", `[${", ".repeat(MIB / 2 - 2)}`, "which is not JSON with comments"],
    ["of 1 MB of brackets", "[".repeat(MIB - 1), "which is not JSON with comments"],
    ["that extends a file above the project", `{ "extends": "../base.json" }`, "which leads out of the project"],
    [
      "that leads above the project",
      `{ "compilerOptions": { "paths": { "x": ["../o"] } } }`,
      'out of the project "acme"',
    ],
    ["that extends ever more", `{ "extends": ["./one.json", "./one.json"] }`, "one of more than 100 files"],
  ])("%s is refused", async (_what, config, problem) => {
    const both = (name: string): string => `{ "extends": ["./${name}.json", "./${name}.json"] }`;
    const outer = await temporaryFolder({
      "base.json": "{}",
      "o.ts": "",
      ...Object.fromEntries(Object.entries(VALUES).map(([name, text]) => [`p/${name}`, text])),
      "p/tsconfig.json": config,
      "p/tools/tool.ts": IMPORTS("x"),
      "p/one.json": both("two"),
      "p/two.json": both("three"),
      "p/three.json": both("four"),
      "p/four.json": both("five"),
      "p/five.json": both("six"),
      "p/six.json": both("seven"),
      "p/seven.json": "{}",
    });
    expect(await refusalIn(outer, "p/tools/tool.ts")).toContain(problem);
  });
});

describe("import.meta", () => {
  const meta = (text: string, more: Record<string, string> = {}) =>
    temporaryFolder({ ...PROJECT, "tools/é/tool.ts": text, ...more });

  test("says where a module stands in its project", async () => {
    const folder = await meta(
      `import other from "../../lib/other.ts";
      const { url, dirname } = import.meta;
      export default () => [url, dirname, import . meta.filename, "import.meta.url", typeof import.meta, other];`,
      {
        "lib/other.ts": "export default import.meta.url;",
      },
    );
    expect(valueOf(await bundled(folder, "tools/é/tool.ts"))).toEqual([
      "file:///tool/tools/%C3%A9/tool.ts",
      "/tool/tools/é",
      "/tool/tools/é/tool.ts",
      "import.meta.url",
      "object",
      "file:///tool/lib/other.ts",
    ]);
  });

  test("says where a tool given as text, or without a project, stands", async () => {
    const text = "export default () => import.meta.url;";
    expect(valueOf(await bundleModule({ kind: "text", text, name: "add" }))).toBe("file:///tool/add.js");
    const folder = await temporaryFolder({ "tool.js": text });
    const alone = await bundleModule({ kind: "file", path: path.join(folder, "tool.js"), name: "x" });
    expect(valueOf(alone)).toBe("file:///tool/tool.js");
  });

  const FILES = `globalThis[Symbol.for("glovebox.files")]`;

  test("brings the files that a module names by it, before the module is evaluated", async () => {
    const folder = await meta(
      `const files = { ...${FILES} };
       const urls = [new URL("./a.txt", import.meta.url), new URL(\`../b%20c.bin?x#y\`, import.meta.url)];
       const path = { join: (...all: string[]) => all.join("/") };
       const joined = path.join(import.meta.dirname, "..", 'd.json');
       export default () => files;`,
      { "tools/é/a.txt": "ä", "tools/d.json": "{}", "tools/e.txt": "e" },
    );
    await writeFile(path.join(folder, "tools/b c.bin"), Uint8Array.of(255, 0, 1));
    expect(valueOf(await bundled(folder, "tools/é/tool.ts"))).toEqual({
      "/tool/tools/é/a.txt": "ä",
      "/tool/tools/b c.bin": { base64: "/wAB" },
      "/tool/tools/d.json": "{}",
    });
  });

  test("says within a try too where its module stands, and brings the files", async () => {
    const text = `export default () => { try { return [new URL("./a.txt", import.meta.url).href, ${FILES}]; } catch {} };`;
    const folder = await meta(text, { "tools/é/a.txt": "a" });
    const file = "/tool/tools/é/a.txt";
    expect(valueOf(await bundled(folder, "tools/é/tool.ts"))).toEqual([
      new URL(`file://${file}`).href,
      { [file]: "a" },
    ]);
  });

  test("brings no file from outside the project, hidden, or that is not there", async () => {
    const folder = await meta(
      `export default () => [new URL("/etc/hostname", import.meta.url), new URL("file:///etc/hostname", import.meta.url),
        new URL("../../../secret.txt", import.meta.url), new URL("./link.txt", import.meta.url),
        new URL("../../.env", import.meta.url), new URL("./none.txt", import.meta.url), new URL(".", import.meta.url),
        Object.keys(${FILES} ?? {})].at(-1);`.replaceAll("new URL", "new URL"),
      { ".env": "SECRET=1" },
    );
    await symlink("/etc/hostname", path.join(folder, "tools/é/link.txt"));
    const { text } = await bundled(folder, "tools/é/tool.ts");
    expect(text).not.toContain("SECRET");
    expect(text).not.toContain("files[");
  });

  test("leaves lines and columns as they are", async () => {
    const folder = await meta("const é = import.meta.url,\n  u = import.meta; import 'none';");
    expect(await refusalIn(folder, "tools/é/tool.ts")).toContain('imports "none" at tool.ts:2');
  });

  test("brings a package's data, and none of its modules for workers", async () => {
    const folder = await meta(`import p from "p"; export default () => [p, Object.keys(${FILES})];`, {
      "node_modules/p/index.mjs": `new URL("worker.mjs", import.meta.url); export default new URL("p.txt", import.meta.url).href;`,
      "node_modules/p/package.json": `{ "exports": "./index.mjs" }`,
      "node_modules/p/p.txt": "p",
      "node_modules/p/worker.mjs": "",
    });
    const bundle = await bundled(folder, "tools/é/tool.ts");
    const value = vm.runInNewContext(`${bundle.text}; ${SCRIPT_EXPORTS}.default()`, { URL }) as unknown;
    expect(value).toEqual(["file:///tool/node_modules/p/p.txt", ["/tool/node_modules/p/p.txt"]]);
  });
});

describe("sizes", () => {
  const SIZES = { "text.txt": "t".repeat(15 * MIB), "package.json": PROJECT["package.json"] };

  test("a file of the operator may have 16 MiB, and no more", { timeout: 120_000 }, async () => {
    const folder = await temporaryFolder({
      ...SIZES,
      "tool.js": IMPORTS("./text.txt"),
      "large.js": `export default "${"x".repeat(16 * MIB)}"`,
      "imports.js": IMPORTS("./large.js"),
    });
    expect((await bundled(folder, "tool.js")).bytes).toBeGreaterThan(15 * MIB);
    expect(await refusalIn(folder, "large.js")).toContain("larger than 16777216 bytes");
    expect(await refusalIn(folder, "imports.js")).toContain("large.js is larger than 16777216 bytes");
  });

  test("a bundle that is too large, or that the bundler has no memory for, names the largest packages", async () => {
    // Each constant has twice the text of the one before it.
    const names = Array.from({ length: 26 }, (_, at) => `A${at + 1} = A${at} + A${at}`);
    const folder = await temporaryFolder({
      ...PROJECT,
      "tool.js": `import { E } from "bomb"; import "@some/other"; export default (name) => E[name];`,
      "large.js": `import a from "./one.txt"; import b from "./two.txt"; import "@some/other"; export default () => a + b;`,
      "one.txt": "1".repeat(9 * MIB),
      "two.txt": "2".repeat(9 * MIB),
      "node_modules/bomb/package.json": `{ "exports": "./index.ts" }`,
      "node_modules/bomb/index.ts": `export enum E { A0 = "0123456789", ${names.join(", ")} }`,
      "node_modules/@some/other/index.js": "globalThis.other = 1;",
    });
    expect(await refusalIn(folder, "large.js")).toMatch(
      /bytes when bundled, more than 16777216; import less; the largest: its own files \(\d+ bytes\), @some\/other \(21 bytes\)$/,
    );
    expect(await refusalIn(folder, "tool.js")).toMatch(
      /more than 2500 MB of addresses; .* \(the largest: bomb \(\d+ bytes\), its own files \(\d+ bytes\), @some\/other/,
    );
  });
});
