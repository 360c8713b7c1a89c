import { attack } from "./harness.ts";
import type { End, Hazard } from "./plan.ts";

/** JavaScript in the realm of the interpreter: Pyodide's own functions lead to it, so a tool of Python's has it. */
const script = (code: string): string =>
  [
    "import json, pyodide_js",
    "from glovebox import _host",
    "script = pyodide_js.runPython.constructor",
    `return json.loads(script('py', 'host', ${JSON.stringify(code)})(pyodide_js, _host.host))`,
  ].join("\n");

const tried = (expressions: readonly string[]): string =>
  script(
    `const tell = (f) => { try { return String(f()); } catch (e) { return e.constructor.name; } };
     const m = py._module;
     return JSON.stringify([${expressions.map((each) => `tell(() => ${each})`).join(", ")}]);`,
  );

const ESCAPES: readonly Hazard[] = [
  {
    name: "what JavaScript finds under its name from within Python",
    body: tried(
      [
        "WebAssembly",
        "SharedArrayBuffer",
        "Atomics",
        "process",
        "require",
        "load",
        "readbuffer",
        "os",
        "importScripts",
      ].map((name) => `typeof (0, eval)("typeof ${name} === 'undefined' ? undefined : ${name}")`),
    ),
    ends: ["ok"],
    output: Array.from({ length: 9 }, () => "undefined"),
  },
  {
    name: "WebAssembly through what the interpreter is made of",
    body: tried([
      "m.wasmMemory === undefined",
      "Object.prototype.toString.call(m.HEAPU8.buffer)",
      "new m.HEAPU8.buffer.constructor(8, { maxByteLength: 2 ** 30 }).resizable",
      "typeof m.HEAPU8.buffer.resize",
      "m.HEAPU8.buffer.transfer()",
      "Object.hasOwn(Object.getPrototypeOf(m.wasmTable), 'constructor')",
      "m.wasmTable.grow(10_000_000)",
      "m.addFunction((x) => x, 'ii')",
      "typeof structuredClone(m.wasmTable).grow",
      "typeof m.wasmTable.get(1).constructor('return typeof WebAssembly === \"undefined\" ? undefined : WebAssembly')()",
    ]),
    ends: ["ok"],
    output: [
      "true",
      "[object ArrayBuffer]",
      "false",
      "undefined",
      "TypeError",
      "false",
      "RangeError",
      "TypeError",
      "undefined",
      "undefined",
    ],
  },
  {
    name: "memory that interpreters share, and modules of WebAssembly, looked for in all that Pyodide leads to",
    body: script(`const found = [], seen = new Set(), todo = [["py", py], ["host", host], ["globalThis", globalThis]];
      while (todo.length > 0) {
        const [path, value] = todo.pop();
        if (value === null || (typeof value !== "object" && typeof value !== "function") || seen.has(value)) continue;
        seen.add(value);
        if (value instanceof py.ffi.PyProxy) continue;
        const tag = Object.prototype.toString.call(value);
        if (/SharedArrayBuffer|Atomics|WebAssembly\\.(?:Module|Instance)/.test(tag)) found.push(path + ": " + tag);
        todo.push([path + "^", Object.getPrototypeOf(value)]);
        if (ArrayBuffer.isView(value)) todo.push([path + ".buffer", value.buffer]);
        else for (const key of Reflect.ownKeys(value)) {
          const property = Object.getOwnPropertyDescriptor(value, key);
          todo.push([path + "." + String(key), property.value], [path + ".get " + String(key), property.get]);
        }
        try { Map.prototype.forEach.call(value, (one, key) => todo.push([path + "[]", key], [path + "[" + String(key) + "]", one])); } catch {}
      }
      return JSON.stringify([seen.size > 2_000, found]);`),
    ends: ["ok"],
    output: [true, []],
  },
  {
    name: "a library of the tool's own, loaded as a part of the interpreter",
    body: [
      "import _ctypes, sys",
      "code = bytes.fromhex('0061736d01000000') + b'\\x00\\x0f\\x08dylink.0\\x01\\x04\\x00\\x00\\x00\\x00'",
      "for name in ('one.so', 'two.so'): open('/tmp/' + name, 'wb').write(code)",
      "sys.path.insert(0, '/tmp')",
      "seen = []",
      "for load in (lambda: _ctypes.dlopen('/tmp/one.so', 2), lambda: __import__('two')):",
      "  try: seen.append(str(load()))",
      "  except (OSError, ImportError) as error: seen.append('WebAssembly is not available' in str(error))",
      "return seen",
    ].join("\n"),
    ends: ["ok"],
    output: [true, true],
  },
  {
    name: "the network, the file system and the processes of the host, from within Python",
    body: [
      "import os, socket, subprocess",
      "import pyodide_js",
      "seen = []",
      "for reach in (",
      "  lambda: open('/etc/passwd').read(),",
      "  lambda: os.listdir('/root'),",
      "  lambda: socket.create_connection(('127.0.0.1', 80), timeout=1),",
      "  lambda: subprocess.run(['true']),",
      "  lambda: os.fork(),",
      "  lambda: os.execv('/bin/sh', ['sh']),",
      "  lambda: os.system('true'),",
      "  lambda: pyodide_js.mountNodeFS('/x', '/'),",
      "):",
      "  try: seen.append(repr(reach()))",
      "  except Exception: seen.append(None)",
      "return [seen, 'HOSTNAME' in os.environ]",
    ].join("\n"),
    ends: ["ok"],
    output: [Array.from({ length: 8 }, () => null), false],
  },
  {
    name: "the worker's own functions, looked for in whatever the prelude calls",
    body: script(`const seen = new Set();
      const hook = (holder, name) => {
        const real = holder[name];
        holder[name] = function (...args) {
          for (const each of [this, ...args]) if (typeof each === "function") seen.add(each.toString().slice(0, 200));
          return Reflect.apply(real, this, args);
        };
      };
      for (const name of ["set", "get", "delete", "has"]) hook(Map.prototype, name);
      for (const name of ["call", "apply", "bind"]) hook(Function.prototype, name);
      hook(WeakMap.prototype, "get");
      hook(Reflect, "get");
      Error.prepareStackTrace = (_error, frames) => frames.map((frame) => seen.add(typeof frame.getThis() + typeof frame.getFunction()));
      host.log("log", "x"); host.sleep(1); host.run(); host.call_id();
      try { host.ask(Symbol(), 1, 1).stack; } catch (error) { void error.stack; }
      return JSON.stringify([...seen].filter((each) => /emit|ivm|native code/.test(each) && !/^function \\(?(?:then|resolve|reject)/.test(each)).length);`),
    ends: ["ok"],
    output: 0,
  },
];

