import vm from "node:vm";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SCRIPT_EXPORTS } from "../../../../src/kernel/base/protocol/script.ts";
import type { Halves } from "../../../../src/kernel/tool/bundle/bundle.ts";
import { bundleHere } from "../../../../src/kernel/tool/bundle/bundler.ts";

/**
 * The half of a module that calls need answers as all of the module does. Each module is written, bundled and evaluated
 * both ways; where its parts cannot be told apart for certain, there is no half.
 */
interface OddModule {
  readonly name: string;
  readonly text: string;
  readonly kind: Halves["kind"];
}

/** A package in the place of zod that notes what is asked of it: what it says must not be missed where it matters. */
const LIBRARY = `
globalThis.log.push("library evaluated");
const make = (words) => new Proxy(() => undefined, {
  get: (_target, key) => key === "~standard" ? { vendor: "none", validate: (value) => ({ value }) } : key === "words" ? words : (...args) => make([...words, key, args.length]),
  apply: () => make(words),
});
export const z = make([]);
export default z;
`;

const HELPERS = {
  "helper.ts": "export const helper = (text: string): string => text.toUpperCase();\nexport default helper;\n",
  "schemas.ts":
    'import { z } from "zod";\nexport const Shared = z.object({ a: z.string() });\nexport const shout = (text: string) => `${text}!`;\n',
  "effect.ts": 'globalThis.log.push("effect");\nexport const started = globalThis.log.length;\n',
  "define.ts": 'import { toolFactory } from "glovebox/tool";\nexport const define = toolFactory();\n',
  "limits.ts": "export const LIMITS = { cpuMs: 100 };\n",
  "again.ts": 'export { default } from "./helper.ts";\nexport const also = 1;\n',
} as const;

const HEAD = 'import { defineTool } from "glovebox/tool";\nimport { z } from "zod";\n';
const FACTS = 'name: "odd", description: "A tool."';

/** Ways to write `run`, with what comes before the tool. */
const RUNS: readonly (readonly [name: string, member: string, before?: string])[] = [
  ["a method", "run(input) { return { got: input.a }; }"],
  ["an async method", "async run({ a }, { callId }) { await null; return [a, callId]; }"],
  ["a generator", "*run({ a }) { yield a; }"],
  ["an async generator", "async *run({ a }) { yield a; }"],
  ["an arrow", "run: ({ a }) => `${a}?`"],
  ["an async arrow", "run: async ({ a }) => a"],
  ["a function expression", "run: function named({ a }) { return named.name + a; }"],
  ["a typed arrow", "run: ({ a }: { a: string }): string => a as string"],
  ["a quoted key", '"run": ({ a }) => a'],
  [
    "a shorthand of a function",
    "run",
    "function run({ a }) { return count(a); }\nfunction count(a) { return a.length; }",
  ],
  ["a shorthand of a constant", "run", "const run = ({ a }) => a;"],
  ["an imported function", "run: ({ a }) => helper(a)", 'import { helper } from "./helper.ts";'],
  ["a function of a default import", "run: ({ a }) => up(a)", 'import up from "./again.ts";'],
  ["a wrapped function", "run: twice(({ a }) => a)", "const twice = (run) => (input) => [run(input), run(input)];"],
  ["a conditional", "run: MODE ? ({ a }) => a : () => 0", "const MODE = true;"],
  ["a method of an object", "run: object.call", "const object = { call: ({ a }) => a };"],
  ["a function that throws", "run({ a }) { throw new RangeError(a); }"],
  ["a function that counts its calls", "run: () => ++calls", "let calls = 0;"],
  [
    "a class's static method",
    "run: Tool.run",
    "class Tool { static #secret = 7; static run({ a }) { return a + Tool.#secret; } }",
  ],
  ["this", "run() { return String(this?.name); }"],
  ["an enum", "run: () => Color.Red", "enum Color { Red = 4 }"],
  ["super", "run() { return typeof super.toString; }"],
];

