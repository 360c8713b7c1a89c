import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findJail } from "../../src/kernel/broker/jail/jail.ts";
import { documentFile, PYTHON_MS, PythonBench } from "./bench.ts";

const hasJail = !("reason" in (await findJail()));
const EXEC = { capabilities: { exec: true }, limits: { cpuMs: 30_000, wallMs: 120_000 } } as const;

let bench: PythonBench;
/** Where the operator lets tools run commands. */
let granted: PythonBench;

beforeAll(async () => {
  bench = await PythonBench.open();
  granted = await PythonBench.open({ policy: { rules: [{ allow: { exec: true } }] } });
  for (const one of [bench, granted]) {
    await one.engine.register({ path: documentFile("amplifier/python/bash.py"), capabilities: { exec: true } });
  }
}, PYTHON_MS);

afterAll(async () => {
  await bench[Symbol.asyncDispose]();
  await granted[Symbol.asyncDispose]();
});

const body = (lines: string, header = "def execute(input):"): string =>
  `import asyncio, os, subprocess, sys\n${header}\n${lines.trim().replaceAll(/^/gm, "    ")}\n`;

/** What an expression raises: its class, one that it has to be as well, and its message. */
async function raised(expression: string, base: string, imports = "os"): Promise<readonly unknown[]> {
  const source = `
import ${imports}
def execute(input):
    try:
        return ["nothing", False, repr(${expression})]
    except BaseException as error:
        return [type(error).__name__, isinstance(error, ${base}), str(error)]
`;
  const { output, error } = await bench.once(source, {}, EXEC);
  expect(error).toBeNull();
  return output as readonly unknown[];
}

describe("what the sandbox does not have", { timeout: PYTHON_MS }, () => {
  const FETCH = /the sandbox has no sockets: .* go through the fetch capability/;
  const PROCESSES = /the sandbox has no processes/;
  test.each([
    [
      "subprocess.run(['ls'])",
      "PermissionError",
      "OSError",
      "subprocess",
      /no processes; commands go through the exec/,
    ],
    ["subprocess.check_output('ls', shell=True)", "PermissionError", "OSError", "subprocess", PROCESSES],
    [
      "subprocess.Popen('ls', shell=True, stdout=-1).stdout.read()",
      "PermissionError",
      "OSError",
      "subprocess",
      PROCESSES,
    ],
    ["os.system('ls')", "PermissionError", "OSError", "os", PROCESSES],
    ["os.popen('ls').read()", "PermissionError", "OSError", "os", PROCESSES],
    ["os.fork()", "PermissionError", "OSError", "os", PROCESSES],
    ["os.execv('/bin/sh', ['sh'])", "PermissionError", "OSError", "os", PROCESSES],
    ["os.spawnlp(0, 'sh', 'sh')", "PermissionError", "OSError", "os", PROCESSES],
    ["multiprocessing.Pool(2)", "NotImplementedError", "RuntimeError", "multiprocessing", PROCESSES],
    ["multiprocessing.Process(target=print)", "NotImplementedError", "RuntimeError", "multiprocessing", PROCESSES],
    [
      "concurrent.futures.ProcessPoolExecutor()",
      "NotImplementedError",
      "RuntimeError",
      "concurrent.futures",
      PROCESSES,
    ],
    ["threading.Thread(target=print).start()", "RuntimeError", "RuntimeError", "threading", /no threads: use asyncio/],
    ["threading.Timer(1, print).start()", "RuntimeError", "RuntimeError", "threading", /no threads/],
    ["socket.socket()", "PermissionError", "OSError", "socket", FETCH],
    ["socket.create_connection(('example.org', 80))", "PermissionError", "OSError", "socket", FETCH],
    ["socket.getaddrinfo('example.org', 80)", "PermissionError", "OSError", "socket", FETCH],
    ["signal.alarm(1)", "NotImplementedError", "RuntimeError", "signal", /no alarms: use asyncio\.wait_for/],
    ["ctypes.CDLL('libc.so.6')", "OSError", "OSError", "ctypes", /no libraries/],
    ["webbrowser.get()", "Error", "Exception", "webbrowser", /no browser/],
    ["builtins.input()", "EOFError", "EOFError", "builtins", /EOF/],
  ])("is refused in words: %s", async (expression, type, base, imports, words) => {
    expect(await raised(expression, base, imports)).toEqual([type, true, expect.stringMatching(words)]);
  });

  test("is refused to tasks of asyncio as well", async () => {
    const source = body(
      `
found = []
for start in (asyncio.create_subprocess_shell("ls"), asyncio.create_subprocess_exec("ls"), asyncio.open_connection("a", 1)):
    try:
        process = await start
        await process.wait()
    except Exception as error:
        found.append(type(error).__name__)
return found`,
      "async def execute(input):",
    );
    const { output, error } = await bench.once(source, {}, EXEC);
    expect([output, error]).toEqual([["PermissionError", "PermissionError", "PermissionError"], null]);
  });

  test("ends a call that catches nothing as the capability would", async () => {
    const { error } = await bench.once(body("subprocess.run(['ls'])"), {}, EXEC);
    expect(error).toMatchObject({ code: "capability_denied", details: { capability: "exec" } });
  });

  test("is a structured error of the guide's bash tool, which is unchanged [B38]", async () => {
    const { success, error } = await bench.run("bash", { command: "ls" });
    expect(success).toBe(false);
    expect(error).toMatchObject({ type: "PermissionError", message: expect.stringMatching(/no processes; .*policy/) });
  });

  test("has stand-ins where that is friendlier: pools of threads run their functions one by one", async () => {
    const source = body(
      `
from concurrent.futures import ThreadPoolExecutor, as_completed
import multiprocessing, webbrowser
with ThreadPoolExecutor(max_workers=4) as pool:
    doubled = list(pool.map(lambda one: one * 2, [1, 2, 3]))
    futures = [pool.submit(divmod, 7, one) for one in (2, 0)]
    failed = [type(one.exception()).__name__ for one in as_completed(futures)]
threads = [await asyncio.to_thread(pow, 2, 3), await asyncio.get_running_loop().run_in_executor(None, pow, 3, 2)]
return [doubled, sorted(failed), threads, multiprocessing.cpu_count(), webbrowser.open("https://example.org")]`,
      "async def execute(input):",
    );
    const { output, error } = await bench.once(source, {}, EXEC);
    expect([output, error]).toEqual([[[2, 4, 6], ["NoneType", "ZeroDivisionError"], [8, 9], 1, false], null]);
  });
});

