import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CodeMode, codeMode } from "../../src/code-mode/index.ts";
import { createEngine, type Engine } from "../../src/glovebox/index.ts";
import type { ToolResult } from "../../src/kernel/base/result.ts";

let engine: Engine;
let mode: CodeMode;
beforeAll(async () => {
  engine = await createEngine({
    workers: 1,
    tools: [
      {
        name: "github.list_issues",
        description: "Lists issues of a repository.",
        inputSchema: { type: "object", properties: { repo: { type: "string" } }, required: ["repo"] },
        source: "export default ({ repo }) => [{ title: `one of ${repo}` }, { title: 'two' }];",
      },
      {
        name: "github.create_issue",
        description: "Creates an issue.",
        inputSchema: { type: "object", properties: { title: { type: "string" } }, required: ["title"] },
        source:
          "export default ({ title }) => { if (title === '') throw new Error('no title'); return { number: 7, title }; };",
      },
      { name: "mail.send", description: "Sends a mail.", source: "export default () => ({ sent: true });" },
      { name: "secret.read", description: "Reads what only operators read.", source: "export default () => 'top';" },
    ],
  });
  mode = codeMode(engine, { tools: ["github.*", "mail.*"], typeCheck: "off" });
});
afterAll(() => engine.close());

const run = (code: string, input?: unknown): Promise<ToolResult> =>
  mode.execute({ id: "c1", name: "run_code", arguments: { code, ...(input === undefined ? {} : { input }) } });
const search = (args: Record<string, unknown>): Promise<ToolResult> =>
  mode.execute({ name: "search_tools", arguments: args });

test("code mode lists run_code and search_tools only", () => {
  expect(mode.list().map(({ name }) => name)).toEqual(["run_code", "search_tools"]);
  expect(mode.get("mail.send")).toBeUndefined();
});

test("the description of run_code declares the tools that programs may call, and no others", () => {
  const { description = "" } = mode.get("run_code") ?? {};
  expect(description).toContain("list_issues(input: { repo: string }): Promise<unknown>;");
  expect(description).toContain("All 3 tools are declared below.");
  expect(description).not.toContain("secret");
});

test("a program gives its result, its console and its calls", async () => {
  const result = await run(
    "const issues = await tools.github.list_issues({ repo: input });\nconsole.log(issues.length);\nreturn issues[0].title;",
    "a/b",
  );
  expect(result).toMatchObject({
    success: true,
    output: {
      result: "one of a/b",
      logs: ["2"],
      calls: [{ tool: "github.list_issues", code: "ok", ms: expect.any(Number) as number }],
    },
  });
  expect(result.metadata).toMatchObject({ callId: "c1", tool: "run_code" });
});

describe("a program that fails is answered with", () => {
  test("its line, the error, the calls before it and its console", async () => {
    const { error } = await run(
      "console.log('begin');\nawait tools.mail.send({});\n\n\n\n\nawait tools.github.create_issue({ title: '' });",
    );
    expect(error).toMatchObject({ code: "tool_error", type: "ToolError" });
    expect(error?.message).toBe(
      [
        "line 7, column 20: ToolError: no title",
        "Calls of tools: mail.send ok, github.create_issue tool_error.",
        "Console:",
        "begin",
      ].join("\n"),
    );
  });

  test("those of many calls that failed before the last ones", async () => {
    const many = (failing: number) =>
      `await Promise.allSettled(Array.from({ length: 30 }, (_, at) => at < ${failing}
         ? tools.github.create_issue({ title: '' }) : tools.mail.send({})));
       throw new Error('none');`;
    const failed = (count: number): string => Array(count).fill("github.create_issue tool_error").join(", ");
    const sent = (count: number): string => Array(count).fill("mail.send ok").join(", ");
    expect((await run(many(1))).error?.message).toContain(
      `Calls of tools: 30 calls, failed: ${failed(1)}; the last of them: ${sent(19)}.`,
    );
    expect((await run(many(12))).error?.message).toContain(
      `Calls of tools: 30 calls, 12 failed, the first of them: ${failed(10)}; the last of them: ${sent(10)}.`,
    );
    expect((await run(many(0))).error?.message).toContain(`Calls of tools: 30 calls, the last of them: ${sent(20)}.`);
  });

  test("where the limits of programs are set, for one that it reached", async () => {
    const few = codeMode(engine, { typeCheck: "off", limits: { capabilityCalls: 1 } });
    const { error } = await few.run("await tools.mail.send({}); return tools.mail.send({});");
    const remedy =
      "raise limits.capabilityCalls of programs: codeMode(engine, { limits }), or the setting codeMode.limits";
    expect(error?.message).toContain(`to grant it, ${remedy}`);
    expect(error).toMatchObject({ remedies: [{ pointer: "/codeMode/limits/capabilityCalls", json: 2 }] });
  });

  test("the nearest name for one that no tool has", async () => {
    const { error } = await run("return await tools.github.list_isues({ repo: 'a' })");
    expect(error?.message).toContain(
      'there is no tool "github.list_isues". Did you mean tools.github.list_issues or tools.github.create_issue?',
    );
  });

  test("the schema's words for arguments that do not match", async () => {
    const { error } = await run("return await tools.github.list_issues({ repository: 'a' })");
    expect(error?.message).toContain("/repo is required, but is missing");
  });

  test("the place of a mistake of syntax, and then no tool was called", async () => {
    const { error } = await run("await tools.mail.send({});\nconst a = ;");
    expect(error).toMatchObject({
      code: "invalid_arguments",
      details: { problems: [{ line: 2, column: 11, code: "syntax" }] },
    });
    expect(error?.message).toContain("The program was not run: 1 mistake.\n2:11");
  });
});

