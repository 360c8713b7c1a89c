import { attack } from "./harness.ts";
import type { HostileBatch } from "./plan.ts";

/** Calls that share a turn share its fate, and must not share its blame: the 63 others get their right answers. */
const BATCHES: readonly HostileBatch[] = [
  { name: "an endless loop", body: "for (;;);", ends: ["cpu_limit"] },
  {
    name: "a turn that V8 cannot interrupt",
    body: "Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1);",
    ends: ["cpu_limit"],
  },
  {
    name: "a heap bomb",
    body: "const a = []; for (;;) a.push(new Array(1e4).fill(1.5));",
    ends: ["memory_limit", "cpu_limit"],
  },
  {
    name: "a map that aborts V8",
    body: "const m = new Map(); for (let i = 0; ; i++) m.set(i, i);",
    ends: ["memory_limit", "cpu_limit"],
  },
  { name: "a thrown Proxy that loops", body: "throw new Proxy({}, { get() { for (;;); } });", ends: ["cpu_limit"] },
  { name: "a thrown null", body: "throw null;", ends: ["tool_error"] },
  {
    name: "an error that says it was cut",
    body: "throw new Error('Script execution timed out.');",
    ends: ["tool_error"],
  },
  { name: "an overflow of the stack", body: "const f = () => f() + 1; f();", ends: ["tool_error"] },
  {
    name: "a promise that throws later",
    body: "Promise.resolve().then(() => { throw new Error('late'); });",
    ends: ["ok"],
  },
  {
    name: "a rejection with a getter that loops",
    body: "Promise.reject({ get message() { for (;;); }, get stack() { for (;;); } });",
    ends: ["ok", "cpu_limit"],
  },
  {
    name: "a loop in a microtask left behind",
    body: "Promise.resolve().then(() => { for (;;); });",
    ends: ["ok", "cpu_limit"],
  },
  {
    name: "a storm of microtasks left behind",
    body: "const again = () => { Promise.resolve().then(again); }; again();",
    ends: ["ok", "cpu_limit"],
  },
  { name: "a timer that throws later", body: "setTimeout(() => { throw new Error('late'); }, 1);", ends: ["ok"] },
  { name: "a promise that never settles", body: "return new Promise(() => {});", ends: ["wall_limit"] },
  { name: "a result of five hundred megabytes", body: "return 'x'.repeat(5e8);", ends: ["output_too_large"] },
  { name: "a result in the form of the batch's own answer", body: "return '+1\\t+2\\t-{}\\n+3\\t';", ends: ["ok"] },
  {
    name: "a flood of logs",
    body: "for (let i = 0; i < 1_000; i++) console.log('x'.repeat(1_000));",
    ends: ["ok", "cpu_limit"],
  },
  {
    name: "a change to what all calls share",
    body: "for (const o of [Object.prototype, Array.prototype, Number.prototype, globalThis]) { try { o.toJSON = () => 666; } catch {} }",
    ends: ["ok"],
  },
];

attack("calls that travel together", { batches: BATCHES });
