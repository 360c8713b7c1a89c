import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CodeMode, codeMode, type ProgramProblem } from "../../src/code-mode/index.ts";
import { createEngine, type Engine } from "../../src/glovebox/index.ts";
import type { ToolResult } from "../../src/kernel/base/result.ts";

let engine: Engine;
let mode: CodeMode;
let calls = 0;
beforeAll(async () => {
  const issue = { type: "object", properties: { title: { type: "string" } }, required: ["title"] };
  engine = await createEngine({
    workers: 1,
    tools: [
      {
        name: "github.list_issues",
        description: "Lists issues.",
        inputSchema: {
          type: "object",
          properties: { repo: { type: "string" }, state: { enum: ["open", "closed"] } },
          required: ["repo"],
        },
        outputSchema: { type: "array", items: issue },
        source: "export default ({ repo }) => [{ title: `one of ${repo}`, labels: ['a'] }];",
      },
      {
        name: "github.create_issue",
        description: "Creates an issue.",
        inputSchema: {
          type: "object",
          properties: { repo: { type: "string" }, title: { type: "string" } },
          required: ["repo", "title"],
          additionalProperties: false,
        },
        source: "export default () => ({ number: 7 });",
      },
      {
        name: "map.area",
        description: "Takes a box.",
        inputSchema: {
          type: "object",
          properties: { box: { type: "object", properties: { top: { type: "number" } }, additionalProperties: false } },
        },
        source: "export default (place) => place;",
      },
      {
        name: "map.label",
        description: "Takes texts by names.",
        inputSchema: {
          type: "object",
          properties: { labels: { type: "object", additionalProperties: { type: "string" } } },
        },
        source: "export default ({ labels }) => labels;",
      },
      { name: "geo-find", description: "Finds.", source: "export default (place) => place;" },
    ],
  });
  engine.on("tool:post", ({ tool }) => (calls += tool === "run_code" ? 0 : 1));
  mode = codeMode(engine);
});
afterAll(() => engine.close());

const problemsOf = ({ error }: ToolResult): readonly ProgramProblem[] =>
  (error?.details as { readonly problems?: readonly ProgramProblem[] } | undefined)?.problems ?? [];

test.each(["'text'", "`text`", "String(5)", "5", "true", "['a']", "[1]"])(
  "a program that gives %s for an object, all of whose members may be missing, is refused",
  async (value) => {
    const problems = problemsOf(await mode.run(`await tools.map.area({ box: ${value} });`));
    expect(problems).toMatchObject([{ code: expect.stringMatching(/^TS2(?:559|322)$/) }]);
  },
);

describe("a program that gives a tool a map", () => {
  test.each(["'text'", "`text`", "String(5)", "5", "true", "['a']", "[1]", "{ a: 5 }", "{ a: { b: 'c' } }"])(
    "is refused where that is %s",
    async (value) => {
      const problems = problemsOf(await mode.run(`await tools.map.label({ labels: ${value} });`));
      expect(problems).toMatchObject([{ code: "TS2322" }]);
    },
  );

  test("runs where each member is of its type, whatever its name", async () => {
    const code = `const labels: Record<string, string> = { a: "x" };
      labels["b-c"] = "y";
      return await tools.map.label({ labels: { ...labels, d: "z" } });`;
    expect((await mode.run(code)).output).toMatchObject({ result: { a: "x", "b-c": "y", d: "z" } });
  });
});

