import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { rawDigits } from "../../../src/kernel/base/exact-json.ts";
import { compileChecks } from "../../../src/kernel/base/schema/checks.ts";
import { compileLoosened, loosenSchema } from "../../../src/connectors/tool/loosen.ts";
import { prepareRemote } from "../../../src/connectors/tool/prepare-remote.ts";
import { openChecks } from "../../kernel/base/schema/run-checks.ts";

const JOB = {
  of: "mcp",
  connector: "c",
  server: null,
  location: null,
  headers: [],
  query: [],
  tools: null,
  hasHeaders: false,
  takesPaths: false,
  hasDescriptions: true,
  names: [],
} as const;
const OPERATION = { kind: "mcp", connector: "c", tool: "t", isTyped: true, isRead: false, isRepeatable: false };

interface Line {
  readonly tool: { readonly name: string; readonly inputSchema: unknown; readonly outputSchema?: unknown };
  readonly checks: { readonly input: string; readonly output: string };
}

function prepared(tools: readonly object[]): { readonly lines: readonly Line[]; readonly findings: readonly string[] } {
  const all = tools.map((tool, at) => ({
    name: `t${at}`,
    description: "",
    annotations: {},
    operation: OPERATION,
    ...tool,
  }));
  const { value, texts } = prepareRemote(JOB, JSON.stringify({ tools: all, findings: [] }));
  const lines = texts[0] === "" ? [] : (texts[0] ?? "").split("\n");
  return {
    lines: lines.map((line) => JSON.parse(line) as Line),
    findings: value.findings.map(({ tool, reason }) => `${tool}: ${reason}`),
  };
}

/** Schemas of published servers and generators, each with the part that cannot be used. */
const ODD: readonly (readonly [what: string, schema: object, finding: string])[] = [
  ["a reference that leads nowhere", { properties: { a: { $ref: "#/$defs/Missing" } } }, "/properties/a/$ref"],
  [
    "a pattern of another dialect",
    { properties: { a: { type: "string", pattern: "^(?i)abc$" } } },
    "/properties/a/pattern",
  ],
  ["a type that does not exist", { properties: { a: { type: "str" } } }, "/properties/a/type"],
  [
    "a property that says that it is required",
    { properties: { a: { type: "string", required: true } } },
    "/properties/a/required",
  ],
  ["a name that is required twice", { properties: { a: {} }, required: ["a", "a"] }, "/required"],
  ["an enum without values", { properties: { a: { enum: [] } } }, "/properties/a/enum"],
  ["properties that are null", { type: "object", properties: null }, "/properties"],
  ["a property that is null", { properties: { a: null } }, "/properties/a"],
  ["bounds that are texts", { properties: { a: { minimum: "1", maxLength: -1 } } }, "/properties/a/minimum"],
  ["items that are a text", { properties: { a: { items: "string" } } }, "/properties/a/items"],
  ["a list of alternatives without one", { properties: { a: { anyOf: [] } } }, "/properties/a/anyOf"],
  ["a dialect that nobody knows", { $schema: "https://example.com/mine", properties: {} }, "/$schema"],
  [
    "a reference to another document",
    { properties: { a: { $ref: "https://example.com/a.json" } } },
    "/properties/a/$ref",
  ],
  ["an anchor that is not there", { properties: { a: { $ref: "#there" } } }, "/properties/a/$ref"],
];

