import { expect, test } from "vitest";
import { join } from "node:path";
import { SCRIPT_EXPORTS } from "../../../../src/kernel/base/protocol/script.ts";
import { type Bundle, bundleModule } from "../../../../src/kernel/tool/bundle/bundle.ts";
import { nodeNamesIn } from "../../../../src/kernel/tool/bundle/used-names.ts";
import { temporaryFolder } from "../temporary.ts";

/** What packages of npm do that a bundler has to know of. */

async function bundled(files: Record<string, string>): Promise<Bundle> {
  const tool = `import p from "p"; export default () => p();`;
  const folder = await temporaryFolder({ "tool.js": tool, ...files });
  return bundleModule({ kind: "file", name: "add", path: join(folder, "tool.js") });
}

/** The answer of the tool; `__node` has nothing but a `require` that finds no module. */
async function answerOf(files: Record<string, string>): Promise<unknown> {
  const { text } = await bundled(files);
  const require = (name: string): never => {
    throw new Error(`no ${name}`);
  };
  const node = { require: () => ({ createRequire: () => require }), absent: (name: string) => ({ absent: name }) };
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
  const plain = await bundled({ "node_modules/p/index.js": "module.exports = () => setTimeout(() => {}, 1);" });
  expect(plain.node).toBeUndefined();
});

test("a bundle says which of Node's names it uses, and what to use instead of those that refuse", async () => {
  const main = `const { exec } = require("child_process"); module.exports = () => exec(process.title);`;
  expect((await bundled({ "node_modules/p/index.js": main })).node).toEqual([
    { name: "node:child_process", instead: 'use context.host.exec, with a grant of the capability "exec"' },
    { name: "process" },
  ]);
});
