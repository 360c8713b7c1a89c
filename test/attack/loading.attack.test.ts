import { attack } from "./harness.ts";
import type { HostileModule } from "./plan.ts";

const TOOL = "export default () => 'fine';";
const REFUSED = ["load_error"] as const;

/** The module's own code runs at its registration, in an isolate and within limits like any call. */
const EVALUATED: readonly HostileModule[] = [
  { name: "a module that loops", source: `for (;;);\n${TOOL}`, ends: REFUSED },
  {
    name: "a module that takes all memory",
    source: `const a = []; for (;;) a.push(new Array(1e4).fill(1.5));\n${TOOL}`,
    ends: REFUSED,
  },
  {
    name: "a module that grows a map",
    source: `const m = new Map(); for (let i = 0; ; i++) m.set(i, i);\n${TOOL}`,
    ends: REFUSED,
  },
  {
    name: "a module that V8 cannot interrupt",
    source: `Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1);\n${TOOL}`,
    ends: REFUSED,
  },
  {
    name: "a module with a storm of microtasks",
    source: `const again = () => { Promise.resolve().then(again); }; again();\n${TOOL}`,
    ends: ["load_error", "registered"],
    callEnds: ["ok", "cpu_limit"],
  },
  {
    name: "a module that throws a Proxy that loops",
    source: `throw new Proxy({}, { get() { for (;;); } });\n${TOOL}`,
    ends: REFUSED,
  },
  {
    name: "a module that leaves a rejection with a getter that loops",
    source: `Promise.reject({ get message() { for (;;); }, get stack() { for (;;); } });\n${TOOL}`,
    ends: ["load_error", "registered"],
    callEnds: ["ok", "cpu_limit"],
  },
  { name: "a module that overflows the stack", source: `const f = () => f() + 1; f();\n${TOOL}`, ends: REFUSED },
  {
    name: "a module that starts timers and logs",
    source: `setInterval(() => { for (;;); }, 1); console.log('x'.repeat(1e7));\n${TOOL}`,
    ends: ["registered"],
    callEnds: ["ok"],
  },
  {
    name: "a module that exports a spec that loops",
    source: `export const spec = { get name() { for (;;); }, toJSON() { for (;;); } };\n${TOOL}`,
    ends: REFUSED,
  },
  {
    name: "a module that exports a spec of five hundred megabytes",
    source: `export const spec = { name: 'x'.repeat(4e8), description: 'd' };\n${TOOL}`,
    ends: ["load_error", "registered"],
  },
  {
    name: "a module whose default export is a Proxy that loops when called",
    source: "export default new Proxy(() => {}, { apply() { for (;;); }, get() { for (;;); } });",
    ends: ["load_error", "registered"],
    callEnds: ["cpu_limit"],
  },
  {
    name: "a module whose default export is no function",
    source: "export default { then() { for (;;); } };",
    ends: REFUSED,
  },
  {
    name: "a module that pollutes what it reaches",
    source: `for (const o of [Object.prototype, Array.prototype, globalThis, Error]) { try { o.polluted = 1; o.toJSON = () => 'mine'; } catch {} }\n${TOOL}`,
    ends: ["registered"],
    callEnds: ["ok"],
  },
];

/** The module's text goes through a bundler in the host: it must read nothing, run nothing, and outlive its input. */
const BUNDLED: readonly HostileModule[] = [
  {
    name: "a module that closes the wrapper around it",
    source: "}); for (;;); (function () {\nexport default () => 1;",
    ends: REFUSED,
  },
  { name: "a module that waits at its top level", source: `await new Promise(() => {});\n${TOOL}`, ends: REFUSED },
  {
    name: "a module that imports a module of Node",
    source: `import { readFileSync } from "node:fs";\nexport default () => readFileSync("/etc/passwd", "utf8");`,
    ends: ["registered"],
    callEnds: ["tool_error"],
  },
  {
    name: "a module with ten thousand imports of Node's names",
    source: `${Array.from({ length: 10_000 }, (_, at) => `import { join as j${at} } from "node:path";`).join("\n")}\n${TOOL}`,
    ends: [...REFUSED, "registered"],
  },
  {
    name: "a module that changes Buffer, process.env and crypto when it is loaded",
    source: `import events from "node:events"; import util from "node:util";
      for (const act of [() => { Buffer.prototype.toString = () => "mine"; }, () => { Buffer.from = () => "mine"; }, () => { process.env.PATH = "mine"; },
        () => { globalThis.crypto = "mine"; }, () => { crypto.subtle.sign = "mine"; }, () => { events.prototype.emit = () => "mine"; },
        () => { util.inspect = "mine"; }, () => { Object.getPrototypeOf(process).exit = "mine"; }]) try { act(); } catch {}
      ${TOOL}`,
    ends: ["registered"],
    callEnds: ["ok"],
  },
  {
    name: "a module that imports a file of the machine",
    source: `import text from "/etc/passwd" with { type: "text" };\nexport default () => text;`,
    ends: REFUSED,
  },
  {
    name: "a module that imports a file as bytes",
    source: `import bytes from "/etc/hostname" with { type: "bytes" };\nexport default () => bytes;`,
    ends: REFUSED,
  },
  {
    name: "a module that imports a file by a long way up",
    source: `import data from "../../../../../../../../etc/passwd";\nexport default () => data;`,
    ends: REFUSED,
  },
  {
    name: "a module that imports a file by its URL",
    source: `import data from "file:///etc/passwd";\nexport default () => data;`,
    ends: REFUSED,
  },
  {
    name: "a module that imports from the network",
    source: `import data from "https://127.0.0.1:9/x.js";\nexport default () => data;`,
    ends: REFUSED,
  },
  {
    name: "a module that requires",
    source: `const fs = require("fs");\nexport default () => fs.readFileSync("/etc/passwd", "utf8");`,
    ends: ["registered"],
    callEnds: ["tool_error"],
  },
  {
    name: "a module that globs files by require",
    source: "const n = './src/' + Date.now() + '.ts';\nexport default () => require(n);",
    ends: ["load_error", "registered"],
    callEnds: ["tool_error"],
  },
  {
    name: "a module with a source map of the machine's",
    source: `${TOOL}\n//# sourceMappingURL=/etc/passwd`,
    ends: ["registered", "load_error"],
    callEnds: ["ok"],
  },
  {
    name: "a module of ten megabytes",
    source: `${TOOL}\n/*${"x".repeat(1e7)}*/`,
    ends: ["registered", "load_error"],
    callEnds: ["ok"],
  },
  {
    name: "a module that is nested a million deep",
    source: `export default () => ${"[".repeat(1e6)}${"]".repeat(1e6)};`,
    ends: REFUSED,
  },
  { name: "a module of a million operators", source: `export default () => ${"-~".repeat(1e6)}1;`, ends: REFUSED },
  {
    name: "a module with a giant constant expression",
    source: `export default () => "x".repeat(1) + ${"1+".repeat(3e5)}1;`,
    ends: ["load_error", "registered"],
    callEnds: ["ok", "tool_error", "load_error", "cpu_limit"],
  },
  { name: "an ordinary module after all those", source: TOOL, ends: ["registered"], callEnds: ["ok"] },
];

attack("modules that attack when they are loaded", {
  modules: [...EVALUATED, ...BUNDLED],
});
