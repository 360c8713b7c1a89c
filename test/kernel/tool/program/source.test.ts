import { runInThisContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { GloveboxError } from "../../../../src/kernel/base/errors.ts";
import { memberOf } from "../../../../src/kernel/base/json.ts";
import { readProgram } from "../../../../src/kernel/tool/program/source.ts";

/** The value of a program that uses no tools. */
async function valueOf(code: string, input?: unknown): Promise<unknown> {
  let value: unknown = runInThisContext(readProgram(code).text);
  for (let depth = 0; depth < 2; depth++) value = await (typeof value === "function" ? value(input) : value);
  return value;
}

function problemsOf(code: string): unknown {
  try {
    readProgram(code);
  } catch (error) {
    if (error instanceof GloveboxError) return memberOf(error.details, "problems");
    throw error;
  }
  return "none";
}

describe("a program is", () => {
  test.each([
    ["the body of an async function", "const x = await Promise.resolve(20);\nreturn x + 1;"],
    ["with types", "interface Row { n: number }\nconst row = { n: 21 } satisfies Row;\nreturn row.n as number;"],
    ["in a fence of Markdown", "```ts\nreturn 21;\n```\n"],
    ["in a fence, with words around it", "Here it is:\n\n```typescript\nreturn 21;\n```\nIt returns a number."],
    ["with fences in a comment of its own", "/*\n```ts\nreturn 1\n```\n*/\nreturn 21;"],
    ["an async arrow function", "async (input: unknown) => {\n  return 21;\n}"],
    ["an async function in parentheses", "(async function () { return 21; });"],
    ["a function that is called at once", "(async () => {\n  return 21;\n})();"],
    ["a module with a default export", "const one = 20;\nexport default async function main() {\n  return one + 1;\n}"],
    ["a module whose default export is a value", "export const value: number = 21;\nexport default value;"],
    ["a body that returns a function", "return async () => 21;"],
    ["with a comment at its end", "return 21; // the answer, nearly"],
  ])("%s", async (_what, code) => {
    expect(await valueOf(code)).toBe(21);
  });
});

test("a function gets the input", async () => {
  expect(await valueOf("async ({ n }: { n: number }) => n * 2", { n: 4 })).toBe(8);
});

test("a line of its own is before the program, so that lines and columns are the program's", () => {
  const code = "const a: number = 1;\n  throw new Error(String(a));";
  const [head, ...lines] = readProgram(code).text.split("\n");
  expect(head).toBe("(async () => {");
  expect(lines[1]).toBe("  throw new Error(String(a));");
  expect(lines[0]).toHaveLength("const a: number = 1;".length);
});

describe("a program that cannot be read is refused with the place of", () => {
  test.each([
    ["a missing expression", "const a = ;", 1, 11, "syntax"],
    ["a mistake in a later line", "const a = 1;\n  foo(;\n", 2, 7, "syntax"],
    ["a bracket that closes the program", "return 1; } }; globalThis.x = 1; {", 1, 13, "syntax"],
    ["an import", "import fs from 'node:fs';\nreturn 1;", 1, 1, "import"],
    ["an import after other lines", "const a = 1;\nimport b from 'b';", 2, 1, "import"],
    ["a forwarded export", "export * from 'b';", 1, 1, "import"],
    ["a namespace", "const a = 1;\nnamespace N { export const b = 1 }", 2, 1, "syntax"],
    ["a mistake after an enum", "enum Color { red }\nfoo(;", 2, 5, "syntax"],
  ])("%s", (_what, code, line, column, kind) => {
    expect(problemsOf(code)).toEqual([{ line, column, code: kind, message: expect.any(String) as string }]);
  });
});

test("the error says how many mistakes there are, where, and what to do", () => {
  expect(() => readProgram("import a from 'a';\nimport b from 'b';")).toThrow(
    [
      "The program was not run: 2 mistakes.",
      "1:1  a program cannot import or export modules. It has tools, input, progress, search_tools, ToolError, approval, signal, sleepUntil, console and the language itself",
      "2:1  a program cannot import or export modules. It has tools, input, progress, search_tools, ToolError, approval, signal, sleepUntil, console and the language itself",
      "Correct these lines and send the whole program again.",
    ].join("\n"),
  );
});

test("the calls of tools in a program have their names and places", () => {
  const code =
    "const a: X = await tools.github.list({});\nreturn [\n  tools['geo-find'](a), tools[a](), other.tools.b(),\n];";
  expect(readProgram(code).calls.toSorted((one, other) => one.line - other.line)).toEqual([
    { tool: "github.list", line: 1, column: 20, endLine: 1, endColumn: 41 },
    { tool: "geo-find", line: 3, column: 3, endLine: 3, endColumn: 23 },
  ]);
});

test("any text becomes an expression or a refusal with a place", () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 200 }), (text) => {
      const problems = problemsOf(text);
      if (problems === "none") return;
      const [first] = problems as { readonly line: number; readonly column: number }[];
      expect(first?.line).toBeGreaterThan(0);
      expect(first?.column).toBeGreaterThan(0);
    }),
  );
});

describe("what is more than types, and what models write all the same, runs", () => {
  const run = async (code: string): Promise<unknown> => {
    const make = runInThisContext(readProgram(code).text) as () => Promise<unknown>;
    return make();
  };

  test.each([
    ["an enum of many comments", `enum A { ${"/**/".repeat(200)}one, two }\nreturn A.two;`, 1],
    ["an enum", "enum Color { red, green = 5, blue }\nreturn [Color.red, Color.blue, Color[5]];", [0, 6, "green"]],
    [
      "an enum of texts",
      "enum Way { up = 'U', 'down here' = \"D\" }\nreturn [Way.up, Way['down here'], Object.keys(Way)];",
      ["U", "D", ["up", "down here"]],
    ],
    [
      "a constant enum on several lines",
      "const enum A {\n  // One, or {\n  one = 1,\n  two = one_(2), /* , */\n}\nfunction one_(n) { return n * 2 }\nreturn A.two;",
      4,
    ],
    [
      "an assertion in brackets",
      "const a = <number>5; const b = <Array<{ x: () => string }>>[]; return [a, b];",
      [5, []],
    ],
    ["an assertion on several lines", "const a = <{\n  b: number;\n}>{ b: 1 }; return a;", { b: 1 }],
    ["an assertion within a call", "return String((<any>7));", "7"],
  ])("%s", async (_what, code, value) => {
    expect(await run(code)).toEqual(value);
  });

  test("on the lines on which it stands", () => {
    const code = "enum A {\n  one,\n  two,\n}\nconst b = <number>1;\nthrow new Error('here');";
    expect(readProgram(code).text.split("\n")[6]).toContain("throw new Error('here');");
  });
});
