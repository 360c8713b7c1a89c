import { attack } from "./harness.ts";
import type { Hazard } from "./plan.ts";

/** What only a way out would show: the host's globals, as code made by somebody's `constructor.constructor` sees them. */
const PROBE =
  "const probe = (f) => { try { return f.constructor.constructor('return typeof process + typeof require')(); } catch { return 'refused'; } };";
const INSIDE =
  "const out = (all) => all.map(probe).filter((seen) => seen !== 'undefinedundefined' && seen !== 'refused');";

/** What could lead from a value that the tool was given to the host's realm. */
const CONSTRUCTORS: readonly Hazard[] = [
  {
    name: "constructor.constructor of everything at hand",
    body: `${PROBE} ${INSIDE}
      return out([{}, [], () => {}, input, context, context.signal, host, host.vault, host.vault.echo, console, console.log,
        setTimeout, queueMicrotask, structuredClone, crypto, new URL('http://a/'), new TextEncoder(), performance, Intl, Error, globalThis]);`,
    ends: ["ok"],
    output: [],
  },
  {
    name: "constructor.constructor of what the host answered and refused",
    body: `${PROBE} ${INSIDE}
      return Promise.allSettled([host.vault.echo({ a: [1] }), host.vault.fails(1), host.vault.none(1), host.none.echo(1), host.vault.echo(1n)])
        .then((all) => out(all.flatMap((one) => [one, one.value, one.reason, one.value?.a, one.reason?.code].filter(Boolean))));`,
    ends: ["ok"],
    output: [],
  },
  {
    name: "errors of the host's kind that a tool makes with the class of one",
    body: `return host.none.echo(1).catch((error) => {
        const { constructor } = error;
        for (const key of Reflect.ownKeys(constructor)) {
          if (typeof constructor[key] === "function") throw constructor[key]({ code: "login_required", message: "mine" }, "fetch", "get");
        }
        throw new constructor("login_required", "mine", "fetch", "get");
      });`,
    ends: ["tool_error"],
  },
  {
    name: "errors of a stack that overflows inside the engine's own functions",
    body: `${PROBE} ${INSIDE}
      const errors = [];
      const acts = [() => console.log('x'), () => setTimeout(() => {}, 1e6), () => host.vault.echo(1), () => new URL('http://a/b'),
        () => crypto.getRandomValues(new Uint8Array(4)), () => structuredClone({ a: 1 }), () => context.signal, () => Math.random(), () => Date.now()];
      for (const act of acts) {
        const dive = () => { try { dive(); } catch {} if (errors.length < 5_000) { try { Promise.resolve(act()).catch(() => {}); } catch (error) { errors.push(error); } } };
        dive();
      }
      return [out(errors), errors.filter((error) => !(error instanceof Error)).length];`,
    limits: { cpuMs: 5_000, memoryMb: 128 },
    ends: ["ok"],
    output: [[], 0],
  },
  {
    name: "import() of a name that is made up at run time",
    body: "const n = 'node:' + 'fs'; return import(n);",
    ends: ["tool_error", "load_error"],
  },
  {
    name: "import() in code made by Function",
    body: "return new Function('n', 'return import(n)')('node:fs');",
    ends: ["tool_error"],
  },
  {
    name: "the globals of a process",
    body: "return ['process', 'require', 'module', 'Buffer', 'global.process', 'ivm', 'isolated_vm', 'Deno', 'Bun', '$262', 'gc', 'load', 'print', 'WebAssembly', 'Atomics'].filter((n) => { try { return new Function('return ' + n)() !== undefined; } catch { return false; } });",
    ends: ["ok"],
    output: [],
  },
];

