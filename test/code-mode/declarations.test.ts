import fc from "fast-check";
import ts from "typescript-6";
import { describe, expect, test } from "vitest";
import { catalogOf } from "../../fixtures/code-mode/catalog.ts";
import { declareWithin } from "../../src/code-mode/declarations.ts";
import { expressionOf, NearestNames } from "../../src/code-mode/names.ts";
import { signatureOf } from "../../src/code-mode/signature.ts";
import type { ToolDescription } from "../../src/kernel/tool/contracts/contract.ts";
import { byLength } from "../length.ts";

const TOOLS = catalogOf() as readonly ToolDescription[];
const NAMESPACES = [...new Set(TOOLS.map(({ name }) => name.split(".")[0] ?? ""))];

const nothing = (): boolean => false;

describe("declarations within a budget", () => {
  const tools = TOOLS;
  const { text, declared, total } = declareWithin(tools, { tokens: 4_000, isPinned: nothing });

  test("have at most the budget's length and a heading, of tools that are ten times as long", () => {
    const whole = declareWithin(tools, { tokens: 1e6, isPinned: nothing }).text;
    expect(whole.length).toBeGreaterThan(160_000);
    expect(text.length).toBeLessThan(16_000 + 1_200);
    expect(text.length).toBeGreaterThan(12_000);
  });

  test("name every namespace with the number of its tools", () => {
    for (const namespace of NAMESPACES) expect(text).toContain(`- ${namespace}: 30 tools`);
    expect(text).toContain(`${declared.length} of 300 tools are declared below`);
    expect(total).toBe(300);
  });

  test("declare at least one tool of each namespace", () => {
    expect(new Set(declared.map((name) => name.split(".")[0]))).toEqual(new Set(NAMESPACES));
  });

  test("are the same text whatever the order of the tools", () => {
    const others = TOOLS.toReversed();
    expect(declareWithin(others, { tokens: 4_000, isPinned: nothing }).text).toBe(text);
  });

  test("have pinned tools first", () => {
    const isPinned = (name: string): boolean => name === "wiki.delete_space";
    expect(declareWithin(tools, { tokens: 200, isPinned }).declared).toEqual(["wiki.delete_space"]);
  });

  test("of no tools say so", () => {
    expect(declareWithin([], { tokens: 4_000, isPinned: nothing }).text).toBe("There are no tools.");
  });
});

/** Whether a text is TypeScript without mistakes of syntax. */
function syntaxErrors(text: string): readonly string[] {
  const { diagnostics = [] } = ts.transpileModule(text, { reportDiagnostics: true });
  return diagnostics.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"));
}

const schemas = fc.letrec((tie) => ({
  schema: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(
      true,
      {},
      { type: "string" },
      { type: ["number", "null"] },
      { enum: ["a", 1, null, "*/"] },
      { $ref: "#" },
      { $ref: "#/$defs/missing" },
      { const: "`${x}`" },
    ),
    fc.record({ type: fc.constant("array"), items: tie("schema") }),
    fc.record({ anyOf: fc.array(tie("schema"), { maxLength: 3 }) }),
    fc.record({ allOf: fc.array(tie("schema"), { maxLength: 3 }) }),
    fc.record({
      type: fc.constant("object"),
      description: fc.string(),
      properties: fc.dictionary(fc.string(), tie("schema"), { maxKeys: 4 }),
    }),
  ),
}));

test("a declaration of any tool is TypeScript, and no description ends a comment", () => {
  fc.assert(
    fc.property(
      schemas.schema,
      schemas.schema,
      fc.string(),
      fc.stringMatching(/^[A-Za-z0-9_.-]{1,40}$/),
      (inputSchema, outputSchema, description, name) => {
        const tool = {
          name,
          description: `${description} */ evil(); /*`,
          inputSchema,
          outputSchema,
        } as ToolDescription;
        const { text } = declareWithin([tool], { tokens: 1e6, isPinned: nothing });
        expect(syntaxErrors(text.slice(Math.max(0, text.search(/^(?:type|declare) /m))))).toEqual([]);
        expect(text.includes("*/ evil")).toBe(false);
      },
    ),
    { numRuns: byLength(200, 1_000) },
  );
}, 300_000);

test("a declaration that would be long has no types, but its name and its description", () => {
  const properties = Object.fromEntries(
    Array.from({ length: 2_000 }, (_, at) => [`property_${at}`, { type: "string" }]),
  );
  const tool = { name: "a.large", description: "Large.", inputSchema: { type: "object", properties } };
  expect(signatureOf(tool).full.member).toBe(
    "/** Large. */\nlarge(input: { [key: string]: unknown }): Promise<unknown>;",
  );
});

test("a declaration that would be long loses the type of its output before that of its arguments", () => {
  const many = (description: string): object =>
    Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`p${at}`, { type: "string", description }]));
  const inputSchema = { type: "object", properties: { id: { type: "integer" } }, required: ["id"] };
  const outputSchema = { type: "object", properties: { one: { type: "object", properties: many("x".repeat(150)) } } };
  const described = { name: "a.described", description: "", inputSchema, outputSchema };
  expect(signatureOf(described).full.member).toContain("p99?: string");
  const properties = Object.fromEntries(
    Array.from({ length: 10 }, (_, at) => [`o${at}`, { type: "object", properties: many("") }]),
  );
  const large = { ...described, name: "a.large", outputSchema: { type: "object", properties } };
  expect(signatureOf(large).full.member).toBe("large(input: { id: number }): Promise<unknown>;");
});

test.each([
  ["echo", "tools.echo"],
  ["github.list_issues", "tools.github.list_issues"],
  ["geo-find", 'tools["geo-find"]'],
  ["a-b.c", 'tools["a-b"].c'],
  ["a.b.c", 'tools.a["b.c"]'],
  [".hidden", 'tools[".hidden"]'],
])("the tool %s is %s in a program", (name, expression) => {
  expect(expressionOf(name)).toBe(expression);
});

test.each([
  ["github.list_isues", "github.list_issues"],
  ["list_issues", "github.list_issues"],
  ["gitHub.listIssues", "github.list_issues"],
  ["mail.send_email", "mail.send_mail"],
])("the nearest tool to %s is %s", (name, nearest) => {
  const names = ["github.list_issues", "github.create_issue", "mail.send_mail", "mail.list", "echo"];
  expect(new NearestNames(names).find(name, 3)[0]).toBe(nearest);
});

test("an integer that a number may not hold is a bigint in programs", () => {
  const schema = { type: "object", properties: { id: { type: "integer", format: "int64" }, n: { type: "integer" } } };
  const tool: ToolDescription = { name: "a", description: "A.", inputSchema: schema, outputSchema: schema };
  expect(signatureOf(tool).short.member).toContain(
    "a(input: { id?: number | bigint; n?: number }): Promise<{ id?: number | bigint; n?: number }>;",
  );
});
