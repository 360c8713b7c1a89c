import { expect, test } from "vitest";
import { join } from "node:path";
import { SCRIPT_EXPORTS } from "../../../../src/kernel/base/protocol/script.ts";
import { type Bundle, bundleModule } from "../../../../src/kernel/tool/bundle/bundle.ts";
import { nodeNamesIn } from "../../../../src/kernel/tool/bundle/used-names.ts";
import { temporaryFolder } from "../temporary.ts";

/** What packages of npm do that a bundler has to know of. */

async function bundled(files: Record<string, string>, name = "tool.js"): Promise<Bundle> {
  const tool = `import p from "p"; export default () => p();`;
  const folder = await temporaryFolder({ "tool.js": tool, ...files });
  return bundleModule({ kind: "file", name: "add", path: join(folder, name) });
}

/** The answer of the tool; `__node` has nothing but a `require` that finds no module. */
async function answerOf(files: Record<string, string>, name?: string): Promise<unknown> {
  const { text } = await bundled(files, name);
  const find = (name: string): never => {
    throw new Error(`no ${name}`);
  };
  const require = (name: string): unknown => (name === "module" ? { createRequire: () => find } : find(name));
  const node = { require, absent: (name: string) => ({ absent: name }) };
  // oxlint-disable-next-line no-implied-eval, no-new-func
  const evaluate = new Function("__node", `"use strict"; ${text}\nreturn ${SCRIPT_EXPORTS};`) as (node: unknown) => {
    default: () => unknown;
  };
  return evaluate(node).default();
}

test("a computed name in a folder of the package finds the modules there, and no other", async () => {
  const find =
    "module.exports = () => ['a', 'b'].map((name) => { try { return require(`./parts/${name}.js`); } catch (error) { return error.message; } });";
  const files = { "node_modules/p/index.js": find, "node_modules/p/parts/a.js": "module.exports = 1;" };
  expect(await answerOf(files)).toEqual([1, "no ./parts/b.js"]);
});

test("a plain require beside a computed one is the bundler's", async () => {
  const main = `const one = require("./one"); const late = (name) => import(\`\${name}\`); module.exports = () => [one, typeof late];`;
  const files = { "node_modules/p/index.js": main, "node_modules/p/one.js": "module.exports = 1;" };
  expect(await answerOf(files)).toEqual([1, "function"]);
});

test("a comment for another bundler in a computed import is no name", async () => {
  const main =
    "const late = (name) => import(/* webpackIgnore: true */ /* @vite-ignore */ name); module.exports = () => typeof late;";
  expect(await answerOf({ "node_modules/p/index.js": main })).toBe("function");
});

test.each(["tool.js", "tool.ts"])(
  "a default import in %s of a module package is all of a CommonJS module",
  async (name) => {
    const files = {
      "package.json": `{ "type": "module" }`,
      [name]: `import p from "p"; export default () => p.one;`,
      "node_modules/p/package.json": "{}",
      "node_modules/p/index.js": "Object.defineProperty(exports, '__esModule', { value: true }); exports.one = 1;",
    };
    expect(await answerOf(files, name)).toBe(1);
  },
);

test.each([
  ["a string", `const text = ["import(", one, "require("]; return text.length === 3 && "none";`],
  ["a comment", `switch (one) { case 0:\n// It is require("" or import("" + one).\ncase 1: return "none"; }`],
])("what looks like a call in %s is left alone", async (_where, body) => {
  const main = `const one = require("./one"); module.exports = () => { ${body} };`;
  const files = { "node_modules/p/index.js": main, "node_modules/p/one.js": "module.exports = 1;" };
  expect(await answerOf(files)).toBe("none");
});

test("a copy of Node's primordials finds the globals that an isolate lacks, and the others as they are", async () => {
  const main = `const found = {};
    ["Atomics", "FinalizationRegistry", "Math", "Absent"].forEach((name) => { found[name] = globalThis[name]; });
    module.exports = () => [found.Absent, found.Math === Math];`;
  expect(await answerOf({ "node_modules/p/index.js": main })).toEqual([{ absent: "Absent" }, true]);
});

test("a global that a package reads by a name of its own is left alone", async () => {
  const main = "module.exports = () => ['Atomics', 'Absent'].map((name) => typeof globalThis[name]);";
  expect(await answerOf({ "node_modules/p/index.js": main })).toEqual(["object", "undefined"]);
});

test("a package whose form for browsers lacks what is imported is taken in Node's", async () => {
  const files = {
    "tool.js": `import { whole } from "p"; export default () => whole;`,
    "node_modules/p/package.json": `{ "main": "./main.js", "module": "./browser.mjs" }`,
    "node_modules/p/browser.mjs": "export const part = 1;",
    "node_modules/p/main.js": "exports.whole = 2;",
  };
  expect(await answerOf(files)).toBe(2);
});