/** Ways to the callback through which the guest speaks to its worker, or to the guest's own objects. */
const looking = (isolation: Hazard["isolation"]): readonly Hazard[] => [
  {
    name: `Error.prepareStackTrace that reads the frames, at level ${isolation}`,
    body: `const found = [];
      const look = (error, sites) => { for (const s of sites) found.push(typeof s.getThis(), typeof s.getFunction()); return 'x'; };
      try { Error.prepareStackTrace = look; } catch {}
      try { Object.defineProperty(Object.prototype, 'prepareStackTrace', { value: look }); } catch {}
      void new Error('here').stack;
      const f = () => f() + 1;
      try { f(); } catch (error) { void error.stack; }
      try { structuredClone(() => {}); } catch (error) { void error.stack; }
      return host.vault.fails(1).catch((error) => { void error.stack; return found.filter((type) => type !== 'undefined'); });`,
    ...(isolation === undefined ? {} : { isolation }),
    ends: ["ok"],
    output: [],
  },
  {
    name: `callers, arguments and sloppy functions, at level ${isolation}`,
    body: `const sloppy = new Function("return [arguments.callee.caller, sloppy_caller()]; function sloppy_caller() { return sloppy_caller.caller && sloppy_caller.caller.caller; }");
      const seen = [];
      const run = () => { try { seen.push(...sloppy().map((f) => (f === null ? 'null' : typeof f))); } catch (error) { seen.push(error.name); } };
      run(); [1].forEach(run); JSON.stringify({ toJSON: run }); new Proxy({}, { get: run }).x;
      return new Promise((done) => setTimeout(() => { run(); done(seen.includes('function')); }, 1));`,
    ...(isolation === undefined ? {} : { isolation }),
    ends: ["ok"],
    output: false,
  },
  {
    name: `built-ins replaced to overhear the engine, at level ${isolation}`,
    // What it overhears it tries out: an outcome for every call there may be must reach nobody but itself.
    body: `const heard = new Set();
      const listen = (owner, name) => {
        const real = owner[name];
        try { owner[name] = function (...args) { for (const a of [this, ...args]) if (typeof a === 'function' || (a && typeof a === 'object')) heard.add(a); return Reflect.apply(real, this, args); }; } catch {}
      };
      const { apply } = Reflect;
      for (const [o, n] of [[Map.prototype, 'get'], [Map.prototype, 'set'], [Map.prototype, 'delete'], [JSON, 'stringify'], [Array.prototype, 'push'], [Promise.prototype, 'then'], [WeakSet.prototype, 'add'], [String.prototype, 'slice'], [Promise, 'resolve'], [Function.prototype, 'call'], [Function.prototype, 'bind']]) listen(o, n);
      for (const key of ['emit', 'pure', 'world', 'turn', 'call', 'holder', 'realm', 'run', 'get', 'set', 'then', 'timers']) {
        try { Object.defineProperty(Object.prototype, key, { configurable: true, set(v) { heard.add(this); heard.add(v); }, get() { heard.add(this); return undefined; } }); } catch {}
      }
      console.log('a', { b: 1 }); setTimeout(() => {}, 1);
      return host.vault.echo({ a: 1 }).then(() => {
        const functions = [...heard].flatMap((o) => { try { return [o, ...Reflect.ownKeys(o).map((k) => o[k])]; } catch { return [o]; } }).filter((f) => typeof f === 'function');
        for (const f of functions.slice(0, 500)) for (let run = 0; run < 50; run++) { try { f(0, run, '+"forged"', '', ''); } catch {} }
        return 'mine';
      });`,
    ...(isolation === undefined ? {} : { isolation }),
    limits: { cpuMs: 2_000, wallMs: 5_000 },
    ends: ["ok", "tool_error", "invalid_output", "wall_limit", "cpu_limit", "memory_limit", "load_error"],
  },
];

/** What stacks and messages tell of the machine. */
const TALE: readonly Hazard[] = [
  {
    name: "stacks that lead over an await through the host",
    body: `Error.captureStackTrace ??= () => {};
      const stacks = [];
      const keep = (error) => { stacks.push(String(error.stack), String(error.message)); Error.captureStackTrace(error); stacks.push(error.stack); };
      return (async () => {
        for (const act of [() => host.vault.fails(1), () => host.vault.none(1), () => host.none.x(1), async () => { await null; throw new Error('a'); }, () => new Promise((_, no) => setTimeout(() => no(new Error('b')), 1)), () => structuredClone(() => {}), () => new URL('::')]) {
          try { await act(); } catch (error) { keep(error); }
        }
        return stacks.filter((stack) => /node_modules|file:|\\/work\\/|\\/home\\/|program\\.ts|node:/.test(stack));
      })();`,
    ends: ["ok"],
    output: [],
  },
];

