import { attack } from "./harness.ts";
import type { End, Hazard } from "./plan.ts";

const LOOP = "for (;;);";
const CUT: readonly End[] = ["cpu_limit"];

/** The engine reads thrown values: reading must not cost more than the call's limits. */
const THROWN: readonly Hazard[] = [
  { name: "a thrown Proxy whose traps loop", body: `throw new Proxy({}, { get() { ${LOOP} } });`, ends: CUT },
  {
    name: "a thrown Proxy whose traps throw",
    body: "const all = new Proxy({}, { get: () => () => { throw all; } }); throw new Proxy({}, all);",
    ends: ["tool_error"],
  },
  {
    name: "a thrown Proxy that was revoked",
    body: "const p = Proxy.revocable({}, {}); p.revoke(); throw p.proxy;",
    ends: ["tool_error"],
  },
  { name: "an error whose message is a getter that loops", body: `throw { get message() { ${LOOP} } };`, ends: CUT },
  {
    name: "an error all of whose getters loop",
    body: `throw { get name() { ${LOOP} }, get message() { ${LOOP} }, get stack() { ${LOOP} }, get constructor() { ${LOOP} }, get code() { ${LOOP} } };`,
    ends: CUT,
  },
  {
    name: "an error of five hundred megabytes",
    body: "throw new Error('x'.repeat(5e8));",
    ends: ["tool_error", "memory_limit"],
  },
  {
    name: "an error whose name and stack are giants",
    body: "const e = new Error('e'); e.name = 'n'.repeat(5e8); e.stack = 's'.repeat(5e8); throw e;",
    ends: ["tool_error", "memory_limit"],
  },
  { name: "a thrown null", body: "throw null;", ends: ["tool_error"] },
  { name: "a thrown symbol", body: "throw Symbol('odd');", ends: ["tool_error"] },
  {
    name: "a thrown string of five hundred megabytes",
    body: "throw 'x'.repeat(5e8);",
    ends: ["tool_error", "memory_limit"],
  },
  {
    name: "a thrown function with a toString that loops",
    body: `const f = () => {}; f.toString = f.valueOf = f[Symbol.toPrimitive] = () => { ${LOOP} }; throw f;`,
    ends: ["tool_error", ...CUT],
  },
  {
    name: "an error that says it is the engine's own",
    body: "throw Object.assign(new Error('Script execution timed out.'), { code: 'executor_lost', name: 'CapabilityError' });",
    ends: ["tool_error"],
  },
  {
    name: "an error whose message is the engine's own word for the memory limit",
    body: "throw new Error('Isolate was disposed during execution due to memory limit');",
    ends: ["tool_error"],
  },
];

/** Rejections that nobody handles: isolated-vm itself looks at these, after the turn. */
const REJECTED: readonly Hazard[] = [
  {
    name: "an unhandled rejection with a getter that loops",
    body: `Promise.reject({ get message() { ${LOOP} } }); return 1;`,
    ends: ["ok", ...CUT],
  },
  {
    name: "an unhandled rejection with many getters that loop",
    body: `Promise.reject({ get name() { ${LOOP} }, get message() { ${LOOP} }, get stack() { ${LOOP} }, toString() { ${LOOP} } }); return 1;`,
    ends: ["ok", ...CUT],
  },
  {
    name: "an unhandled rejection with a Proxy that loops",
    body: `Promise.reject(new Proxy({}, { get() { ${LOOP} }, getPrototypeOf() { ${LOOP} } })); return 1;`,
    ends: ["ok", ...CUT],
  },
  {
    name: "an unhandled rejection with five hundred megabytes",
    body: "Promise.reject(new Error('x'.repeat(5e8))); return 1;",
    ends: ["ok", "tool_error", "memory_limit", "cpu_limit"],
  },
  {
    name: "an unhandled rejection in the call's own words of a time-out",
    body: "Promise.reject(new Error('Script execution timed out.')); return 1;",
    ends: ["ok"],
    output: 1,
  },
  {
    name: "a hundred thousand unhandled rejections",
    body: "for (let i = 0; i < 1e5; i++) Promise.reject(new Error(String(i))); return 1;",
    ends: ["ok", "tool_error", ...CUT, "memory_limit"],
  },
];