/** Ways to write the schema. */
const SCHEMAS: readonly (readonly [name: string, members: string, before?: string])[] = [
  ["nothing", ""],
  ["a call of the library", "inputSchema: z.object({ a: z.string().min(1) }),"],
  ["a constant", "inputSchema: Input,", "const Input = z.object({ a: z.string() });"],
  [
    "an exported constant",
    "inputSchema: Input, outputSchema: Input,",
    "export const Input = z.object({ a: z.string() });",
  ],
  [
    "constants made of constants",
    "inputSchema: B,",
    "const A = z.string();\nconst B = z.object({ a: A, b: A.optional() }).strict();",
  ],
  [
    "a member of a constant",
    "inputSchema: Base.extend({ b: Base.shape }),",
    "const Base = z.object({ a: z.string() });",
  ],
  ["a schema of another module", "inputSchema: Shared,", 'import { Shared } from "./schemas.ts";'],
  ["a JSON Schema", 'inputSchema: { type: "object", properties: { a: { type: "string" } } },'],
  [
    "a spread of constants",
    "inputSchema: { ...COMMON, required: [...KEYS] },",
    'const COMMON = { type: "object" };\nconst KEYS = ["a"];',
  ],
  ["a recursive schema", "inputSchema: z.object({ get self() { return z.array(z.string()); } }),"],
  ["a lazy schema", "inputSchema: z.lazy(() => Later),", "const Later = z.string();"],
  ["a function in a schema", "inputSchema: z.object({}).refine((value) => value.a.length > 1),"],
  ["a template", "version: `${MAJOR}.${MAJOR + 1}`,", "const MAJOR = 1;"],
  ["limits of another module", "limits: LIMITS,", 'import { LIMITS } from "./limits.ts";'],
  [
    "all the rest",
    'tags: ["a"], config: { n: -1, on: !false }, capabilities: { kv: true }, annotations: { readOnly: true }, examples: [{ input: { a: "b" } }],',
  ],
];

/** Ways to export the tool: `TOOL` is the object. */
const EXPORTS: readonly (readonly [name: string, text: string, kind?: Halves["kind"]])[] = [
  ["a direct call", `${HEAD}BEFORE\nexport default defineTool(TOOL);`],
  [
    "another name",
    'import { defineTool as define } from "glovebox/tool";\nimport { z } from "zod";\nBEFORE\nexport default define(TOOL);',
  ],
  [
    "a namespace",
    'import * as glovebox from "glovebox/tool";\nimport { z } from "zod";\nBEFORE\nexport default glovebox.defineTool(TOOL);',
  ],
  ["a constant", `${HEAD}BEFORE\nconst tool = defineTool(TOOL);\nexport default tool;`],
  ["an export list", `${HEAD}BEFORE\nconst tool = defineTool(TOOL);\nexport { tool as default };`],
  [
    "a factory",
    'import { toolFactory } from "glovebox/tool";\nimport { z } from "zod";\nBEFORE\nconst define = toolFactory<[]>();\nexport default define(TOOL);',
  ],
  [
    "a factory's call",
    'import { toolFactory } from "glovebox/tool";\nimport { z } from "zod";\nBEFORE\nexport default toolFactory()(TOOL);',
  ],
  ["satisfies", `${HEAD}BEFORE\nexport default defineTool(TOOL satisfies object) as unknown;`],
];

function moduleOf(exported: string, before: string, members: string): string {
  return exported.replace("BEFORE", () => before).replace("TOOL", () => `{ ${FACTS}, ${members} }`);
}

