import { setFlagsFromString } from "node:v8";
import { describe, expect, test } from "vitest";
import { type FakeHost, openRealm } from "./in-realm.ts";

const FAILED = { code: "capability_failed", message: "it is shut" };

/** A walk of its own, written without a look at the one that freezes. */
const OPEN_OBJECTS = `() => {
  const syntax = [function () {}, () => {}, async () => {}, function* () {}, async function* () {},
    Object.getPrototypeOf((function* () {})()), Object.getPrototypeOf((async function* () {})()), [].keys(), new Map().keys(), new Set().keys(), "".matchAll(/a/g), ""[Symbol.iterator](),
    class {}, /a/, new Error(), Promise.resolve(), new Intl.Segmenter().segment("a")[Symbol.iterator](),
    [].values().map((x) => x), new URLSearchParams("a=1").keys(), new URL("https://a.b"), new AbortController().signal,
    crypto.subtle, console];
  const todo = [...Object.getOwnPropertyNames(Object.getPrototypeOf(Object.getPrototypeOf(globalThis))).map((name) => {
    try { return [name, globalThis[name]]; } catch { return [name, null]; }
  }), ...syntax.map((value) => [String(value?.constructor?.name), Object.getPrototypeOf(value)])];
  todo.push(["globalThis^", Object.getPrototypeOf(globalThis)], ["globalThis^^", Object.getPrototypeOf(Object.getPrototypeOf(globalThis))]);
  const { get, set } = Object.getOwnPropertyDescriptor(new Error(), "stack");
  todo.push(["stack:get", get], ["stack:set", set]);
  const seen = new Set([globalThis]);
  const open = [];
  const own = new Set(["console", "setTimeout", "setInterval", "clearTimeout", "clearInterval", "queueMicrotask"]);
  while (todo.length > 0) {
    const [path, value] = todo.pop();
    if (value === null || (typeof value !== "object" && typeof value !== "function") || seen.has(value)) continue;
    if (own.has(path)) continue;
    seen.add(value);
    if (!Object.isFrozen(value)) open.push(path);
    todo.push([path + "^", Object.getPrototypeOf(value)]);
    for (const key of Reflect.ownKeys(value)) {
      const { value: inner, get, set } = Object.getOwnPropertyDescriptor(value, key);
      const name = path + "." + String(key);
      todo.push([name, inner], [name + ":get", get], [name + ":set", set]);
    }
    // It is behind an accessor, where assigning it to an heir has to work.
    if (Object.hasOwn(value, "constructor")) todo.push([path + ".constructor", value.constructor]);
  }
  return { open, seen: seen.size };
}`;