describe("a program that is certainly wrong is refused, and no tool is called, for", () => {
  test.each([
    [
      "a misspelt tool",
      'await tools["geo-find"]({});\nreturn await tools.github.list_isues({ repo: "a" });',
      [
        2,
        27,
        'there is no tool "github.list_isues". Did you mean tools.github.list_issues or tools.github.create_issue?',
      ],
    ],
    [
      "a misspelt tool in brackets",
      'return await tools["geo-fnd"]({});',
      [1, 20, 'there is no tool "geo-fnd". Did you mean tools["geo-find"]?'],
    ],
    [
      "a missing argument",
      'const repo = "a";\n  await tools.github.create_issue({ repo });',
      [2, 35, 'tools.github.create_issue: "title" is missing. It takes { repo: string; title: string }'],
    ],
    [
      "an argument of another type",
      'await tools.github.create_issue({ repo: "a", title: 5 });',
      [
        1,
        46,
        "tools.github.create_issue: Type 'number' is not assignable to type 'string'. It takes { repo: string; title: string }",
      ],
    ],
    [
      "a name that is nowhere declared",
      "const issues = [];\nreturn isues;",
      [2, 8, "Cannot find name 'isues'. Did you mean 'issues'?"],
    ],
    [
      "tools without their first word",
      'return github.list_issues({ repo: "a" });',
      [1, 8, "Cannot find name 'github'. Did you mean tools.github?"],
    ],
    [
      "a network of its own",
      'return fetch("https://a.example");',
      [1, 8, "Cannot find name 'fetch'. A program has no network of its own: call a tool."],
    ],
  ])("%s", async (_what, code, [line, column, message]) => {
    const before = calls;
    const result = await mode.run(code);
    expect(result.error?.code).toBe("invalid_arguments");
    expect(problemsOf(result)).toMatchObject([{ line, column, message }]);
    expect(calls).toBe(before);
    expect(await mode.check(code)).toEqual(problemsOf(result));
  });
});

/** Programs that a checker could take for wrong, though they are right. */
const RIGHT = [
  'return (await tools["geo-find"]({ a: { b: 1 } })).a.b',
  'return (await tools.github.list_issues({ repo: "a" })).map(({ title }) => title.length)',
  'return (await tools.github.list_issues({ repo: "a" }))[0].labels[0]',
  'return (await tools.github.list_issues({ repo: "a", extra: 1 })).length',
  'const issues = await tools.github.list_issues({ repo: "a" }); const first = issues.find((one) => one.title); return first.title',
  'const [{ body }] = await tools.github.list_issues({ repo: "a" }); return await tools.github.create_issue({ repo: "a", title: body ?? "none" })',
  "let rows; rows = []; rows.push(1); return rows.length",
  'const counts = {}; for (const x of ["a", "a"]) counts[x] = (counts[x] ?? 0) + 1; return counts.a',
  'const state = Math.random() > 2 ? "closed" : "open"; return await tools.github.list_issues({ repo: "a", state })',
  "interface Row { n: number }\nconst rows: Row[] = [{ n: 1 }];\nreturn rows.reduce((sum, row) => sum + row.n, 0)",
  'const { number } = await tools.github.create_issue({ repo: "a", title: "b" }); return number.toFixed(0)',
  'try { await tools["geo-find"]({}) } catch (error) { if (error instanceof ToolError) return error.code } return 1',
  'const url = new URL("https://a.example/b"); return [url.host, structuredClone([1]), new TextEncoder().encode("a").length]',
  "await new Promise((done) => setTimeout(done, 1)); return input?.a ?? null",
  'return (await search_tools("issues")).total',
  'async (input) => {\n  return (await tools["geo-find"]({ a: 1 })).a;\n}',
  '```ts\nreturn (await tools["geo-find"]({ a: 1 })).a;\n```',
  'function add(a, b) { return a + b }\nreturn add(1, "2")',
  'const call = tools.github.list_issues; return (await call({ repo: "a" })).length',
  'const name = "list_issues"; return (await tools.github[name]({ repo: "a" })).length',
];

test.each(RIGHT)("a right program runs: %s", async (code) => {
  const result = await mode.run(code);
  expect(result.error).toBeNull();
  expect((result.success ? (result.output.warnings ?? []) : []).join()).not.toContain("not type-checked");
});

test("every global of a program is declared to the compiler", async () => {
  const listed = await mode.run("return Object.getOwnPropertyNames(globalThis)");
  const names = (listed.success ? listed.output.result : []) as readonly string[];
  const uses = names.filter((name) => /^[A-Za-z]\w*$/.test(name)).map((name) => `typeof ${name};`);
  expect(await mode.check(`${uses.join("\n")}\nreturn 1`)).toEqual([]);
  expect(names.length).toBeGreaterThan(60);
});

