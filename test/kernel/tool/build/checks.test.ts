import { afterAll, beforeAll, expect, test } from "vitest";
import type { JsonSchema } from "../../../../src/kernel/base/json.ts";
import { compileChecks } from "../../../../src/kernel/base/schema/checks.ts";
import { builds } from "../../../../src/kernel/tool/build/builds.ts";
import { buildChecks } from "../../../../src/kernel/tool/build/checks.ts";
import { children } from "../../../processes.ts";

const STRANGER = "key:stranger";
const INPUT: JsonSchema = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  properties: { name: { type: "string", pattern: "^\\p{Letter}+$" }, list: { uniqueItems: true, default: [] } },
  required: ["name"],
  unevaluatedProperties: false,
};
const OUTPUT: JsonSchema = { anyOf: [{ type: "integer" }, { format: "date-time" }] };

/** Other files of this process may have left some. */
let before: readonly number[] = [];

beforeAll(() => {
  before = children();
  builds.stop();
});
afterAll(() => builds.stop());

const begun = () => children().filter((pid) => !before.includes(pid));

test("small schemas of the operator, and those that allow everything, start no process", async () => {
  expect(await buildChecks(INPUT, OUTPUT, null)).toEqual(compileChecks(INPUT, OUTPUT));
  expect(await buildChecks({ type: "object" }, true, STRANGER)).toEqual({ input: "", output: "" });
  expect(begun()).toEqual([]);
});

test("a stranger's schemas become the same code in a build process", async () => {
  expect(await buildChecks(INPUT, OUTPUT, STRANGER)).toEqual(compileChecks(INPUT, OUTPUT));
  expect(await buildChecks(INPUT, null, STRANGER)).toEqual(compileChecks(INPUT, null));
  expect(begun()).toHaveLength(1);
});

test("large schemas of the operator are compiled in a build process too", async () => {
  const large: JsonSchema = { enum: Array.from({ length: 2_000 }, (_, at) => `value ${at}`) };
  expect(await buildChecks(large, null, null)).toEqual(compileChecks(large, null));
});

const PLACES: readonly (readonly [string, JsonSchema])[] = [
  ["a schema that is not valid", { properties: { "a/b": { type: "text" } } }],
  ["a pattern that is not valid", { properties: { a: { pattern: "(" } } }],
  ["a reference that leads nowhere", { properties: { a: { $ref: "#/definitions/b" } } }],
  ["another dialect", { $schema: "http://json-schema.org/draft-04/schema#" }],
  [
    "too much code",
    { properties: Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`p${at}`, { minLength: 1 }])) },
  ],
];

test.each(PLACES)("%s: message and details are those of the compiler", async (_, schema) => {
  const told = await buildChecks(true, schema, STRANGER).catch((error: unknown) => error);
  expect(told).toMatchObject({ name: "GloveboxError", code: "load_error", details: { where: "outputSchema" } });
  expect(() => compileChecks(true, schema)).toThrow(told as Error);
  expect(told).toEqual(compiled(schema));
});

function compiled(schema: JsonSchema): unknown {
  try {
    return compileChecks(true, schema);
  } catch (error) {
    return error;
  }
}
