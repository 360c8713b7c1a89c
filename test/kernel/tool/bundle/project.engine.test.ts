import { mkdir, symlink } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createEngine, type Engine } from "../../../../src/glovebox/index.ts";
import { refusalOf, temporaryFolder } from "../temporary.ts";
import { ANSWER, MANAGERS, workspaceOf } from "../workspaces.ts";

let engine: Engine;

beforeAll(async () => {
  engine = await createEngine({ workers: 1, executor: "threads" });
});

afterAll(() => engine.close());

test.each(MANAGERS)("a tool of a workspace of %s uses its packages, aliases and files", async (manager) => {
  await engine.register(path.join(await workspaceOf(manager), "apps/agent/tools/convert.ts"));
  expect((await engine.execute({ name: "convert", arguments: {} })).output).toEqual(ANSWER);
});

const READS = `
  const table = new URL("./table.json", import.meta.url);
  const status = async (url) => (await fetch(url).catch(({ cause }) => ({ status: cause.message }))).status;
  const read = async () => {
    const response = await fetch(table);
    const bytes = new Uint8Array(await (await fetch(new URL("bytes.bin", import.meta.url))).arrayBuffer());
    const others = ["file:///etc/hostname", "file:///tool/none", "file:///tool/__proto__", "file:///tool/../etc/hostname"];
    return [response.headers.get("content-type"), response.url, await response.json(), [...bytes],
      await Promise.all(others.map(status))];
  };`;
const NO_FILE =
  'the tool did not bring this file: only those that a module names by new URL("./name", import.meta.url) or ' +
  'join(__dirname, "name"), written out, are there';
const READ = [
  "application/json",
  "file:///tool/tools/table.json",
  { eur: 1 },
  [...Buffer.from("bytes")],
  Array.from({ length: 4 }, () => NO_FILE),
];
const FILES = {
  "package.json": "{}",
  "tools/table.json": `{ "eur": 1 }`,
  "tools/bytes.bin": "bytes",
};

test.each(["instance", "context", "isolate", "shared"] as const)(
  "a tool fetches its bundle's files, and no others, without a grant, at the isolation %s",
  async (isolation) => {
    const folder = await temporaryFolder({
      ...FILES,
      "tools/reads.js": `${READS} export const spec = { name: "reads", description: "Reads." }; export default read;`,
    });
    await engine.register({ path: path.join(folder, "tools/reads.js"), isolation });
    for (const _ of [1, 2]) expect((await engine.execute({ name: "reads", arguments: {} })).output).toEqual(READ);
  },
);

test("a tool reads its bundle's files with Node's fs too, and no others", async () => {
  const read = `import { existsSync, readFileSync } from "node:fs";
    import { join } from "node:path";
    export const spec = { name: "synchronous", description: "Reads." };
    export default () => {
      const [url, path] = [new URL("./table.json", import.meta.url), join(import.meta.dirname, "bytes.bin")];
      const bytes = readFileSync(path);
      bytes.fill(0);
      const others = ["/etc/hostname", "/tool/none", "/tool/tools/../../etc/hostname", "/tool/__proto__"];
      return [JSON.parse(readFileSync(url, "utf8")), readFileSync(path, "latin1"), existsSync(path), others.map(existsSync)];
    };`;
  const folder = await temporaryFolder({ ...FILES, "tools/synchronous.js": read });
  await engine.register(path.join(folder, "tools/synchronous.js"));
  const answer = [{ eur: 1 }, "bytes", true, [false, false, false, false]];
  expect((await engine.execute({ name: "synchronous", arguments: {} })).output).toEqual(answer);
});

const FOLDERS = {
  "tools/common.js": `"use strict"; const fs = require("fs"), path = require("path");
    const isStrict = (function () { return this === undefined; })();
    exports.spec = { name: "common", description: "Reads." };
    exports.default = async () => [__dirname, __filename, isStrict, require("../lib/inner.js"),
      JSON.parse(fs.readFileSync(path.join(__dirname, "table.json"), "utf8")),
      (await fs.promises.stat(path.resolve(__dirname, "bytes.bin"))).size];`,
  "lib/inner.js": `const fs = require("fs"); const data = require("path").join(__dirname, "..", "data");
    exports.texts = [fs.readFileSync(__dirname + "/a.txt", "utf8"), fs.readFileSync(\`\${__dirname}/../data/b.txt\`, "utf8"),
      fs.readFileSync(require("path").join(data, "c.txt"), "utf8"), __dirname, typeof __filename];`,
  "tools/module.mjs": `import { readFileSync } from "node:fs"; import path, { dirname, join } from "node:path";
    import { fileURLToPath } from "node:url";
    export const spec = { name: "module", description: "Reads." };
    const __filename = fileURLToPath(import.meta.url);
    const __dirname = dirname(__filename);
    const here = path.dirname(fileURLToPath(import.meta.url));
    export default () => [__dirname, readFileSync(join(__dirname, "table.json"), "utf8"), readFileSync(here + "/bytes.bin", "utf8"),
      readFileSync(join(path.dirname(fileURLToPath(import.meta.url)), "../data/c.txt"), "utf8")];`,
  "tools/typed.ts": `import { readFileSync } from "node:fs"; import path from "node:path";
    declare const __dirname: string;
    export const spec = { name: "typed", description: "Reads." };
    const folder: string = path.resolve(__dirname, "../data");
    export default (): unknown => [__dirname, readFileSync(path.join(folder, "b.txt"), "utf8")];`,
  "lib/a.txt": "a",
  "data/b.txt": "b",
  "data/c.txt": "c",
};

