import { cp, readdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { createEngine, type Engine } from "../../../../src/glovebox/index.ts";
import { GloveboxError } from "../../../../src/kernel/base/errors.ts";
import type { EngineOptions } from "../../../../src/kernel/engine/options.ts";
import type { PackageEvent } from "../../../../src/kernel/tool/package/step.ts";
import { buildTarGz } from "./build-tar.ts";
import { buildZip } from "./build-zip.ts";
import { newFolder, newTree, watchTemporary } from "./opening.ts";
import { serve, serveRaw } from "../../broker/capabilities/fetch/server.ts";
import { refusalOf } from "../temporary.ts";

/** The document's first sample, in JavaScript. */
const GREETING = `export class AgentSpaceV1Tool {
  constructor(toolId, toolData) {
    this.toolId = toolId;
    this.config = toolData;
  }
  execute(input) {
    return { message: "Hello, " + (input.name ?? "World") + " from tool " + this.toolId };
  }
  execute_command(name, data) {
    if (name === "uppercase") return data.text.toUpperCase();
    throw new Error("Unknown command: " + name);
  }
}`;
const RECORD = JSON.stringify({
  tool_id: "greeting-tool-v1",
  tool_runtime_type: "javascript",
  tool_source_code_link: "https://your-server.com/greeting-tool.zip",
  tool_data: { language: "en" },
  tool_search_description: "Greets somebody.",
  tools_api_spec: {
    input: { name: { type: "string", description: "The name to greet" } },
    output: { message: { type: "string", description: "The resulting greeting" } },
  },
});
const TREE = { "code/function.js": GREETING, "tool.json": RECORD };

type Tree = Readonly<Record<string, string>>;

const entriesOf = (tree: Tree) => Object.entries(tree).map(([name, data]) => ({ name, data }));
const zipped = (tree: Tree): Buffer => buildZip(entriesOf(tree));

async function open(options: EngineOptions = {}): Promise<Engine & { readonly steps: PackageEvent[] }> {
  const engine = await createEngine({ workers: 1, executor: "threads", ...options });
  const steps: PackageEvent[] = [];
  engine.on("package:step", (event) => steps.push(event));
  return Object.assign(engine, { steps });
}

async function greets(engine: Engine): Promise<void> {
  const result = await engine.execute({ name: "greeting-tool-v1", arguments: { name: "Ada" } });
  expect(result.error).toBeNull();
  expect(result.output).toEqual({ message: "Hello, Ada from tool greeting-tool-v1" });
}

const namesOf = (steps: readonly PackageEvent[]): readonly string[] => steps.map(({ step }) => step);

describe("a package is registered and called", () => {
  test("as a folder, which stays as it is [C04]", async () => {
    await using engine = await open();
    const folder = await newTree(TREE);
    await engine.register(folder);
    await greets(engine);
    expect((await readdir(folder, { recursive: true })).sort()).toEqual(["code", "code/function.js", "tool.json"]);
  });

  test("only with the class of its contract, which the error names", async () => {
    await using engine = await open();
    const wrong = { "code/function.js": "export const execute = () => 1;" };
    const { message } = await refusalOf(engine.register(await newTree({ ...TREE, ...wrong })));
    expect(message).toContain("must export the class AgentSpaceV1Tool with a method execute(input)");
    expect(message).toContain("tool.json");
    const alone = await refusalOf(engine.register(await newTree(wrong)));
    expect(alone.message).toContain(
      "=> output, tools of a library, or the class AgentSpaceV1Tool with a method execute(input)",
    );
  });

  test.each([
    ["greeting-tool.zip", zipped(TREE)],
    ["greeting-tool.tar.gz", buildTarGz(entriesOf({ "any/code/function.js": GREETING, "any/tool.json": RECORD }))],
  ])("as %s, of which nothing is on disk when it is called [C05 C06 C50]", async (name, bytes) => {
    const left = await watchTemporary();
    const engine = await open();
    await engine.register(path.join(await newTree({ [name]: bytes }), name));
    expect(await left()).toEqual([]);
    await greets(engine);
    await engine.unregister("greeting-tool-v1");
    await engine.close();
    expect(await left()).toEqual([]);
  });

  test("from a URL within what the operator allows [C07]", async () => {
    await using server = await serve((_request, response) => response.end(zipped(TREE)));
    await using engine = await open({ packages: { privateOrigins: [server.origin] } });
    await engine.register(`${server.origin}/tools/greeting-tool.zip`);
    await greets(engine);
  });

  test("from a URL that the operator does not allow not [C07]", async () => {
    await using server = await serve((_request, response) => response.end(zipped(TREE)));
    await using engine = await open();
    const error = await refusalOf(engine.register(`${server.origin}/tools/greeting-tool.zip`));
    expect(error.details).toMatchObject({ step: "fetch" });
    expect(server.connections()).toBe(0);
  });

  test.each(["ünïcode top", "weather-forecast-v1.0"])("with its code/ in the top folder %j [C09]", async (top) => {
    await using engine = await open();
    const tree = { [`${top}/code/function.js`]: GREETING, [`${top}/tool.json`]: RECORD };
    await engine.register(path.join(await newTree({ "greet.zip": zipped(tree) }), "greet.zip"));
    await greets(engine);
  });

  test("with its code/ at the root of the archive [C10]", async () => {
    await using engine = await open();
    const entries = [{ name: "code/", data: "" }, ...entriesOf(TREE)];
    await engine.register(path.join(await newTree({ "greet.zip": buildZip(entries) }), "greet.zip"));
    await greets(engine);
  });

  test("with others in a folder of tools", async () => {
    const folder = await newTree({
      "greet/code/function.js": GREETING,
      "greet/tool.json": RECORD,
      "add.js": "export const spec = { name: 'add', description: 'Adds.' }; export default ({ a, b }) => a + b;",
    });
    await writeFile(
      path.join(folder, "two.zip"),
      zipped({ "code/function.mjs": "export const spec = { description: 'Says two.' }; export default () => 2;" }),
    );
    await using engine = await open();
    await engine.register(folder);
    expect(engine.list().map(({ name }) => name)).toEqual(["add", "greeting-tool-v1", "two"]);
    expect((await engine.execute({ name: "two", arguments: {} })).output).toBe(2);
  });
});

describe("the steps of a package", () => {
  test("are told in their order, and then the call is [C47]", async () => {
    await using engine = await open();
    const told: string[] = [];
    engine.on("package:step", ({ package: name, step, durationMs, failed }) => {
      expect([name, failed, durationMs >= 0]).toEqual(["greet", false, true]);
      told.push(step);
    });
    engine.on("tool:post", ({ tool }) => told.push(`execute ${tool}`));
    await engine.register(path.join(await newTree({ "greet.zip": zipped(TREE) }), "greet.zip"));
    await greets(engine);
    const command = { name: "greeting-tool-v1", command: "uppercase", arguments: { text: "ada" } };
    expect((await engine.execute(command)).output).toBe("ADA");
    const called = "execute greeting-tool-v1";
    expect(told).toEqual(["fetch", "extract", "install", "initialize", called, called]);
  });

  test.each([
    ["fetch", "https://assets.example.com/tools/greet.zip", "from where it may not be", null],
    ["extract", "greet.zip", "with a name that leads out", { "code/../../x": "" }],
    ["install", "greet.zip", "with what nobody allows", { ...TREE, "code/requirements.txt": "requests" }],
    ["install", "greet.zip", "that imports what it has not", { ...TREE, "code/function.js": "import './absent.js';" }],
    ["initialize", "greet.zip", "that throws", { ...TREE, "code/function.js": "throw new Error('not today');" }],
    [
      "install",
      "greet.zip",
      "of Python with what is compiled",
      { "code/function.py": "x", "code/requirements.txt": "numpy" },
    ],
    ["install", "greet.zip", "of Python with nothing in it", { "code/function.py": "" }],
  ])("say which of them failed: %s, of %s, %s [C48]", async (step, place, _what, tree) => {
    const left = await watchTemporary();
    await using engine = await open();
    const given = tree === null ? place : path.join(await newTree({ [place]: zipped(tree) }), place);
    const error = await refusalOf(engine.register(given));
    expect(error.code).toBe("load_error");
    expect(error.message).toContain(`package "greet": ${step}: `);
    if (tree !== null) expect(error.message).not.toContain(path.dirname(given));
    expect(error.details).toMatchObject({ package: "greet", step });
    expect(engine.steps.at(-1)).toMatchObject({ package: "greet", step, failed: true });
    expect(await left()).toEqual([]);
    expect(engine.list()).toEqual([]);
  });

  test("are skipped for an archive with the same content, under whatever name it comes [C49]", async () => {
    await using engine = await open();
    const bytes = zipped(TREE);
    const folder = await newTree({ "one.zip": bytes, "other.zip": bytes, "changed.zip": zipped({ ...TREE, a: "" }) });
    await engine.register(path.join(folder, "one.zip"));
    expect(namesOf(engine.steps.splice(0))).toEqual(["fetch", "extract", "install", "initialize"]);
    await engine.register(path.join(folder, "other.zip"));
    expect(namesOf(engine.steps.splice(0))).toEqual(["fetch", "initialize"]);
    await greets(engine);
    await engine.register(path.join(folder, "changed.zip"));
    expect(namesOf(engine.steps.splice(0))).toEqual(["fetch", "extract", "install", "initialize"]);
  });

  test("are all taken again for a folder, which may have changed", async () => {
    await using engine = await open();
    const folder = await newTree(TREE);
    await engine.register(folder);
    await writeFile(path.join(folder, "code/function.js"), GREETING.replace("Hello", "Goodbye"));
    await engine.register(folder);
    const { output } = await engine.execute({ name: "greeting-tool-v1", arguments: { name: "Ada" } });
    expect(output).toEqual({ message: "Goodbye, Ada from tool greeting-tool-v1" });
  });

  test("are of calls no part: a package is opened once, however often it is called [C49]", async () => {
    await using engine = await open();
    await engine.register(path.join(await newTree({ "greet.zip": zipped(TREE) }), "greet.zip"));
    engine.steps.splice(0);
    for (let times = 0; times < 3; times++) await greets(engine);
    expect(engine.steps).toEqual([]);
  });
});

describe("an engine that is closed", () => {
  test("while a package is fetched gives that up [C50]", async () => {
    const left = await watchTemporary();
    await using server = await serveRaw(() => {});
    const engine = await open({ packages: { privateOrigins: [server.origin] } });
    const registering = refusalOf(engine.register(`${server.origin}/greet.zip`));
    await expect.poll(() => server.open()).toBe(1);
    await engine.close({ drainMs: 0 });
    expect((await registering).details).toMatchObject({ step: "fetch" });
    expect(await left()).toEqual([]);
  });

  test("while a package is unpacked leaves nothing of it [C50]", async () => {
    const left = await watchTemporary();
    const files = Object.fromEntries(
      Array.from({ length: 200 }, (_, at) => [`code/lib/${at}.js`, "export default 1;"]),
    );
    const file = path.join(await newTree({ "greet.zip": zipped({ ...TREE, ...files }) }), "greet.zip");
    const engine = await open();
    const fetched = new Promise<void>((resolve) => engine.on("package:step", () => resolve()));
    const registering = engine.register(file).catch((error: unknown) => error);
    await fetched;
    await engine.close({ drainMs: 0 });
    expect(await left()).toEqual([]);
    expect(await registering).toBeInstanceOf(GloveboxError);
    expect(namesOf(engine.steps)).toContain("extract");
  });
});

describe("a package that is invalid", () => {
  test.each(["tool.rar", "tool.tar", "tool.gz", "tool"])(
    "as %s is refused with the forms that are read [C08]",
    async (name) => {
      await using engine = await open();
      const error = await refusalOf(engine.register(path.join(await newTree({ [name]: "" }), name)));
      expect(error.code).toBe("load_error");
      expect(error.message).toContain("a folder with code/, or one packed as .zip, .tar.gz or .tgz");
      const far = await refusalOf(engine.register(`https://assets.example.com/${name}`));
      expect(far.message).toContain("an archive that ends in .zip, .tar.gz or .tgz");
      expect(engine.list()).toEqual([]);
    },
  );

  test.each([
    ["without code/", { "src/function.js": GREETING }, "it has no folder code/"],
    ["with code/ too deep", { "a/b/code/function.js": GREETING }, "it has no folder code/"],
  ])("%s is refused [C11]", async (_what, tree, problem) => {
    await using engine = await open();
    const file = path.join(await newTree({ "greet.zip": zipped(tree) }), "greet.zip");
    const packed = await refusalOf(engine.register(file));
    expect(packed).toMatchObject({ code: "load_error", message: expect.stringContaining(problem) });
    expect(packed.details).toMatchObject({ step: "extract" });
    expect((await refusalOf(engine.register(await newTree(tree)))).code).toBe("load_error");
    expect(engine.list()).toEqual([]);
  });

  test.each([
    ["nothing else", { "code/requirements.txt": "" }, "and no other file either"],
    ["two others", { "code/main.js": GREETING, "code/other.js": GREETING }, "code/ has 2 entries"],
    ["a folder", { "code/bin/increment": "\x7fELF" }, '"bin" is not a file'],
  ])(
    "with code/ that has no function.* but %s is refused by that file's name [C12 C63]",
    async (_what, tree, problem) => {
      await using engine = await open();
      const file = path.join(await newTree({ "greet.zip": zipped(tree) }), "greet.zip");
      for (const place of [file, await newTree(tree)]) {
        const error = await refusalOf(engine.register(place));
        expect(error.details).toMatchObject({ step: "extract" });
        expect(error.message).toContain("code/ has no file function.ts, function.mjs, function.js or function.py");
        expect(error.message).toContain(problem);
      }
    },
  );
});

describe("a package that is hostile", () => {
  const link = { name: "code/link.js", data: "/etc/hostname", central: { attributes: (0o120777 << 16) >>> 0 } };
  const bomb = { name: "code/zeros.js", data: Buffer.alloc(32 * 1024 * 1024) };
  const tarLink = { name: "code/link.js", type: "2", link: "/etc/hostname" };

  test.each([
    ["a.zip", "that leads out", buildZip([...entriesOf(TREE), { name: "code/../../x.js", data: "" }]), "leads out"],
    [
      "a.zip",
      "that is absolute",
      buildZip([...entriesOf(TREE), { name: "/tmp/x.js", data: "" }]),
      "has an absolute path",
    ],
    ["a.zip", "that is a link", buildZip([...entriesOf(TREE), link]), "link"],
    ["a.zip", "that is a bomb", buildZip([...entriesOf(TREE), bomb]), "too much for its size"],
    ["a.tar.gz", "that leads out", buildTarGz([...entriesOf(TREE), { name: "../x.js", data: "" }]), "leads out"],
    [
      "a.tar.gz",
      "that is absolute",
      buildTarGz([...entriesOf(TREE), { name: "/tmp/x.js", data: "" }]),
      "has an absolute path",
    ],
    ["a.tar.gz", "that is a link", buildTarGz([...entriesOf(TREE), tarLink]), "link"],
    ["a.tar.gz", "that is a bomb", buildTarGz([...entriesOf(TREE), bomb]), "too much for its size"],
  ])("as %s with an entry %s is refused whole, and leaves nothing [C78]", async (name, _what, bytes, problem) => {
    const left = await watchTemporary();
    await using engine = await open();
    const file = path.join(await newTree({ [name]: bytes }), name);
    const error = await refusalOf(engine.register(file));
    expect(error).toMatchObject({ code: "load_error", message: expect.stringContaining(problem) });
    expect(error.details).toMatchObject({ step: "extract" });
    expect([engine.list(), await left()]).toEqual([[], []]);
  });
});

describe("a package that cannot run here", () => {
  test("because it needs what is compiled, in Python, is refused with what it asks for [C14 F14]", async () => {
    await using engine = await open();
    const code = { "code/function.py": "import numpy", "code/requirements.txt": "requests\nnumpy\npillow\n" };
    const error = await refusalOf(engine.register(await newTree(code)));
    expect(error.message).toContain('install: code/requirements.txt, line 2, asks for "numpy", which is compiled');
    expect(error.details).toMatchObject({ step: "install" });
  });

  test("because its one file is neither a module nor a binary is refused with what it is, and what it lacks [C12 C62]", async () => {
    await using engine = await open();
    const error = await refusalOf(engine.register(await newTree({ "code/main.rb": "puts 1\n" })));
    expect(error.message).toContain("platform mismatch: code/main.rb is not ELF; needed is a 64-bit ELF program");
    expect(error.message).toContain("code/function.ts, code/function.mjs, code/function.js or code/function.py");
    expect(error.details).toMatchObject({ step: "install", runtime: "native" });
  });
});

describe("what a package imports", () => {
  const main = (imports: string, value: string): string =>
    `${imports}; export const spec = { name: "imports", description: "Imports." }; export default () => ${value};`;
  const MODULES = {
    "node_modules/outer/package.json": '{"version":"1.0.0","main":"index.js"}',
    "node_modules/outer/index.js": 'module.exports = "outer and " + require("inner");',
    "node_modules/inner/package.json": '{"version":"1.0.0","main":"index.js"}',
    "node_modules/inner/index.js": 'module.exports = "inner";',
    "node_modules/events/package.json": '{"version":"3.0.0","main":"events.js"}',
    "node_modules/events/events.js": 'module.exports = "events";',
  };

  async function registering(tree: Tree): Promise<{ readonly engine: Engine; readonly registering: Promise<unknown> }> {
    const engine = await open({ packages: { modules: await newTree(MODULES), allow: ["outer", "events"] } });
    return { engine, registering: engine.register(path.join(await newTree({ "a.zip": zipped(tree) }), "a.zip")) };
  }

  async function outputOf(tree: Tree): Promise<unknown> {
    const { engine, registering: registered } = await registering(tree);
    await using owned = engine;
    await registered;
    return (await owned.execute({ name: "imports", arguments: {} })).output;
  }

  async function problemOf(tree: Tree): Promise<string> {
    const { engine, registering: registered } = await registering(tree);
    await using _owned = engine;
    const error = await refusalOf(registered);
    expect(error.details).toMatchObject({ step: "install" });
    return error.message;
  }

  const importing = main("import outer from 'outer'", "outer");

  test("is what it lists, comments and blank lines aside, and what that imports itself [C14 C15]", async () => {
    const listed = { "code/requirements.txt": "# mine\n\nouter==1.0.0\n" };
    expect(await outputOf({ "code/function.js": importing, ...listed })).toBe("outer and inner");
    const manifest = { "code/package.json": '{"type":"module","dependencies":{"outer":"^1.0.0"}}' };
    expect(await outputOf({ "code/function.js": importing, ...manifest })).toBe("outer and inner");
  });

  test("may be its own files, without a list [C13]", async () => {
    const tree = {
      "code/function.ts": main("import { a } from './lib/a.ts'", "a"),
      "code/lib/a.ts": "export const a: number = 7;",
    };
    expect(await outputOf(tree)).toBe(7);
  });

  test.each([
    ["allowed and not listed", importing, "", 'imports "outer"'],
    ["only there for what it lists", main("import inner from 'inner'", "inner"), "outer", 'imports "inner"'],
    ["in what the host has above it", main("import v from 'vitest'", "v"), "", 'imports "vitest"'],
    ["outside of code/", main("import a from '../a.js'", "a"), "", "leads out of the tool's folder"],
    [
      "by a name that leads out",
      main("import a from 'outer/../inner/index.js'", "a"),
      "outer",
      "leads out of the tool's folder",
    ],
  ])("is refused where it is %s [C14]", async (_what, code, requirements, problem) => {
    const tree = { "code/function.js": code, "code/requirements.txt": requirements, "a.js": "export default 1" };
    expect(await problemOf(tree)).toContain(problem);
  });

  test("is not what lies above a package that is a folder, though a single module may have it", async () => {
    const folder = await newFolder();
    await cp(await newTree(MODULES), folder, { recursive: true });
    await cp(await newTree({ "code/function.js": importing }), path.join(folder, "tool"), { recursive: true });
    await using engine = await open();
    const error = await refusalOf(engine.register(path.join(folder, "tool")));
    expect(error.message).toContain('imports "outer", which the package does not list');
    await engine.register(path.join(folder, "tool/code/function.js"));
  });
});