test.each([
  ["no text", { code: 5 }, "invalid_arguments"],
  ["an empty text", { code: " " }, "invalid_arguments"],
  ["a text that is too long", { code: "x".repeat(65_537) }, "input_too_large"],
])("a program that is %s is refused", async (_what, args, code) => {
  expect((await mode.execute({ name: "run_code", arguments: args })).error?.code).toBe(code);
});

test("a program that returns nothing says so", async () => {
  expect((await run("await tools.mail.send({})")).output).toMatchObject({
    result: null,
    warnings: ["nothing was returned: end the program with return, and see whether what it returns is undefined"],
  });
});

test("a call that was not awaited and failed is a warning", async () => {
  expect((await run("tools.github.create_issue({ title: '' }); return 1")).output).toMatchObject({
    result: 1,
    warnings: ["a call that was not awaited failed: github.create_issue: no title"],
  });
});

test.each([
  ["a Map as an object", "return { counts: [new Map([['a', 2]])] }", { counts: [{ a: 2 }] }],
  ["a Set as a list", "return new Set([1])", [1]],
  ["an error by its name and message", "return [new RangeError('no')]", [{ name: "RangeError", message: "no" }]],
  ["a bigint by its digits", "return { total: [1, 2n, 2n ** 64n] }", { total: [1, 2, "18446744073709551616"] }],
  [
    "promises by their values, wherever they are",
    "return { a: [tools.mail.send({})], b: new Map([['c', Promise.resolve({ d: Promise.resolve(1) })]]), e: new Set([Promise.resolve(2)]) }",
    { a: [expect.anything()], b: { c: { d: 1 } }, e: [2] },
  ],
])("a result has %s", async (_what, code, result) => {
  expect((await run(code)).output).toMatchObject({ result });
});

test.each([
  ["return { total: [1, 0 / 0] }", "/result/total/1 is NaN, which JSON does not have: return a number, a text or null"],
  ["return (function* () {})()", "/result is a generator: return [...values]"],
  ["return new Map([[1, 2]])", "/result is a Map with keys that are no texts: return [...map], or texts as keys"],
])("a result that JSON cannot hold is refused with its place: %s", async (code, problem) => {
  expect((await run(code)).error).toMatchObject({
    code: "invalid_output",
    message: expect.stringContaining(`the program returned a value that JSON cannot hold: ${problem}`),
  });
});

test("a promise in a result that fails is the program's error, with its line", async () => {
  const { error } = await run("const made = 1;\nreturn { issue: tools.github.create_issue({ title: '' }) };");
  expect(error?.message).toMatch(/^line 2, column \d+: ToolError: .*no title/);
});

test("a result of 10,000 promises, and one of 2,000 in each other, end the call within its limits", async () => {
  const wide = await run("return { all: Array.from({ length: 10_000 }, async (_, at) => at) }");
  expect(wide.output).toMatchObject({ truncated: { chars: expect.any(Number) } });
  const deep = await run(
    "let value = 1;\nfor (let at = 0; at < 2_000; at++) value = { a: Promise.resolve(value) };\nreturn value;",
  );
  expect(deep.error?.code ?? "ok").toMatch(/^(?:invalid_output|ok)$/);
});