test.each([
  [
    "common.js",
    ["/tool/tools", "/tool/tools/common.js", true, { texts: ["a", "b", "c", "/tool/lib", "string"] }, { eur: 1 }, 5],
  ],
  ["module.mjs", ["/tool/tools", `{ "eur": 1 }`, "bytes", "c"]],
  ["typed.ts", ["/tool/tools", "b"]],
])("a module reads files by its own folder, as people write it: %s", async (file, answer) => {
  const folder = await temporaryFolder({ ...FILES, ...FOLDERS });
  await engine.register(path.join(folder, "tools", file));
  const { output, error } = await engine.execute({ name: path.parse(file).name, arguments: {} });
  expect([error, output]).toEqual([null, answer]);
});

const REQUIRING = {
  ...FILES,
  "tools/one.cjs": "exports.one = 1;",
  "tools/two.ts": "export const two: number = 2;",
};

test.each([
  `import { createRequire } from "node:module"; const require = createRequire(import.meta.url);
    const read = () => [require("./table.json"), require("./one.cjs").one, require("./two.ts").two, require("node:path").sep];`,
  `import module from "module"; const own: NodeJS.Require = module.createRequire(import.meta.filename);
    const read = () => [own("./table.json"), own("./one.cjs").one, own("./two.ts").two, own("path").sep];`,
])("a module requires what it names by a require of its own", async (text) => {
  const tool = `${text} export const spec = { name: "requiring", description: "Reads." }; export default read;`;
  const folder = await temporaryFolder({ ...REQUIRING, "tools/requiring.ts": tool });
  await engine.register({ path: path.join(folder, "tools/requiring.ts"), names: ["requiring"] });
  const { output, error } = await engine.execute({ name: "requiring", arguments: {} });
  expect([error, output]).toEqual([null, [{ eur: 1 }, 1, 2, "/"]]);
  await engine.unregister("requiring");
});

test("a computed name in a folder of the project finds the modules there, whatever the name leaves out", async () => {
  const tool = `export const spec = { name: "computing", description: "Imports." };
    const message = (error: Error) => error.message;
    const language = async (name: string) => (await import(\`../languages/\${name}.js\`)).default;
    const any = async (name: string) => (await import("../languages/" + name)).default;
    export default async () => [await language("de"), await language("en"), await any("de"), await any("de.ts"), await any("data.json"),
      await language("fr").catch(message), await any(".hidden.js").catch(message)];`;
  const folder = await temporaryFolder({
    "package.json": "{}",
    "tools/computing.ts": tool,
    "languages/de.ts": `export default "Hallo" as string;`,
    "languages/en.js": `export default "Hello";`,
    "languages/en.d.ts": "export {}",
    "languages/en.test.ts": `import "a-runner-of-tests";`,
    "languages/data.json": `{ "a": 1 }`,
    "languages/.hidden.js": "export default 'hidden';",
    "languages/readme.md": "# Languages",
  });
  await engine.register(path.join(folder, "tools/computing.ts"));
  const { output, error } = await engine.execute({ name: "computing", arguments: {} });
  const why = "a tool is bundled with what it imports by name";
  const missing = ["fr.js", ".hidden.js"].map((name) => `Cannot find module '../languages/${name}': ${why}`);
  expect([error, output]).toEqual([null, ["Hallo", "Hello", "Hallo", "Hallo", { a: 1 }, ...missing]]);
});