describe("what a tool writes and how it ends", { timeout: PYTHON_MS }, () => {
  test("are lines of the log with the levels of logging", async () => {
    const source = `
import logging, sys
logging.basicConfig(level=logging.DEBUG, format="%(levelname)s %(message)s")
def execute(input):
    logger = logging.getLogger("tool")
    for level in ("debug", "info", "warning", "error", "critical"):
        getattr(logger, level)("a %s line", level)
    print("printed")
    print("wrong", file=sys.stderr)
`;
    const { metadata } = await bench.once(source);
    expect(metadata.logs.map(({ level, message }) => [level, message])).toEqual([
      ["debug", "DEBUG a debug line"],
      ["info", "INFO a info line"],
      ["warn", "WARNING a warning line"],
      ["error", "ERROR a error line"],
      ["error", "CRITICAL a critical line"],
      ["log", "printed"],
      ["error", "wrong"],
    ]);
  });

  test("are lines of the log in their order, whether they come as text, as bytes or by their number", async () => {
    const source = `
import os, sys
def execute(input):
    print("one", end=" ")
    sys.stdout.buffer.write("zw\u00f6lf\\n".encode())
    sys.stdout.close()
    sys.stdout.reconfigure(encoding="ascii")
    print("\\ud800 \u00fc")
    os.write(sys.stderr.fileno(), b"\\xff\\n")
    print("x" * 16383 + "\u00fc" * 2, end="")
`;
    const { error, metadata } = await bench.once(source);
    expect(error).toBeNull();
    expect(metadata.logs.map(({ level, message }) => [level, message])).toEqual([
      ["log", "one zw\u00f6lf"],
      ["log", "\\ud800 \u00fc"],
      ["error", "\ufffd"],
      ["log", "x".repeat(16_383)],
      ["log", "\u00fc\u00fc"],
    ]);
  });

  test("come from functions that are built in, which are no methods of a class that has them", async () => {
    const source = `
import copy, gc, inspect, io, os, pickle, random, time
class Has:
    open, stat, sleep, collect, random = io.open, os.stat, time.sleep, gc.collect, random.random
def execute(input):
    has = Has()
    has.sleep(0)
    with has.open("/tmp/a", "w") as file:
        file.write("text")
    return [has.stat("/tmp/a").st_size, has.collect() >= 0, 0 <= has.random() < 1, str(inspect.signature(os.rmdir)),
            pickle.loads(pickle.dumps(os.stat)) is os.stat, copy.deepcopy(open) is open]
`;
    const { output, error } = await bench.once(source);
    expect([output, error]).toEqual([[4, true, true, "(path, *, dir_fd=None)", true, true], null]);
  });

  test.each([
    ["sys.exit(3)", "SystemExit", "the tool called exit(3)"],
    ["raise KeyboardInterrupt()", "KeyboardInterrupt", "KeyboardInterrupt"],
    ["raise GeneratorExit()", "GeneratorExit", "GeneratorExit"],
  ])(
    "is an error of the tool's own with %s, also after it has waited, and the next call works",
    async (line, type, message) => {
      const atOnce = await bench.once(body(line));
      const inTask = await bench.once(body(line, "async def execute(input):"));
      const later = await bench.once(body(`await asyncio.sleep(0.001)\n${line}`, "async def execute(input):"));
      for (const { error, metadata } of [atOnce, inTask, later]) {
        expect(error).toMatchObject({ code: "tool_error", type, message });
        expect(metadata.logs).toEqual([]);
      }
      expect((await bench.once(body("return 1"))).output).toBe(1);
    },
  );

  test("takes as long as it sleeps, and no processor time for that", async () => {
    const source = body(
      `
import time
before = time.time()
time.sleep(0.02)
await asyncio.sleep(0.02)
return time.time() - before > 0.03`,
      "async def execute(input):",
    );
    expect((await bench.once(source)).output).toBe(true);
  });
});

