import { attack } from "./harness.ts";
import type { End, Hazard } from "./plan.ts";
import { SCENES } from "./scenes/python.ts";

const CRASHED: readonly End[] = ["tool_error"];

/** Calls that end Python itself, which is then of no use to anybody. */
const DEATHS: readonly Hazard[] = [
  { name: "os.abort", body: "import os\nos.abort()", ends: CRASHED },
  { name: "os._exit", body: "import os\nos._exit(0)", ends: CRASHED },
  { name: "a signal that kills", body: "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", ends: CRASHED },
  { name: "exit, as a program would", body: "import sys\nsys.exit(3)", ends: ["tool_error"] },
  {
    name: "memory that is not there, read",
    body: "import ctypes\nreturn ctypes.string_at(0xfffffff0, 100).hex()",
    ends: CRASHED,
  },
  {
    name: "the interpreter's memory overwritten",
    body: "import ctypes\nfor at in range(0, 30000000, 1000000): ctypes.memset(at, 0x41, 1000000)",
    ends: [...CRASHED, "cpu_limit"],
  },
  {
    name: "functions at any address, called",
    body: "import ctypes\nreturn [ctypes.CFUNCTYPE(ctypes.c_int)(at)() for at in range(1, 5000)]",
    ends: [...CRASHED, "cpu_limit"],
  },
  {
    name: "bytecode that no compiler wrote",
    body: "def f(): pass\nf.__code__ = f.__code__.replace(co_code=bytes(range(0, 250, 2)) * 4, co_stacksize=0, co_consts=())\nreturn f()",
    ends: [...CRASHED, "cpu_limit"],
  },
  {
    name: "an end that comes in a callback",
    body: "import os, asyncio, time\nasyncio.get_event_loop().call_later(0.01, os.abort)\ntime.sleep(2)",
    ends: CRASHED,
  },
  {
    name: "an end that comes after the call's",
    body: "import os, asyncio\nasyncio.get_event_loop().call_soon(os.abort)\nreturn 'first'",
    ends: ["ok", ...CRASHED],
  },
  {
    name: "everything that Python holds, emptied",
    body: "import gc\nfor each in gc.get_objects():\n  if isinstance(each, (dict, list)): each.clear()",
    ends: [...CRASHED, "cpu_limit", "wall_limit"],
  },
  {
    name: "what runs tools in Python, taken away",
    body: "from glovebox import _runner, _host\n_runner._invoke = _runner._answer = _host.begin = None\n_runner._instances.clear()\nreturn 1",
    ends: ["ok", ...CRASHED],
  },
].map((hazard) => ({
  ...hazard,
  body: `if input.get("next"): return "next"\n${hazard.body}`,
  runtime: "python" as const,
  ends: hazard.ends as End[],
  limits: { cpuMs: 2_000, wallMs: 15_000 },
  next: { arguments: { next: true }, output: "next" },
}));

/** Damage that a call does to its own tool and tenant stays until the interpreter ends. */
const SPOILED: Hazard = {
  name: "the built-in functions, deleted",
  body: "import builtins\nfor name in list(vars(builtins)): delattr(builtins, name)",
  runtime: "python",
  ends: CRASHED,
};

attack("Python that ends for good", { python: true, shapes: ["after an await"], hazards: [...DEATHS, SPOILED] });
attack("Python's interpreters beside one another", {
  python: true,
  scenes: { file: "python", names: SCENES.map(({ name }) => name) },
});
