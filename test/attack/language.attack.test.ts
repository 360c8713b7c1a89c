import { attack } from "./harness.ts";
import type { End, Hazard } from "./plan.ts";

const CUT: readonly End[] = ["cpu_limit"];
const FULL: readonly End[] = ["cpu_limit", "memory_limit"];

/** Corners of the language that run code of the tool's where one does not look for it. */
const LANGUAGE: readonly Hazard[] = [
  ["Array.fromAsync of what never ends", "return Array.fromAsync((async function* () { for (;;) yield 1; })());", FULL],
  [
    "an iterator helper that finds nothing",
    "return Iterator.from({ next: () => ({ done: false, value: 1 }) }).filter(() => false).next();",
    CUT,
  ],
  [
    "a queue of an async generator without end",
    "const g = (async function* () { for (;;) yield 1; })(); for (;;) g.next();",
    FULL,
  ],
  [
    "a stack of disposals of which one loops",
    "const s = new DisposableStack(); s.defer(() => { for (;;); }); s.dispose();",
    CUT,
  ],
  [
    "a species that loops",
    "class P extends Promise { static get [Symbol.species]() { for (;;); } } return P.resolve(1).then(() => 1);",
    CUT,
  ],
  [
    "a promise whose constructor loops as a result",
    "const p = Promise.resolve(1); Object.defineProperty(p, 'constructor', { get() { for (;;); } }); return p;",
    CUT,
  ],
  [
    "a then that loops when it is asked for again",
    "let n = 0; return { get then() { if (n++ > 0) for (;;); return (done) => done(1); } };",
    ["ok", ...CUT],
  ],
  ["a Proxy around a promise as a result", "return new Proxy(Promise.resolve(1), {});", ["tool_error"]],
  [
    "a pattern with the v flag that backtracks",
    String.raw`return /^([\p{L}&&[a-z]]+)+$/v.test('a'.repeat(60) + '1');`,
    CUT,
  ],
  ["a clone with a getter that loops", "structuredClone({ get a() { for (;;); } });", CUT],
].map(([name, body, ends]) => ({ name, body, ends }) as Hazard);

/** What the engine gives to tools, used without end. */
const GIVEN: readonly Hazard[] = [
  [
    "signals that follow one another",
    "const all = [new AbortController().signal]; for (;;) all.push(AbortSignal.any(all));",
    FULL,
  ],
  ["listeners without end", "for (;;) context.signal.addEventListener('abort', () => {});", FULL],
  [
    "an abort whose listener loops",
    "const c = new AbortController(); c.signal.addEventListener('abort', () => { for (;;); }); c.abort();",
    CUT,
  ],
  [
    "tables of a hundred thousand cells",
    "const rows = Array.from({ length: 1e3 }, () => Object.fromEntries(Array.from({ length: 100 }, (_, i) => ['k' + i, 'x'.repeat(1e3)]))); for (;;) console.table(rows);",
    FULL,
  ],
  [
    "labels of the console that are giants or loop",
    "console.count('x'.repeat(5e8)); console.time({ toString() { for (;;); } });",
    FULL,
  ],
  [
    "time zones without end",
    "for (;;) Temporal.Now.zonedDateTimeISO('Europe/Berlin').getTimeZoneTransition('next').add({ years: 1 }).toString();",
    CUT,
  ],
  ["random numbers without end", "for (;;) crypto.getRandomValues(new Uint8Array(65_536));", CUT],
  ["names of capabilities without end", "for (let i = 0; ; i++) host['x' + i];", FULL],
].map(([name, body, ends]) => ({ name, body, ends }) as Hazard);

/** What would tell of the machine or of the engine. */
const TALES: readonly Hazard[] = [
  {
    name: "the source of the engine's own functions",
    body: String.raw`const functions = [console.log, setTimeout, host.vault.echo, URL, structuredClone, context.signal.addEventListener, Date, ArrayBuffer, Math.random];
      return functions.filter((f) => /(?:\/[\w.-]+){2,}\/|node_modules|file:/.test(Function.prototype.toString.call(f))).length;`,
    ends: ["ok"],
    output: 0,
  },
  {
    name: "the names around a module",
    body: "return [/^\\/tool\\/tool-\\d+\\.js$/.test(__filename), __dirname, typeof module, Object.values(import.meta).every((place) => /^(?:file:\\/\\/)?\\/tool(?:\\/tool-\\d+\\.js)?$/.test(place)), typeof this, (0, eval)('typeof factory + typeof guest + typeof emit + typeof DEFERRED')];",
    ends: ["ok"],
    output: [true, "/tool", "undefined", true, "undefined", "undefinedundefinedundefinedundefined"],
  },
  {
    name: "the context's host, written to and redefined",
    body: "try { host.vault = 1; } catch {} try { Object.defineProperty(host, 'vault', { value: 1 }); } catch {} try { Object.setPrototypeOf(host, {}); } catch {} return [typeof host.vault.echo, JSON.stringify(host), Object.isFrozen(host)];",
    ends: ["ok"],
    output: ["function", "{}", true],
  },
];

attack("corners of the language and of what tools are given", { hazards: [...LANGUAGE, ...GIVEN, ...TALES] });