test("what a package in Node's form imports is taken in Node's form too, wherever it is imported", async () => {
  const forms = `{ "type": "module", "exports": { "browser": "./browser.js", "default": "./node.js" } }`;
  const files = {
    "tool.js": `import { form } from "inner"; import { whole } from "p"; export default () => [form, whole()];`,
    "node_modules/p/package.json": forms,
    "node_modules/p/browser.js": "export const part = 1;",
    "node_modules/p/node.js": `import { outer } from "outer"; export const whole = () => outer();`,
    "node_modules/outer/package.json": forms,
    "node_modules/outer/browser.js": `export const outer = () => "browser";`,
    "node_modules/outer/node.js": `import { form } from "inner"; export const outer = () => form;`,
    "node_modules/inner/package.json": forms,
    "node_modules/inner/browser.js": `export const form = "browser";`,
    "node_modules/inner/node.js": `export const form = "node";`,
  };
  expect(await answerOf(files)).toEqual(["node", "node"]);
});

test("Node's form of a package is the one for import where it is imported, and for require where it is required", async () => {
  const files = {
    "tool.js": `import { whole } from "p"; import required from "q"; export default () => [whole, required];`,
    "node_modules/p/package.json": `{ "exports": { "node": { "import": "./node.mjs" }, "default": "./other.mjs" } }`,
    "node_modules/p/other.mjs": "export const part = 1;",
    "node_modules/p/node.mjs": "export const whole = 2;",
    "node_modules/q/index.js": `module.exports = require("r");`,
    "node_modules/r/package.json": `{ "exports": { "node": { "import": "./none.mjs", "require": "./node.cjs" } } }`,
    "node_modules/r/node.cjs": "module.exports = 3;",
  };
  expect(await answerOf(files)).toEqual([2, 3]);
});

test("a package in Node's form uses Node's modules, whatever its form for browsers has in their place", async () => {
  const files = {
    "tool.js": `import { whole } from "p"; export default () => whole("md5");`,
    "node_modules/p/package.json": `{ "main": "./main.mjs", "module": "./other.mjs", "browser": { "crypto": "./c.js" } }`,
    "node_modules/p/other.mjs": "export const part = 1;",
    "node_modules/p/main.mjs": `export { createHash as whole } from "crypto";`,
    "node_modules/p/c.js": "",
  };
  expect((await bundled(files)).node).toEqual([{ name: "node:crypto.createHash" }]);
});

const TELLS_NODE = `{ "exports": { "node": "./node.cjs", "default": "./other.cjs" } }`;
const NAMES_BROWSER = `{ "main": "./node.cjs", "browser": "./other.cjs" }`;
const PLAIN = "exports.part = () => 1; module.exports = () => 'other';";

test.each([
  ["its exports tell Node from all else, and its form for Node uses Node's modules", TELLS_NODE, `require("zlib");`],
  ["its form for browsers never names what Node's exports", NAMES_BROWSER, ""],
])("a package is taken in Node's form where %s", async (_why, manifest, uses) => {
  const files = {
    "node_modules/p/package.json": manifest,
    "node_modules/p/other.cjs": PLAIN,
    "node_modules/p/node.cjs": `try { ${uses} } catch {} module.exports = () => 'node';\nmodule.exports.whole = 1;`,
  };
  expect(await answerOf(files)).toBe("node");
});

test.each([
  ["its form for Node uses none of Node's modules", TELLS_NODE, ""],
  ["its form for Node opens sockets", TELLS_NODE, `require("net");`],
  ["its form for Node asks over HTTP", NAMES_BROWSER, `require("node:https");`],
])("a package stays in its other form where %s", async (_why, manifest, uses) => {
  const files = {
    "node_modules/p/package.json": manifest,
    "node_modules/p/other.cjs": PLAIN,
    "node_modules/p/node.cjs": `try { ${uses} } catch {} module.exports = () => 'node';\nmodule.exports.whole = 1;`,
  };
  expect(await answerOf(files)).toBe("other");
});

const FOR_BROWSERS = `"browser": "./browser.mjs", "default": "./node.mjs"`;
const FOR_NODE = `"node": "./node.mjs", "default": "./browser.mjs"`;

test.each([
  ["browser.mjs", FOR_BROWSERS, "new DOMParser()"],
  ["parse.mjs", FOR_BROWSERS, "new DOMParser()"],
  ["parse.mjs", FOR_BROWSERS, "new DOMMatrix()"],
  ["browser.mjs", FOR_BROWSERS, 'window.addEventListener("unload", () => {})'],
  ["parse.mjs", FOR_NODE, "new DOMParser()"],
])("a package is taken in Node's form where %s of its exports %s says %s", async (name, forms, says) => {
  const files = {
    "node_modules/p/package.json": `{ "exports": { ${forms} } }`,
    "node_modules/p/browser.mjs": `export { default } from "./parse.mjs";`,
    [`node_modules/p/${name}`]: `export default () => ${says};`,
    "node_modules/p/node.mjs": `export default () => "node";`,
  };
  expect(await answerOf(files)).toBe("node");
});