describe("a schema of another server", () => {
  test.each(ODD)("with %s keeps its tool, as arguments and as an answer", (_what, schema, finding) => {
    const { lines, findings } = prepared([{ inputSchema: { type: "object", ...schema }, outputSchema: schema }]);
    expect(lines).toHaveLength(1);
    expect(findings.join("\n")).toContain(`t0: inputSchema`);
    expect(findings.join("\n")).toContain(finding);
    expect(openChecks(lines[0]?.checks ?? { input: "", output: "" }).input({ a: "ABC" })).toBeNull();
  });

  test("keeps what can be used of it", () => {
    const inputSchema = {
      type: "object",
      properties: { a: { type: "str" }, b: { type: "integer", minimum: 1 }, list: { items: { enum: [] } } },
      required: ["b", "b"],
    };
    const [line] = prepared([{ inputSchema }]).lines;
    const { input } = openChecks(line?.checks ?? { input: "", output: "" });
    expect(input({ b: 1, a: {}, list: [1] })).toBeNull();
    expect(input({ b: 0 })?.violations).toMatchObject([{ pointer: "/b", keyword: "minimum" }]);
    expect(input({})?.violations).toMatchObject([{ pointer: "/b", keyword: "required" }]);
  });

  test("keeps the digits of its values where a part of it is left away", () => {
    const properties = { id: { type: "integer", enum: [rawDigits("1915883588174806059")] }, a: { type: "str" } };
    const [line] = prepared([{ inputSchema: { type: "object", properties } }]).lines;
    const { input } = openChecks(line?.checks ?? { input: "", output: "" });
    expect(input({ id: 1915883588174806059n })).toBeNull();
    expect(input({ id: 1915883588174806058n })).not.toBeNull();
  });

  test("keeps bounds and examples that are long integers", () => {
    const n = {
      type: "integer",
      maximum: rawDigits("9223372036854775807"),
      examples: [rawDigits("9223372036854775806")],
    };
    const { lines, findings } = prepared([{ inputSchema: { type: "object", properties: { n } } }]);
    expect(findings).toEqual([]);
    const { input } = openChecks(lines[0]?.checks ?? { input: "", output: "" });
    expect(input({ n: 9223372036854775807n })).toBeNull();
    expect(input({ n: 9223372036854775808n })).not.toBeNull();
  });

  test("of draft-04 and OpenAPI 3.0 means what it meant there", () => {
    const { lines, findings } = prepared([
      {
        inputSchema: {
          $schema: "http://json-schema.org/draft-04/schema#",
          id: "http://example.com/s",
          type: "object",
          properties: {
            a: { type: "integer", minimum: 1, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: false },
            b: { type: "string", nullable: true },
            c: { allOf: [{ type: "string" }], nullable: true },
            d: { nullable: true, minLength: 2 },
            e: { nullable: true, enum: ["x"] },
            f: { nullable: true, const: "x" },
          },
        },
      },
    ]);
    expect(findings).toEqual([]);
    const { input } = openChecks(lines[0]?.checks ?? { input: "", output: "" });
    expect(input({ a: 9, b: null, c: null, d: null, e: null, f: null })).toBeNull();
    expect(input({ d: "xx", e: "x", f: "x" })).toBeNull();
    for (const wrong of [{ d: "x" }, { e: "y" }, { f: "y" }]) expect(input(wrong)).not.toBeNull();
    expect(input({ a: 1 })).not.toBeNull();
    expect(input({ b: 1 })).not.toBeNull();
  });

  test("has its tuples as it writes them, where it names no dialect", () => {
    const tuple = [{ type: "string" }, { type: "integer" }];
    const { lines, findings } = prepared(
      [
        { prefixItems: tuple, items: false },
        { items: tuple, additionalItems: false },
      ].map((pair) => ({ inputSchema: { type: "object", properties: { pair: { type: "array", ...pair } } } })),
    );
    expect(findings).toEqual([]);
    for (const { checks } of lines) {
      const { input } = openChecks(checks);
      expect(input({ pair: ["a", 1] })).toBeNull();
      expect(input({ pair: [1, 1] })).not.toBeNull();
      expect(input({ pair: ["a", 1, 2] })).not.toBeNull();
    }
  });

  test("with words of two dialects and none named is read as one of 2020-12, with all of them, and that is told", () => {
    const later = { type: "array", prefixItems: [{ type: "string" }], items: false };
    const earlier = { type: "array", items: [{ type: "integer" }], additionalItems: false };
    const properties = { later, earlier, both: { ...earlier, prefixItems: [{ type: "integer" }] } };
    const dependencies = { later: ["earlier"] };
    const { lines, findings } = prepared([{ inputSchema: { type: "object", properties, dependencies } }]);
    expect(findings).toHaveLength(1);
    expect(findings[0]).toMatch(
      /^c.t0: inputSchema it has \w+ of draft-07 beside prefixItems of draft 2020-12, and is read as/,
    );
    const { input } = openChecks(lines[0]?.checks ?? { input: "", output: "" });
    expect(input({ later: ["a"], earlier: [1], both: [1] })).toBeNull();
    const wrong = [{ later: ["a"] }, { later: [1], earlier: [] }, { later: ["a", 1], earlier: [] }];
    for (const args of [...wrong, { earlier: ["a"] }, { earlier: [1, 2] }, { both: ["a"] }, { both: [1, 2] }])
      expect(input(args)).not.toBeNull();
  });

  test("that names draft-07 tells which of its words that dialect ignores", () => {
    const pair = { type: "array", prefixItems: [{ type: "string" }] };
    const inputSchema = { $schema: "http://json-schema.org/draft-07/schema#", type: "object", properties: { pair } };
    const { lines, findings } = prepared([{ inputSchema }]);
    expect(findings).toEqual([
      "c.t0: inputSchema prefixItems is not checked: draft-07, which its $schema names, has no such word",
    ]);
    expect(openChecks(lines[0]?.checks ?? { input: "", output: "" }).input({ pair: [1] })).toBeNull();
  });

  test("tells its defaults, and none of them is filled in", () => {
    const inputSchema = {
      type: "object",
      properties: {
        a: { type: "string", default: null },
        b: { type: "integer", default: 5 },
        c: { type: "string", enum: ["x", "y"], default: "z" },
        d: { type: "integer", maximum: 10, default: 11 },
      },
    };
    const { lines, findings } = prepared([{ inputSchema }]);
    expect(findings).toEqual([]);
    expect(lines[0]?.tool.inputSchema).toMatchObject(inputSchema);
    const args = {};
    expect(openChecks(lines[0]?.checks ?? { input: "", output: "" }).input(args)).toBeNull();
    expect(args).toEqual({});
  });

  test("loses no tool, whatever it is", () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue({ maxDepth: 4 }), { maxLength: 5 }), (values) => {
        const tools = values.map((value) => ({
          inputSchema: { properties: { a: value, type: value }, required: value, items: value },
        }));
        expect(prepared(tools).lines).toHaveLength(tools.length);
      }),
    );
  });
});