describe("a hardened realm", () => {
  test("is frozen wherever a tool can reach", async () => {
    using realm = await openRealm(OPEN_OBJECTS);
    const { open, seen } = realm.call() as { open: string[]; seen: number };
    expect(open).toEqual([]);
    expect(seen).toBeGreaterThan(1_000);
  });

  test("is frozen also where it was made on a full stack", async () => {
    const touch =
      "const touch = () => [URL, crypto, performance, typeof Temporal, new Date(0).toTemporalInstant?.(), fetch];";
    const dig = "function dig() { try { return dig(); } catch { return touch(); } }";
    using realm = await openRealm(`() => { ${touch} ${dig} dig(); return (${OPEN_OBJECTS})(); }`);
    expect(realm.call()).toMatchObject({ open: [] });
  });

  test("freezes the classes of all errors that it gives to a tool", async () => {
    const host: FakeHost = (method) => (method === "call" ? { value: { ok: false, code: "a", message: "b" } } : FAILED);
    using realm = await openRealm(
      `async (_, { host }) => {
        const asks = [host.vault.echo({ at: NaN }), host.vault.echo(() => 1), host.vault.echo(1), host.tools.add(1), host.kv.get(1), fetch("::")];
        const errors = await Promise.all(asks.map((ask) => ask.then(() => null, (error) => error)));
        errors.push(...[() => new URL("::"), () => structuredClone(() => 1), () => atob("?")].map((act) => { try { return act(); } catch (error) { return error; } }));
        const isOpen = (error) => !Object.isFrozen(Object.getPrototypeOf(error)) || !Object.isFrozen(error.constructor);
        return [errors.map(({ name }) => name), errors.filter(isOpen).map(({ name }) => name)];
      }`,
      { host },
    );
    const [names, open] = realm.call() as [string[], string[]];
    expect(names.slice(0, 4)).toEqual(["ValueError", "TypeError", "CapabilityError", "CalledToolError"]);
    expect(open).toEqual([]);
  });

  test("has fast prototypes of primitives", async () => {
    setFlagsFromString("--allow-natives-syntax");
    try {
      const isFast = "const isFast = (0, eval)('(prototype) => %HasFastProperties(prototype)');";
      using realm = await openRealm(
        `() => { ${isFast} return [String, Number, Boolean, Symbol, BigInt].filter((Class) => !isFast(Class.prototype)).length; }`,
      );
      expect(realm.call()).toBe(0);
    } finally {
      setFlagsFromString("--no-allow-natives-syntax");
    }
  });

  test("gives dates one prototype, whatever they are made for", async () => {
    const made = "Reflect.construct(Date, [0], Object.assign(function () {}, { prototype: null }))";
    using realm = await openRealm(`() => Object.getPrototypeOf(${made}) === Date.prototype`);
    expect(realm.call()).toBe(true);
  });

  test.each([
    ["assigning toString to an object", "const o = {}; o.toString = () => 'mine'; return `${o}`;", "mine"],
    [
      "assigning name and message to an error",
      "const e = new Error('a'); e.name = 'Mine'; e.message = 'b'; return `${e}`;",
      "Mine: b",
    ],
    [
      "a class field that overrides an inherited name",
      "class E extends Error { name = 'E'; } return new E('x').name;",
      "E",
    ],
    [
      "a function whose prototype gets methods",
      "function F() {} F.prototype.toString = () => 'f'; F.prototype.constructor = F; return `${new F()}`;",
      "f",
    ],
    [
      "an object that inherits from an array's prototype",
      "const o = Object.create(Array.prototype); o.constructor = Object; o.toString = () => 'o'; return `${o}`;",
      "o",
    ],
    [
      "a subclass of Map with its own toString",
      "class M extends Map {} M.prototype.toString = () => 'm'; return `${new M()}`;",
      "m",
    ],
    [
      "a Date that gets its own toJSON",
      "const d = new Date(0); d.toJSON = () => 'd'; return JSON.stringify(d);",
      '"d"',
    ],
    ["a promise that gets its own catch", "const p = Promise.resolve(); p.catch = () => 'c'; return p.catch();", "c"],
    [
      "a polyfill written on the global",
      "globalThis.structuredClone = () => 'mine'; return globalThis.structuredClone();",
      "mine",
    ],
    [
      "a static method called bind, as lodash has it",
      "function F() {} F.bind = () => 'bound'; return F.bind();",
      "bound",
    ],
    [
      "a Buffer of its own that inherits from Uint8Array",
      `function B() {} B.prototype = Object.create(Uint8Array.prototype);
       for (const name of ["fill", "includes", "indexOf", "lastIndexOf", "slice", "toString"]) B.prototype[name] = () => name;
       return new B().slice() + new B().includes() + new B();`,
      "sliceincludestoString",
    ],
    [
      "an asynchronous generator that gets its own return and throw, as graphql-ws has them",
      "const g = (async function* () {})(); g.return = () => 'returned'; g.throw = () => 'thrown'; return g.return() + g.throw();",
      "returnedthrown",
    ],
    [
      "a polyfill that looks for timers on the global's prototype first, as setimmediate does",
      `const above = Object.getPrototypeOf(globalThis); const target = above && above.setTimeout ? above : globalThis;
       target.setImmediate = () => 'soon'; return globalThis.setImmediate();`,
      "soon",
    ],
    [
      "an object that inherits from the global and uses its timers",
      "const heir = Object.create(globalThis); return typeof heir.setTimeout + typeof heir.console.log;",
      "functionfunction",
    ],
    ["Object.assign of inherited names", "return `${Object.assign({}, { toString: () => 'x' })}`;", "x"],
  ])("lets packages do what they are used to: %s", async (_what, code, expected) => {
    using realm = await openRealm(`() => { "use strict"; ${code} }`);
    expect(realm.call()).toBe(expected);
  });

  test.each([
    "Array.prototype.push = () => 0",
    "Object.prototype.polluted = 1",
    "Error.prepareStackTrace = () => 'x'",
    "Error.stackTraceLimit = 0",
    "JSON.parse = () => 0",
    "Object.getPrototypeOf(globalThis).leak = 1",
    "Object.setPrototypeOf(Array.prototype, null)",
    "Math.leak = 1",
    "Symbol.leak = 1",
    "Promise.prototype.then = () => 0",
    "Function.prototype.bind = () => 0",
    "Uint8Array.prototype.slice = () => 0",
    "Object.getPrototypeOf(Uint8Array).prototype.slice = () => 0",
    "Object.getPrototypeOf(globalThis).setTimeout = () => 0",
  ])("throws at %s", async (code) => {
    using realm = await openRealm(`() => { "use strict"; try { ${code}; } catch (e) { return e.name; } }`);
    expect(realm.call()).toBe("TypeError");
  });

  test("has none of what escapes its limits or watches the collector", async () => {
    const names = "WebAssembly SharedArrayBuffer Atomics WeakRef FinalizationRegistry process require Buffer".split(
      " ",
    );
    using realm = await openRealm(
      `() => ${JSON.stringify(names)}.filter((name) => typeof globalThis[name] !== "undefined")`,
    );
    expect(realm.call()).toEqual([]);
  });

  test("makes no buffer that can grow outside the heap's account", async () => {
    using realm = await openRealm(
      "() => { const b = new ArrayBuffer(8, { maxByteLength: 1e9 }); return [b.resizable, typeof b.resize, b.constructor === ArrayBuffer, ArrayBuffer.name]; }",
    );
    expect(realm.call()).toEqual([false, "undefined", true, "ArrayBuffer"]);
  });

  test("moves the bytes of a buffer into one of another length, which is fixed", async () => {
    using realm = await openRealm(`() => {
      const moved = (method, ...length) => {
        const buffer = new Uint8Array([1, 2, 3]).buffer;
        const made = buffer[method](...length);
        return [[...new Uint8Array(made)], made.resizable, buffer.detached, made instanceof ArrayBuffer];
      };
      const again = (buffer) => { try { buffer.transfer(); buffer.transfer(1); } catch (error) { return error.name; } };
      return [moved("transfer"), moved("transfer", 2), moved("transferToFixedLength", 5), again(new ArrayBuffer(1)), ArrayBuffer.prototype.transfer.length];
    }`);
    expect(realm.call()).toEqual([
      [[1, 2, 3], false, true, true],
      [[1, 2], false, true, true],
      [[1, 2, 3, 0, 0], false, true, true],
      "TypeError",
      0,
    ]);
  });

  test("gives Function and indirect eval no way to the host", async () => {
    const tool = `() => [
      [].constructor.constructor("return typeof process + typeof require + typeof globalThis.process")(),
      (0, eval)("typeof process"),
      (async () => {}).constructor("return typeof process")().constructor.name,
    ]`;
    using realm = await openRealm(tool);
    expect(realm.call()).toEqual(["undefinedundefinedundefined", "undefined", "Promise"]);
  });

  test.each([
    ["module variables", "() => ++n", "let n = 0;"],
    ["the global", "() => globalThis.n = (globalThis.n ?? 0) + 1", ""],
    [
      "a global made by Function",
      "() => Function('try { globalThis.n = (globalThis.n ?? 0) + 1 } catch {} return globalThis.n ?? 1')()",
      "",
    ],
    [
      "statics of the last match",
      "() => { let was = ''; try { was = RegExp.$1; } catch {} /(.)/.exec('x'); return was === '' ? 1 : 2; }",
      "",
    ],
    [
      "properties of functions",
      "() => { try { parseInt.n = (parseInt.n ?? 0) + 1; } catch {} return parseInt.n ?? 1; }",
      "",
    ],
    [
      "properties of template objects",
      "() => { const t = ((s) => s)`a`; try { t.n = (t.n ?? 0) + 1; } catch {} return t.n ?? 1; }",
      "",
    ],
    ["labels of the console", "() => { console.count('n'); return 1; }", ""],
  ])("keeps nothing from one call to the next in %s", async (_what, body, before) => {
    using realm = await openRealm(body, { before });
    expect([realm.call(), realm.call()]).toEqual([1, 1]);
    expect(realm.emitted.filter(([, , , message]) => message === "n: 2")).toEqual([]);
  });

  test("gives code made by Function the console of the call it runs in", async () => {
    using realm = await openRealm("() => { Function('console.log(\"from within\")')(); return 1; }");
    realm.call();
    expect(realm.emitted).toContainEqual([1, 1, "log", "from within", "", 0]);
  });
});

