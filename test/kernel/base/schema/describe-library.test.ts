import { describe, expect, test } from "vitest";
import { z as zod4 } from "zod";
import * as mini from "zod/mini";
import { z } from "zod/v3";
import { describeLibrarySchema } from "../../../../src/kernel/base/schema/describe-library.ts";
import { compileSchema } from "../../../../src/kernel/base/schema/schema.ts";
import type { JsonSchema } from "../../../../src/kernel/base/json.ts";

async function described(schema: unknown): Promise<JsonSchema> {
  const { schema: found } = await describeLibrarySchema(schema, "input");
  const { $schema, ...rest } = found as Record<string, unknown>;
  expect($schema).toBe("https://json-schema.org/draft/2020-12/schema");
  return rest;
}

describe("a schema of zod 3", () => {
  test("is described for models, with what zod judges itself", async () => {
    const schema = z.object({
      name: z.string().min(2).max(20).describe("A name"),
      email: z.string().email().optional(),
      age: z.number().int().min(0).lt(150).nullable(),
      unit: z.enum(["kg", "g"]).default("kg"),
      tags: z.array(z.string()).max(3).optional(),
      pair: z.tuple([z.string(), z.number()]).optional(),
      by: z.record(z.boolean()).optional(),
      either: z.union([z.literal("all"), z.number()]),
      refined: z.string().refine((text) => text !== "x"),
    });
    expect(await described(schema)).toEqual({
      type: "object",
      properties: {
        name: { type: "string", minLength: 2, maxLength: 20, description: "A name" },
        email: { type: "string", format: "email" },
        age: { anyOf: [{ type: "integer", minimum: 0, exclusiveMaximum: 150 }, { type: "null" }] },
        unit: { type: "string", enum: ["kg", "g"], default: "kg" },
        tags: { type: "array", items: { type: "string" }, maxItems: 3 },
        pair: { type: "array", prefixItems: [{ type: "string" }, { type: "number" }] },
        by: { type: "object", additionalProperties: { type: "boolean" } },
        either: { anyOf: [{ type: "string", enum: ["all"] }, { type: "number" }] },
        refined: { type: "string" },
      },
      required: ["name", "age", "either", "refined"],
    });
    expect((await describeLibrarySchema(schema, "input")).more).toBe("zod applies it");
  });

  test("is described as no stricter than it is", async () => {
    const cases: readonly (readonly [z.ZodTypeAny, unknown])[] = [
      [z.coerce.number(), "7"],
      [z.preprocess((value) => Number(value), z.number()), "7"],
      [z.string().transform((text) => text.length), "seven"],
      [z.object({ a: z.any(), b: z.unknown() }), {}],
      [z.object({ a: z.string().catch("x") }), { a: 7 }],
      [z.object({ a: z.string().default("x") }).strict(), {}],
      [z.object({ a: z.undefined().or(z.string()) }), {}],
      [
        z.discriminatedUnion("kind", [z.object({ kind: z.literal("a") }), z.object({ kind: z.literal("b") })]),
        { kind: "b" },
      ],
      [z.intersection(z.object({ a: z.string() }), z.object({ b: z.string() })), { a: "", b: "" }],
      [z.nativeEnum({ Up: 0, Down: 1, 0: "Up", 1: "Down" }), 1],
      [z.string().brand("Id").readonly(), "a"],
      [z.string().pipe(z.coerce.date()), "2020-01-01"],
      [z.lazy(() => z.object({ a: z.string() })), { a: "" }],
      [z.literal(null), null],
      [z.number().multipleOf(3), 9],
      [z.string().ip(), "127.0.0.1"],
      [z.enum(["up"]), "up"],
    ];
    for (const [schema, value] of cases) {
      expect(schema.safeParse(value).success, `${schema._def.typeName} ${String(value)}`).toBe(true);
      const validator = compileSchema((await describeLibrarySchema(schema, "input")).schema, "inputSchema");
      expect(validator.check(value), `${schema._def.typeName} ${String(value)}`).toEqual([]);
    }
  });

  test("may hold itself", async () => {
    type Node = { next?: Node | undefined };
    const node: z.ZodType<Node> = z.lazy(() => z.object({ next: node.optional() }));
    expect(await described(node)).toMatchObject({ properties: { next: { properties: { next: {} } } } });
  });

  test("may hold itself in many places", async () => {
    const node: z.ZodTypeAny = z.lazy(() => z.object({ all: z.array(node), any: z.array(node), not: node, if: node }));
    const { schema } = await describeLibrarySchema(node, "input");
    expect(compileSchema(schema, "inputSchema").check({ all: [], any: [], not: {}, if: {} })).not.toEqual([]);
    expect(schema).toMatchObject({ properties: { if: { required: ["all", "any", "not", "if"] } } });
  });
});

test("a schema of zod/mini, and of zod 4 before it wrote JSON Schema, is described from its own definition", async () => {
  const own = mini.object({ name: mini.string().check(mini.minLength(2)), unit: mini._default(mini.enum(["a"]), "a") });
  const expected = {
    type: "object",
    properties: { name: { type: "string", minLength: 2 }, unit: { type: "string", enum: ["a"], default: "a" } },
    required: ["name"],
  };
  expect(await described(own)).toEqual(expected);
  const older = {
    _zod: zod4.object({ n: zod4.int().gte(1), b: zod4.boolean().optional() })._zod,
    "~standard": { vendor: "zod" },
  };
  expect(await described(older)).toMatchObject({
    properties: { n: { type: "integer", minimum: 1 }, b: { type: "boolean" } },
    required: ["n"],
  });
});

test("the AI SDK's own schema is its JSON Schema, which may be a promise", async () => {
  const json = { type: "object", properties: { a: { type: "string" } } };
  const schema = { [Symbol.for("vercel.ai.schema")]: true, jsonSchema: Promise.resolve(json), validate: undefined };
  expect(await described(schema)).toEqual(json);
  expect(await described(() => schema)).toEqual(json);
});

test("what is no schema is refused", async () => {
  for (const given of [null, 7, "text", Promise.resolve({}), [1]])
    await expect(describeLibrarySchema(given, "input")).rejects.toThrow(/no (?:JSON )?[sS]chema/);
});
