import { Ajv } from "ajv";
import { describe, expect, test } from "vitest";
import { parseForWriting } from "../../../../src/kernel/base/exact-json.ts";
import type { JsonSchema } from "../../../../src/kernel/base/json.ts";
import { listedSchema } from "../../../../src/kernel/base/schema/listed-schema.ts";

const ID = "9223372036854775807";
const listed = (text: string): JsonSchema => listedSchema(parseForWriting(text) as JsonSchema);

describe("a listed schema", () => {
  test("has numbers as bounds, at any depth, which other validators compile", () => {
    const bounds = `"type":"integer","minimum":-${ID},"maximum":${ID},"exclusiveMaximum":${ID},"multipleOf":${ID}`;
    const schema = listed(
      `{"properties":{"a":{${bounds}},"b":{"items":[{${bounds}}]}},"$defs":{"c":{"type":"string","maxLength":${ID}}}}`,
    );
    const { a } = (schema as { properties: Record<string, unknown> }).properties;
    const max = Number(ID);
    expect(a).toEqual({ type: "integer", minimum: -max, maximum: max, exclusiveMaximum: max, multipleOf: max });
    const check = new Ajv({ strict: false }).compile(schema as object);
    expect([check({ a: 0 }), check({ a: 1e30 })]).toEqual([true, false]);
  });

  test("has finite bounds", () => {
    expect(JSON.stringify(listed(`{"minimum":-${"9".repeat(400)},"maximum":${"9".repeat(400)}}`))).toBe(
      `{"minimum":${-Number.MAX_VALUE},"maximum":${Number.MAX_VALUE}}`,
    );
  });

  test("keeps the digits of its values, also of those that are named like bounds", () => {
    const values = `{"properties":{"maximum":{"const":${ID}},"b":{"enum":[${ID}],"default":{"maximum":${ID}},"examples":[${ID}]}}}`;
    expect(JSON.stringify(listed(values))).toBe(values);
  });

  test("has the numbers of a program as numbers", () => {
    const schema = { default: 2 ** 60, enum: [1e20, 9007199254740992n], maximum: 10n ** 18n + 1n } as JsonSchema;
    expect(listedSchema(schema)).toEqual({ default: 2 ** 60, enum: [1e20, 9007199254740992], maximum: 1e18 });
  });
});
