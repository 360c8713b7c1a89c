import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PYTHON_MS, PythonBench } from "./bench.ts";

let bench: PythonBench;

beforeAll(async () => {
  bench = await PythonBench.open();
}, PYTHON_MS);

afterAll(() => bench[Symbol.asyncDispose]());

/** One tool for all that fails: it runs the text that it is given. */
const RUNS = "def execute(input):\n    space = {}\n    exec(input['code'], space)\n    return space['fail']()\n";
let runs = "";
beforeAll(async () => {
  runs = await bench.tool(RUNS);
}, PYTHON_MS);

const failure = async (code: string) => (await bench.run(runs, { code })).error;
const stackOf = (details: unknown) => String((details as { stack?: string } | undefined)?.stack);

describe("what a tool raises", () => {
  test("is told with its class, its message, and a traceback of the tool's own lines", async () => {
    const { error } = await bench.once(
      `import json
class Odd(ValueError): pass

def inner():
    raise Odd("seven")

def execute(input):
    return json.JSONEncoder(default=lambda value: inner()).encode({1})
`,
    );
    expect(error).toMatchObject({ code: "tool_error", type: "Odd", message: "seven" });
    const stack = stackOf(error?.details);
    expect(stack).toMatch(/^Traceback \(most recent call last\):\n/);
    expect(stack).toMatch(
      /line 8, in execute\n {4}return json[^\n]*\n(.*\n)*.*line 5, in inner\n {4}raise Odd\("seven"\)\nOdd: seven$/,
    );
    expect(stack).not.toMatch(/\/lib\/python|glovebox|\^\^|\/home|\/root|\/tmp\//);
  });

  test("is told with its cause, and with what is in it where it is a group", async () => {
    const caused = await bench.once(
      `def execute(input):\n    try:\n        {}["key"]\n    except KeyError as error:\n        raise RuntimeError("no luck") from error\n`,
    );
    expect(caused.error?.message).toBe("no luck (cause: KeyError: 'key')");
    const grouped = await bench.once(
      `def execute(input):\n    raise ExceptionGroup("both", [ValueError("one"), TypeError("two")])\n`,
    );
    expect(grouped.error).toMatchObject({ type: "ExceptionGroup", message: "both (2 sub-exceptions)" });
    expect(stackOf(grouped.error?.details)).toMatch(/ \| ValueError: one\n {2}\| TypeError: two$/);
  });

  test.each([
    ["that has no message, is told by its class", "raise KeyboardInterrupt", "KeyboardInterrupt", "KeyboardInterrupt"],
    [
      "that is an exit, says that the tool has called it",
      "raise SystemExit(3)",
      "SystemExit",
      "the tool called exit(3)",
    ],
    [
      "that is no exception, is what Python makes of it",
      "raise 3",
      "TypeError",
      "exceptions must derive from BaseException",
    ],
    ["that recurses without an end, has its class", "fail()", "RecursionError", expect.stringContaining("recursion")],
    [
      "that lies about its class, is told with its own",
      "raise type('Real', (Exception,), {'__class__': property(lambda self: MemoryError)})('x')",
      "Real",
      "x",
    ],
    [
      "whose class is named by its class, is told with its own name",
      "raise Meta('Real', (Exception,), {})('x')",
      "Real",
      "x",
    ],
    [
      "that says itself in a text of its own kind, is told in that",
      "raise type('E', (Exception,), {'__str__': lambda self: Text('said')})()",
      "E",
      "said",
    ],
    [
      "that cannot say itself, is told all the same",
      "raise type('E', (Exception,), {'__str__': lambda self: 1 / 0})()",
      "Exception",
      "it cannot be described",
    ],
    [
      "that leaves while it is told, is told all the same",
      "raise type('E', (Exception,), {'__str__': lambda self: exit_now()})()",
      "Exception",
      "it cannot be described",
    ],
  ])("%s", async (_what, body, type, message) => {
    const code = `
class Meta(type):
    @property
    def __name__(self): raise SystemExit
class Text(str):
    def __getitem__(self, key): raise SystemExit
    def __len__(self): return 0
def exit_now(): raise SystemExit
def fail(): ${body}`;
    expect(await failure(code)).toMatchObject({ code: "tool_error", type, message });
  });

  test("is cut where it is large, wherever it is so", async () => {
    const error = await failure(
      `def fail():\n    kind = type("N" * 100_000, (Exception,), {})\n    raise kind("m" * 5_000_000) from kind("c" * 1_000_000)`,
    );
    expect(JSON.stringify(error).length).toBeLessThan(20_000);
    expect(error?.type).toBe("N".repeat(100));
    const deep = await failure("def fail(n=0):\n    if n == 500: raise ValueError('deep')\n    return fail(n + 1)");
    expect(stackOf(deep?.details).match(/ File "/g)?.length).toBe(10);
  });

  test("and never ends saying itself, ends with its processor time", async () => {
    const source = `class E(Exception):\n    def __str__(self):\n        while True: pass\ndef execute(input): raise E()\n`;
    expect((await bench.once(source, {}, { limits: { cpuMs: 300 } })).error?.code).toBe("cpu_limit");
  });

  test("leaves the next call as it was", async () => {
    await failure("import sys\ndef fail():\n    sys.setrecursionlimit(50)\n    raise ValueError('x')");
    expect((await bench.once("def execute(input): return 1")).output).toBe(1);
  });
});

describe("a module that cannot be loaded", () => {
  const refusal = async (source: string) =>
    (await bench.tool(source).catch((error: unknown) => error)) as { code: string; message: string; details: object };

  test.each([
    [
      "does not parse",
      "x = 1\ndef execute(input:\n    return 1",
      /SyntaxError|'\(' was never closed|invalid syntax/,
      "line 2",
    ],
    ["is indented wrongly", "def execute(input):\nreturn 1", /expected an indented block/, "line 2"],
    [
      "imports what there is not",
      "import os\nimport nothing_like_it\ndef execute(i): pass",
      /No module named 'nothing_like_it'/,
      "line 2",
    ],
    ["raises", "def execute(i): pass\n\nraise LookupError('not here')", /not here/, "line 3"],
    ["exits", "import sys\nsys.exit('bye')", /the tool called exit\('bye'\)/, "line 2"],
  ])("because it %s, is refused with the line", async (_what, source, message, line) => {
    const error = await refusal(source);
    expect([error.code, error.message]).toEqual(["load_error", expect.stringMatching(message)]);
    expect(JSON.stringify([error.message, error.details])).toContain(line);
  });

  test("because it waits for something, is told to do so in the call", async () => {
    const error = await refusal("import time\ntime.sleep(1)\ndef execute(i): pass");
    expect([error.code, error.message]).toEqual(["load_error", expect.stringContaining("do it in the call")]);
  });

  test("because it never ends, is refused in time", async () => {
    expect((await refusal("while True: pass")).code).toBe("load_error");
  });

  test("says nothing of where it lies on the host", async () => {
    const error: unknown = await bench.register("import nothing_like_it").catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: "load_error" });
    expect(JSON.stringify([(error as Error).message, (error as { details?: object }).details])).not.toContain(
      bench.folder,
    );
  });
});

describe("a module that is not there", () => {
  const words =
    "No module named 'yaml'; ask for the package PyYAML in requirements.txt or pyproject.toml, and put its wheel into packages.wheels: glovebox python add PyYAML";

  test.each([
    "import yaml",
    "from yaml import load",
    "__import__('yaml')",
    "__import__('yaml.nodes', globals(), locals(), ['nodes'])",
    "import importlib; importlib.import_module('yaml')",
    "import importlib; importlib.__import__('yaml')",
    "import importlib; name = 'ya' + 'ml'; importlib.import_module(name)",
    "import pkgutil; pkgutil.resolve_name('yaml:load')",
  ])("fails with the same words, and each time, however it is imported: %s", async (statement) => {
    const tool = await bench.tool(`def execute(input):\n    ${statement}\n    return 'imported'\n`);
    for (let time = 0; time < 2; time++) {
      const { error } = await bench.run(tool);
      expect(error).toMatchObject({ code: "tool_error", type: "ModuleNotFoundError", message: words });
    }
    const early = bench.tool(`${statement}\ndef execute(input): return 1\n`);
    await expect(early).rejects.toThrow(words);
  });
});