/** Modules whose parts cannot be told apart, and modules that look as if. */
const ODD: readonly (readonly [name: string, kind: Halves["kind"], text: string])[] = [
  [
    "an effect that run uses",
    "call",
    `${HEAD}let ready = 0;\nready = 5;\nexport default defineTool({ ${FACTS}, run: () => ready });`,
  ],
  [
    "a method that undoes, before run",
    "call",
    `${HEAD}let n = 0;\nexport default defineTool({ ${FACTS}, async undo({ input }) { return [input.a, n]; }, inputSchema: z.object({}), run: () => ++n });`,
  ],
  [
    "a function that undoes, by its name",
    "call",
    `${HEAD}const undo = ({ output }) => output + 1;\nexport default defineTool({ ${FACTS}, run: () => 1, inputSchema: z.object({}), undo });`,
  ],
  [
    "another tool that undoes",
    "call",
    `${HEAD}export default defineTool({ ${FACTS}, run: () => 1, undo: { tool: "back", arguments: {} } });`,
  ],
  [
    "an effect of an import",
    "call",
    `${HEAD}import "./effect.ts";\nexport default defineTool({ ${FACTS}, run: () => globalThis.log.length });`,
  ],
  [
    "an effect of a re-export",
    "call",
    `${HEAD}export * from "./effect.ts";\nexport { started as first } from "./effect.ts";\nexport default defineTool({ ${FACTS}, run: () => globalThis.log.length });`,
  ],
  [
    "an effect in a property",
    "whole",
    `${HEAD}let n = 0;\nexport default defineTool({ ${FACTS}, version: (n++, "1"), run: () => n });`,
  ],
  [
    "an assignment in a property",
    "whole",
    `${HEAD}let n;\nexport default defineTool({ ${FACTS}, config: (n = { a: 1 }), run: () => n });`,
  ],
  [
    "a call in a property",
    "whole",
    `${HEAD}const seen = [];\nconst note = (x) => (seen.push(x), x);\nexport default defineTool({ ${FACTS}, version: note("1"), run: () => seen });`,
  ],
  [
    "a call of a global",
    "whole",
    `${HEAD}export default defineTool({ ${FACTS}, version: String(globalThis.log.push("v")), run: () => globalThis.log.length });`,
  ],
  ["a method of a text", "whole", `${HEAD}export default defineTool({ ${FACTS}, version: "1".trim(), run: () => 1 });`],
  [
    "a getter",
    "whole",
    `${HEAD}let n = 0;\nexport default defineTool({ ${FACTS}, get version() { n++; return "1"; }, run: () => n });`,
  ],
  [
    "a run that is a getter",
    "whole",
    `${HEAD}let n = 0;\nexport default defineTool({ ${FACTS}, get run() { n++; return () => n; } });`,
  ],
  [
    "a getter of a constant",
    "whole",
    `${HEAD}let n = 0;\nconst base = { get version() { n++; return "1"; } };\nexport default defineTool({ ${FACTS}, version: base.version, run: () => n });`,
  ],
  [
    "a spread",
    "whole",
    `${HEAD}const base = { run: () => "base" };\nexport default defineTool({ ${FACTS}, run: () => "own", ...base });`,
  ],
  [
    "a spread before",
    "whole",
    `${HEAD}const base = { run: () => "base" };\nexport default defineTool({ ...base, ${FACTS} });`,
  ],
  ["a computed key", "whole", `${HEAD}export default defineTool({ ${FACTS}, ["run"]: () => 1 });`],
  [
    "a computed key beside run",
    "whole",
    `${HEAD}let n = 0;\nexport default defineTool({ ${FACTS}, [(n++, "version")]: "1", run: () => n });`,
  ],
  [
    "__proto__",
    "whole",
    `${HEAD}export default defineTool({ ${FACTS}, __proto__: { x: 1 }, run() { return super.x; } });`,
  ],
  ["run twice", "whole", `${HEAD}export default defineTool({ ${FACTS}, run: () => 1, run: () => 2 });`],
  [
    "a tool used by its name",
    "whole",
    `${HEAD}const tool = defineTool({ ${FACTS}, run: () => tool.name });\nexport default tool;`,
  ],
  [
    "a tool used after its export",
    "whole",
    `${HEAD}const tool = defineTool({ ${FACTS}, run: () => 1 });\nexport default tool;\nglobalThis.log.push(tool.name);`,
  ],
  [
    "a tool exported twice",
    "whole",
    `${HEAD}const tool = defineTool({ ${FACTS}, run: () => 1 });\nexport { tool as default, tool };`,
  ],
  [
    "a property with the tool's name",
    "whole",
    `${HEAD}const tool = defineTool({ ${FACTS}, run: ({ a }) => ({ tool: a }) });\nexport default tool;`,
  ],
  [
    "a module that imports itself",
    "whole",
    `${HEAD}import * as self from "./index.ts";\nexport default defineTool({ ${FACTS}, run: () => typeof self.default });`,
  ],
  [
    "eval",
    "whole",
    `${HEAD}const hidden = z.object({});\nexport default defineTool({ ${FACTS}, run: () => eval("typeof hidden") });`,
  ],
  [
    "eval by another name",
    "whole",
    `${HEAD}const indirect = eval;\nexport default defineTool({ ${FACTS}, run: () => indirect("1 + 1") });`,
  ],
  [
    "new Function",
    "call",
    `${HEAD}export default defineTool({ ${FACTS}, run: () => new Function("return typeof hidden")() });`,
  ],
  [
    "a local defineTool",
    "whole",
    `import * as real from "glovebox/tool";\nconst defineTool = (tool) => real.defineTool({ ...tool, run: () => "changed" });\nexport default defineTool({ ${FACTS}, run: () => "own" });`,
  ],
  [
    "a defineTool of another module",
    "whole",
    `import { define } from "./define.ts";\nexport default define({ ${FACTS}, run: () => 1 });`,
  ],
  [
    "a factory that can change",
    "whole",
    `import { toolFactory } from "glovebox/tool";\nlet define = toolFactory();\nexport default define({ ${FACTS}, run: () => 1 });`,
  ],
  [
    "a name like defineTool in a function",
    "call",
    `${HEAD}const other = (defineTool) => defineTool;\nexport default defineTool({ ${FACTS}, run: ({ a }) => other(a) });`,
  ],
  [
    "a wrapped call",
    "whole",
    `${HEAD}const same = (tool) => tool;\nexport default same(defineTool({ ${FACTS}, run: () => 1 }));`,
  ],
  ["an optional call", "whole", `${HEAD}export default defineTool?.({ ${FACTS}, run: () => 1 });`],
  [
    "two arguments",
    "whole",
    `${HEAD}export default defineTool({ ${FACTS}, run: () => 1 }, globalThis.log.push("second"));`,
  ],
  [
    "a variable in place of the object",
    "whole",
    `${HEAD}const tool = { ${FACTS}, run: () => 1 };\nexport default defineTool(tool);`,
  ],
  [
    "a conditional export",
    "whole",
    `${HEAD}export default globalThis.log ? defineTool({ ${FACTS}, run: () => 1 }) : null;`,
  ],
  [
    "an awaited name",
    "call",
    `${HEAD}export default defineTool({ ${FACTS}, run: async ({ a }) => { const { helper } = await import("./helper.ts"); return helper(a); } });`,
  ],
  [
    "a constant of the library that run uses",
    "whole",
    `${HEAD}const Input = z.object({ a: z.string() });\nexport default defineTool({ ${FACTS}, inputSchema: Input, run: () => Input.words.length });`,
  ],
  ["a library that run uses", "whole", `${HEAD}export default defineTool({ ${FACTS}, run: () => z.string().words });`],
  [
    "an effect on the library",
    "whole",
    `${HEAD}z.config({ a: 1 });\nexport default defineTool({ ${FACTS}, run: () => 1 });`,
  ],
  [
    "an effect in a schema's function",
    "whole",
    `${HEAD}let n = 0;\nexport default defineTool({ ${FACTS}, inputSchema: z.lazy(() => (n++, z.string())), run: () => n });`,
  ],
  [
    "a call in a schema's function",
    "whole",
    `${HEAD}let n = 0;\nconst bump = () => ++n;\nexport default defineTool({ ${FACTS}, inputSchema: z.lazy(() => bump()), run: () => n });`,
  ],
  [
    "a constant with an effect in its arguments",
    "whole",
    `${HEAD}let n = 0;\nconst Input = z.string().min(++n);\nexport default defineTool({ ${FACTS}, inputSchema: Input, run: () => n });`,
  ],
  [
    "a variable schema",
    "call",
    `${HEAD}let Input = z.string();\nexport default defineTool({ ${FACTS}, inputSchema: Input, run: () => 1 });`,
  ],
  [
    "a schema in a list of declarations",
    "call",
    `${HEAD}const one = 1, Input = z.string(), two = 2;\nexport default defineTool({ ${FACTS}, inputSchema: Input, run: () => one + two });`,
  ],
  [
    "a schema in a pattern",
    "whole",
    `${HEAD}const { words } = z.string();\nexport default defineTool({ ${FACTS}, run: () => words });`,
  ],
  [
    "a schema's member that run uses",
    "whole",
    `${HEAD}const words = z.string().words;\nexport default defineTool({ ${FACTS}, run: () => words });`,
  ],
  [
    "a shadowed library",
    "whole",
    `${HEAD}const make = (z) => z.object(globalThis.log.push("made"));\nexport default defineTool({ ${FACTS}, inputSchema: make({ object: (n) => n }), run: () => globalThis.log.length });`,
  ],
  [
    "comments",
    "call",
    `${HEAD}export default /* a */ defineTool(/* b */ { /* run: no */ ${FACTS}, // run() {}\n inputSchema: /* c */ z.string(), run: /* d */ () => "yes" /* e */, } /* f */);`,
  ],
  [
    "text that looks like a tool",
    "call",
    `${HEAD}const text = "export default defineTool({ run: no })";\nexport default defineTool({ ${FACTS}, run: () => text });`,
  ],
  ["a trailing comma", "call", `${HEAD}export default defineTool({ ${FACTS}, run: () => 1, });`],
  ["run first", "call", `${HEAD}export default defineTool({ run: () => 1, ${FACTS} });`],
  [
    "run alone in the middle of long text",
    "call",
    `${HEAD}export default defineTool({ name: "odd", run: () => new Error("here").stack.length > 0, description: ${JSON.stringify("x".repeat(5_000))} });`,
  ],
  ["no run", "whole", `${HEAD}export default defineTool({ ${FACTS} });`],
  ["a default function", "whole", `${HEAD}export default () => 1;`],
  [
    "a type-only default",
    "call",
    `${HEAD}import type { helper } from "./helper.ts";\ntype H = typeof helper;\nexport default defineTool({ ${FACTS}, run: (h?: H) => typeof h });`,
  ],
  [
    "a namespace of types",
    "call",
    `${HEAD}namespace Sizes { export const small = 1; }\nexport default defineTool({ ${FACTS}, run: () => Sizes.small });`,
  ],
  [
    "a class with a decorator-free field",
    "call",
    `${HEAD}class Box { value = 3; }\nexport default defineTool({ ${FACTS}, run: () => new Box().value });`,
  ],
  [
    "top-level code after the tool",
    "call",
    `${HEAD}let later = 0;\nexport default defineTool({ ${FACTS}, run: () => later });\nlater = 9;`,
  ],
  [
    "a loop at the top level",
    "call",
    `${HEAD}const squares = [];\nfor (let i = 0; i < 3; i++) squares.push(i * i);\nexport default defineTool({ ${FACTS}, run: () => squares });`,
  ],
  [
    "a label and a block",
    "call",
    `${HEAD}let found = 0;\n{ const inner = 4; found = inner; }\nexport default defineTool({ ${FACTS}, run: () => found });`,
  ],
  [
    "other exports",
    "call",
    `${HEAD}export const spec = { name: "other" };\nexport function also() { return 1; }\nexport class More {}\nexport default defineTool({ ${FACTS}, run: () => typeof also + typeof More });`,
  ],
  [
    "an export of a pattern",
    "call",
    `${HEAD}export const { a, b } = { a: 1, b: 2 };\nexport default defineTool({ ${FACTS}, run: () => a + b });`,
  ],
  [
    "a primitive with a hidden call",
    "whole",
    `${HEAD}const loud = { toString() { globalThis.log.push("read"); return "1"; } };\nexport default defineTool({ ${FACTS}, version: \`\${loud}\`, run: () => globalThis.log.length });`,
  ],
  [
    "an addition with a hidden call",
    "whole",
    `${HEAD}const loud = { valueOf() { globalThis.log.push("read"); return 1; } };\nexport default defineTool({ ${FACTS}, retries: loud + 1, run: () => globalThis.log.length });`,
  ],
  [
    "a spread with a hidden call",
    "whole",
    `${HEAD}const loud = { *[Symbol.iterator]() { globalThis.log.push("read"); } };\nexport default defineTool({ ${FACTS}, tags: [...loud], run: () => globalThis.log.length });`,
  ],
  [
    "a class in a property",
    "whole",
    `${HEAD}export default defineTool({ ${FACTS}, config: class { static x = globalThis.log.push("made"); }, run: () => globalThis.log.length });`,
  ],
  [
    "a new object in a property",
    "whole",
    `${HEAD}export default defineTool({ ${FACTS}, config: new Date(0), run: () => 1 });`,
  ],
  [
    "a template with a tag",
    "whole",
    `${HEAD}const tag = () => globalThis.log.push("tag");\nexport default defineTool({ ${FACTS}, version: tag\`1\`, run: () => globalThis.log.length });`,
  ],
  [
    "an unknown global",
    "whole",
    `${HEAD}export default defineTool({ ${FACTS}, config: somethingGlobal, run: () => 1 });`.replace(
      "config: somethingGlobal",
      "config: typeof later === 'x' ? later : globalThis.log",
    ),
  ],
  ["import.meta", "whole", `${HEAD}export default defineTool({ ${FACTS}, config: import.meta.url, run: () => 1 });`],
  [
    "a strange export name",
    "call",
    `${HEAD}const one = 1;\nexport { one as "a b" };\nexport default defineTool({ ${FACTS}, run: () => one });`,
  ],
  [
    "a string name for default",
    "call",
    `${HEAD}const tool = defineTool({ ${FACTS}, run: () => 2 });\nexport { tool as "default" };`,
  ],
  [
    "text with a line separator",
    "call",
    `${HEAD}const text = "a\\u2028b";\nexport default defineTool({ ${FACTS}, description: "\\u{1F600}", run: () => text }); `.replace(
      ', description: "A tool."',
      "",
    ),
  ],
  [
    "use strict",
    "call",
    `"use strict";\n${HEAD}export default defineTool({ ${FACTS}, run() { return this === undefined; } });`,
  ],
];