describe("statics of the last match", () => {
  test.each([true, false])("say what to use instead, where the realm is frozen: %s", async (hardened) => {
    const read = (name: string) =>
      `(() => { try { return RegExp["${name}"]; } catch (error) { return error.message; } })()`;
    using realm = await openRealm(
      `() => { /(b)/.exec("abc"); return [${["$1", "lastMatch", "$`"].map(read).join(", ")}]; }`,
      {
        hardened,
      },
    );
    const said = expect.stringMatching(/do not exist inside an isolate: use what match\(\) or exec\(\) returns/);
    expect(realm.call()).toEqual([said, said, said]);
  });

  test("are there for who only looks for their names, as core-js does", async () => {
    const names = "Object.getOwnPropertyNames(RegExp).filter((name) => /^\\$\\d$/.test(name)).length";
    using realm = await openRealm(`() => ["lastMatch" in RegExp, ${names}]`);
    expect(realm.call()).toEqual([true, 9]);
  });
});

describe("log lines", () => {
  test("come in their order, whether they gather or not", async () => {
    const lines = ["one", "\u2713", "two", "x".repeat(600), "three"];
    using realm = await openRealm(`() => { for (const line of ${JSON.stringify(lines)}) console.log(line); }`);
    realm.call();
    expect(realm.emitted.map(([, , , line]) => line)).toEqual(lines);
  });
});

