import { attack } from "./harness.ts";
import type { End, Hazard } from "./plan.ts";

/** Calls that hold their interpreter for as long as they may. */
const LOOPS: readonly Hazard[] = [
  { name: "a Python loop without end", body: "while True: pass", ends: ["cpu_limit"] },
  {
    name: "a Python loop that catches whatever would end it",
    body: "while True:\n  try:\n    while True: pass\n  except BaseException: pass\n  finally: continue",
    ends: ["cpu_limit"],
  },
  { name: "a power of millions of digits", body: "return len(str(3 ** 10 ** 9))", ends: ["cpu_limit", "memory_limit"] },
  {
    name: "a Python pattern that backtracks",
    body: "import re\nreturn bool(re.match(r'(a+)+$', 'a' * 50 + '!'))",
    ends: ["cpu_limit"],
  },
  { name: "the sum of a range without end", body: "return sum(range(10 ** 12))", ends: ["cpu_limit"] },
  {
    name: "a finalizer that loops",
    body: "class C:\n  def __del__(self):\n    while True: pass\nC()\nreturn 1",
    ends: ["cpu_limit"],
  },
  {
    name: "a sleep of no time, again and again",
    body: "import time\nwhile True: time.sleep(0)",
    ends: ["cpu_limit", "wall_limit"],
  },
  {
    name: "callbacks of Python's loop that queue themselves",
    body: [
      "import asyncio, time",
      "loop = asyncio.get_event_loop()",
      "def again():",
      "  loop.call_soon(again)",
      "again()",
      "time.sleep(100)",
    ].join("\n"),
    ends: ["cpu_limit"],
  },
  {
    name: "a text of the exception that is never told",
    body: "class E(Exception):\n  def __str__(self):\n    while True: pass\nraise E()",
    ends: ["cpu_limit"],
  },
  {
    name: "a cancelled call that goes on in Python",
    body: "import time\nwhile True:\n  try: time.sleep(10)\n  except BaseException:\n    while True: pass",
    limits: { wallMs: 700 },
    ends: ["wall_limit"],
  },
].map((hazard) => ({ ...hazard, runtime: "python" as const, ends: hazard.ends as End[] }));

/** The same call again works: what was lost is only the interpreter. */
const NEXT = { arguments: { next: true }, output: "next" } as const;
const DEEP: readonly End[] = ["tool_error"];

/** Depths at which an interpreter runs out of one of its stacks: Python's own limit, its memory's stack, or V8's. */
const DEPTHS: readonly Hazard[] = [
  { name: "a Python function that calls itself", body: "def f(): return f()\nreturn f()", ends: DEEP },
  {
    name: "a Python function that calls itself without a limit",
    body: "import sys\nsys.setrecursionlimit(10 ** 9)\ndef f(n): return f(n + 1) + 1\nreturn f(0)",
    ends: DEEP,
  },
  {
    name: "lists in lists that are written out",
    body: "a = []\nfor i in range(100000): a = [a]\nreturn len(repr(a))",
    ends: DEEP,
  },
  {
    name: "lists in lists that are read from JSON",
    body: "import json\nreturn len(json.loads('[' * 100000 + ']' * 100000))",
    ends: DEEP,
  },
  {
    name: "an expression of half a million signs",
    body: "return eval('-' * 500000 + '1')",
    ends: [...DEEP, "memory_limit"],
  },
  {
    name: "objects in objects that are let go of",
    body: "class N: pass\na = None\nfor i in range(100000):\n  n = N()\n  n.a = a\n  a = n\ndel a, n\nreturn 'gone'",
    ends: ["ok", ...DEEP],
  },
].map((hazard) => ({
  ...hazard,
  ends: hazard.ends as End[],
  body: `if input.get("next"): return "next"\n${hazard.body}`,
  runtime: "python" as const,
  limits: { cpuMs: 2_000 },
  next: NEXT,
}));

attack("Python calls that never end", { python: true, shapes: ["after an await"], hazards: LOOPS });
attack("Python calls that go too deep", { python: true, shapes: ["at once"], hazards: DEPTHS });
