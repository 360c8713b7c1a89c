import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { referenceTool } from "../../../../src/contrib/amplifier/reference-tools.ts";
import { createEngine, type Engine } from "../../../../src/glovebox/index.ts";

let engine: Engine;

beforeAll(async () => {
  engine = await createEngine({ workers: 1, executor: "threads" });
  await engine.register(referenceTool("js_exec"));
});

afterAll(() => engine.close());

const run = (code: string, more: object = {}) => engine.execute({ name: "js_exec", arguments: { code, ...more } });
/** What code prints. */
const printed = async (code: string) => (await run(code)).output;
/** What a failed call says. */
const failure = async (code: string, more: object = {}) => (await run(code, more)).error?.message;

test("code has a tool, which is Strands', in an isolate of its own for each call [D33]", () => {
  const info = engine.get("js_exec");
  expect([info?.contract, info?.isolation]).toEqual(["strands", "isolate"]);
  expect(info?.inputSchema).toMatchObject({
    properties: { code: { type: "string" }, timeout: { type: "integer", default: 5 } },
    required: ["code"],
  });
});

describe("code that ends well", () => {
  test("has what it printed as its result [D37]", async () => {
    expect(await printed("let f = 1; for (const n of range(1, 6)) f *= n; print('5! =', f)")).toBe("5! = 120\n");
    expect(await printed("print('a'); console.log({ b: [1, null] }); print()")).toBe('a\n{"b":[1,null]}\n\n');
  });

  test("that prints nothing says so [D38]", async () => {
    expect(await printed("const x = 1; x + 1")).toBe("Code executed successfully (no output)");
  });

  test("may wait for what it has begun", async () => {
    expect(await printed("print(await Promise.all([1, 2].map(async (n) => n * 2)))")).toBe("[2,4]\n");
  });

  test("leaves nothing to the next one", async () => {
    await run("range.left = 1; print(1)");
    expect(await printed("print(range.left)")).toBe("undefined\n");
  });
});

describe("code that fails", () => {
  test("is not run where it is missing [D39]", async () => {
    expect(await failure("")).toBe("No code provided");
  });

  test("says how it failed, with the kind of error and its message [D40]", async () => {
    expect(await failure("null.x")).toBe("Execution failed: TypeError: Cannot read properties of null (reading 'x')");
    expect(await failure("throw new RangeError('too far')")).toBe("Execution failed: RangeError: too far");
    expect(await failure("missing()")).toBe("Execution failed: ReferenceError: missing is not defined");
    expect(await failure("let = ;")).toMatch(/^Execution failed: SyntaxError: /);
    expect(await failure("throw 'a text'")).toBe("Execution failed: string: a text");
    expect(await failure("await Promise.reject(new TypeError('late'))")).toBe("Execution failed: TypeError: late");
  });

  test("keeps what it had printed before [D41]", async () => {
    const { success, output, error } = await run("print('one'); print('two'); null.x");
    expect([success, output]).toEqual([false, "one\ntwo\n"]);
    expect(error?.message).toMatch(/^Execution failed: TypeError/);
  });

  test("keeps it in its log where it is ended from outside [D41]", async () => {
    const call = { name: "js_exec", arguments: { code: "print('one'); for (;;);", timeout: 20 } };
    const { output, metadata } = await engine.execute(call, { limits: { cpuMs: 100 } });
    expect([output, metadata.logs.map(({ message }) => message)]).toEqual([null, ["one"]]);
  });
});

describe("code that does not end", () => {
  test("has the time that its call gives it [D34]", async () => {
    // On a busy machine the time is over before the processor time is used.
    for (const loop of ["for (;;);", "for (;;) await null;"]) {
      const { error } = await run(loop, { timeout: 1 });
      expect(error?.code).toBeOneOf(["cpu_limit", "wall_limit"]);
      expect(error?.message).toMatch(/ 1000 ms of processor time| 1250 ms/);
    }
    const idle = await run("print('waits'); await new Promise(() => {})", { timeout: 1 });
    // On a very busy machine the call ends before the tool can say so itself.
    const isTold = idle.error?.code === "tool_error";
    expect(idle.error?.message).toBe(
      isTold
        ? "Execution failed: TimeoutError: the code took longer than 1s"
        : "the call took longer than 1250 ms (limits.wallMs)",
    );
    expect(idle.output).toBe(isTold ? "waits\n" : null);
  });

  test("has five seconds where its call says nothing, and no more than a minute [D33 D34]", async () => {
    expect((await run("for (;;);")).error?.message).toMatch(/ 5000 ms of processor time| 5250 ms/);
    expect((await run("1", { timeout: 61 })).error?.code).toBe("invalid_arguments");
    expect((await run("1", { timeout: 0 })).error?.code).toBe("invalid_arguments");
    expect((await run("1", { timeout: 1.5 })).error?.code).toBe("invalid_arguments");
  });

  test("takes neither all memory nor anybody else's call [D35]", async () => {
    const [greedy, other] = await Promise.all([
      run("const all = []; for (;;) all.push(new Array(1e5).fill(all.length));", { timeout: 20 }),
      run("print('fine')"),
    ]);
    expect(greedy.error?.code).toBe("memory_limit");
    expect(other.output).toBe("fine\n");
  });
});

