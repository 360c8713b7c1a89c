import { execFile } from "node:child_process";
import { chmod, symlink } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import vm from "node:vm";
import { afterAll, describe, expect, test } from "vitest";
import { SCRIPT_EXPORTS } from "../../../../src/kernel/base/protocol/script.ts";
import { nodeNamesIn } from "../../../../src/kernel/tool/bundle/used-names.ts";
import { bundleModule, stopBundler, type Bundle } from "../../../../src/kernel/tool/bundle/bundle.ts";
import { mapStack } from "../../../../src/kernel/tool/bundle/stack.ts";
import { refusalOf, temporaryFolder } from "../temporary.ts";

afterAll(stopBundler);

type Exports = { default: (input?: unknown) => unknown; [name: string]: unknown };

/** Evaluates a bundle as workers do. */
function evaluate(bundle: Bundle): Exports {
  const text = `(function (globalThis, self) { "use strict"; ${bundle.text}\nreturn ${SCRIPT_EXPORTS}; })`;
  const make = vm.runInNewContext(text, Object.freeze({})) as (global: object, self: object) => Exports;
  const global = {};
  return make(global, global);
}

const fromText = (text: string) => bundleModule({ kind: "text", text, name: "add" });

async function fromFiles(files: Record<string, string>, entry: string): Promise<Bundle> {
  const folder = await temporaryFolder(files);
  return bundleModule({ kind: "file", path: path.join(folder, entry), name: "x" });
}

async function messageOf(files: Record<string, string>, entry = "tool.js"): Promise<string> {
  const folder = await temporaryFolder(files);
  const error = await refusalOf(bundleModule({ kind: "file", path: path.join(folder, entry), name: "x" }));
  expect(error.code).toBe("load_error");
  expect(error.message + JSON.stringify(error.details)).not.toContain(folder);
  expect(error.message).not.toContain(path.basename(folder));
  return error.message;
}