test("what waits with a timeout for a lock takes no processor time", { timeout: PYTHON_MS }, async () => {
  const source = `
import concurrent.futures, queue, threading
def execute(input):
    lock, condition, found = threading.Lock(), threading.Condition(), []
    for all in (queue.Queue(), queue.SimpleQueue()):
        try:
            all.get(timeout=0.02)
        except queue.Empty:
            found.append("empty")
    with lock, condition:
        found += [lock.acquire(timeout=0.02), condition.wait(0.02), threading.Event().wait(0.02)]
    try:
        concurrent.futures.Future().result(0.02)
    except TimeoutError:
        found.append("late")
    return [*found, lock.acquire(timeout=0.02), lock.acquire(False), lock.locked()]
`;
  const { output, error } = await bench.once(source, {}, { limits: { cpuMs: 5_000 } });
  const expected = ["empty", "empty", false, false, false, "late", true, false, true];
  expect([error, output]).toEqual([null, expected]);
});

describe.skipIf(!hasJail)("commands, where the operator allows them", { timeout: PYTHON_MS }, () => {
  test("run as subprocess has them", async () => {
    const source = body(`
one = subprocess.run("echo out; echo err >&2; exit 3", shell=True, capture_output=True, text=True)
two = subprocess.check_output(["cat"], input=b"given")
three = subprocess.run("pwd; echo $WORD >&2", shell=True, cwd="/tmp", env={"WORD": "a 'b"}, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, text=True).stdout
with subprocess.Popen(["printf", "%s", "a\\nb"], stdout=subprocess.PIPE, text=True) as process:
    four = list(process.stdout)
try:
    subprocess.run(["false"], check=True)
except subprocess.CalledProcessError as error:
    five = error.returncode
print("before")
six = os.system("echo printed; exit 1")
return [one.returncode, one.stdout, one.stderr, two.decode(), three, four, five, six, os.popen("echo popen").read()]`);
    const { output, error, metadata } = await granted.once(source, {}, EXEC);
    expect([output, error]).toEqual([
      [3, "out\n", "err\n", "given", "/tmp\na 'b\n", ["a\n", "b"], 1, 256, "popen\n"],
      null,
    ]);
    expect(metadata.logs.map(({ message }) => message)).toEqual(["before", "printed"]);
  });

  test("are ended at their time", async () => {
    const source = body(`
try:
    subprocess.run("echo begun; sleep 60", shell=True, stdout=subprocess.PIPE, timeout=1)
except subprocess.TimeoutExpired as error:
    return [error.timeout, error.cmd]`);
    const { output, error } = await granted.once(source, {}, EXEC);
    expect([output, error]).toEqual([[1, "echo begun; sleep 60"], null]);
  });

  test("make the guide's bash tool work, which is unchanged [B34 B35 B36]", async () => {
    const run = (command: string, more: object = {}) => granted.run("bash", { command, ...more });
    expect((await run("echo out")).output).toBe("out\n");
    expect((await run("echo out; echo err >&2")).output).toBe("out\n\nstderr: err\n");
    expect((await run("echo out; echo err >&2; exit 2")).error).toMatchObject({
      message: "err\n",
      type: "CommandFailed",
    });
    expect((await run("sleep 60", { timeout: 1 })).error).toMatchObject({
      message: "Command timed out after 1s",
      type: "TimeoutError",
    });
  });
});
