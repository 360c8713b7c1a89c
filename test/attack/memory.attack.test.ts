import { attack } from "./harness.ts";
import type { End, Hazard } from "./plan.ts";

/** Growth step by step may meet the processor limit before the heap's on a machine that is busy. */
const FULL: readonly End[] = ["memory_limit", "cpu_limit"];

/** Heaps that grow until something stops them. */
const GROWTH: readonly Hazard[] = withTime([
  { name: "an array that grows", body: "const a = []; for (;;) a.push(new Array(1_000).fill(1.5));", ends: FULL },
  { name: "objects that hold one another", body: "let a = {}; for (;;) a = { a, b: [a] };", ends: FULL },
  // V8 aborts the process where one growth of a table needs more than is left.
  { name: "a map that grows", body: "const m = new Map(); for (let i = 0; ; i++) m.set(i, i);", ends: FULL },
  { name: "a set that grows", body: "const s = new Set(); for (let i = 0; ; i++) s.add(i);", ends: FULL },
  {
    name: "an object with ever more properties",
    body: "const o = {}; for (let i = 0; ; i++) o['k' + i] = i;",
    ends: FULL,
  },
  { name: "closures without end", body: "const a = []; for (let i = 0; ; i++) a.push(() => i);", ends: FULL },
  { name: "promises without end", body: "const a = []; for (;;) a.push(new Promise(() => {}));", ends: FULL },
  { name: "symbols without end", body: "const a = []; for (;;) a.push(Symbol('x'));", ends: FULL },
  {
    name: "Array.from of fifty million",
    body: "return Array.from({ length: 5e7 }, (_, i) => ({ i })).length;",
    ends: FULL,
  },
  {
    name: "a preallocated array, again and again",
    body: "const a = []; for (;;) a.push(new Array(2 ** 25).fill({}));",
    ends: FULL,
  },
  {
    name: "a flood of microtasks that are all queued first",
    body: "for (;;) Promise.resolve().then(() => {});",
    ends: FULL,
  },
  {
    name: "memory that is held over many awaits",
    body: "return (async () => { const a = []; for (;;) { a.push(new Array(1e5).fill({})); await new Promise((d) => setTimeout(d)); } })();",
    ends: FULL,
  },
]);

/** Text that doubles: V8 refuses the longest strings itself, which the tool may catch and go on. */
const TEXT: readonly Hazard[] = withTime([
  { name: "a string that doubles", body: "let s = 'x'; for (;;) s += s;", ends: ["tool_error", ...FULL] },
  {
    name: "a string that doubles and catches V8's refusal",
    body: "const a = []; for (;;) { let s = 'x' + a.length; try { for (;;) s += s; } catch {} a.push(s); a.push(s.replaceAll('x', 'y')); }",
    ends: FULL,
  },
  {
    name: "strings that are flattened",
    body: "const a = []; for (let i = 0; ; i++) { const s = ('é' + i).repeat(1e6); s.charCodeAt(5); a.push(s); }",
    ends: FULL,
  },
  {
    name: "split of five hundred million characters",
    body: "return 'a,'.repeat(2.5e8).split(',').length;",
    ends: FULL,
  },
  {
    name: "a table that is larger than the heap may be, and is held while time passes",
    body: "const kept = 'ab'.repeat(2 ** 25).split(''); return new Promise((done) => setTimeout(() => done(kept.length), 20_000));",
    limits: { cpuMs: 5_000 },
    idles: true,
    ends: FULL,
  },
  // V8 aborts the process, before the watch of memory sees it, where one table would have over 2 ** 27 elements.
  {
    name: "a table with more elements than V8 ever gives",
    body: "return 'a'.repeat(2 ** 27 + 2 ** 20).split('').length;",
    ends: FULL,
  },
  {
    name: "join of a huge array",
    body: "return new Array(1e8).join('ab').length;",
    ends: ["ok", "tool_error", ...FULL],
  },
  {
    name: "padEnd again and again",
    body: "const a = []; for (let i = 0; ; i++) { const s = ('' + i).padEnd(2 ** 28, 'ab'); a.push(s, s.toUpperCase()); }",
    ends: FULL,
  },
]);

