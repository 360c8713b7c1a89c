import * as v from "valibot";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { createEngine, defineCapability, type Engine } from "../../../../src/glovebox/index.ts";

let engine: Engine;
const seen: unknown[] = [];

beforeAll(async () => {
  const library = defineCapability({
    name: "library",
    methods: {
      find: {
        input: z.object({ title: z.string().trim().min(2), max: z.number().default(3) }),
        output: z.object({ found: z.number() }),
        handler: (args) => {
          seen.push(args);
          return { found: args.max };
        },
      },
      later: {
        input: z.object({ title: z.string().refine(async (title) => title !== "x", "x is lent") }),
        handler: async ({ title }) => title,
      },
      count: {
        input: z.object({ a: z.number().max(9) }),
        output: z.number().refine((n) => n < 5, "too many"),
        handler: ({ a }) => a,
      },
      plain: {
        input: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
        output: { type: "integer" },
        handler: ({ n }) => n + 1,
      },
    },
  });
  engine = await createEngine({
    workers: 1,
    capabilities: [library],
    policy: { rules: [{ tools: ["*"], allow: { library: true } }] },
  });
  await engine.register({
    name: "reader",
    description: "Asks the library.",
    capabilities: { library: true },
    source: "export default async ({ method, args }, { host }) => host.library[method](args)",
  });
});

afterAll(() => engine.close());

const ask = async (method: string, args: object) =>
  engine.execute({ name: "reader", arguments: { method, args: { ...args } } });

test("a handler is given what the schema of a library makes of the arguments", async () => {
  expect((await ask("find", { title: "  Emma " })).output).toEqual({ found: 3 });
  expect(seen.at(-1)).toEqual({ title: "Emma", max: 3 });
});

test("a schema that says more than its JSON Schema refuses arguments in words of its own", async () => {
  const { error } = await ask("find", { title: "   " });
  expect(error?.code).toBe("capability_failed");
  expect(error?.message).toMatch(/the arguments of library.find do not match the schema: .title: Too small/);
});

test("an asynchronous check is waited for", async () => {
  expect((await ask("later", { title: "y" })).output).toBe("y");
  expect((await ask("later", { title: "x" })).error?.message).toMatch(/.title: x is lent/);
});

test("the JSON Schema refuses first", async () => {
  expect((await ask("count", { a: 10 })).error?.message).toMatch(/do not match its schema: .a must be <= 9/);
});

test("an answer that only the schema refuses is a failure of the handler", async () => {
  expect((await ask("count", { a: 4 })).output).toBe(4);
  expect((await ask("count", { a: 6 })).error?.message).toMatch(/the answer of library.count does not match.*too many/);
});

test("a JSON Schema is applied as before", async () => {
  expect((await ask("plain", { n: 1 })).output).toBe(2);
  expect((await ask("plain", {})).error?.code).toBe("capability_failed");
});

test("a schema that cannot write itself is refused where the capability is defined", () => {
  const define = () =>
    defineCapability({
      name: "faulty",
      methods: { find: { input: v.object({}) as never, handler: () => 1 } },
    });
  expect(define).toThrow(/capability "faulty.find", input: a schema of valibot cannot write itself/);
});
