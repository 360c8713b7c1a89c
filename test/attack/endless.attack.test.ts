import { attack } from "./harness.ts";
import type { Hazard } from "./plan.ts";

/** Turns that would never end by themselves: each has to end at the processor time of its call. */
const SPINNING: readonly Hazard[] = [
  { name: "an endless loop", body: "for (;;);", ends: ["cpu_limit"] },
  {
    // V8's loop unrolling once dropped the stack check of this very loop.
    name: "a loop that only allocates",
    body: "let a; for (;;) { a = new Array(100); }",
    ends: ["cpu_limit"],
  },
  {
    name: "a storm of microtasks",
    body: "const again = () => Promise.resolve().then(again); return again();",
    ends: ["cpu_limit", "memory_limit"],
  },
  { name: "a loop that awaits nothing", body: "return (async () => { for (;;) await null; })();", ends: ["cpu_limit"] },
  {
    name: "queueMicrotask that queues itself",
    body: "const again = () => queueMicrotask(again); again(); return new Promise(() => {});",
    ends: ["cpu_limit"],
  },
  {
    name: "a loop in every catch and finally",
    body: "for (;;) { try { for (;;) { try { throw 1; } finally { continue; } } } catch {} finally { continue; } }",
    ends: ["cpu_limit"],
  },
  {
    name: "a regular expression that backtracks",
    body: "return /^(a+)+$/.test('a'.repeat(50) + '!');",
    ends: ["cpu_limit"],
  },
  {
    name: "a generator that never ends, spread",
    body: "const [...all] = (function* () { for (;;) yield 1; })(); return all.length;",
    ends: ["cpu_limit", "memory_limit"],
  },
  {
    name: "an async generator that never ends",
    body: "return (async () => { for await (const n of (async function* () { for (;;) yield 1; })()); })();",
    ends: ["cpu_limit"],
  },
  {
    name: "a loop in the comparator of a sort",
    body: "return [3, 2, 1].sort(() => { for (;;); });",
    ends: ["cpu_limit"],
  },
  {
    name: "a loop in a listener of the call's own signal",
    body: "context.signal.addEventListener('abort', () => { for (;;); }); return new Promise(() => {});",
    limits: { wallMs: 500 },
    ends: ["wall_limit"],
  },
  {
    name: "a loop in the callback of an interval",
    body: "return new Promise(() => setInterval(() => { for (;;); }, 1));",
    ends: ["cpu_limit"],
  },
  {
    name: "many turns that are short each",
    body: `return new Promise(() => {
      const spin = () => { for (let i = 0; i < 3e6; i++); setTimeout(spin, 0); };
      for (let i = 0; i < 20; i++) spin();
    });`,
    idles: true,
    ends: ["cpu_limit"],
  },
];

/** Calls that wait for what never comes: each has to end at its wall-clock time. */
const WAITING: readonly Hazard[] = [
  {
    name: "a promise that never settles",
    body: "return new Promise(() => {});",
    limits: { wallMs: 500 },
    ends: ["wall_limit"],
  },
  {
    name: "more timers than a call may hold",
    body: "return new Promise(() => { for (let i = 0; i < 1e5; i++) setInterval(() => {}, 1); });",
    ends: ["tool_error"],
  },
  {
    name: "a storm of as many timers as a call may hold",
    body: "return new Promise(() => { for (let i = 0; i < 9_000; i++) setInterval(() => {}, 1); });",
    idles: true,
    ends: ["cpu_limit", "wall_limit"],
  },
  {
    name: "a timer that sets two more",
    body: "return new Promise(() => { const again = () => { setTimeout(again); setTimeout(again); }; again(); });",
    idles: true,
    ends: ["tool_error", "cpu_limit", "wall_limit"],
  },
  {
    name: "a thenable that never answers",
    body: "return { then() {} };",
    limits: { wallMs: 500 },
    ends: ["wall_limit"],
  },
  {
    name: "timers with delays that are no numbers",
    body: `return new Promise(() => {
      for (const ms of [NaN, Infinity, -1, 1e308, 2 ** 31, '5', {}, undefined, 0.1]) setTimeout(() => {}, ms);
    });`,
    limits: { wallMs: 500 },
    ends: ["wall_limit"],
  },
];

attack("calls that would never end", { hazards: [...SPINNING, ...WAITING] });
