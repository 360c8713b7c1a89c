import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compileChecks } from "../../../../src/kernel/base/schema/checks.ts";
import { compileSchema } from "../../../../src/kernel/base/schema/schema.ts";
import { openChecks, violationsOf } from "./run-checks.ts";

const ID = 1915883588174806058n;
const long = fc.oneof(
  fc.bigInt({ min: 2n ** 53n, max: 2n ** 200n }),
  fc.bigInt({ min: -(2n ** 200n), max: -(2n ** 53n) }),
);
const keywordsOf = (schema: object, value: unknown) =>
  violationsOf({ type: "object", properties: { id: schema } }, { id: value }).map(({ keyword }) => keyword);

describe("a long integer", () => {
  test("is an integer and a number, as a bigint and as a text of its digits", () => {
    fc.assert(
      fc.property(long, fc.constantFrom("integer", "number", ["null", "integer"]), (id, type) => {
        expect(keywordsOf({ type }, id)).toEqual([]);
        expect(keywordsOf({ type }, String(id))).toEqual([]);
      }),
    );
  });

  test("is nothing else", () => {
    for (const type of ["string", "boolean", ["object", "null"]]) expect(keywordsOf({ type }, ID)).toEqual(["type"]);
    for (const no of ["12", "1e400", "0x1915883588174806058", `${ID}.5`, ` ${ID}`])
      expect(keywordsOf({ type: "integer" }, no)).toEqual(["type"]);
  });

  test("is made of a text of its digits where the schema wants a number, and nowhere else", () => {
    const properties = {
      id: { type: "integer" },
      name: { type: "string" },
      any: {},
      list: { items: { oneOf: [{ type: "integer" }, { type: "string" }] } },
    };
    const value = { id: `${ID}`, name: `${ID}`, any: `${ID}`, list: [`${ID}`] };
    expect(violationsOf({ type: "object", properties }, value)).toEqual([]);
    expect(value).toEqual({ id: ID, name: `${ID}`, any: `${ID}`, list: [`${ID}`] });
  });

  test("is made of its digits in a list that is too long for a list of all its violations", () => {
    const value = { ids: Array.from({ length: 50_000 }, (_, at) => `${ID + BigInt(at)}`) };
    expect(violationsOf({ properties: { ids: { items: { type: "integer" } } } }, value)).toEqual([]);
    expect(value.ids.at(-1)).toBe(ID + 49_999n);
  });

  test("is compared exactly with bounds", () => {
    fc.assert(
      fc.property(long, fc.bigInt({ min: -3n, max: 3n }), (bound, apart) => {
        const value = bound + apart;
        expect(keywordsOf({ minimum: bound }, value).length === 0).toBe(value >= bound);
        expect(keywordsOf({ maximum: bound }, value).length === 0).toBe(value <= bound);
        expect(keywordsOf({ exclusiveMinimum: bound }, value).length === 0).toBe(value > bound);
        expect(keywordsOf({ exclusiveMaximum: bound }, value).length === 0).toBe(value < bound);
      }),
    );
    expect(keywordsOf({ type: "integer", maximum: 2 ** 63 }, 2n ** 63n)).toEqual([]);
    expect(keywordsOf({ type: "integer", maximum: 2 ** 63 }, 2n ** 63n + 1n)).toEqual(["maximum"]);
    expect(keywordsOf({ minimum: 0 }, -ID)).toEqual(["minimum"]);
  });

  test("is a multiple, or not", () => {
    fc.assert(
      fc.property(long, fc.integer({ min: 1, max: 10_000 }), (value, of) => {
        expect(keywordsOf({ multipleOf: of }, value).length === 0).toBe(value % BigInt(of) === 0n);
      }),
    );
    expect(keywordsOf({ multipleOf: 0.5 }, ID)).toEqual([]);
    expect(keywordsOf({ multipleOf: 2.5 }, ID)).toEqual(["multipleOf"]);
    expect(keywordsOf({ multipleOf: 1e20 }, 3n * 10n ** 20n)).toEqual([]);
  });

  test("is one of the values of an enum, or not", () => {
    expect(keywordsOf({ enum: [ID, "a", null, 1] }, ID)).toEqual([]);
    expect(keywordsOf({ enum: [ID, "a", null, 1] }, ID + 1n)).toEqual(["enum"]);
    expect(keywordsOf({ enum: [ID, "a", null, 1] }, "a")).toEqual([]);
    const near = { enum: [ID, ID + 1n, ID + 2n] };
    expect([ID + 1n, ID + 3n].map((id) => keywordsOf(near, id))).toEqual([[], ["enum"]]);
    expect(() => keywordsOf({ enum: [ID, ID] }, ID)).toThrow("must have no duplicates");
    expect(keywordsOf({ const: ID }, ID)).toEqual([]);
    expect(keywordsOf({ const: ID }, 1)).toEqual(["enum"]);
    // A number of a program's schema has lost digits: all that it may stand for are equal to it.
    expect(keywordsOf({ const: Number(ID) }, ID)).toEqual([]);
  });

  test("is the default of a property", () => {
    const value = {};
    expect(violationsOf({ properties: { id: { type: "integer", default: ID } } }, value)).toEqual([]);
    expect(value).toEqual({ id: ID });
  });

  test("is told with all its digits", () => {
    const [tooBig] = violationsOf({ properties: { id: { maximum: ID } } }, { id: ID + 1n });
    expect(tooBig?.message).toBe(`/id must be <= ${ID}, but got number ${ID + 1n}`);
    const [odd] = violationsOf({ required: ["id"], properties: { id: { type: "integer" } } }, {});
    expect(odd?.message).toBe("/id is required, but is missing; it must be integer");
  });

  test("is a text for the embedder's own functions, in the place of a number", () => {
    const validator = compileSchema({ properties: { id: { type: "integer" } } }, "inputSchema");
    const value = { id: `${ID}` };
    expect(validator.check(value)).toEqual([]);
    expect(value).toEqual({ id: `${ID}` });
    expect(validator.check({ id: "12" })).toHaveLength(1);
  });

  test("is compared with bounds also as such a text, where no other text may be", () => {
    const check = (schema: object, id: bigint) =>
      compileSchema({ properties: { id: schema } }, "inputSchema").check({ id: `${id}` });
    for (const bound of [
      { maximum: 100 },
      { exclusiveMaximum: ID },
      { maximum: ID - 1n },
      { minimum: ID + 1n },
      { multipleOf: 5 },
    ])
      expect(check({ type: "integer", ...bound }, ID)).toHaveLength(1);
    for (const bound of [{ minimum: 100 }, { maximum: ID }, { minimum: ID }, { multipleOf: 2 }])
      expect(check({ type: ["integer", "null"], ...bound }, ID)).toEqual([]);
    expect(check({ type: ["integer", "string"], maximum: 100 }, ID)).toEqual([]);
    expect(check({ type: "integer", maximum: 100 }, 10n ** 5_000n)).toHaveLength(1);
  });

  test("is written as a number in an output whose schema says so", () => {
    const { output } = compileChecks(true, { properties: { id: { type: "integer" } } });
    expect(outputOf(output, `{"id":"${ID}","name":"${ID}"}`)).toBe(`+{"id":${ID},"name":"${ID}"}`);
    expect(outputOf(output, `{"id":${ID}}`)).toBe("");
  });
});

test("a property with the name of a keyword is no keyword", () => {
  const schema = {
    properties: { type: { type: "integer" } },
    dependentRequired: { type: ["integer"] },
    required: ["type"],
  };
  expect(
    violationsOf({ $schema: "https://json-schema.org/draft/2020-12/schema", ...schema }, { type: 1 }),
  ).toMatchObject([{ keyword: "dependentRequired" }]);
});

function outputOf(output: string, text: string): string {
  return openChecks({ input: "", output }).outputText(text);
}
