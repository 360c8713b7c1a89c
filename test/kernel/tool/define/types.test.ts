import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import * as v from "valibot";
import { expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { defineCapability } from "../../../../src/kernel/broker/capabilities/custom.ts";
import { defineTool, toolFactory } from "../../../../src/kernel/tool/define-tool.ts";

/** What compiles and what does not: a line below `@ts-expect-error` that compiled would be an error of the check. */

const inventory = defineCapability({
  name: "inventory",
  rateLimit: { calls: 100, perMs: 1_000 },
  methods: {
    count: {
      input: z.object({ item: z.string() }),
      output: z.number(),
      handler: ({ item }, { progress }) => {
        progress("looking");
        return item.length;
      },
    },
    names: {
      input: { type: "object", properties: { prefix: { type: "string" }, max: { type: "integer", default: 10 } } },
      output: { type: "array", items: { type: "string" } },
      handler: async ({ prefix = "", max }) => [prefix.padEnd(max)],
    },
  },
});
const clock = defineCapability({
  name: "clock",
  methods: { add: { handler: ({ by }: { readonly by: number }) => by + 1 } },
});

const define = toolFactory<[typeof inventory, typeof clock]>();

type Types<T> = T extends { readonly "~types"?: infer Found } ? NonNullable<Found> : never;

test("a schema of zod types the arguments, the output and the examples", () => {
  const greet = defineTool({
    name: "greet",
    description: "Greets somebody.",
    inputSchema: z.object({ name: z.string().min(1), language: z.enum(["en", "de"]).default("en") }),
    outputSchema: z.object({ text: z.string(), language: z.enum(["en", "de"]) }),
    examples: [{ input: { name: "Ada" }, output: { text: "Hello, Ada!", language: "en" } }],
    run({ name, language }, { progress, config }) {
      expectTypeOf(language).toEqualTypeOf<"en" | "de">();
      expectTypeOf(config).toEqualTypeOf<null>();
      progress(1, 1);
      return { text: `Hello, ${name}!`, language: language === "en" ? "en" : "de" };
    },
  });
  expectTypeOf<Types<typeof greet>["input"]>().toEqualTypeOf<{ name: string; language?: "en" | "de" | undefined }>();
  expectTypeOf<Types<typeof greet>["output"]>().toEqualTypeOf<{ text: string; language: "en" | "de" }>();
  expectTypeOf(greet.name).toEqualTypeOf<"greet">();
  expect(greet.name).toBe("greet");
});

test("a function that undoes gets the arguments as run gets them, and the output as its caller gets it", () => {
  const inputSchema = z.object({ name: z.string().default("Ada") });
  const send = define({
    name: "send",
    description: "Sends.",
    capabilities: { inventory: true },
    inputSchema,
    outputSchema: z.object({ sent: z.date() }),
    run: ({ name }) => ({ sent: new Date(name.length) }),
    async undo({ input, output }, { host }) {
      expectTypeOf(input).toEqualTypeOf<{ name: string }>();
      expectTypeOf(output).toEqualTypeOf<{ sent: string }>();
      await host.inventory.count({ item: input.name });
    },
  });
  expectTypeOf<Types<typeof send>["output"]>().toEqualTypeOf<{ sent: string }>();
  const free = defineTool({
    name: "free",
    description: "Has no schemas.",
    run: (): { n: number } => ({ n: 1 }),
    undo: ({ output }) => expectTypeOf(output).toEqualTypeOf<{ n: number }>(),
  });
  expectTypeOf<Types<typeof free>["output"]>().toEqualTypeOf<{ n: number }>();
  defineTool({ name: "a", description: "A.", run: () => 1, undo: { tool: "b", arguments: { n: "/output" } } });
  // @ts-expect-error: neither a function nor the name of a tool
  defineTool({ name: "a", description: "A.", run: () => 1, undo: "b" });
  expect(free.name).toBe("free");
});

test("a JSON Schema types the arguments without `as const`, and a Date of the output is a string", () => {
  const stock = define({
    name: "shop-count",
    description: "Counts an item.",
    inputSchema: {
      type: "object",
      properties: { item: { type: "string" }, unit: { enum: ["kg", "g"], default: "kg" } },
      required: ["item"],
    },
    capabilities: { inventory: true, kv: true, secrets: ["SHOP_KEY"], fs: { data: { mode: "ro" } }, env: ["REGION"] },
    config: { currency: "EUR" },
    async run({ item, unit }, { host, config }) {
      const count = await host.inventory.count({ item });
      const version = await host.kv.set(item, count);
      const notes = await host.fs.readFile("/data/notes.txt", "utf8");
      const bytes = await host.fs.readFile("/data/notes.txt");
      expectTypeOf(count).toEqualTypeOf<number>();
      expectTypeOf(version).toEqualTypeOf<number | null>();
      expectTypeOf(bytes).toEqualTypeOf<Uint8Array>();
      expectTypeOf(unit).toEqualTypeOf<"kg" | "g">();
      expectTypeOf(config.currency).toEqualTypeOf<"EUR">();
      const region = await host.env.get("REGION");
      return { count, unit, notes, key: host.secrets.SHOP_KEY, region, when: new Date(), none: undefined };
    },
  });
  type Output = Types<typeof stock>["output"];
  expectTypeOf<Output["when"]>().toEqualTypeOf<string>();
  expectTypeOf<Output["unit"]>().toEqualTypeOf<"kg" | "g">();
  expectTypeOf<Output>().not.toHaveProperty("none");
  expectTypeOf<Types<typeof stock>["input"]>().toEqualTypeOf<{ readonly item: string; readonly unit?: "kg" | "g" }>();
  expect(stock.name).toBe("shop-count");
});

test("schemas of Valibot and ArkType type the arguments", () => {
  const withValibot = defineTool({
    name: "with-valibot",
    description: "Shows a number.",
    inputSchema: toStandardJsonSchema(v.object({ n: v.number(), unit: v.optional(v.picklist(["kg", "g"]), "kg") })),
    run: ({ n, unit }) => `${n.toFixed()} ${unit satisfies "kg" | "g"}`,
  });
  const withArkType = defineTool({
    name: "with-arktype",
    description: "Shows a number.",
    inputSchema: type({ n: "number", "unit?": "'kg' | 'g'" }),
    run: ({ n, unit }) => `${n.toFixed()} ${(unit satisfies "kg" | "g" | undefined) ?? "kg"}`,
  });
  expectTypeOf<Types<typeof withValibot>["output"]>().toExtend<string>();
  expectTypeOf<Types<typeof withArkType>["input"]>().toEqualTypeOf<{ n: number; unit?: "kg" | "g" }>();
});

test("a host has what the tool asks for, with the types of the embedder's capability", () => {
  define({
    name: "faulty",
    description: "Asks for too much.",
    capabilities: { kv: true, fs: { data: { mode: "ro" } }, clock: true, other: true },
    async run(_input, { host }) {
      expectTypeOf(host.clock.add).parameter(0).toEqualTypeOf<unknown>();
      expectTypeOf(host.other).not.toBeAny();
      // @ts-expect-error the tool does not ask for inventory
      await host.inventory.count({ item: "x" });
      // @ts-expect-error /etc is no mount of its own
      return host.fs.readFile("/etc/passwd", "utf8");
    },
  });
  define({
    name: "faulty-ask",
    description: "Asks wrongly.",
    capabilities: { inventory: true, env: ["REGION"] },
    // @ts-expect-error both sides of a capability share one type
    run: (_input, { host }) => host.inventory.count({ itme: "x" }),
  });
});

test("an output has the type of its schema", () => {
  defineTool({
    name: "faulty-output",
    description: "Returns a number.",
    outputSchema: z.object({ text: z.string() }),
    // @ts-expect-error text is no number
    run: () => ({ text: 1 }),
  });
  defineTool({
    name: "faulty-example",
    description: "Has an example of another tool.",
    inputSchema: z.object({ name: z.string() }),
    // @ts-expect-error the arguments have a name
    examples: [{ input: { nome: "Ada" } }],
    run: ({ name }) => name,
  });
  defineTool({
    name: "words",
    description: "Gives a word of a list.",
    outputSchema: { type: "object", properties: { word: { enum: ["a", "b"] } }, required: ["word"] },
    run: () => ({ word: "a" }),
  });
});

test("a handler is given what its schema lets through, and answers as its schema says", () => {
  defineCapability({
    name: "wrong",
    methods: {
      count: {
        input: z.object({ item: z.string() }),
        output: z.number(),
        // @ts-expect-error a handler answers with what its output schema says
        handler: ({ item }) => item,
      },
    },
  });
  expectTypeOf<Parameters<(typeof inventory)["methods"]["count"]["handler"]>>().not.toBeNever();
});