/** Memory that the heap's own limit does not count: it is refused, taken away, or the process is watched for it. */
const OUTSIDE: readonly Hazard[] = [
  { name: "typed arrays", body: "const a = []; for (;;) a.push(new Uint8Array(1e7).fill(1));", ends: FULL },
  {
    name: "typed arrays whose refusal is caught",
    body: "const a = []; for (;;) { try { for (;;) a.push(new Float64Array(1e6).fill(1)); } catch {} }",
    ends: FULL,
  },
  {
    name: "a resizable buffer",
    body: "const b = new ArrayBuffer(8, { maxByteLength: 2 ** 32 }); b.resize(2 ** 32); return 'grown';",
    ends: ["tool_error"],
  },
  {
    name: "a resizable buffer through the constructor of a view",
    body: "const B = new Uint8Array(1).buffer.constructor; const b = new B(8, { maxByteLength: 2 ** 31 }); return [b.resizable, b.maxByteLength];",
    ends: ["ok"],
    output: [false, 8],
  },
  {
    name: "a resizable buffer through a subclass and through Reflect",
    body: `class Sub extends ArrayBuffer {}
      const made = [new Sub(8, { maxByteLength: 16 }), Reflect.construct(ArrayBuffer, [8, { maxByteLength: 16 }], Sub)];
      return made.map((b) => b.resizable);`,
    ends: ["ok"],
    output: [false, false],
  },
  { name: "a shared buffer", body: "return typeof SharedArrayBuffer;", ends: ["ok"], output: "undefined" },
  {
    name: "a growable shared buffer behind the back of the global",
    body: "const seen = []; for (const code of ['SharedArrayBuffer', 'Atomics', 'WebAssembly']) { try { new Function('return ' + code)(); seen.push(code); } catch {} } return seen;",
    ends: ["ok"],
    output: [],
  },
  { name: "WebAssembly memory", body: "return typeof WebAssembly;", ends: ["ok"], output: "undefined" },
  {
    name: "text decoded by the megabyte",
    body: "const b = new Uint8Array(1e7).fill(65); const a = []; for (;;) a.push(new TextDecoder().decode(b), atob('QUFB'.repeat(1e6)));",
    limits: { cpuMs: 1_500 },
    ends: FULL,
  },
  {
    name: "buffers that are cloned",
    body: "const a = []; for (;;) a.push(structuredClone(new Uint8Array(1e7)));",
    ends: FULL,
  },
  {
    name: "keys of a weak map that are held elsewhere",
    body: "const w = new WeakMap(); const a = []; for (;;) { const k = {}; a.push(k); w.set(k, k); }",
    limits: { cpuMs: 2_000, memoryMb: 32 },
    ends: FULL,
  },
  {
    name: "a structured clone of a clone of a clone",
    body: "let a = [1]; for (;;) a = structuredClone([a, a]);",
    ends: ["tool_error", ...FULL],
  },
  {
    name: "an encoder fed with its own text",
    body: "let s = 'é'.repeat(1e6); const a = []; for (;;) { const b = new TextEncoder().encode(s); a.push(b); s += new TextDecoder().decode(b); }",
    ends: ["tool_error", ...FULL],
  },
];

/** Enough processor time to meet the heap's limit first. */
function withTime(hazards: readonly Hazard[]): readonly Hazard[] {
  return hazards.map((hazard) => ({ limits: { cpuMs: 2_000, memoryMb: 16 }, ...hazard }));
}

attack("calls that take all memory", { hazards: [...GROWTH, ...TEXT, ...OUTSIDE] });

/** What these took stays with their process when they have ended, so the process makes room. */
const KEPT: readonly Hazard[] = [
  {
    name: "Intl objects by the million",
    body: "const a = []; for (;;) a.push(new Intl.DateTimeFormat('de', { timeStyle: 'full' }), new Intl.Collator('de'));",
    limits: { cpuMs: 2_500 },
    ends: FULL,
  },
];

attack("objects of Intl without end", { hazards: KEPT });