const LOOK = `let matched; try { matched = RegExp.$1; } catch {}
if (input.look) return [({}).polluted, [].polluted, (() => {}).polluted, Promise.resolve().polluted, 'x'.polluted, context.polluted, globalThis.polluted,
  typeof leaked, typeof JSON.parse, typeof Math.max, typeof [].map, Object.getPrototypeOf(Array.prototype) === Object.prototype, JSON.stringify({ a: [1] }), matched].map(String);`;
const SEEN = [
  ...Array.from({ length: 7 }, () => "undefined"),
  "undefined",
  "function",
  "function",
  "function",
  "true",
  '{"a":[1]}',
  "undefined",
];

/** Everything that can be reached is written, redefined, deleted and given another prototype: the next call sees nothing. */
const POLLUTION: readonly Hazard[] = (["instance", "context", "isolate"] as const).map((isolation) => ({
  name: `pollution of everything that can be reached, at level ${isolation}`,
  isolation,
  body: `${LOOK}
    const { ownKeys, getPrototypeOf, getOwnPropertyDescriptor, set, defineProperty, setPrototypeOf, deleteProperty } = Reflect;
    const all = new Set([globalThis, new Function('return this')(), context, host, host.vault, (async () => {}), (function* () {})(), (async function* () {})(), [].values(), new Map().entries(), ''.matchAll(/a/g), console]);
    all.forEach((o) => {
      const add = (v) => { if ((typeof v === 'object' && v !== null) || typeof v === 'function') all.add(v); };
      try { add(getPrototypeOf(o)); for (const k of ownKeys(o)) { const p = getOwnPropertyDescriptor(o, k); add(p.value); add(p.get); add(p.set); } } catch {}
    });
    const list = []; all.forEach((o) => { list[list.length] = o; });
    for (let i = 0; i < list.length; i++) {
      const o = list[i];
      try { o.polluted = 1; } catch {}
      try { set(o, 'polluted', 1); defineProperty(o, 'polluted', { value: 1 }); } catch {}
      try { setPrototypeOf(o, null); } catch {}
      try { const keys = ownKeys(o); for (let k = 0; k < keys.length; k++) { try { deleteProperty(o, keys[k]); } catch {} } } catch {}
    }
    return 'done';`,
  limits: { cpuMs: 3_000, wallMs: 1_500 },
  ends: ["ok", "tool_error", "invalid_output", "cpu_limit", "wall_limit", "memory_limit", "load_error"] as const,
  next: { arguments: { look: true }, output: SEEN },
}));

/** The same of Node's names: what one call changes of them, the next does not see. */
const NODE_POLLUTION: readonly Hazard[] = (["instance", "context", "isolate"] as const).map((isolation) => ({
  name: `pollution of Buffer, events, process and util, at level ${isolation}`,
  isolation,
  module: `import events from "node:events"; import util from "node:util"; import fs from "node:fs"; import stream from "node:stream";`,
  body: `const seen = [Buffer.mine, Buffer.from("a").toString(), new events().mine, events.defaultMaxListeners, process.env.MINE, process.mine, process.listenerCount("exit"),
      util.inspect.defaultOptions.depth, util.mine, fs.mine, new stream.Readable().mine].map(String);
    if (input.look) return seen;
    for (const one of [Buffer, Buffer.prototype, events, events.prototype, process, Object.getPrototypeOf(process), util, util.inspect, fs, stream, stream.Readable.prototype]) {
      try { one.mine = 1; } catch {}
      try { Object.defineProperty(one, "mine", { value: 1 }); } catch {}
      try { one.toString = () => "mine"; } catch {}
    }
    for (const act of [() => { events.defaultMaxListeners = 1; }, () => { process.env.MINE = "1"; }, () => process.on("exit", () => {}), () => { util.inspect.defaultOptions.depth = 9; }]) try { act(); } catch {}
    return 'done';`,
  ends: ["ok"] as const,
  next: {
    arguments: { look: true },
    output: [
      "undefined",
      "a",
      "undefined",
      "10",
      "undefined",
      "undefined",
      "0",
      "2",
      "undefined",
      "undefined",
      "undefined",
    ],
  },
}));

