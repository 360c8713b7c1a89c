import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { agentspace as agentspaceContract } from "../../src/contrib/agentspace/contract/agentspace.ts";
import { mountPlan } from "../../src/contrib/amplifier/index.ts";
import { ToolRegistry } from "../../src/contrib/strands/index.ts";
import { createEngine, type Engine } from "../../src/glovebox/index.ts";
import type { PackageEvent } from "../../src/kernel/tool/package/step.ts";
import { buildZip } from "../kernel/tool/package/build-zip.ts";
import { newTree, watchTemporary } from "../kernel/tool/package/opening.ts";
import { buildWheel, wheelFiles } from "./build-wheel.ts";
import { refusalOf } from "../kernel/tool/temporary.ts";

let engine: Engine;
let wheels: string;

beforeAll(async () => {
  wheels = await mkdtemp(path.join(os.tmpdir(), "glovebox-wheels-"));
  const files = wheelFiles(
    {
      name: "shout",
      version: "1.2",
      files: { "shout/__init__.py": "from softly import soft\ndef shout(text):\n    return soft(text).upper()\n" },
      metadata: ["Requires-Dist: softly>=1"],
    },
    { name: "softly", files: { "softly.py": "def soft(text):\n    return text + '!'\n" } },
  );
  for (const [name, bytes] of Object.entries(files)) await writeFile(path.join(wheels, name), bytes);
  const limits = { cpuMs: 20_000, wallMs: 60_000 };
  engine = await createEngine({ workers: 1, executor: "threads", limits, packages: { wheels } });
}, 300_000);

afterAll(async () => {
  await engine.close();
  await rm(wheels, { recursive: true });
});

const spec = (name: string): string => `spec = {"name": "${name}", "description": "A tool."}\n`;

async function outputOf(name: string, input: Readonly<Record<string, string>> = {}): Promise<unknown> {
  const { output, error } = await engine.execute({ name, arguments: input });
  expect(error).toBeNull();
  return output;
}

/** A package whose tool answers what an expression gives. */
const packaged = (name: string, imports: string, expression: string, requirements: string): Record<string, string> => ({
  "code/function.py": `${imports}\n${spec(name)}def execute(data):\n    return ${expression}\n`,
  "code/requirements.txt": requirements,
});

const CLASS = "class AgentSpaceV1Tool:\n    def execute(self, data):\n        return {}\n";