/** Constants that each name the one before twice: looked at again each time, the last would take years. */
function doubling(first: string, next: (before: string) => string): string {
  const lines = Array.from({ length: 40 }, (_, at) => `const c${at + 1} = ${next(`c${at}`)};`);
  return [`const c0 = ${first};`, ...lines].join("\n");
}

const HOSTILE: readonly (readonly [name: string, kind: Halves["kind"], text: string])[] = [
  [
    "sums of sums",
    "call",
    `${HEAD}${doubling("1", (c) => `${c} + ${c}`)}\nexport default defineTool({ ${FACTS}, version: \`\${c40}\`, run: () => 1 });`,
  ],
  [
    "lists of lists",
    "call",
    `${HEAD}${doubling("[]", (c) => `[...${c}, ...${c}]`)}\nexport default defineTool({ ${FACTS}, tags: [...c40], run: () => 1 });`,
  ],
  [
    "schemas of schemas",
    "call",
    `${HEAD}${doubling("z.string()", (c) => `${c}.and(${c}.words, ${c}.words)`)}\nexport default defineTool({ ${FACTS}, inputSchema: c40, run: () => 1 });`,
  ],
  [
    "constants that name each other",
    "whole",
    `${HEAD}const a = () => b.x;\nconst b = { ...c };\nconst c = { ...b };\nexport default defineTool({ ${FACTS}, config: [...b], run: () => 1 });`,
  ],
  [
    "deep nesting",
    "whole",
    `${HEAD}export default defineTool({ ${FACTS}, config: ${"[".repeat(500)}${"]".repeat(500)}, run: () => 1 });`,
  ],
];