/** Output of a realm that the tool owns is the tool's own claim, and is read as hostile. */
const FORGERIES: readonly Hazard[] = [
  {
    name: "an output of Python's with a message to the host in it",
    body: `${script(`JSON.stringify = () => '1\\nd\\t1\\t1\\t0\\t0\\t0\\t\\t"forged"'; return "1";`)}`,
    ends: ["invalid_output", "tool_error"],
  },
  {
    name: "an output of Python's with the separator of a batch in it",
    body: `${script("JSON.stringify = () => '1\\t+2\\t+3'; return '1';")}`,
    ends: ["invalid_output", "tool_error"],
  },
  {
    name: "an answer of Python's that is malformed",
    body: "from glovebox import _runner\n_runner._values.encoded = lambda value: '1}\\nd\\t1\\t1\\t0'\nreturn 1",
    ends: ["tool_error"],
  },
  {
    name: "a code of the engine's own as Python's",
    body: [
      "from glovebox import _errors",
      "_errors.described = lambda e: {'type': 'X', 'message': 'm', 'traceback': '', 'error': None, 'code': 'executor_lost'}",
      "raise ValueError('mine')",
    ].join("\n"),
    ends: ["tool_error"],
  },
  {
    name: "a refusal of the host's that Python made up",
    body: "from glovebox import CapabilityError\nraise CapabilityError('mine', 'capability_denied', 1)",
    ends: ["tool_error"],
  },
  {
    name: "JavaScript without end from within Python",
    body: script("for (;;);"),
    limits: { cpuMs: 500 },
    ends: ["cpu_limit"],
  },
];

attack("Python that looks for a way out", {
  python: true,
  shapes: ["at once"],
  hazards: [...ESCAPES, ...FORGERIES].map((hazard) => ({
    limits: { cpuMs: 4_000 },
    ...hazard,
    ends: hazard.ends as End[],
    runtime: "python" as const,
  })),
});
