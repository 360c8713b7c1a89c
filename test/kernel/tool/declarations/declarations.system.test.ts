import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { compileSchema } from "../../../../src/kernel/base/schema/schema.ts";
import { isObject, type JsonSchema } from "../../../../src/kernel/base/json.ts";
import { type DeclaredTool, declareTools } from "../../../../src/kernel/tool/declarations/declare-tools.ts";
import { Compiler } from "./compiler.ts";
import { HOSTILE_TOOLS, SCHEMAS, VALUES } from "./schemas.ts";

let compiler: Compiler;

beforeAll(() => {
  compiler = new Compiler();
});

afterAll(() => compiler[Symbol.dispose]());

function tool(schema: JsonSchema, name = "t"): DeclaredTool {
  return { name, description: "Does it.", inputSchema: schema, outputSchema: schema };
}

/** What a file of declarations may have in it, beside the types of its tools. */
const OWN_TYPE = /^[A-Z][A-Za-z0-9]*(?:Input|Output)(?:_[A-Za-z0-9]+)?$/;

describe("declarations of hostile tools", () => {
  test("compile, and declare nothing but the tools and their types", () => {
    fc.assert(
      fc.property(HOSTILE_TOOLS, fc.boolean(), (tools, register) => {
        const text = declareTools(tools, { register });
        const { errors = [], statements = [] } = compiler.compile({ "tools.ts": text }).get("tools.ts") ?? {};
        expect(errors).toEqual([]);
        const [first, ...others] = statements;
        const names = [...new Set(tools.map(({ name }) => name))].toSorted((a, b) => (a < b ? -1 : 1));
        expect(first).toEqual({ kind: "InterfaceDeclaration", name: "Tools", members: names });
        const last = register ? others.pop() : undefined;
        if (register) expect(last).toMatchObject({ kind: "ModuleDeclaration", name: "glovebox" });
        for (const { kind, name } of others) {
          expect(kind).toBe("TypeAliasDeclaration");
          expect(name).toMatch(OWN_TYPE);
        }
        expect(new Set(others.map(({ name }) => name)).size).toBe(others.length);
      }),
      { numRuns: 60 },
    );
  }, 300_000);

  test.each<[string, Partial<DeclaredTool>]>([
    ["a description that ends the comment", { description: "*/ declare global { var x: string } /*" }],
    ["a description that is an instruction to the compiler", { description: "@ts-expect-error" }],
    ["a description with an instruction in its last line", { description: "A\n@ts-ignore" }],
    ["a description with line ends of other systems", { description: "a\r*/ b\u2028*/ c\u2029*/ d\u0085*/" }],
    ["a name that ends the string", { name: 'a": never }; declare const x: { "' }],
    ["a name with a line end", { name: "a\n\u2028b" }],
    ["the name __proto__", { name: "__proto__" }],
    ["an empty name", { name: "" }],
    ["the name new", { name: "new" }],
  ])("have no declaration of %s", (_, given) => {
    const hostile = { ...tool({ properties: { a: { description: given.description, type: "string" } } }), ...given };
    const { errors, statements } = compiler.compile({ "a.ts": declareTools([hostile]) }).get("a.ts") ?? {};
    expect(errors).toEqual([]);
    expect(statements).toEqual([{ kind: "InterfaceDeclaration", name: "Tools", members: [hostile.name] }]);
  });

  test("stay within what TypeScript can check where unions are multiplied", () => {
    const unions = Array.from({ length: 8 }, (_, at) => ({
      anyOf: Array.from({ length: 40 }, (_each, number) => ({
        type: "object",
        properties: { [`p${at}`]: { const: number } },
        required: [`p${at}`],
      })),
    }));
    const text = `${declareTools([tool({ allOf: unions })])}\nexport const input = (t: Tools["t"]["input"]) => t.p0;\n`;
    expect(compiler.errorsOf(text)).toEqual([]);
  });

  test("have no circle of names where schemas refer to each other", () => {
    const refs = (...names: string[]) => names.map((name) => ({ $ref: `#/$defs/${name}` }));
    const schema = {
      $ref: "#/$defs/a",
      $defs: {
        a: { anyOf: refs("b", "c") },
        b: { allOf: refs("a", "c") },
        c: { type: "object", properties: { d: { $ref: "#/$defs/d" } }, anyOf: refs("d") },
        d: { oneOf: [...refs("c"), { type: "array", items: { $ref: "#" } }] },
      },
    };
    expect(compiler.errorsOf(declareTools([tool(schema)]))).toEqual([]);
  });
});

describe("the type of a schema", () => {
  test("takes every value that the schema takes", () => {
    let accepted = 0;
    fc.assert(
      fc.property(SCHEMAS, fc.array(VALUES, { minLength: 20, maxLength: 40 }), (schema, values) => {
        const validator = compileSchema(schema, "outputSchema");
        const lines = values.flatMap((value, at) => {
          // Defaults are written into it.
          const filled: unknown = structuredClone(value);
          if (validator.check(filled).length > 0) return [];
          // A default that its schema refuses is written as well, and has no type.
          if (validator.check(structuredClone(filled)).length > 0) return [];
          accepted++;
          return [assign("output", at, filled), ...(isObject(value) ? [assign("input", at, value)] : [])];
        });
        expect(compiler.errorsOf(`${declareTools([tool(schema)])}\n${lines.join("\n")}\n`)).toEqual([]);
      }),
      { numRuns: 200 },
    );
    expect(accepted).toBeGreaterThan(1_000);
  }, 300_000);
});

/** Gives a value to a variable of a tool's type. */
function assign(side: "input" | "output", at: number, value: unknown): string {
  const isConst = typeof value === "object" && value !== null;
  const name = `${side}${at}`;
  return [
    `const ${name} = ${JSON.stringify(value)}${isConst ? " as const" : ""};`,
    `export const ${name}Typed: Tools["t"]["${side}"] = ${name};`,
  ].join("\n");
}