describe("time in a realm", () => {
  test("is the turn's, however it is asked for", async () => {
    const tool = `() => [Date.now(), new Date().getTime(), +new Date(Date.now()), performance.timeOrigin, performance.now(),
      new Intl.DateTimeFormat("en", { timeZone: "UTC", dateStyle: "short" }).format(), new Date(0).constructor === Date, Date.name, Date.length]`;
    using realm = await openRealm(tool);
    const now = Date.UTC(2020, 1, 3);
    expect(realm.call(null, now)).toEqual([now, now, now, now, 0, "2/3/20", true, "Date", 7]);
  });

  // Node 24's V8 has no Temporal yet.
  describe.runIf("Temporal" in globalThis).each([true, false])(
    "for Temporal, in a realm that is hardened: %s",
    (hardened) => {
      test("is the turn's", async () => {
        const tool = `() => [Temporal.Now.instant().epochMilliseconds, Temporal.Now.zonedDateTimeISO("UTC").epochMilliseconds,
        Temporal.Now.plainDateISO("UTC").toString(), typeof Temporal.Now.timeZoneId()]`;
        using realm = await openRealm(tool, { hardened });
        const now = Date.UTC(2020, 1, 3);
        expect(realm.call(null, now)).toEqual([now, now, "2020-02-03", "string"]);
      });

      test("comes with all that the language has", async () => {
        const namesOf = (temporal: typeof Temporal) =>
          [temporal, temporal.Now].map((object) => Reflect.ownKeys(object).map(String).toSorted());
        using realm = await openRealm(`() => (${String(namesOf)})(Temporal)`, { hardened });
        expect(realm.call()).toEqual(namesOf(Temporal));
      });

      test("lets its classes be used as usual", async () => {
        const tool = `() => [new Temporal.PlainDate(2020, 2, 3).add({ days: 1 }).toString(), new Date(0).toTemporalInstant().toString(),
        new Date(0).toTemporalInstant() instanceof Temporal.Instant, Object.prototype.toString.call(Temporal)]`;
        using realm = await openRealm(tool, { hardened });
        expect(realm.call()).toEqual(["2020-02-04", "1970-01-01T00:00:00Z", true, "[object Temporal]"]);
      });
    },
  );

  test("makes dates as the language does", async () => {
    using realm = await openRealm(
      "() => [typeof Date(), new Date(2020, 0, 1).getFullYear(), class extends Date {}.name, new (class D extends Date {})(5).getTime(), Date.UTC(1970)]",
    );
    expect(realm.call()).toEqual(["string", 2020, "", 5, 0]);
  });
});

