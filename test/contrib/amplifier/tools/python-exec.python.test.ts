import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { referenceTool } from "../../../../src/contrib/amplifier/reference-tools.ts";
import { createEngine, type Engine } from "../../../../src/glovebox/index.ts";

let engine: Engine;

beforeAll(async () => {
  engine = await createEngine({ workers: 1, executor: "threads" });
  await engine.register(referenceTool("python_exec"));
}, 300_000);

afterAll(() => engine.close());

/** As long as it may take: only a test of what does not end says less. */
const run = (code: string, more: object = {}) =>
  engine.execute({ name: "python_exec", arguments: { code, timeout: 60, ...more } });
const printed = async (code: string) => (await run(code)).output;
const failure = async (code: string) => (await run(code)).error?.message;

test("code in Python has a tool as well, with an interpreter of its own for each call [D33]", () => {
  const info = engine.get("python_exec");
  expect([info?.contract, info?.runtime, info?.isolation]).toEqual(["strands", "python", "isolate"]);
  expect(info?.inputSchema).toMatchObject({
    properties: { code: { type: "string" }, timeout: { type: "integer", default: 5, minimum: 1, maximum: 60 } },
    required: ["code"],
  });
});

test("code has what it printed as its result, or is told that there was nothing [D37 D38 D39]", async () => {
  expect(await printed("f = 1\nfor n in range(1, 6): f *= n\nprint('5! =', f)")).toBe("5! = 120\n");
  expect(await printed("x = 1")).toBe("Code executed successfully (no output)");
  expect(await failure("")).toBe("No code provided");
});

test("code finds the names that are listed, and no others [D36]", async () => {
  const names =
    "int float str bool list dict tuple set len range enumerate zip sum min max abs round sorted reversed print isinstance type";
  expect(await printed(`print(len([${names.replaceAll(" ", ", ")}]))`)).toBe("22\n");
  for (const name of ["open", "eval", "exec", "compile", "__import__", "getattr", "globals", "vars", "input", "exit"]) {
    expect(await failure(name)).toBe(`Execution failed: NameError: name '${name}' is not defined`);
  }
  expect(await failure("import os")).toBe("Execution failed: ImportError: __import__ not found");
});

test("code that fails says how, and keeps what it had printed before [D40 D41]", async () => {
  const { success, output, error } = await run("print('one')\nprint('two')\n1 / 0");
  expect([success, output]).toEqual([false, "one\ntwo\n"]);
  expect(error?.message).toMatch(/^Execution failed: ZeroDivisionError: division by zero/);
});

test("code leaves nothing to the next one: not even in what all of Python shares [D36]", async () => {
  const classes = "().__class__.__base__.__subclasses__()";
  const sys = `[c for c in ${classes} if c.__name__ == '_wrap_close'][0].close.__globals__['sys']`;
  expect(await printed(`s = ${sys}\ns.left = 1\nprint(s.left)`)).toBe("1\n");
  expect(await failure(`print(${sys}.left)`)).toMatch(/AttributeError: .*left/);
});

describe("code that does not end", () => {
  test("has the time that its call gives it, and no more than a minute [D34]", async () => {
    const busy = await run("while True: pass", { timeout: 1 });
    // Where the machine has other work, the deadline comes first, which has two seconds for an interpreter to start.
    expect(busy.error?.message).toMatch(/ 1000 ms of processor time| 3250 ms/);
    for (const timeout of [0, 61, 1.5]) expect((await run("1", { timeout })).error?.code).toBe("invalid_arguments");
  });

  test("catches nothing of what ends it, and keeps in its log what it had printed [D34 D41]", async () => {
    const code = "print('one')\nwhile True:\n    try:\n        while True: pass\n    except: pass";
    // Far less processor time than its deadline has, so that this ends it however busy the machine is.
    const call = { name: "python_exec", arguments: { code, timeout: 60 } };
    const { error, metadata } = await engine.execute(call, { limits: { cpuMs: 500 } });
    expect([error?.code, metadata.logs.map(({ message }) => message)]).toEqual(["cpu_limit", ["one"]]);
  });

  test("takes neither all memory nor anybody else's call [D35]", async () => {
    const [greedy, other] = await Promise.all([
      run("all = []\nwhile True: all = all + [0] * 1000000"),
      run("print('fine')"),
    ]);
    expect(greedy.error?.code).toBe("memory_limit");
    expect(other.output).toBe("fine\n");
  });
});

/** All of it is the interpreter's own. */
const ENVIRON = {
  HOME: "/tmp",
  LANG: "C.UTF-8",
  LD_LIBRARY_PATH: "/usr/lib:/lib/python3.14/site-packages",
  LOGNAME: "web_user",
  PATH: "/",
  PWD: "/",
  PYTHONINSPECT: "1",
  USER: "web_user",
  _: "./this.program",
};

/** A walk that `print`s what came of each step: what it had, or the class of what was raised. */
const WALK = `
found = [c for c in ().__class__.__base__.__subclasses__() if c.__name__ == '_wrap_close'][0].close.__globals__
sys, load = found['sys'], found['__builtins__']['__import__']
b, os = sys.modules['builtins'], sys.modules['os']
def attempt(name, body):
    try: print(name, body())
    except b.BaseException as error: print(name, type(error).__name__)
`;

test("code that walks from any object to all modules finds nothing of the host there [D35 D36]", async () => {
  const said = await printed(`${WALK}
attempt('passwd', lambda: b.open('/etc/passwd').read())
attempt('process', lambda: b.open('/proc/self/environ').read())
attempt('system', lambda: os.system('id'))
attempt('fork', lambda: os.fork())
attempt('execv', lambda: os.execv('/bin/sh', ['sh']))
attempt('socket', lambda: load('socket').create_connection(('127.0.0.1', 1), 1))
attempt('thread', lambda: load('threading').Thread(target=print).start())
attempt('env', lambda: load('glovebox').host.env.get(name='HOME'))
attempt('fetch', lambda: load('glovebox').host.fetch.request(url='http://127.0.0.1:1'))
`);
  expect(String(said).trimEnd().split("\n")).toEqual([
    "passwd FileNotFoundError",
    "process FileNotFoundError",
    "system PermissionError",
    "fork PermissionError",
    "execv PermissionError",
    "socket PermissionError",
    "thread RuntimeError",
    "env CapabilityError",
    "fetch CapabilityError",
  ]);
  const environ = await printed(`${WALK}\nprint(load('json').dumps(b.dict(os.environ)))`);
  expect(JSON.parse(String(environ))).toEqual(ENVIRON);
});

test("code that walks on into JavaScript finds a realm without what leads out of it [D35 D36]", async () => {
  const kinds = "WebAssembly process require module SharedArrayBuffer Atomics"
    .split(" ")
    .map((name) => `typeof ${name}`);
  const said = await printed(`${WALK}
script = 'return [${kinds.join(", ")}].join()'
attempt('js', lambda: [name for name in b.dir(load('js')) if name in ('globalThis', 'Function', 'eval', 'process')])
attempt('realm', lambda: sys.modules['glovebox._host'].host.run.constructor(script)())
`);
  expect(String(said).trimEnd().split("\n")).toEqual(["js []", `realm ${kinds.map(() => "undefined").join()}`]);
});
