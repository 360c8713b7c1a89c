import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEngine, type Engine, type ToolError, type ToolInfo } from "../../../../src/glovebox/index.ts";
import { type Library, type Modules, openModules, toolModule } from "./modules.ts";

/** The same schema in each library. */
const ORDER = {
  zod: `z.object({
    item: z.string().min(1).max(20),
    unit: z.enum(["kg", "g"]),
    count: z.int32().min(1).max(99),
    price: z.number().gt(0).optional(),
    tags: z.array(z.string().regex(/^[a-z]+$/)).max(3).optional(),
    to: z.strictObject({ city: z.string() }).optional(),
    gift: z.boolean().optional(),
  })`,
  valibot: `toStandardJsonSchema(v.object({
    item: v.pipe(v.string(), v.minLength(1), v.maxLength(20)),
    unit: v.picklist(["kg", "g"]),
    count: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(99)),
    price: v.optional(v.pipe(v.number(), v.gtValue(0))),
    tags: v.optional(v.pipe(v.array(v.pipe(v.string(), v.regex(/^[a-z]+$/))), v.maxLength(3))),
    to: v.optional(v.strictObject({ city: v.string() })),
    gift: v.optional(v.boolean()),
  }))`,
  arktype: `type({
    item: "1 <= string <= 20",
    unit: "'kg' | 'g'",
    count: "1 <= number.integer <= 99",
    "price?": "number > 0",
    "tags?": "/^[a-z]+$/[] <= 3",
    "to?": { "+": "reject", city: "string" },
    "gift?": "boolean",
  })`,
  json: `{
    type: "object",
    properties: {
      item: { type: "string", minLength: 1, maxLength: 20 },
      unit: { type: "string", enum: ["kg", "g"] },
      count: { type: "integer", minimum: 1, maximum: 99 },
      price: { type: "number", exclusiveMinimum: 0 },
      tags: { type: "array", items: { type: "string", pattern: "^[a-z]+$" }, maxItems: 3 },
      to: { type: "object", properties: { city: { type: "string" } }, required: ["city"], additionalProperties: false },
      gift: { type: "boolean" },
    },
    required: ["item", "unit", "count"],
  }`,
} as const satisfies Record<Library, string>;

const RIGHT = { item: "apples", unit: "kg", count: 3 };

const WRONG: readonly Record<string, unknown>[] = [
  {},
  { item: "apples" },
  { ...RIGHT, item: "" },
  { ...RIGHT, item: "x".repeat(21) },
  { ...RIGHT, item: 7 },
  { ...RIGHT, item: null },
  { ...RIGHT, unit: "lb" },
  { ...RIGHT, unit: ["kg"] },
  { ...RIGHT, count: 0 },
  { ...RIGHT, count: 100 },
  { ...RIGHT, count: 1.5 },
  { ...RIGHT, count: "3" },
  { ...RIGHT, price: 0 },
  { ...RIGHT, price: "1" },
  { ...RIGHT, tags: ["a", "B"] },
  { ...RIGHT, tags: ["a", "b", "c", "d"] },
  { ...RIGHT, tags: "a" },
  { ...RIGHT, to: {} },
  { ...RIGHT, to: { city: "Bonn", zip: "53111" } },
  { ...RIGHT, gift: "yes", to: { city: 1 } },
];

const LIBRARIES = Object.keys(ORDER) as readonly Library[];

let engine: Engine;
let modules: Modules;
const infos = new Map<Library, ToolInfo>();

beforeAll(async () => {
  modules = await openModules();
  engine = await createEngine({ workers: 1 });
  for (const library of LIBRARIES) {
    const members = `inputSchema: ${ORDER[library]}, run: (order) => order`;
    await engine.register({ path: await modules.write(`${library}.ts`, toolModule(library, library, members)) });
    const info = engine.list().find(({ name }) => name === library);
    if (info !== undefined) infos.set(library, info);
  }
});

afterAll(async () => {
  await engine.close();
  await modules[Symbol.asyncDispose]();
});

/** A schema without the order of enums and of required names. */
function meaning(schema: unknown): unknown {
  if (Array.isArray(schema))
    return schema.every((one) => typeof one === "string") ? schema.toSorted() : schema.map(meaning);
  if (typeof schema !== "object" || schema === null) return schema;
  return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, meaning(value)]));
}

function violationsOf(error: ToolError | null | undefined) {
  const details = error?.details as { violations: readonly { pointer: string; message: string }[] } | undefined;
  return details?.violations ?? [];
}

describe.each(LIBRARIES)("the same schema in %s", (library) => {
  test("has the same JSON Schema", () => {
    expect(meaning(infos.get(library)?.inputSchema)).toEqual(meaning(infos.get("json")?.inputSchema));
  });

  test("is applied before the module is evaluated, and its library is not there for calls", () => {
    const { parses, script } = infos.get(library) ?? {};
    expect(parses).toBe("host");
    expect(script?.bytes).toBeLessThan(1_024);
  });

  test.each(WRONG)("refuses %j with the same violations", async (args) => {
    const [mine, wanted] = await Promise.all(
      [library, "json"].map(async (name) => (await engine.execute({ name, arguments: args })).error),
    );
    expect(mine?.code).toBe("invalid_arguments");
    const withoutOrder = (error: typeof mine) =>
      violationsOf(error)
        .map(({ pointer, message }) => ({ pointer, message: message.replace('"g", "kg"', '"kg", "g"') }))
        .toSorted((one, other) => (one.message < other.message ? -1 : 1));
    expect(withoutOrder(mine)).toEqual(withoutOrder(wanted));
  });

  test("lets right arguments through", async () => {
    expect((await engine.execute({ name: library, arguments: RIGHT })).output).toEqual(RIGHT);
  });
});