describe("randomness in a realm", () => {
  test("differs between calls, and is the same again for the same call", async () => {
    const body = "() => [Math.random(), crypto.randomUUID(), [...crypto.getRandomValues(new Uint8Array(4))]]";
    using one = await openRealm(body);
    using two = await openRealm(body);
    const first = one.call();
    expect(one.call()).not.toEqual(first);
    expect(two.call()).toEqual(first);
  });

  test("is spread evenly", async () => {
    using realm = await openRealm(
      "() => { const n = Array(10).fill(0); for (let i = 0; i < 1e4; i++) n[Math.floor(Math.random() * 10)]++; return n; }",
    );
    for (const count of realm.call() as number[]) expect(Math.abs(count - 1_000)).toBeLessThan(200);
  });
});

describe("an open realm", () => {
  test("has the same globals as a hardened one", async () => {
    const body =
      "() => Object.getOwnPropertyNames(Object.getPrototypeOf(Object.getPrototypeOf(globalThis)) ?? {}).concat(Object.getOwnPropertyNames(globalThis)).filter((name) => typeof globalThis[name] !== 'undefined')";
    using hard = await openRealm(body);
    using open = await openRealm(
      "() => Object.getOwnPropertyNames(globalThis).filter((name) => typeof globalThis[name] !== 'undefined')",
      { hardened: false },
    );
    const names = new Set(hard.call() as string[]);
    expect(new Set(open.call() as string[])).toEqual(names);
    expect(names).toContain("URL");
  });

  test("lets a tool change intrinsics and the global, for it serves one call", async () => {
    const body = "() => { globalThis.mine = 2; return [[1, 2].last(), mine]; }";
    using realm = await openRealm(body, {
      hardened: false,
      before: "Array.prototype.last = function () { return this.at(-1); };",
    });
    expect(realm.call()).toEqual([2, 2]);
  });

  test("gives V8's own classes to nobody who changes what calls them", async () => {
    const tool = `() => {
      const given = [];
      for (const name of ["construct", "apply", "get"]) {
        const was = Reflect[name];
        Reflect[name] = (...args) => { given.push(args[0]); return was(...args); };
      }
      for (const name of ["call", "apply", "bind"]) Function.prototype[name] = function () { given.push(this); };
      const made = [Date(), new Date(), new Intl.DateTimeFormat("en").format(), new Intl.DateTimeFormat("en").formatToParts(),
        new ArrayBuffer(1), performance.now(), Math.random()];
      return [given.length, made.length];
    }`;
    using realm = await openRealm(tool, { hardened: false });
    expect(realm.call()).toEqual([0, 7]);
  });
});

test.each([
  ["the tool's function", "function () { return typeof this; }", ""],
  ["a direct eval in it", "function () { return typeof eval('this'); }", ""],
  ["the module's top level", "() => typeof top", "const top = eval('this');"],
  ["an arrow function of the module", "() => arrow()", "const arrow = () => typeof eval('this');"],
])("`this` is nothing in %s", async (_where, body, before) => {
  for (const hardened of [true, false]) {
    using realm = await openRealm(body, { hardened, before });
    expect(realm.call()).toBe("undefined");
  }
});

/** Found by a review: a call of a batch that waits was started, taken back, and started again. */
test("a shared module sees each call of a batch start once", async () => {
  using realm = await openRealm(
    `({ waits }) => {
      starts++;
      return waits ? new Promise(() => undefined) : starts;
    }`,
    { shared: true, before: "let starts = 0;" },
  );
  realm.batch({}, { waits: true }, { waits: true }, {});
  expect(realm.call({})).toBe(5);
});

/** Found by a review: they were all 0. */
test("what a shared module does after its call draws numbers that nobody knows", async () => {
  using realm = await openRealm(
    `() => {
      const before = [...drawn];
      Promise.resolve().then(() => drawn.push(Math.random(), crypto.getRandomValues(new Uint32Array(1))[0]));
      return before;
    }`,
    { shared: true, before: "const drawn = [];" },
  );
  for (let call = 0; call < 3; call++) realm.call();
  const drawn = realm.call() as number[];
  expect(drawn).toHaveLength(6);
  expect(new Set(drawn).size).toBe(6);
  expect(drawn).not.toContain(0);
});

test("the delay of a timer has 32 bits, the first of which is its sign, as in browsers", async () => {
  using realm = await openRealm(`async () => {
    const fired = [];
    const after = (delay) => new Promise((resolve) => setTimeout(() => resolve(fired.push(delay)), delay));
    await Promise.all([after(5), after(2 ** 31), after(2 ** 32 + 9)]);
    return fired;
  }`);
  expect(realm.call()).toEqual([2 ** 31, 5, 2 ** 32 + 9]);
});