const MODULES: readonly OddModule[] = [
  ...RUNS.flatMap(([run, member, before = ""]) =>
    EXPORTS.map(([exported, text, kind = "call"]) => ({
      name: `${run}, exported by ${exported}`,
      text: moduleOf(text, before, member),
      kind,
    })),
  ),
  ...SCHEMAS.flatMap(([schema, members, before = ""]) =>
    EXPORTS.slice(0, 4).map(([exported, text, kind = "call"]) => ({
      name: `${schema}, exported by ${exported}`,
      text: moduleOf(text, before, `${members} run: ({ a }) => a`),
      kind,
    })),
  ),
  ...[...ODD, ...HOSTILE].map(([name, kind, text]) => ({ name, kind, text })),
];

let folder: string;

beforeAll(async () => {
  folder = await realpath(await mkdtemp(path.join(tmpdir(), "glovebox-halves-")));
  const zod = path.join(folder, "node_modules/zod");
  await mkdir(zod, { recursive: true });
  await writeFile(path.join(zod, "package.json"), '{ "name": "zod", "type": "module", "main": "index.js" }');
  await writeFile(path.join(zod, "index.js"), LIBRARY);
});

afterAll(async () => {
  const { stop } = await import("esbuild");
  await stop();
  await rm(folder, { recursive: true, force: true });
});

