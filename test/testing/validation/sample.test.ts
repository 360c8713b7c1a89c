import fc from "fast-check";
import { expect, test } from "vitest";
import { sampleArguments } from "../../../src/testing/validation/sample.ts";
import { compileSchema } from "../../../src/kernel/base/schema/schema.ts";

test("a sample has what a schema requires, and fits it", () => {
  const schema = {
    type: "object",
    properties: {
      text: { type: "string", minLength: 5 },
      day: { type: "string", format: "date" },
      count: { type: "integer", minimum: 7 },
      above: { type: "number", exclusiveMinimum: 2 },
      below: { type: "integer", maximum: -3 },
      list: { type: "array", items: { type: "boolean" }, minItems: 2 },
      kind: { enum: ["b", "a"] },
      fixed: { const: null },
      inner: { type: "object", properties: { a: { type: ["null", "string"] } }, required: ["a"] },
      either: { anyOf: [{ type: "number" }, { type: "string" }] },
      said: { type: "string", default: "as usual" },
      shown: { type: "string", examples: ["as shown"] },
      left: { type: "string" },
    },
    required: ["text", "day", "count", "above", "below", "list", "kind", "fixed", "inner", "either", "said", "shown"],
  };
  const sample = sampleArguments(schema);
  expect(sample).toMatchObject({ kind: "b", said: "as usual", shown: "as shown", inner: { a: null } });
  expect(sample).not.toHaveProperty("left");
  expect(compileSchema(schema, "inputSchema").check(sample)).toEqual([]);
});

test("whatever a schema says, there is an end to its sample", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (schema) => {
      expect(JSON.stringify(sampleArguments(schema)).length).toBeGreaterThan(1);
    }),
  );
  const wide = {
    type: "array",
    minItems: 1e9,
    items: { type: "array", minItems: 1e9, items: { type: "array", minItems: 1e9 } },
  };
  expect(JSON.stringify(sampleArguments({ properties: { wide }, required: ["wide"] })).length).toBeLessThan(1_000_000);
});
