import { attack } from "./harness.ts";
import type { End, Hazard } from "./plan.ts";

const FULL: readonly End[] = ["memory_limit", "cpu_limit"];

/** An interpreter's memory may grow to the tool's limit and no further; then Python raises MemoryError. */
const GROWTH: readonly Hazard[] = [
  { name: "a gigabyte in one object", body: "return len(bytearray(10 ** 9))", ends: ["memory_limit"] },
  {
    name: "a Python list that grows",
    body: "a = []\nwhile True: a.append([0] * 1000)",
    ends: FULL,
  },
  { name: "a Python text that doubles", body: "s = 'x'\nwhile True: s = s * 2", ends: ["memory_limit"] },
  {
    name: "a Python number that squares itself",
    body: "x = 3\nwhile True: x = x * x",
    ends: FULL,
  },
  {
    name: "modules of Python's without end",
    body: "import sys, types\ni = 0\nwhile True:\n  i += 1\n  sys.modules[f'm{i}'] = types.ModuleType(f'm{i}')",
    ends: FULL,
  },
  {
    name: "a file that grows in the interpreter",
    body: "with open('/tmp/x', 'wb') as f:\n  while True: f.write(b'x' * 10 ** 6)",
    ends: [...FULL, "tool_error"],
  },
  {
    name: "files without end in the interpreter",
    body: "i = 0\nwhile True:\n  i += 1\n  open(f'/tmp/f{i}', 'w').close()",
    ends: FULL,
  },
  {
    name: "memory that is refused, caught and asked for again",
    body: "a = []\nwhile True:\n  try: a.append(bytearray(10 ** 5))\n  except MemoryError: pass",
    ends: FULL,
  },
  { name: "print without end", body: "while True: print('x' * 1000000)", ends: ["cpu_limit"] },
  {
    name: "print without a line's end",
    body: "import sys\nwhile True: sys.stdout.write('x' * 1000)",
    ends: ["cpu_limit"],
  },
  { name: "a result of Python's that is too large", body: "return 'x' * 5000000", ends: ["output_too_large"] },
  {
    name: "an exception of twenty million characters",
    body: "raise ValueError('x' * 20000000)",
    ends: ["tool_error"],
  },
  {
    name: "JavaScript's objects that Python holds",
    body: "from pyodide.ffi import to_js\na = []\nwhile True: a.append(to_js([1, 2, 3]))",
    ends: [...FULL, "tool_error"],
  },
  {
    name: "a thousand Python stacks that wait",
    body: [
      "import asyncio, time",
      "from pyodide.ffi import run_sync",
      "loop = asyncio.get_event_loop()",
      "for i in range(1000): loop.call_soon(lambda: run_sync(loop.create_future()))",
      "time.sleep(0.5)",
      "return 'woke'",
    ].join("\n"),
    ends: ["ok", "cpu_limit"],
  },
].map((hazard) => ({
  limits: { cpuMs: 2_000 },
  ...hazard,
  ends: hazard.ends as End[],
  body: `if input.get("next"): return "next"\n${hazard.body}`,
  runtime: "python" as const,
  next: { arguments: { next: true }, output: "next" },
}));

attack("Python calls that take all memory", { python: true, shapes: ["at once"], hazards: GROWTH });
