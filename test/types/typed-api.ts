/**
 * What must compile with the typed API, and what must not: a line below `@ts-expect-error` is a mistake. Nothing of it
 * is run.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { IsolateDriver as TanStackDriver } from "@tanstack/ai-code-mode";
import { toStandardJsonSchema } from "@valibot/to-json-schema";
import type { ToolSet } from "ai";
import { type } from "arktype";
import { fastify } from "fastify";
import {
  createEngine,
  defineCapability,
  type Engine,
  type ErrorCode,
  sharedEngine,
  type ToolResult,
  type ToolRunner,
  type ToolsOf,
  unwrap,
} from "glovebox";
import { createIsolateDriver, toolsForAISDK } from "glovebox/adapters";
import { createClient } from "glovebox/client";
import { gloveboxFastify } from "glovebox/fastify";
import { toFetchHandler, toNodeHandler } from "glovebox/handlers";
import { toolFactory } from "glovebox/tool";
import { Hono } from "hono";
import * as v from "valibot";
import { z } from "zod";

// ─── the host's capability, and two tools (each of which would be a module of its own) ───
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
const legacy = defineCapability({ name: "clock", methods: { add: { handler: ({ by }: { by: number }) => by + 1 } } });

defineCapability({
  name: "wrong",
  methods: {
    count: {
      input: z.object({ item: z.string() }),
      output: z.number(),
      // @ts-expect-error 1: a handler answers with what its output schema says
      handler: ({ item }) => item,
    },
  },
});

const define = toolFactory<[typeof inventory]>();

const greet = define({
  name: "greet",
  description: "Greets somebody.",
  inputSchema: z.object({ name: z.string().min(1), language: z.enum(["en", "de"]).default("en") }),
  outputSchema: z.object({ text: z.string(), at: z.iso.datetime() }),
  examples: [{ input: { name: "Ada" } }],
  run({ name, language }, { progress }) {
    progress(1, 1, language.toUpperCase());
    return { text: `${language} ${name}`, at: new Date().toISOString() };
  },
});

const stock = define({
  name: "shop-count",
  description: "Counts an item.",
  inputSchema: {
    type: "object",
    properties: { item: { type: "string" }, unit: { enum: ["kg", "g"], default: "kg" } },
    required: ["item"],
  },
  capabilities: { inventory: true, kv: true, secrets: ["SHOP_KEY"], fs: { data: { mode: "ro" } } },
  config: { currency: "EUR" },
  async run({ item, unit }, { host, config }) {
    const count = await host.inventory.count({ item });
    await host.kv.set(item, count);
    const notes = await host.fs.readFile("/data/notes.txt", "utf8");
    return {
      count: count.toFixed(0),
      unit,
      notes,
      key: host.secrets.SHOP_KEY,
      currency: config.currency,
      when: new Date(),
    };
  },
});

// The same with Valibot and ArkType.
define({
  name: "with-valibot",
  description: "",
  inputSchema: toStandardJsonSchema(v.object({ n: v.number(), unit: v.optional(v.picklist(["kg", "g"]), "kg") })),
  run: ({ n, unit }) => `${n.toFixed()} ${unit satisfies "kg" | "g"}`,
});
define({
  name: "with-arktype",
  description: "",
  inputSchema: type({ n: "number", "unit?": "'kg' | 'g'" }),
  run: ({ n, unit }) => `${n.toFixed()} ${(unit satisfies "kg" | "g" | undefined) ?? "kg"}`,
});

define({
  name: "faulty",
  description: "",
  capabilities: { kv: true, fs: { data: { mode: "ro" } } },
  async run(_input, { host }) {
    // @ts-expect-error 2: it did not ask for inventory
    await host.inventory.count({ item: "x" });
    // @ts-expect-error 3: /etc is no mount of its own
    return host.fs.readFile("/etc/passwd", "utf8");
  },
});
define({
  name: "faulty-output",
  description: "",
  outputSchema: z.object({ text: z.string() }),
  // @ts-expect-error 4: text is no number
  run: () => ({ text: 1 }),
});
define({
  name: "faulty-ask",
  description: "",
  capabilities: { inventory: true },
  // @ts-expect-error 5: both sides of a capability share one type
  run: (_input, { host }) => host.inventory.count({ itme: "x" }),
});

// ─── an engine of modules: their types are imported, their code is not ───
type Tools = ToolsOf<{ greet: typeof greet; stock: typeof stock }>;
const engine = await createEngine<{ greet: typeof greet; stock: typeof stock }>({ tools: ["./tools"] });

const result = await engine.execute({ id: "c1", name: "greet", arguments: { name: "Ada" } });
// @ts-expect-error 6: before success is known, the output is not either
void result.output.text;
if (result.success) {
  const text: string = result.output.text;
  const nothing: null = result.error;
  void [text, nothing];
} else {
  switch (result.error.code) {
    case "invalid_arguments":
      result.error.details?.violations.map(({ pointer }) => pointer);
      break;
    case "queue_full":
      void result.error.details?.retryAfterMs.toFixed();
      break;
    case "tool_not_found":
      // @ts-expect-error this code has no details
      void result.error.details.violations;
      break;
    // @ts-expect-error 7: there is no such code
    case "queue_fulll":
      break;
    default:
  }
}
const { text } = unwrap(await engine.tools.greet({ name: "Ada", language: "de" }, { tenant: "acme" }));
const counted = unwrap(await engine.tools["shop-count"]({ item: "apples" }));
// A Date has become text on its way.
const when: string = counted.when;
const unit: "kg" | "g" = counted.unit;

// @ts-expect-error 8: no tool of that name; the message lists those that there are
await engine.execute({ name: "gret", arguments: { name: "Ada" } });
// @ts-expect-error 9: name is missing
await engine.execute({ name: "greet", arguments: {} });
// @ts-expect-error 10: "fr" is not among the languages
await engine.tools.greet({ name: "Ada", language: "fr" });

// What a model calls has a name that nobody knows before: it may be any, and its output is unknown.
const asked: { name: string; arguments: Record<string, unknown> } = { name: "greet", arguments: { name: "Ada" } };
const unknownOutput: unknown = unwrap(await engine.execute(asked));
const commanded: unknown = unwrap(await engine.execute({ name: "greet", command: "uppercase", arguments: { any: 1 } }));

engine.on("tool:post", (event) => {
  if (event.tool === "greet") event.result.output.text.trim();
  // @ts-expect-error 11: only greet has a text
  else event.result.output.text.trim();
});
engine.on("tool:error", ({ result: { error } }) => void error.retryable);
engine.on("tool:pre", (event) => {
  if (event.tool === "greet" && event.call.arguments.name === "") event.block("no name");
});

// ─── definitions in the host: types from their schemas, also from plain JSON Schema, without `as const` ───
const inline = await createEngine({
  tools: [
    {
      name: "add",
      description: "Adds two numbers.",
      source: "export default ({ a, b }) => ({ sum: a + b })",
      inputSchema: {
        type: "object",
        properties: { a: { type: "number" }, b: { type: "number" } },
        required: ["a", "b"],
      },
      outputSchema: z.object({ sum: z.number() }),
    },
  ],
  capabilities: [inventory, legacy],
  policy: { rules: [{ tools: ["*"], allow: { kv: true } }] },
});
const sum: number = unwrap(await inline.execute({ name: "add", arguments: { a: 1, b: 2 } })).sum;
// @ts-expect-error 12: a is a number
await inline.execute({ name: "add", arguments: { a: "1", b: 2 } });
// @ts-expect-error 13: `run` is code of this process; a tool in a module is registered by its path
await inline.register(greet);

// ─── nothing known: all that was written before compiles as it did ───
const plain: Engine = await createEngine({ tools: ["./tools"] });
const before: ToolResult = await plain.execute({ name: "anything", arguments: { a: 1 } });
const shown: {
  success: boolean;
  output: unknown;
  error: { code: ErrorCode; message: string; details?: unknown } | null;
} = before;
const remedy = (before.error?.details as { remedy: string } | undefined)?.remedy;
const runner: ToolRunner = engine;

// ─── over HTTP ───
const client = createClient<Tools>({ url: "https://tools.example.com", key: "gb_…" });
const remote = unwrap(await client.tools.greet({ name: "Ada" })).text;
// Or of the tools themselves: `import type * as tools from "./tools/index.ts"` has the type of this object.
const tools = { greet, stock };
const ofTools = createClient<typeof tools>({ url: "https://tools.example.com" });
const third: string = unwrap(await ofTools.execute({ name: "shop-count", arguments: { item: "pears" } })).count;
for await (const update of client.stream({ name: "greet", arguments: { name: "Ada" } })) {
  if (update.type === "result" && update.result.success) update.result.output.at.slice(0, 4);
}
const [one, two] = await client.batch([
  { name: "greet", arguments: { name: "Ada" } },
  { name: "shop-count", arguments: { item: "apples" } },
]);
if (one.success && two.success) void [one.output.text, two.output.count];
await client.batch([
  { name: "greet", arguments: { name: "Ada" } },
  // @ts-expect-error 14: the second call's arguments are those of shop-count
  { name: "shop-count", arguments: { name: "Ada" } },
]);

// ─── in other servers ───
const node = toNodeHandler(engine, {
  authenticate: ({ headers }) => (headers["x-user"] === undefined ? null : { tenant: "acme", roles: ["execute"] }),
});
const web = toFetchHandler(engine, { basePath: "/tools", allowAnybody: true });
const hono = new Hono().all("/tools/*", (c) => web(c.req.raw));
const app = fastify().register(gloveboxFastify, { engine, prefix: "/tools", allowAnybody: true });
declare const express: {
  use(
    path: string,
    handler: (req: IncomingMessage, res: ServerResponse, next: (error?: unknown) => void) => void,
  ): void;
};
express.use("/tools", node);
// What Next's route handlers export.
export { web as GET, web as POST };
const set: ToolSet = toolsForAISDK(engine, { tenant: "acme", names: ["greet"] });
const driver: TanStackDriver = createIsolateDriver(engine, { tenant: "acme", limits: { capabilityCalls: 500 } });
const ran = await (await driver.createContext({ bindings: {}, timeout: 1_000 })).execute<number>("return 1");
const value: number | undefined = ran.value;
// @ts-expect-error 16: a tool runner that is no engine runs no programs
createIsolateDriver(runner);
// @ts-expect-error 17: there is no such limit
createIsolateDriver(engine, { limits: { heapMb: 1 } });
const shared = await sharedEngine("tools", () => createEngine<{ greet: typeof greet }>());
void unwrap(await shared.tools.greet({ name: "Ada" })).text;
const loose: Engine = engine;
// @ts-expect-error 15: there is no such role
toFetchHandler(engine, { authenticate: () => ({ roles: ["root"] }) });

// ─── tools of an interface, as `glovebox types` writes it ───
interface Written {
  readonly greet: { readonly input: { readonly name: string }; readonly output: { readonly text: string } };
}
const written = await createEngine<Written>();
unwrap(await written.tools.greet({ name: "Ada" })).text.trim();
// @ts-expect-error the name is missing
await written.tools.greet({});
const anyWritten: Engine = written;
// Names in the form that models read: the keys of `toolsForAISDK(engine)`, as `writeName` makes them.
const LONG = "a12345678901234567890123456789012345678901234567890123456789.bc";
interface Named {
  readonly "img.make": { readonly input: { readonly size: number }; readonly output: { readonly url: string } };
  readonly "a.b.c": { readonly input: Record<string, never>; readonly output: 1 };
  readonly "3d": { readonly input: Record<string, never>; readonly output: 2 };
  readonly "plain_name-1": { readonly input: Record<string, never>; readonly output: 3 };
}
const named = toolsForAISDK(await createEngine<Named>(), { names: ["img.make"] });
(await named["img-dot_make"].execute({ size: 3 }, { toolCallId: "c1" })).url.trim();
"a-dot_b-dot_c" satisfies keyof typeof named;
"_-3d" satisfies keyof typeof named;
"plain_name-1" satisfies keyof typeof named;
// @ts-expect-error 18: the object has no such key
void named["img.make"];
const cut = toolsForAISDK(await createEngine<{ [LONG]: Named["a.b.c"]; "x-dot_y": Named["3d"] }>());
void cut["its name is cut, so that no type says it"];
await anyWritten.tools["anything"]?.({ a: 1 });

void [
  text,
  when,
  unit,
  unknownOutput,
  commanded,
  sum,
  shown,
  remedy,
  runner,
  remote,
  hono,
  app,
  set,
  value,
  loose,
  third,
];