describe("what a bundle is", () => {
  test("statements that evaluate in strict mode and leave the exports", async () => {
    const bundle = await fromText("export const spec = { name: 'add' }; export default ({ a, b }) => a + b;");
    const exports = evaluate(bundle);
    expect(exports.default({ a: 1, b: 2 })).toBe(3);
    expect(exports["spec"]).toMatchObject({ name: "add" });
    expect(bundle.bytes).toBe(Buffer.byteLength(bundle.text));
    expect(bundle.sources).toEqual(["add.js"]);
  });

  test("TypeScript given as text is compiled", async () => {
    const bundle = await fromText("enum Sign { Plus = 2 }\nexport default (n: number): number => n * Sign.Plus;");
    expect(evaluate(bundle).default(2)).toBe(4);
    expect(bundle.sources).toEqual(["add.ts"]);
  });

  test("text that is JavaScript is read as JavaScript, also where TypeScript would differ", async () => {
    const bundle = await fromText(
      "const a = 1, b = 2, c = 0; export default () => [a < b, b > (c)].length + (a<b>(c));",
    );
    expect(evaluate(bundle).default()).toBe(3);
  });

  test("modules, JSON, text, packages and CommonJS in one script", async () => {
    const bundle = await fromFiles(
      {
        "tool.ts": `import { one } from "./lib/one.ts"; import two from "./two.json"; import three from "./three.txt";
          import readme from "./README.md" with { type: "text" }; import four from "four"; import five from "./five.cjs";
          export default async () => [one, two.two, three, readme, four, five, (await import("./six.mjs")).six];`,
        "lib/one.ts": `import type { Other } from "./other"; export const one: Other | number = 1;`,
        "two.json": `{ "two": 2 }`,
        "three.txt": "3",
        "README.md": "# R",
        "node_modules/four/package.json": `{ "main": "m.js", "browser": { "fs": false, "./m.js": "./b.js" } }`,
        "node_modules/four/b.js": `const fs = require("fs"); try { require("node:crypto"); } catch {} module.exports = 4;`,
        "five.cjs": "module.exports = 5;",
        "six.mjs": "export const six = 6;",
      },
      "tool.ts",
    );
    expect(await evaluate(bundle).default()).toEqual([1, 2, "3", "# R", 4, 5, 6]);
    expect(bundle.sources).toContain("node_modules/four/b.js");
  });

  test("packages are found in folders above the tool", async () => {
    const folder = await temporaryFolder({
      "node_modules/up/index.mjs": "export default 'up';",
      "node_modules/up/package.json": `{ "exports": "./index.mjs" }`,
      "tools/a/tool.js": `import up from "up"; export default () => up;`,
    });
    const bundle = await bundleModule({ kind: "file", path: path.join(folder, "tools/a/tool.js"), name: "x" });
    expect(evaluate(bundle).default()).toBe("up");
    expect(bundle.sources).toContain("node_modules/up/index.mjs");
    expect(bundle.text + bundle.sourceMap).not.toContain(folder);
  });

  test("text with a folder imports from there", async () => {
    const folder = await temporaryFolder({ "b.js": "export default 7;" });
    const text = `import b from "./b.js"; export default () => b;`;
    const bundle = await bundleModule({ kind: "text", text, name: "x", resolveDir: folder });
    expect(evaluate(bundle).default()).toBe(7);
  });

  test("process.env.NODE_ENV is production, without Node's library", async () => {
    const bundle = await fromText("export default () => [process.env.NODE_ENV, typeof global];");
    expect(evaluate(bundle).default()).toEqual(["production", "object"]);
    expect(bundle.text).not.toContain("__node");
  });

  test("files that a package's browser field takes out are empty, by any of their names", async () => {
    const bundle = await fromFiles(
      {
        "tool.js": `import p from "p"; export default () => p;`,
        "node_modules/p/package.json": `{ "browser": { "./a.js": false, "./lib/b": false, "./c/index.js": false } }`,
        "node_modules/p/a.js": "throw new Error();",
        "node_modules/p/lib/b.js": "throw new Error();",
        "node_modules/p/c/index.js": "throw new Error();",
        "node_modules/p/index.js": `module.exports = [require("./a"), require("./a.js"), require("./lib/b"), require("./c"), require("./d")];`,
        "node_modules/p/d.js": "module.exports = 'd';",
      },
      "tool.js",
    );
    expect(evaluate(bundle).default()).toEqual([{}, {}, {}, {}, "d"]);
  });

  test("a package's fields hold for folders inside it, with a package.json of their own as well", async () => {
    const bundle = await fromFiles(
      {
        "tool.js": `import p from "p/esm/index.js"; export default () => p;`,
        "node_modules/p/package.json": `{ "browser": { "./esm/a.js": false, "./esm/b.js": "./esm/c.js" } }`,
        "node_modules/p/esm/package.json": `{ "type": "module" }`,
        "node_modules/p/esm/index.js": `import * as a from "./a.js"; import b from "./b.js"; import old from "./old.cjs"; export default [typeof a.x, b, old.default];`,
        "node_modules/p/esm/a.js": "export const x = 1;",
        "node_modules/p/esm/b.js": "export default 'b';",
        "node_modules/p/esm/c.js": "export default 'c';",
        "node_modules/p/esm/old.cjs": "exports.__esModule = true; exports.default = 1;",
      },
      "tool.js",
    );
    expect(evaluate(bundle).default()).toEqual(["undefined", "c", 1]);
  });

  test.each([
    ["false", 1],
    ["true", 2],
    ['["./*.js"]', 2],
    ['["./other.js"]', 1],
  ])("what is imported and not used is left out where a package's sideEffects is %s", async (sideEffects, sources) => {
    const bundle = await fromFiles(
      {
        "tool.js": `import "p"; export default () => 1;`,
        "node_modules/p/package.json": `{ "module": "./index.js", "sideEffects": ${sideEffects} }`,
        "node_modules/p/index.js": `export { kept } from "./kept.js";`,
        "node_modules/p/kept.js": "globalThis.kept = 1; export const kept = 1;",
      },
      "tool.js",
    );
    expect(bundle.sources).toHaveLength(sources);
  });

  test("packages are taken in their form for bundlers", async () => {
    const bundle = await fromFiles(
      {
        "tool.js": `import p from "p"; export default () => p;`,
        "node_modules/p/package.json": `{ "exports": { "module": "./bundlers.mjs", "import": "./node.mjs", "default": "./old.js" } }`,
        "node_modules/p/bundlers.mjs": "export default 'bundlers';",
        "node_modules/p/node.mjs": "export default 'node';",
        "node_modules/p/old.js": "module.exports = 'old';",
      },
      "tool.js",
    );
    expect(evaluate(bundle).default()).toBe("bundlers");
  });

  test("a package that is a module imports CommonJS as Node does, any other as bundlers do", async () => {
    const uses = `import old from "old"; export default old;`;
    const bundle = await fromFiles(
      {
        "tool.js": `import strict from "strict"; import loose from "loose"; export default () => [strict.default, loose];`,
        "node_modules/strict/package.json": `{ "type": "module", "exports": "./index.js" }`,
        "node_modules/strict/index.js": uses,
        "node_modules/loose/package.json": `{ "module": "./index.js" }`,
        "node_modules/loose/index.js": uses,
        "node_modules/old/index.js": "exports.__esModule = true; exports.default = 1;",
      },
      "tool.js",
    );
    expect(evaluate(bundle).default()).toEqual([1, 1]);
    expect(bundle.sources).toContain("node_modules/strict/index.js");
    expect(bundle.sourceMap).not.toContain("?.mjs");
  });

  test.each([
    ["Response", "globalThis.Response = { error: () => 1 };", "Response.error()", 1],
    ["any other", "globalThis.mine = 4; globalThis.class = 5; globalThis.global = 6;", "mine", 4],
    ["none", "const tool = { mine: 5 }; tool.mine == 5;", "typeof mine", "undefined"],
  ])("a name that a module defines on its global is there for all: %s", async (_name, defines, uses, expected) => {
    const files = {
      "tool.js": `import "./polyfill.js"; import { used } from "./uses.js"; export default () => used;`,
      "polyfill.js": defines,
      "uses.js": `export const used = ${uses};`,
    };
    expect(evaluate(await fromFiles(files, "tool.js")).default()).toBe(expected);
    expect(evaluate(await fromText(`${defines} export default () => ${uses};`)).default()).toBe(expected);
  });

  test("turning stacks off for a moment does no harm, although Error is frozen", async () => {
    const text =
      "export default () => { const was = Error.stackTraceLimit; Error.stackTraceLimit = 0; Error.stackTraceLimit = was; return 1; };";
    for (const bundle of [await fromText(text), await fromText(`/* import */ ${text}`)]) {
      expect(bundle.text).not.toContain("Error.stack");
      expect(evaluate(bundle).default()).toBe(1);
    }
  });

  test.each([
    [
      "globals",
      "Buffer.from(''); print(typeof process); globalThis.setImmediate(x); function f(Buffer) { return Buffer }",
    ],
    ["modules", `import { createHmac } from "crypto"; import "node:fs"; export { createHmac };`],
  ])("names of Node lead to the parameter of the factory: %s", async (kind, text) => {
    const bundle = await fromText(`${text}; export default () => 1;`);
    const found = kind === "globals" ? ["Buffer", "process", "setImmediate"] : ["node:crypto.createHmac"];
    expect(nodeNamesIn(bundle.text).map(({ name }) => name)).toEqual(found);
  });

  test("a module of Node is Node's, also where a package of its name is installed", async () => {
    const files = {
      "node_modules/buffer/index.js": "exports.Buffer = 'stands in';",
      "node_modules/p/package.json": `{ "browser": { "events": "./mine.js", "fs": false, "crypto": false } }`,
      "node_modules/p/index.js": `module.exports = [require("events"), require("fs"), require("crypto")];`,
      "node_modules/p/mine.js": "module.exports = 'mine';",
      "tool.js": `import { Buffer as a } from "buffer"; import b from "p"; export default () => [a, b];`,
    };
    const bundle = await fromFiles(files, "tool.js");
    expect(bundle.text).not.toContain("stands in");
    // What a package puts in the place of a module, it gets; nothing in its place is less than the library has.
    expect(bundle.text).toContain("mine");
    expect(nodeNamesIn(bundle.text)).toEqual([{ name: "node:buffer.Buffer" }, { name: "node:crypto" }]);
  });

  test("sockets that a package leaves out outside of Node are there, to say what there is instead", async () => {
    const files = {
      "node_modules/p/package.json": `{ "browser": { "net": false, "tls": false, "child_process": false } }`,
      "node_modules/p/index.js": `module.exports = [require("net"), require("tls"), require("child_process")];`,
      "tool.js": `import p from "p"; export default () => p;`,
    };
    const names = nodeNamesIn((await fromFiles(files, "tool.js")).text);
    expect(names.map(({ name }) => name)).toEqual(["node:net", "node:tls"]);
  });

  test("what a package requires and nobody installed fails when it is required", async () => {
    const files = {
      "tool.js": `import p from "p"; export default () => p();`,
      "node_modules/p/index.js": `module.exports = () => { try { require("none-such"); } catch (error) { return error.code; } };`,
    };
    expect(evaluate(await fromFiles(files, "tool.js")).default()).toBe("MODULE_NOT_FOUND");
  });

  test("a package whose form for browsers needs a document is taken in its other one", async () => {
    const files = {
      "tool.js": `import p from "p"; export default () => p;`,
      "node_modules/p/package.json": `{ "main": "./main.js", "browser": { "./main.js": "./browser.js", "dom": false } }`,
      "node_modules/p/browser.js": "module.exports = document.createElement('p');",
      "node_modules/p/main.js": "module.exports = require('dom');",
      "node_modules/dom/index.js": "module.exports = 'a document';",
    };
    expect(evaluate(await fromFiles(files, "tool.js")).default()).toBe("a document");
  });

  test.each(["./parser", "./parser.js"])(
    "a module that parses documents in browsers is taken in its other form, imported by %s",
    async (name) => {
      const files = {
        "tool.js": `import { parse } from "p"; export default () => parse();`,
        "node_modules/p/package.json": `{ "type": "module", "main": "./index.js", "browser": { "${name}": "./parser.browser.js" } }`,
        "node_modules/p/index.js": `export { parse } from "${name}";`,
        "node_modules/p/parser.browser.js": "export const parse = () => new DOMParser();",
        "node_modules/p/parser.js": "export const parse = () => 'parsed';",
      };
      expect(evaluate(await fromFiles(files, "tool.js")).default()).toBe("parsed");
    },
  );

  test("a package that asks whether it is in a worker, as axios does, is told so", async () => {
    const files = {
      "tool.js": `import p from "p"; export default () => p;`,
      "node_modules/p/index.js": `module.exports = (() => {
        return (
          typeof WorkerGlobalScope !== 'undefined' &&
          // eslint-disable-next-line no-undef
          self instanceof WorkerGlobalScope &&
          typeof self.importScripts === 'function'
        );
      })();`,
    };
    expect(evaluate(await fromFiles(files, "tool.js")).default()).toBe(true);
  });

  test("no tsconfig.json around the tool changes it", async () => {
    const bundle = await fromFiles(
      {
        "tsconfig.json": `{ "compilerOptions": { "paths": { "x": ["./secret.ts"] }, "useDefineForClassFields": false, "target": "es5" } }`,
        "tool.ts": `class A { a = 1 } export default () => new A();`,
      },
      "tool.ts",
    );
    expect(bundle.text).toContain("a = 1");
    const withPaths = {
      "tsconfig.json": `{ "compilerOptions": { "paths": { "x": ["./s.ts"] } } }`,
      "s.ts": "export {}",
    };
    expect(await messageOf({ ...withPaths, "tool.ts": `import "x";` }, "tool.ts")).toContain(`imports "x"`);
  });

  test("source map comments bring in no file and no path", async () => {
    const inline = Buffer.from(`{"version":3,"sources":["/home/secret/name.ts"],"mappings":"AAAA","names":[]}`);
    const bundle = await fromFiles(
      {
        "tool.js": `import "./a.js"; export default () => 1;\n//# sourceMappingURL=tool.js.map`,
        "tool.js.map": `{"version":3,"sources":["read-from-disk.ts"],"mappings":"AAAA","names":[]}`,
        "a.js": `console.log(1);\n//# sourceMappingURL=data:application/json;base64,${inline.toString("base64")}`,
      },
      "tool.js",
    );
    expect(bundle.sourceMap).not.toContain("read-from-disk");
    expect(bundle.sourceMap).not.toContain("/home");
    expect(bundle.sources).toContain("name.ts");
  });
});