test("import.meta.resolve leads to files, and brings those that it names", async () => {
  const tool = `import { readFileSync } from "node:fs"; import { fileURLToPath } from "node:url";
    export const spec = { name: "resolving", description: "Reads." };
    const refused = () => { try { return import.meta.resolve("zod"); } catch (error) { return error.code; } };
    export default () => [readFileSync(fileURLToPath(import.meta.resolve("./table.json")), "utf8"), import.meta.resolve("../a b"), import.meta.resolve("node:fs"), refused()];`;
  const folder = await temporaryFolder({ ...FILES, "tools/resolving.js": tool });
  await engine.register(path.join(folder, "tools/resolving.js"));
  const { output, error } = await engine.execute({ name: "resolving", arguments: {} });
  const answer = [`{ "eur": 1 }`, "file:///tool/a%20b", "node:fs", "ERR_MODULE_NOT_FOUND"];
  expect([error, output]).toEqual([null, answer]);
});

test("a package reads its own files by its folder, and none of the project", async () => {
  const folder = await temporaryFolder({
    ...FILES,
    "tools/packaged.js": `export const spec = { name: "packaged", description: "Reads." };
      import read from "own-files"; export default read;`,
    "node_modules/own-files/package.json": `{ "main": "lib/index.js" }`,
    "node_modules/own-files/words.txt": "words",
    "node_modules/own-files/lib/index.js": `const { existsSync, readFileSync } = require("fs"), path = require("path");
      module.exports = () => [readFileSync(path.join(__dirname, "../words.txt"), "utf8"),
        existsSync(path.join(__dirname, "../../../tools/table.json"))];`,
  });
  await engine.register(path.join(folder, "tools/packaged.js"));
  expect((await engine.execute({ name: "packaged", arguments: {} })).output).toEqual(["words", false]);
});

test("the half of a tool that calls need brings the files that it names", async () => {
  const folder = await temporaryFolder({
    ...FILES,
    "lib/schema.ts": `import { z } from "zod"; export const schema = z.object({});`,
    "tools/half.js": `import { defineTool } from "glovebox/tool"; import { schema } from "../lib/schema.ts";
      ${READS}
      export default defineTool({ name: "half", description: "Reads.", inputSchema: schema, run: read });`,
  });
  const zod = path.dirname(new URL(import.meta.resolve("zod/package.json")).pathname);
  await mkdir(path.join(folder, "node_modules"));
  await symlink(zod, path.join(folder, "node_modules/zod"));
  // Its project is wide enough for the package that is linked.
  await using wide = await createEngine({ workers: 1, executor: "threads", root: "/" });
  const info = await wide.register(path.join(folder, "tools/half.js"));
  expect(info.script.describe?.bytes).toBeGreaterThan(info.script.bytes);
  const { output } = await wide.execute({ name: "half", arguments: {} });
  const url = expect.stringMatching(/^file:\/\/\/tool\/.*\/table\.json$/) as unknown;
  expect(output).toEqual([READ[0], url, ...READ.slice(2)]);
});

test("a container that asks for the types of a constructor is told in the log why it gets nothing", async () => {
  const folder = await temporaryFolder({
    "tsconfig.json": `{ "compilerOptions": { "experimentalDecorators": true, "emitDecoratorMetadata": true } }`,
    "node_modules/reflect-metadata/Reflect.js": `Object.assign(globalThis.Reflect, { getMetadata: () => undefined, getOwnMetadataKeys: (target) => target.keys ?? [] });`,
    "node_modules/reflect-metadata/package.json": `{ "main": "Reflect.js" }`,
    "tools/container.ts": `import "reflect-metadata";
      const service = (target: unknown): void => Reflect.getMetadata("design:paramtypes", target);
      @service class Log {}
      @service class App { constructor(readonly log: Log) {} }
      @service class Told { static keys = ["tokens"]; constructor(readonly log: Log) {} }
      export const spec = { name: "container", description: "Injects." };
      export default () => [App.name, Told.name];`,
  });
  await engine.register(path.join(folder, "tools/container.ts"));
  const { metadata } = await engine.execute({ name: "container", arguments: {} });
  const message = expect.stringMatching(/^App has no "design:paramtypes": .*emitDecoratorMetadata/) as unknown;
  expect(metadata.logs).toEqual([expect.objectContaining({ level: "warn", message })]);
});

test("what a key registers has its own folder alone, whatever project is around it", async () => {
  const folder = await temporaryFolder({
    ...FILES,
    "lib/value.js": "export default 1;",
    "tools/outer.js": `import value from "../lib/value.js"; export default () => value;`,
  });
  const entry = path.join(folder, "tools/outer.js");
  const definition = { name: "outer", description: "Imports.", entry };
  await engine.register(definition);
  const refused = await refusalOf(engine.register({ ...definition, name: "other" }, { registrant: "key:one" }));
  expect(refused.message).toContain("leads out of the tool's folder");
});