describe("code sees", () => {
  test("the functions that it is likely to look for [D36]", async () => {
    const code = `
      print(len("😀a"), len([1]), len(new Map([[1, 2]])), len({ a: 1 }));
      print(range(3), range(1, 7, 2), range(3, 0, -1));
      print(enumerate("ab"), zip([1, 2, 3], "ab"));
      print(sum([1, 2, 3]), min(3, 1, 2), max(["a", "c", "b"]), abs(-2), round(2.345, 2));
      print(sorted([10, 9, 1]), reversed([1, 2]), sorted(["b", "a"], (x) => x));
      print(isinstance([], Array), isinstance(1, [String, Number]), isinstance("a", Number));
      print([null, 1, "a", [], {}, new Set(), () => 1].map(type));`;
    expect(await printed(code)).toBe(
      [
        "2 1 1 1",
        "[0,1,2] [1,3,5] [3,2,1]",
        '[[0,"a"],[1,"b"]] [[1,"a"],[2,"b"]]',
        "6 1 c 2 2.35",
        '[1,9,10] [2,1] ["a","b"]',
        "true true false",
        '["null","number","string","array","object","Set","function"]',
        "",
      ].join("\n"),
    );
  });

  test("no other globals, and neither the global object nor a way to make code of texts [D36]", async () => {
    const code = `
      const seen = [];
      const look = (name, get) => { try { const found = get(); if (found !== undefined) seen.push(name); } catch {} };
      look("what there is", () => 1);
      look("this", () => this);
      look("sloppy this", () => (function () { return this; })());
      look("arrow", () => (() => this)());
      look("callee", () => arguments.callee);
      look("Function", () => (() => {}).constructor("return this")());
      look("AsyncFunction", () => (async () => {}).constructor("return this"));
      look("generator", () => Object.getPrototypeOf(function* () {}).constructor("return this"));
      look("async generator", () => Object.getPrototypeOf(async function* () {}).constructor("return this"));
      look("class", () => (class {}).constructor("return this"));
      look("bound", () => print.bind().constructor("return this")());
      look("print", () => print.constructor("return this")());
      look("console", () => console.log.constructor("return this")());
      look("accessor", () => Object.getOwnPropertyDescriptor(Map.prototype, "size").get.constructor("return this")());
      look("frames", () => { Error.prepareStackTrace = (_, frames) => frames; return typeof new Error().stack === "string" ? undefined : 1; });
      look("caller", () => { function f() { return f.caller; } return f() ?? undefined; });
      print(seen);
      print([typeof globalThis, typeof eval, typeof Function, typeof Reflect, typeof Proxy, typeof fetch, typeof setTimeout,
        typeof queueMicrotask, typeof crypto, typeof URL, typeof WebAssembly, typeof process, typeof require, typeof structuredClone,
        typeof Atomics, typeof Intl, typeof performance, typeof self, typeof window, typeof global].filter((kind) => kind !== "undefined"));`;
    expect(await printed(code)).toBe('["what there is"]\n[]\n');
  });

  test("of all globals that there are in an isolate those that are listed, and no others [D36]", async () => {
    const source = `export default () => {
      const names = new Set();
      for (let at = globalThis; at !== null; at = Object.getPrototypeOf(at)) {
        for (const name of Object.getOwnPropertyNames(at)) names.add(name);
      }
      return [...names];
    }`;
    await engine.register({ name: "all_globals", description: "Lists all globals.", source });
    const { output } = await engine.execute({ name: "all_globals", arguments: {} });
    const others = [
      ...Object.getOwnPropertyNames(globalThis),
      "window",
      "self",
      "require",
      "module",
      "exports",
      "arguments",
      "input",
    ];
    const names = new Set([...(output as string[]), ...others].filter((name) => /^[A-Za-z_$][\w$]*$/.test(name)));
    expect(names.size).toBeGreaterThan(100);
    const looks = [...names].map(
      (name) => `try { if (typeof ${name} !== "undefined") seen.push("${name}"); } catch {}`,
    );
    const seen = await printed(`const seen = [];\n${looks.join("\n")}\nprint(sorted(seen));`);
    expect((JSON.parse(String(seen)) as string[]).filter((name) => name !== "arguments")).toEqual(
      (
        "Array BigInt Boolean Date Map Number Object Promise RegExp Set String Symbol console JSON Math " +
        "Error EvalError RangeError ReferenceError SyntaxError TypeError URIError isFinite isNaN parseFloat parseInt Infinity NaN"
      )
        .split(" ")
        .toSorted(),
    );
    await engine.unregister("all_globals");
  });

  test("built-in functions that it cannot change, so that it cannot see what others do with them [D36]", async () => {
    const code = `
      const seen = [];
      const spy = (owner, key) => {
        try {
          const old = owner[key];
          Object.defineProperty(owner, key, { value: function (...args) { seen[seen.length] = key; return old.apply(this, args); } });
          seen[seen.length] = "changed " + key;
        } catch {}
      };
      for (const owner of [Map, Set, Array, Promise, Object, String, RegExp, Error, Number].map((made) => made.prototype)) {
        for (const key of Object.getOwnPropertyNames(owner)) spy(owner, key);
      }
      for (const made of [[].values(), new Map().values(), "".matchAll(/x/g), (function* () {})(), async () => {}]) {
        for (let at = Object.getPrototypeOf(made); at !== null; at = Object.getPrototypeOf(at)) for (const key of Object.getOwnPropertyNames(at)) spy(at, key);
      }
      for (const owner of [Object, Array, Promise, JSON, Math, Error, print, console]) for (const key of Object.getOwnPropertyNames(owner)) spy(owner, key);
      try { Object.prototype.extra = 1; seen[seen.length] = "extended"; } catch {}
      print("x"); console.log({ a: [1] }); await null;
      print(seen);`;
    expect(await printed(code)).toBe('x\n{"a":[1]}\n[]\n');
  });

  test("objects of its own that are as they always are", async () => {
    const code = `
      class Odd extends Error { constructor(message) { super(message); this.name = "Odd"; } toString() { return "odd"; } }
      function Old() {} Old.prototype.toString = function () { return "old"; }; Old.prototype.constructor = Old;
      const plain = {}; plain.toString = () => "plain"; plain.valueOf = () => 7; plain.name = "n";
      class Stack extends Array { peek() { return this[this.length - 1]; } }
      const stack = new Stack(); stack.push(1, 2);
      print(String(new Old()), String(plain), plain + 1, stack.peek(), stack.length, Object.keys(plain));
      throw new Odd("strange");`;
    const { output, error } = await run(code);
    expect([output, error?.message]).toEqual([
      'old plain 8 2 2 ["toString","valueOf","name"]\n',
      "Execution failed: Odd: strange",
    ]);
  });

  test("no module, and nothing around the function that it is put into [D36]", async () => {
    expect(await failure("await import('node:fs')")).toMatch(/^Execution failed: /);
    expect(await failure("import fs from 'node:fs'")).toMatch(/^Execution failed: SyntaxError/);
    for (const code of ["}; print(typeof globalThis); {", "} return 1; async function x() {", "/*", "`", "}//"]) {
      expect(await failure(code)).toMatch(/^Execution failed: SyntaxError/);
    }
    expect(await printed("print(1) // }")).toBe("1\n");
    expect(await printed("print(2) <!-- }")).toBe("2\n");
  });

  test("itself as what it is, whatever it is: a result or a failure, and never more [D36 D40]", async () => {
    const fragments = [
      "}",
      "{",
      "(",
      ")",
      "return",
      "this",
      ";",
      "=>",
      "async",
      "`",
      "'",
      "//",
      "/*",
      "*/",
      "\n",
      "print(1)",
    ];
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom(...fragments), { maxLength: 8 }), async (parts) => {
        const { success, output, error } = await run(`print(typeof globalThis)\n${parts.join(" ")}`);
        const said = success ? output : error?.message;
        expect(said).toMatch(success ? /^undefined\n(?:1\n)*$/ : /^Execution failed: /);
      }),
      { numRuns: 30 },
    );
  });
});