describe("a module that is bundled alone", () => {
  /** A word that could be an import, in a comment that no bundle keeps: the module is bundled with plugins then. */
  const WITH_PLUGINS = "\n// import";

  const MODULES = [
    "export default ({ a, b }) => ({ sum: a + b });",
    "export const spec = { name: 'x' };\n\nexport default async function run() {}\nexport let n = 1; n++;",
    "export const spec = { late: LATER }; const LATER = 1; export default () => spec",
    "const a = 1; export { a as 'a name', a as default };",
    "export default class { static #x = 1; static { this.y = this.#x; } }",
    "export default () => { using x = open(); return /(?i:a)/v.test(x); };",
    "export default () => [this, typeof module, arguments];",
    "const unused = 1; export default () => { label: for (;;) break label; };",
    "#!/usr/bin/env node\n'use strict';\nexport default () => 'é\u2028😀';",
    "\ufeffexport default () => `\nexport { `;",
    "module.exports = (input) => input;",
    "exports.default = () => this;",
    "export default 1; module.exports = 2;",
    "console.log(1);",
    "enum Sign { Plus = 2 }\nexport default (n: number): number => n * Sign.Plus;",
    "interface Input { n: number }\nabstract class A<T> { constructor(readonly x: T) {} }\nexport default (i: Input) => new (class extends A<number> {})(i.n);",
    "export default @(x => x) class A {}",
    "namespace N { export const a = 1; }\nexport default N.a as number;",
    "export = 3",
    "export default 1\n//# sourceMappingURL=tool.js.map",
    "export default 1\n//# sourceMappingURL=/etc/hostname",
    "const a = 1;\nconst b = ;",
    "const a = 1; a = 2; export default a;",
    "await 1; export default 1;",
    "export default 1; export default 2;",
    "with (a) {}",
    "<!-- x\nexport default 010;",
    "type A = string;\nexport default (a: A) => { return ; ) };",
    "export { missing };",
    "export default a, b",
  ];

  const answer = (bundling: Promise<Bundle>) =>
    bundling.then(
      // Plugins have a space of names of their own.
      ({ text, sourceMap, sources }) => ({ text: text.replaceAll("tool:tool.", "tool."), sourceMap, sources }),
      ({ message, details }: { message: string; details: unknown }) => ({ message, details }),
    );

  test.each(MODULES)("is the same as one that is bundled with plugins: %s", async (text) => {
    expect(await answer(fromText(text))).toEqual(await answer(fromText(text + WITH_PLUGINS)));
    for (const entry of ["tool.js", "tool.ts"]) {
      const map = `{"version":3,"sources":["read-from-disk.ts"],"mappings":"AAAA","names":[]}`;
      const bundled = (contents: string) => fromFiles({ [entry]: contents, "tool.js.map": map }, entry);
      expect(await answer(bundled(text))).toEqual(await answer(bundled(text + WITH_PLUGINS)));
    }
  });

  test("points at the same lines in its stacks", async () => {
    const text =
      "type N = number;\n\n/** Fails. */\nexport default function fail(n: N) {\n\n  throw new Error(String(n));\n}";
    const frames = async (source: string) => {
      const bundle = await fromText(source);
      const line = bundle.text.split("\n").findIndex((one) => one.includes("throw new")) + 1;
      return mapStack(`Error: 1\n    at fail (tool:add:${line}:9)`, bundle.sourceMap, "tool:add");
    };
    expect(await frames(text)).toBe("Error: 1\n    at fail (add.ts:6:9)");
    expect(await frames(text + WITH_PLUGINS)).toBe(await frames(text));
  });

  test("is read as JavaScript where it is both, although it looks like TypeScript", async () => {
    const bundle = await fromText("/* type of: string */ const a = 1, b = 2, c = 0; export default () => a<b>(c);");
    expect(evaluate(bundle).default()).toBe(true);
    expect(bundle.sources).toEqual(["add.js"]);
  });
});