test("a program that asks for a list of all tools is told how to find some", async () => {
  expect((await run("return Object.keys(tools)")).error?.message).toContain("search_tools({ query }) finds tools");
});

test("a long result is a preview, with advice", async () => {
  const { output } = await run("return 'x'.repeat(100_000)");
  expect(output).toMatchObject({
    truncated: { chars: 100_002, advice: "filter, count or sample in the program, and return less" },
  });
  expect(JSON.stringify(output).length).toBeLessThan(25_000);
});

test("a direct call of a tool is answered with the line to write", async () => {
  const { error } = await mode.execute({ name: "github.list_issues", arguments: { repo: "a" } });
  expect(error).toMatchObject({
    code: "tool_not_found",
    message:
      "github.list_issues is called in a program. Send run_code with the code: return await tools.github.list_issues({ … });",
  });
});

test("a program calls neither tools that code mode leaves out nor those that its caller may not call", async () => {
  expect((await run("return await tools.secret.read({})")).error?.message).toContain('there is no tool "secret.read"');
  const narrowed = await mode.execute(
    {
      name: "run_code",
      arguments: { code: "await tools.mail.send({}); return await tools.github.create_issue({ title: 'a' })" },
    },
    { tools: ["run_code", "mail.*"] },
  );
  expect(narrowed.error?.details).toMatchObject({
    calls: [
      { tool: "mail.send", code: "ok" },
      { tool: "github.create_issue", code: "tool_not_found" },
    ],
  });
});

test("a caller that may not call run_code runs no program", async () => {
  const refused = await mode.execute({ name: "run_code", arguments: { code: "return 1" } }, { tools: ["mail.*"] });
  expect(refused.error?.code).toBe("tool_not_found");
});

test("a program runs once for calls with the same idempotency key", async () => {
  const call = { name: "run_code", arguments: { code: "return Math.random()" } };
  const [one, other] = await Promise.all([1, 2].map(() => mode.execute(call, { idempotencyKey: "k" })));
  expect(one?.output).toEqual(other?.output);
});

test("a tool that is registered later is declared, found and called", async () => {
  await engine.register({
    name: "github.close_issue",
    description: "Closes.",
    source: "export default () => 'closed'",
  });
  expect(mode.get("run_code")?.description).toContain("close_issue(");
  expect((await run("return await tools.github.close_issue({})")).output).toMatchObject({ result: "closed" });
  expect((await search({ query: "close" })).output).toMatchObject({ matches: [{ name: "github.close_issue" }] });
  await engine.unregister("github.close_issue");
  expect((await search({ query: "close" })).output).toMatchObject({ total: 0, matches: [] });
});

describe("search_tools", () => {
  test("says how many tools match, of how many, and declares them", async () => {
    const { output } = await search({ query: "create an issue", limit: 1 });
    expect(output).toMatchObject({
      total: 2,
      of: 3,
      matches: [{ name: "github.create_issue", description: "Creates an issue." }],
    });
    expect((output as { declarations: string }).declarations).toContain("create_issue(input: { title: string })");
  });

  test("answers in one namespace, and with names alone", async () => {
    const { output } = await search({ query: "", namespace: "mail", detail: "name" });
    expect(output).toEqual({
      total: 1,
      of: 3,
      matches: [{ name: "mail.send", description: "Sends a mail." }],
      declarations: "",
    });
  });

  test("may be called in a program", async () => {
    expect((await run("return (await search_tools('issue')).total")).output).toMatchObject({ result: 2 });
  });

  test.each([
    [{ query: 1 }, "query must be a text of at most 1000 characters"],
    [{ query: "a", limit: 26 }, "limit must be a whole number from 1 to 25"],
    [{ query: "a", detail: "all" }, "detail must be name, signature or full"],
    [{ query: "a", namespace: 1 }, "namespace must be a text, such as github"],
  ])("refuses %o", async (args, message) => {
    expect((await search(args)).error).toMatchObject({ code: "invalid_arguments", message });
  });
});

test.each([
  [{ tokens: 1 }, "codeMode.tokens must be a whole number of at least 100"],
  [{ tools: [""] }, "codeMode.tools must be a list of at most 1000 names, each of which may end in *"],
])("options that are wrong are refused: %o", (options, message) => {
  expect(() => codeMode(engine, options)).toThrow(message);
});

test("check gives the mistakes of a program without running it", async () => {
  expect(await mode.check("return 1")).toEqual([]);
  expect(await mode.check("import a from 'a'; const b = 1")).toMatchObject([{ line: 1, column: 1, code: "import" }]);
});