test("a doubt is a warning, and the program runs", async () => {
  const result = await mode.run('return (await tools.github.list_issues({ repo: "a" })).total ?? "none"');
  expect(result.output).toMatchObject({
    result: "none",
    warnings: [expect.stringContaining("1:56 may be wrong: Property 'total' does not exist on type")],
  });
});

describe("a program that cannot be checked", () => {
  const code = "/// <reference path='/etc/passwd' />\nreturn 1";

  test("runs and says so", async () => {
    expect((await mode.run(code)).output).toMatchObject({
      result: 1,
      warnings: ["not type-checked: it has comments or types that speak to the compiler"],
    });
  });

  test("does not run where checks are required", async () => {
    const strict = codeMode(engine, { typeCheck: "require" });
    expect((await strict.run(code)).error).toMatchObject({
      code: "capability_failed",
      message:
        "The program was not run: it could not be checked, because it has comments or types that speak to the compiler.",
    });
  });
});

test("without checks, a misspelt tool fails at its call with the same name", async () => {
  const { error } = await codeMode(engine, { typeCheck: "off" }).run(
    'return await tools.github.list_isues({ repo: "a" })',
  );
  expect(error?.message).toContain("Did you mean tools.github.list_issues");
});

const BOMBS = [
  "type A<T> = T extends [infer H, ...infer R] ? [...A<R>, H, ...A<R>] : [];\nconst x: A<[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20]> = 1;\nreturn x;",
  `type U = ${Array.from({ length: 400 }, (_, at) => `{ a${at}: ${at} }`).join(" | ")};\ntype V = { [K in keyof U]: U };\nlet a: U & U & V; let b: U | V; return [a, b].length;`,
  `type S = "${"0123456789".split("").join('" | "')}";\ntype T = \`\${S}\${S}\${S}\${S}\${S}\${S}\`;\nlet t: T; return t;`,
];

test("types that take long to check end with their check, and the programs run", async () => {
  const results = await Promise.all(BOMBS.map((code) => mode.run(code)));
  expect(results.map(({ error }) => error?.code ?? null)).not.toContain("executor_crashed");
  expect((await mode.run("return 1")).output).toMatchObject({ result: 1 });
}, 300_000);

test("of many programs at once some run unchecked, and all are answered", async () => {
  const results = await Promise.all(Array.from({ length: 64 }, (_, at) => mode.run(`return ${at}`)));
  expect(results.map(({ output }) => (output as { result: number }).result)).toEqual(results.map((_, at) => at));
  const reasons = results.flatMap(({ output }) => (output as { warnings?: string[] }).warnings ?? []);
  expect(new Set(reasons)).toEqual(new Set(["not type-checked: too many programs wait for their check"]));
}, 300_000);

describe("the processor time of a check", () => {
  test("is its tenant's, and told to whoever listens, also where the program is refused", async () => {
    let toldMs = 0;
    const result = await mode.run("const n = nowhere;\nreturn n;", { tenant: "payer", onCpu: (ms) => (toldMs += ms) });
    expect(result.error?.code).toBe("invalid_arguments");
    expect(toldMs).toBeGreaterThan(5);
    expect(engine.usage("payer").executorMs).toBe(toldMs);
  });

  test("is charged once to the first of those who send the same program", async () => {
    const code = "const n = nobody;\nreturn n;";
    await mode.run(code, { tenant: "first" });
    await mode.run(code, { tenant: "second" });
    expect(engine.usage("first").executorMs).toBeGreaterThan(5);
    expect(engine.usage("second").executorMs).toBe(0);
  });
});

test("a tenant with many programs leaves room for the check of another's, and its turn", async () => {
  const many = Array.from({ length: 20 }, (_, at) => mode.run(`return "many ${at}"`, { tenant: "many" }));
  await new Promise((resolve) => setTimeout(resolve, 50));
  const one = mode.run("return 'one'", { tenant: "one" }).then(() => "one");
  const order: string[] = [];
  await Promise.all(
    [...many, one].map(async (running) => order.push(typeof (await running) === "string" ? "one" : "many")),
  );
  const again = await mode.run("return 'one'", { tenant: "one" });
  expect(again.success && again.output.warnings).toBeUndefined();
  expect(order.at(-1)).toBe("many");
}, 300_000);