describe("what is refused", () => {
  test("a module that Node does not have, by line", async () => {
    expect(await messageOf({ "tool.js": `import "node:nothing";` })).toBe(
      'tool "x" imports "node:nothing" at tool.js:1: Node.js has no module of that name; check its spelling',
    );
  });

  // For root, every file can be read.
  test.skipIf(process.getuid?.() === 0)("a module that cannot be read, without the host's folders", async () => {
    const folder = await temporaryFolder({
      "tool.js": `import a from "./a.js"; export default a;`,
      "a.js": "export default 1",
    });
    await chmod(path.join(folder, "a.js"), 0);
    const error = await refusalOf(bundleModule({ kind: "file", path: path.join(folder, "tool.js"), name: "x" }));
    expect(error.message).toBe(
      'tool "x" imports "a.js", which cannot be read; check its file and its rights (at tool.js:1)',
    );
  });

  test("a program that calls tools, which is told from a tool", async () => {
    const program = `import { createEngine } from "glovebox";\nexport default async () => createEngine();`;
    expect(await messageOf({ "tool.js": program })).toBe(
      'tool "x" imports "glovebox", which runs tools and is no part of one; if this is a program that calls tools, run it with node, ' +
        'and if it is a tool, import "glovebox/tool", and types with import type (at tool.js:1)',
    );
  });

  test("a mistake of syntax, with its line where that is not empty", async () => {
    expect(await messageOf({ "tool.js": "\n  const a = ;" })).toMatch(/ at tool\.js:2:13\n {2}const a = ;$/);
    expect(await messageOf({ "tool.js": "export default () => {\n" })).toMatch(/ at tool\.js:2:1$/);
  });

  test("an import that is not there, by line", async () => {
    expect(await messageOf({ "tool.js": `import "./none.js";` })).toMatch(
      /imports "\.\/none\.js" at tool\.js:1, which was not found/,
    );
    expect(await messageOf({ "tool.js": `import "left-pad-none";` })).toMatch(
      /"left-pad-none" at tool\.js:1.*install it/,
    );
  });

  test("any import from text that has no folder", async () => {
    expect((await refusalOf(fromText(`import a from "./a.js"`))).message).toContain("no folder to import from");
    expect((await refusalOf(fromText(`import a from "lodash"`))).message).toContain("no folder to import from");
    expect((await refusalOf(fromText(`import a from "/etc/hostname" with { type: "text" }`))).message).toContain(
      "no folder",
    );
    for (const text of [
      "export * from './a.js'",
      "export{default}from/**/'./a.js'",
      "export * as a from\n//\n'./a.js'",
    ]) {
      expect((await refusalOf(fromText(text))).message).toContain('imports "./a.js"');
    }
  });

  test("a syntax error, with line, column and the line itself", async () => {
    const message = await messageOf({ "tool.js": "const a = 1;\nconst b = ;\n" });
    expect(message).toContain(`at tool.js:2:11`);
    expect(message).toContain("const b = ;");
  });

  test("a syntax error in text that is neither language, told in the one that got further", async () => {
    const error = await refusalOf(fromText("type A = string;\nexport default (a: A) => { return ; ) };"));
    expect(error.message).toContain("add.ts:2:");
    expect((await refusalOf(fromText("const a = (;"))).message).toContain("add.js:1:12");
  });

  test.each(["import(input.name)", "import(`./${input.name}.js`)", "import('../' + input.name)"])(
    "%s, which names what only a call knows",
    async (expression) => {
      const message = await messageOf({ "a.js": "export {}", "tool.js": `export default (input) => ${expression};` });
      expect(message).toContain("at tool.js:1 that is only known when it runs");
    },
  );

  test.each(["", "  \n"])("an empty source", async (text) => {
    expect((await refusalOf(fromText(text))).message).toContain("is empty");
  });

  test("a source of more than 4 MiB, given as text, as file or as import", async () => {
    const big = `export default "${"x".repeat(4 * 1024 * 1024)}"`;
    expect((await refusalOf(fromText(big))).message).toContain("larger than");
    expect(await messageOf({ "tool.js": big })).toContain("larger than");
    expect(await messageOf({ "big.js": big, "tool.js": `import b from "./big.js"; export default b;` })).toContain(
      "big.js is larger than",
    );
  });

  test("a bundle of more than 16 MiB", async () => {
    const files: Record<string, string> = {};
    for (let part = 0; part < 5; part++) files[`p${part}.txt`] = String(part).repeat(3_900_000);
    const imports = Object.keys(files).map((name, at) => `import p${at} from "./${name}";`);
    const text = `${imports.join("")} export default () => [p0, p1, p2, p3, p4];`;
    expect(await messageOf({ ...files, "tool.js": text })).toMatch(/is \d+ bytes when bundled/);
  });

  test("what is no module", async () => {
    expect(await messageOf({ "a.node": "x", "tool.js": `import "./a.node";` })).toContain("a.node is no module");
    expect(await messageOf({ "tool.js": `import "https://example.com/a.js";` })).toContain("may not import URLs");
    expect(await messageOf({ "tool.js": `import "./a.css"`, "a.css": "" })).toContain("is no module");
  });

  test("a bundle that takes too long, and the next one works", async () => {
    const text = `export default [${"1,".repeat(500_000)}];`;
    const error = await refusalOf(bundleModule({ kind: "text", text, name: "slow" }, null, 1));
    expect(error.message).toContain("took longer than 1 ms");
    expect(evaluate(await fromText("export default () => 1")).default()).toBe(1);
  });

  test("a missing file, by its name alone", async () => {
    expect(await messageOf({}, "none.js")).toBe('tool "x" has no file none.js; check its path');
  });
});