describe("a tool in Python is registered and called", () => {
  test("as a definition's text, and as its file", async () => {
    await engine.register({
      name: "text",
      description: "A text.",
      runtime: "python",
      source: "def execute(data):\n    return 'text ' + data['name']\n",
    });
    expect(await outputOf("text", { name: "Ada" })).toBe("text Ada");
    const folder = await newTree({ "any.py": "def execute(data):\n    return __file__\n" });
    await engine.register({ name: "file", description: "A file.", entry: path.join(folder, "any.py") });
    expect(await outputOf("file")).toBe("/tool/any.py");
    expect(engine.get("file")).toMatchObject({ runtime: "python", contract: "glovebox" });
  });

  test("from a folder of tools, with what lies in a package of Python's", async () => {
    const folder = await newTree({
      "__init__.py": "",
      "py_one.py": `${spec("py_one")}def execute(data):\n    return 1\n`,
      "py_two/__init__.py": `from .deep.text import word\n${spec("py_two")}def execute(data):\n    return word\n`,
      "py_two/deep/__init__.py": "",
      "py_two/deep/text.py": Buffer.from("# coding: latin-1\nword = 'caf\xe9'\n", "latin1"),
      "js_three.js": 'export const spec = { name: "js_three", description: "x" }; export default () => 3;',
      "test_py_one.py": "import pytest",
      "conftest.py": "import pytest",
    });
    await engine.register(folder);
    const runtimes = ["js_three", "py_one", "py_two", "conftest"].map((name) => engine.get(name)?.runtime);
    expect(runtimes).toEqual(["javascript", "python", "python", undefined]);
    expect([await outputOf("py_one"), await outputOf("py_two"), await outputOf("js_three")]).toEqual([1, "café", 3]);
  });

  test("as a package, with its siblings and with wheels, and nothing is left on disk [C13 C14 C50]", async () => {
    const left = await watchTemporary();
    const tree = {
      ...packaged("loud", "from shout import shout\nfrom parts.word import word", "shout(word)", "shout~=1.2\n"),
      "code/parts/__init__.py": "",
      "code/parts/word.py": "word = 'hello'\n",
      "code/parts/__pycache__/word.cpython-314.pyc": "broken",
    };
    const zip = buildZip(Object.entries(tree).map(([name, data]) => ({ name, data })));
    const file = path.join(await newTree({ "loud.zip": zip }), "loud.zip");
    const before = (await left()).length;
    await engine.register(file);
    expect(await outputOf("loud")).toBe("HELLO!");
    expect(await left()).toHaveLength(before);
  });

  test("with what a wheel says of itself at hand", async () => {
    const imports = "from importlib.metadata import version";
    await engine.register(await newTree(packaged("versions", imports, "version('shout')", "shout")));
    expect(await outputOf("versions")).toBe("1.2");
  });

  test("with modules in folders that have no __init__.py, fresh ones for each call", async () => {
    const imports = "from parts.sub.word import words\nimport parts";
    await engine.register(
      await newTree({
        ...packaged(
          "spaced",
          imports,
          "[words.append('x'), words, hasattr(parts, 'kept'), setattr(parts, 'kept', 1)]",
          "",
        ),
        "code/parts/sub/word.py": "from ..other import words\n",
        "code/parts/other.py": "words = []\n",
      }),
    );
    const fresh = [null, ["x"], false, null];
    expect([await outputOf("spaced"), await outputOf("spaced")]).toEqual([fresh, fresh]);
  });

  test.each([
    ["by its path", "from pathlib import Path", "(Path(__file__).parent / 'parts/a.txt').read_text()"],
    ["as a resource", "import importlib.resources as r", "r.files('parts').joinpath('a.txt').read_text()"],
    ["beside its own module", "import pkgutil", "pkgutil.get_data(__name__, 'parts/a.txt').decode()"],
    ["of a package of Python's", "import pkgutil", "pkgutil.get_data('whole', 'a.txt').decode()"],
  ])("with data that it finds %s", async (_how, imports, expression) => {
    const data = { "code/parts/a.txt": "data", "code/whole/__init__.py": "", "code/whole/a.txt": "data" };
    await engine.register(await newTree({ ...packaged("data", imports, expression, ""), ...data }));
    expect(await outputOf("data")).toBe("data");
  });

  test.each(["json", "math", "calendar", "glovebox", "requests", "os"])(
    "though it is called %s.py, as a module is that it imports",
    async (name) => {
      const imports = "import calendar, json, math, os, requests\nfrom glovebox import host";
      const returned = "[json.dumps(math.sqrt(4)), calendar.isleap(2000), os.sep, requests.codes.ok]";
      const text = `${imports}\n${spec("namesake")}def execute(data):\n    return ${returned}\n`;
      await engine.register(path.join(await newTree({ [`${name}.py`]: text }), `${name}.py`));
      expect(await outputOf("namesake")).toEqual(["2.0", true, "/", 200]);
    },
  );

  test("with wheels behind the standard library", async () => {
    const files = { "calendar.py": "raise RuntimeError('an old copy')\n", "dated.py": "import calendar\n" };
    await writeFile(path.join(wheels, "dated-1.0-py3-none-any.whl"), buildWheel({ name: "dated", files }));
    await engine.register(await newTree(packaged("dates", "import dated", "dated.calendar.isleap(2000)", "dated")));
    expect(await outputOf("dates")).toBe(true);
  });

  test("with a record that speaks of another language of those that are read [C02]", async () => {
    const record = {
      tool_id: "recorded",
      tool_runtime_type: "javascript",
      tool_source_code_link: "./greet",
      tools_api_spec: { input: {}, output: {} },
    };
    expect(agentspaceContract.readTool(record).name).toBe("recorded");
    const folder = await newTree({
      "tool.json": JSON.stringify(record),
      "code/function.py": CLASS,
    });
    await engine.register(folder);
    expect(engine.get("recorded")).toMatchObject({ runtime: "python", contract: "agentspace" });
    const binary = { ...record, tool_runtime_type: "binary" };
    const refused = await newTree({
      "tool.json": JSON.stringify(binary),
      "code/function.py": CLASS,
    });
    expect((await refusalOf(engine.register(refused))).message).toContain("/tool_runtime_type");
  });

  test("through the registry of Strands, by its id and by its path [D50 D51]", async () => {
    const module = (name: string): string =>
      `TOOL_SPEC = {"name": "${name}", "description": "x", "inputSchema": {"json": {"type": "object"}}}\ndef ${name}(tool, **kwargs):\n    return {"toolUseId": tool["toolUseId"], "status": "success", "content": [{"text": "ok"}]}\n`;
    const folder = await newTree({
      "tools/__init__.py": "from tools.registry import get_registry\n",
      "tools/registry.py": "raise RuntimeError('nobody imports it')\n",
      "tools/py_echo.py": module("py_echo"),
      "tools/test_py_echo.py": "import pytest\n",
      "tools/other.py": "x = 1\n",
    });
    const registry = await ToolRegistry.discover({ engine, tools: path.join(folder, "tools") });
    expect(registry.list_all().map(({ id }) => id)).toEqual(["py_echo"]);
    expect(registry.warnings).toMatchObject([{ module_name: "other" }]);
    const full = "strands_cli.tools.py_echo";
    expect(registry.get_allowlist()).toEqual(new Set(["py_echo", full]));
    expect(["py_echo", full].map((callable) => registry.find(callable)?.id)).toEqual(["py_echo", "py_echo"]);
    expect(await outputOf("py_echo")).toBe("ok");
  });

  test("through a mount plan of Amplifier's, as a file or as a folder", async () => {
    const module = (name: string): string =>
      `class Tool:\n    name = "${name}"\n    description = "x"\n    async def execute(self, input):\n        return "mounted"\nasync def mount(coordinator, config):\n    await coordinator.mount("tools", Tool(), name="${name}")\n`;
    const folder = await newTree({ "one.py": module("amp_one"), "two/__init__.py": module("amp_two") });
    const tools = [
      { module: "tool-one", source: "./one.py" },
      { module: "tool-two", source: "./two" },
    ];
    const mounted = await mountPlan(engine, { tools }, { folder });
    expect(mounted).toMatchObject([
      { state: "mounted", tools: ["amp_one"], error: null },
      { state: "mounted", tools: ["amp_two"], error: null },
    ]);
  });
});