test("a schema of which nothing can be used is as if there were none", () => {
  const schema = {
    allOf: [
      { $id: "urn:a", $ref: "urn:b" },
      { $id: "urn:b", $ref: "urn:a" },
    ],
  };
  const { code, findings } = compileLoosened(loosenSchema(schema), (one) => compileChecks(one, null), {
    type: "object",
  });
  expect(findings.length).toBeGreaterThan(0);
  expect(openChecks(code).input({ a: 1 })).toBeNull();
});

test("an operation whose arguments need more code than a tool may have is checked by their names only", () => {
  const properties = Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`p${at}`, { type: "string" }]));
  const schema = { type: "object", properties, required: ["p0"], additionalProperties: false };
  const post = { requestBody: { required: true, content: { "application/json": { schema } } }, responses: {} };
  const document = { openapi: "3.1.0", info: {}, servers: [{ url: "https://a.example" }], paths: { "/a": { post } } };
  const { value, texts } = prepareRemote({ ...JOB, of: "openapi" }, JSON.stringify(document));
  expect(value.findings.map(({ reason }) => reason)).toEqual([expect.stringContaining("inputSchema left away: ")]);
  const { tool, checks } = JSON.parse(texts[0] ?? "") as Line;
  expect(JSON.stringify(tool.inputSchema)).toContain("p999");
  const { input } = openChecks(checks);
  expect([input({ body: { p0: "a" } }), input({ body: { p0: 5 } })]).toEqual([null, null]);
  expect(input({})?.violations).toEqual([expect.objectContaining({ keyword: "required" })]);
});