describe("what a tool may read", () => {
  const outer = { "secret.json": `{ "key": "s3cret" }`, "secret.js": "export default 's3cret'" };

  test.each([
    `import s from "../secret.json"; export default s;`,
    `import s from "../secret.js"; export default s;`,
    `import s from "../../../../../../../etc/hostname" with { type: "text" }; export default s;`,
    `import s from "/etc/hostname" with { type: "text" }; export default s;`,
    `import s from "file:///etc/hostname" with { type: "text" }; export default s;`,
    `import s from "p/../../../secret.json"; export default s;`,
    `import s from "./link.json"; export default s;`,
    `import s from "./linked/secret.json"; export default s;`,
    `import s from "linked-package"; export default s;`,
    `import s from "main-leads-out"; export default s;`,
    `import s from "#secret"; export default s;`,
    `export { default } from "./sub/again.js";`,
    `export default () => require("../secret.js");`,
    `export default () => import("../secret.js");`,
  ])("is not what %s asks for", async (text) => {
    const folder = await temporaryFolder({
      ...outer,
      "linked/index.js": "export default 1",
      "linked/secret.json": "{}",
      "tool/tool.js": text,
      "tool/sub/again.js": `export { default } from "../../secret.js";`,
      "tool/package.json": `{ "imports": { "#secret": "../secret.js" } }`,
      "tool/node_modules/p/index.js": "",
      "tool/node_modules/main-leads-out/package.json": `{ "main": "../../../secret.js" }`,
    });
    await symlink(path.join(folder, "secret.json"), path.join(folder, "tool/link.json"));
    await symlink(path.join(folder, "linked"), path.join(folder, "tool/linked"));
    await symlink(path.join(folder, "linked"), path.join(folder, "tool/node_modules/linked-package"));
    const error = await refusalOf(bundleModule({ kind: "file", path: path.join(folder, "tool/tool.js"), name: "x" }));
    expect(error.message).not.toContain("s3cret");
    expect(error.message).not.toContain(folder);
    expect(error.message).toMatch(/leads out of the tool's folder|may not import URLs|was not found/);
  });

  test("is no package.json outside, to which its own is a link", async () => {
    const folder = await temporaryFolder({
      "package.json": `{ "type": "module", "browser": { "./b.js": false } }`,
      "tool/tool.js": `import "./a.js"; export { default } from "./a.js";`,
      "tool/a.js": `import b from "./b.js"; export default () => b;`,
      "tool/b.js": "exports.__esModule = true; exports.default = 'as bundlers do';",
    });
    const bundle = (): Promise<Bundle> =>
      bundleModule({ kind: "file", path: path.join(folder, "tool/tool.js"), name: "x" });
    expect(evaluate(await bundle()).default()).toBe("as bundlers do");
    await symlink(path.join(folder, "package.json"), path.join(folder, "tool/package.json"));
    expect(evaluate(await bundle()).default()).toBe("as bundlers do");
  });

  test("whether a file outside exists makes no difference to the answer", async () => {
    const ask = (file: string) => messageOf({ "tool.js": `import s from "${file}" with { type: "text" };` });
    expect((await ask("/etc/hostname")).replace("/etc/hostname", "F")).toBe(
      (await ask("/etc/nothing")).replace("/etc/nothing", "F"),
    );
  });

  test("is nothing where the tool's file is itself a link out of its folder", async () => {
    const folder = await temporaryFolder({ ...outer, "tool/other.js": "" });
    await symlink(path.join(folder, "secret.js"), path.join(folder, "tool/tool.js"));
    const error = await refusalOf(bundleModule({ kind: "file", path: path.join(folder, "tool/tool.js"), name: "x" }));
    expect(error.message).toContain("a link to a file outside its folder");
  });

  test("includes links that stay inside, as mounted configuration has them", async () => {
    const folder = await temporaryFolder({
      "..data/tool.js": `import b from "./b.js"; export default () => b;`,
      "..data/b.js": "export default 1",
    });
    await symlink(path.join(folder, "..data/tool.js"), path.join(folder, "tool.js"));
    expect(
      evaluate(await bundleModule({ kind: "file", path: path.join(folder, "tool.js"), name: "x" })).default(),
    ).toBe(1);
  });
});

describe("searching files for an import", () => {
  test.each([
    "require('./' + input)",
    "require(`../${input}`)",
    "import('.' + '/' + input)",
    "import(`./${'a'}/${input}.js`)",
    "import(/* webpackIgnore: true */ '../' + input)",
    "import /* x */ (`../${input}`)",
    "requ\\u0069re('../' + input)",
    "import(Folder.Here + input)",
  ])("never happens for %s", async (call) => {
    const text = `enum Folder { Here = "./" }\nexport default (input: string) => ${call};`;
    expect((await refusalOf(fromText(text))).message).toContain("only known when it runs");
    const own = {
      "tool.ts": `import "p"; export default () => 1;`,
      "node_modules/p/package.json": `{ "main": "i.ts" }`,
      "node_modules/p/beside.js": "export default 'beside';",
      "beside.js": "export default 'beside';",
    };
    // A package's call fails when it is made, or its module is refused: in neither case are files searched.
    const bundle = await fromFiles({ ...own, "node_modules/p/i.ts": text }, "tool.ts").catch((error: unknown) => error);
    if (bundle instanceof Error) expect(bundle.message).toContain("only known when it runs");
    else expect((bundle as Bundle).text).not.toContain("beside");
  });

  test("is not suspected where the argument is plain or unknown", async () => {
    const bundle = await fromFiles(
      {
        "tool.js": `import p from "p"; export default async () => [p, (await import("./a.js")).a, (await import(\`./a.js\`)).a];`,
        "a.js": "export const a = 1;",
        "node_modules/p/index.js": `module.exports = 2; if (module.x) { const name = "fs"; require(name); import(name); }`,
      },
      "tool.js",
    );
    expect(await evaluate(bundle).default()).toEqual([2, 1, 1]);
  });
});

test("a source map comment that names a file of the host is not followed", async () => {
  const folder = await temporaryFolder({ "x.map": `{"version":3,"sources":["read.ts"],"mappings":"AAAA","names":[]}` });
  for (const url of [`file://${folder}/x.map`, `FILE://localhost${folder}/x.map`, "file:///dev/zero"]) {
    const bundle = await fromText(`export default () => 1;\n//# sourceMappingURL=${url}`);
    expect(bundle.sources).toEqual(["add.js"]);
  }
});

test("many tools are bundled at once", async () => {
  const bundles = await Promise.all(Array.from({ length: 20 }, (_, at) => fromText(`export default () => ${at}`)));
  expect(bundles.map((bundle) => evaluate(bundle).default())).toEqual(Array.from({ length: 20 }, (_, at) => at));
});

// In a process of its own, since the bundler's says goodbye with a thousand lines on the error output.
test("a module that ends the bundler's process takes no other tool with it", async () => {
  const script = `
    import { bundleModule, stopBundler } from ${JSON.stringify(new URL("../../../../src/kernel/tool/bundle/bundle.ts", import.meta.url).href)};
    const fromText = (text) => bundleModule({ kind: "text", text, name: "add" });
    const hostile = fromText("export default " + "[".repeat(4_000_000)).catch((error) => error.message);
    const others = await Promise.all([1, 2, 3, 4, 5].map((at) => fromText("export default () => " + at)));
    const message = await hostile;
    const next = await fromText("export default () => 6");
    console.log(JSON.stringify([others.length, message, next.bytes > 0]));
    await stopBundler();
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script]);
  const message = 'tool "add" crashed the bundler; its source is nested too deeply, flatten it';
  expect(JSON.parse(stdout)).toEqual([5, message, true]);
});