describe("a tool in Python is refused", () => {
  test("where its package needs what is not there, with the step and the line", async () => {
    const steps: PackageEvent[] = [];
    engine.on("package:step", (event) => steps.push(event));
    const folder = await newTree(packaged("needs", "import absent", "1", "# all\nabsent>=1\n"));
    const error = await refusalOf(engine.register(folder));
    expect(error.message).toContain('install: code/requirements.txt, line 2, asks for "absent>=1", which is not there');
    expect(error.message).toContain("packages.wheels");
    expect(error.details).toMatchObject({ step: "install" });
    expect(steps.at(-1)).toMatchObject({ step: "install", failed: true });
  });

  test("where a wheel is not what it says, which stays unread", async () => {
    const bytes = buildWheel({ name: "liar", record: () => ["liar/__init__.py,sha256=x,0"] });
    await writeFile(path.join(wheels, "liar-1.0-py3-none-any.whl"), bytes);
    const error = await refusalOf(engine.register(await newTree(packaged("lies", "import liar", "1", "liar"))));
    expect(error.message).toContain('the wheel "liar-1.0-py3-none-any.whl" cannot be used');
  });

  test("where its file is not there, or is a folder, and the host's folders are not told", async () => {
    const folder = await newTree({ "a.py/x": "" });
    for (const name of ["absent.py", "a.py"]) {
      const entry = path.join(folder, name);
      const error = await refusalOf(engine.register({ name: "gone", description: "x", entry }));
      expect(error).toMatchObject({ code: "load_error", message: expect.stringContaining(name) });
      expect(error.message).not.toContain(folder);
    }
  });

  test("where it fails when it is loaded, with the lines of its own", async () => {
    const folder = await newTree({ "bad.py": "def f():\n    raise ValueError('not today')\nf()\n" });
    const error = await refusalOf(engine.register(path.join(folder, "bad.py")));
    expect(error.message).toContain("not today");
    expect(JSON.stringify(error.details)).toContain('File \\"/tool/bad.py\\", line 2, in f');
  });

  test("where it is too large with all that it needs", async () => {
    const files = { "big.bin": randomBytes(4 * 1024 * 1024) };
    await writeFile(path.join(wheels, "big-1.0-py3-none-any.whl"), buildWheel({ name: "big", files }));
    const more = "x".repeat(6 * 1024 * 1024);
    const tree = { ...packaged("large", "import os", "1", "big"), "code/data.txt": more };
    expect((await refusalOf(engine.register(await newTree(tree)))).message).toContain("more than 10485760");
  });
});