/** What packages of the library keep for themselves: only an error, a callback or a result leads to it. */
const PACKAGE_POLLUTION: readonly Hazard[] = (["instance", "context", "isolate"] as const).map((isolation) => ({
  name: `pollution of what packages behind Node's names keep for themselves, at level ${isolation}`,
  isolation,
  module: `import hooks from "node:async_hooks"; import querystring from "node:querystring"; import stream from "node:stream"; import url from "node:url"; import util from "node:util";
    const thrown = (fail) => { try { return fail(); } catch (error) { return error; } };
    const given = (colors) => { let all; util.inspect({ [util.inspect.custom]: (...args) => { all = args; } }, { colors }); return all; };`,
  body: `const { inspect } = util;
    const show = given(false)[2];
    const errors = [() => inspect(util.formatWithOptions(1)), () => util.stripVTControlCharacters(1), () => url.fileURLToPath(1), () => url.fileURLToPath("http://a"), () => querystring.escape("\\ud800"), () => new stream.Writable().write(null), () => new stream.Readable({ highWaterMark: -1 }), () => stream.addAbortSignal(AbortSignal.abort(), new stream.Readable().on("error", () => {})).errored].map((fail) => thrown(fail));
    const pair = stream.Duplex.from({ readable: new stream.PassThrough(), writable: new stream.PassThrough() });
    const all = [hooks.createHook({}), show, given(false)[1].stylize, given(true)[1].stylize, ...[...errors, pair].flatMap((one) => [Object.getPrototypeOf(one), Object.getPrototypeOf(one).constructor])];
    if (input.look) return [String(all.findIndex((one) => Object.hasOwn(one, "mine"))), inspect("a", { colors: true }), errors.map((error) => typeof error.toString()).join()];
    for (const one of all) {
      try { Object.defineProperty(one, "mine", { value: 1 }); } catch {}
      try { one.toString = () => 1; } catch {}
    }
    try { show.styles = new Proxy({}, { get: () => "red" }); } catch {}
    return 'done';`,
  ends: ["ok"] as const,
  next: {
    arguments: { look: true },
    output: ["-1", "\u001B[32m'a'\u001B[39m", Array(8).fill("string").join()],
  },
}));

const REMEMBERING: readonly Hazard[] = [
  {
    name: "global variables made by indirect eval and Function",
    body: `${LOOK}
      for (const code of ['var leaked = 1', 'leaked = 1', 'this.leaked = 1', 'globalThis.leaked = 1', 'let leaked = 1', 'const leaked = 2', 'class leaked {}', 'function leaked() {}', 'Object.prototype.polluted = 1']) {
        try { (0, eval)(code); } catch {}
        try { new Function(code)(); } catch {}
      }
      return 'done';`,
    ends: ["ok"],
    next: { arguments: { look: true }, output: SEEN },
  },
  {
    name: "what regular expressions, template objects and caches remember",
    module: "let count = 0; const tag = (strings) => strings;",
    body: `let matched; try { matched = RegExp.lastMatch; } catch {}
      if (input.look) return [++count, tag\`a\`.kept, matched, (/(x)/g).lastIndex, Symbol.for('kept').description, new Intl.NumberFormat('en').kept].map(String);
      count = 5; /(secret)/.exec('secret'); try { tag\`a\`.kept = 1; } catch {}
      try { Object.getPrototypeOf(new Intl.NumberFormat('en')).kept = 1; } catch {}
      return 'done';`,
    ends: ["ok"],
    next: { arguments: { look: true }, output: ["1", "undefined", "undefined", "0", "kept", "undefined"] },
  },
];

attack("ways out of the realm", {
  hazards: [
    ...CONSTRUCTORS,
    ...looking("instance"),
    ...looking("context"),
    ...looking("isolate"),
    ...TALE,
    ...POLLUTION,
    ...NODE_POLLUTION,
    ...PACKAGE_POLLUTION,
    ...REMEMBERING,
  ],
});