test("a plain name in a package's own require is a module of the bundle", async () => {
  const main = `import { createRequire } from "module"; const require$1 = createRequire("file:///p/index.mjs");
    export default () => require$1("#one");`;
  const files = {
    "node_modules/p/package.json": `{ "exports": "./index.mjs", "imports": { "#one": "./one.cjs" } }`,
    "node_modules/p/index.mjs": main,
    "node_modules/p/one.cjs": "module.exports = 1;",
  };
  expect((await bundled(files)).sources).toContain("node_modules/p/one.cjs");
});

test("an export that no form of a package has is named, with its module", async () => {
  const files = {
    "tool.js": `import p from "p"; export default p;`,
    "node_modules/p/package.json": `{ "exports": { "node": { "import": "./node.mjs" }, "default": "./other.mjs" } }`,
    "node_modules/p/index.mjs": "",
    "node_modules/p/other.mjs": "export const part = 1;",
    "node_modules/p/node.mjs": "export const whole = 2;",
  };
  await expect(bundled(files)).rejects.toThrow(
    `imports "default" at tool.js:1, which node_modules/p/node.mjs does not export; check its name`,
  );
});

test.each([
  ["./build/addon.node", "An isolate loads no native addons, and so not the addon 'addon.node'"],
  ["./code.wasm", "An isolate has no WebAssembly, which 'code.wasm' needs"],
  ["node-gyp-build", "An isolate loads no native addons, and so not the addon that 'node-gyp-build' loads"],
])("%s fails when a package loads it, and says what to use instead", async (name, message) => {
  const main = `module.exports = () => { try { require("${name}"); } catch (error) { return error.message; } };`;
  const files = {
    "node_modules/p/index.js": main,
    "node_modules/p/build/addon.node": "",
    "node_modules/p/code.wasm": "",
  };
  expect(await answerOf(files)).toContain(`${message}`);
});

test("timers are Node's where code asks for what the web's have not", async () => {
  const bundle = await bundled({
    "node_modules/p/index.js": "module.exports = () => setTimeout(() => {}, 1).unref();",
  });
  expect(nodeNamesIn(bundle.text)).toEqual([{ name: "setTimeout" }]);
  const sleep = `const { promisify } = require("util"); module.exports = () => promisify(setTimeout)(1);`;
  expect((await bundled({ "node_modules/p/index.js": sleep })).node).toContainEqual({ name: "setTimeout" });
  const plain = await bundled({ "node_modules/p/index.js": "module.exports = () => setTimeout(() => {}, 1);" });
  expect(plain.node).toBeUndefined();
});

test.each(["performance", "globalThis.performance"])(
  "marks of %s are Node's, and its clock is the realm's",
  async (name) => {
    const { text } = await bundled({ "tool.js": `export default () => [${name}.mark("a"), ${name}.now()];` });
    expect(text).toContain(`__node.performance.mark("a")`);
    expect(text).toContain(`${name}.now()`);
  },
);

test("a bundle says which of Node's names it uses, and what to use instead of those that refuse", async () => {
  const main = `const { exec } = require("child_process"); module.exports = () => exec(process.title);`;
  expect((await bundled({ "node_modules/p/index.js": main })).node).toEqual([
    { name: "node:child_process", instead: 'use context.host.exec, with a grant of the capability "exec"' },
    { name: "process" },
  ]);
});

test("a package is taken in Node's form where a module of the other one says that it does nothing synchronously", async () => {
  const says = `throw new Error("SubtleCryptoProvider cannot be used in a synchronous context.");`;
  const files = {
    "node_modules/p/package.json": `{ "exports": { "browser": "./esm/worker.js", "default": "./esm/node.js" } }`,
    "node_modules/p/esm/package.json": `{ "type": "module" }`,
    "node_modules/p/esm/worker.js": `export { default } from "./crypto.js";`,
    "node_modules/p/esm/crypto.js": `export default () => { ${says} }`,
    "node_modules/p/esm/node.js": `export default () => "node";`,
  };
  expect(await answerOf(files)).toBe("node");
});

test("what undici has of the web is the isolate's own, by import and by require", async () => {
  const files = {
    "tool.js": `import { fetch, FormData, request } from "undici"; import p from "p";
      export default () => [fetch, FormData, p].map((one) => [globalThis.fetch, globalThis.FormData].includes(one)).concat(request);`,
    "node_modules/p/index.js": `module.exports = require("undici").fetch;`,
    "node_modules/undici/index.js": `const fetch = () => "by sockets"; module.exports = { fetch, FormData: class {}, request: 1 };`,
  };
  expect(await answerOf(files)).toEqual([true, true, true, 1]);
});