/** The engine reads returned values as well. */
const RETURNED: readonly Hazard[] = [
  { name: "a thenable that loops in then", body: `return { then() { ${LOOP} } };`, ends: CUT },
  {
    name: "a thenable that resolves with itself for ever",
    body: "const t = { then(done) { done(t); } }; return t;",
    ends: CUT,
  },
  {
    name: "a thenable that answers twice and then throws",
    body: "return { then(done, fail) { done(1); done(2); fail(new Error('late')); throw new Error('later'); } };",
    ends: ["ok"],
    output: 1,
  },
  { name: "a getter named then that loops", body: `return { get then() { ${LOOP} } };`, ends: CUT },
  { name: "a toJSON that loops", body: `return { toJSON() { ${LOOP} } };`, ends: CUT },
  {
    name: "a toJSON that returns itself deeper each time",
    body: "const deep = () => ({ a: { toJSON: deep } }); return { toJSON: deep };",
    ends: ["invalid_output", "tool_error", ...CUT],
  },
  { name: "a result of five hundred megabytes", body: "return 'x'.repeat(5e8);", ends: ["output_too_large"] },
  {
    name: "a result of many large strings",
    body: "const s = 'x'.repeat(1e6); return new Array(400).fill(s);",
    ends: ["output_too_large", "memory_limit", ...CUT],
  },
  {
    name: "a result that JSON writes six times as long",
    body: "return '\\u0001'.repeat(1e6);",
    ends: ["output_too_large"],
  },
  {
    name: "a result whose array-likes have no end",
    body: "return new Proxy([], { get: (t, k) => (k === 'length' ? 2 ** 32 : 1) });",
    ends: ["output_too_large", "invalid_output", "memory_limit", ...CUT],
  },
  { name: "a result that refers to itself", body: "const a = {}; a.a = a; return a;", ends: ["invalid_output"] },
  {
    name: "a BigInt of a million digits as a result",
    body: "return { n: 10n ** 1_000_000n };",
    ends: ["invalid_output", "output_too_large", ...CUT],
  },
  { name: "a number that JSON does not have as a result", body: "return { n: 0 / 0 };", ends: ["invalid_output"] },
  {
    name: "a result that is nested a hundred thousand deep",
    body: "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return a;",
    ends: ["invalid_output"],
  },
  {
    name: "a result that is nested as deep as JSON can be written",
    body: "let a = []; for (let i = 0; i < 3_000; i++) a = [a]; return a;",
    ends: ["invalid_output"],
  },
  {
    name: "a toJSON that answers with the engine's own lines",
    body: "return { toJSON: () => '+{\"a\":1}\\t-{}\\n\\t\\u2028' };",
    ends: ["ok"],
    output: '+{"a":1}\t-{}\n\t\u2028',
  },
  { name: "half a surrogate pair as a result", body: "return '\\ud800';", ends: ["ok"], output: "\ud800" },
];

/** Stacks that overflow, wherever that happens to be. */
const DEEP: readonly Hazard[] = [
  { name: "recursion without end", body: "const f = () => f() + 1; return f();", ends: ["tool_error"] },
  {
    name: "JSON.parse of a deep text",
    body: "return JSON.parse('['.repeat(1e6) + ']'.repeat(1e6)).length;",
    ends: ["ok", "tool_error", "memory_limit", ...CUT],
  },
  {
    name: "JSON.stringify of a deep value",
    body: "let a = []; for (let i = 0; i < 1e6; i++) a = [a]; return JSON.stringify(a).length;",
    ends: ["tool_error", "memory_limit", ...CUT],
  },
  {
    name: "recursion through getters, traps and conversions",
    body: `const p = new Proxy({}, { get: (t, k, r) => r[k], has: (t, k) => k in p });
      const seen = [];
      for (const f of [() => p.x, () => 'x' in p, () => String({ toString() { return String(this); } }), () => JSON.stringify({ toJSON() { return JSON.stringify(this); } }), () => [2, 1].sort(function by() { return [2, 1].sort(by); })]) {
        try { f(); } catch (error) { seen.push(error instanceof RangeError); }
      }
      return seen;`,
    ends: ["ok", ...CUT],
    output: [true, true, true, true, true],
  },
  {
    name: "a deep clone",
    body: "let a = {}; for (let i = 0; i < 1e5; i++) a = { a }; return structuredClone(a);",
    ends: ["tool_error", ...CUT],
  },
  {
    name: "an aggregate of a hundred thousand errors",
    body: "throw new AggregateError(Array.from({ length: 1e5 }, (_, i) => new Error('x' + i)), 'many');",
    limits: { cpuMs: 1_500 },
    ends: ["tool_error", "memory_limit", ...CUT],
  },
  {
    name: "an error thrown where no stack is left",
    body: "let last; const f = () => { try { f(); } catch (e) { last = e; throw e; } }; try { f(); } catch {} throw last;",
    ends: ["tool_error"],
  },
  {
    name: "a chain of errors as causes of one another",
    body: "let e = new Error('0'); for (let i = 0; i < 1e5; i++) e = new Error(String(i), { cause: e }); throw e;",
    ends: ["tool_error", ...CUT, "memory_limit"],
  },
  {
    name: "a regular expression nested too deep",
    body: "return new RegExp('('.repeat(1e5) + ')'.repeat(1e5)).test('');",
    ends: ["tool_error", ...CUT],
  },
];

attack("odd things thrown and returned", { hazards: [...THROWN, ...REJECTED, ...RETURNED, ...DEEP] });