async function bundled({ name, text }: OddModule) {
  const own = path.join(folder, `m-${MODULES.findIndex((one) => one.name === name)}`);
  await mkdir(own);
  for (const [file, content] of Object.entries({ ...HELPERS, "index.ts": text }))
    await writeFile(path.join(own, file), content);
  return bundleHere({ kind: "file", path: path.join(own, "index.ts"), name: "odd" });
}

/** What calls of a bundle come to, each in an instance of its own as in an isolate, and then twice in one. */
async function answersOf(text: string): Promise<unknown> {
  const answers: unknown[] = [];
  for (const inputs of [[{ a: "one" }], [{ a: "one" }, { a: "two" }]]) {
    const log: unknown[] = [];
    const make = vm.runInNewContext(`(function () { "use strict"; ${text}\nreturn ${SCRIPT_EXPORTS}; })`, {
      log,
    }) as () => {
      default: { run: unknown; undo?: unknown } | ((...args: unknown[]) => unknown);
    };
    const tool = make().default;
    const run = typeof tool === "function" ? tool : tool.run;
    if (typeof run !== "function") return "no run";
    for (const input of inputs)
      answers.push(await answerOf(() => Reflect.apply(run, undefined, [input, { callId: "c" }])));
    const undo = typeof tool === "function" ? undefined : tool.undo;
    if (typeof undo === "function")
      answers.push(await answerOf(() => Reflect.apply(undo, undefined, [{ input: { a: "one" }, output: 1 }, {}])));
    // The library is evaluated by one of the two only.
    answers.push(log.filter((line) => line !== "library evaluated"));
  }
  return JSON.parse(JSON.stringify(answers));
}

async function answerOf(call: () => unknown): Promise<unknown> {
  try {
    const value = await call();
    const isIterator = typeof value === "object" && value !== null && "next" in value;
    return isIterator ? await (value as AsyncIterator<unknown>).next() : { value };
  } catch (error) {
    return { error: String(error) };
  }
}

describe("a half for calls", () => {
  test("is tried with 200 modules and more", () => {
    expect(MODULES.length).toBeGreaterThan(200);
    expect(new Set(MODULES.map(({ name }) => name)).size).toBe(MODULES.length);
  });

  test.each(MODULES)("of $name is $kind", async (odd) => {
    const { text, halves } = await bundled(odd);
    // A module without what defines tools has no halves at all.
    expect(halves?.kind ?? "whole").toBe(odd.kind);
    if (halves?.kind !== "call") return;
    expect(halves.call.text).not.toContain("library evaluated");
    expect(await answersOf(halves.call.text)).toEqual(await answersOf(text));
  });
});
