import type { ToolsOf } from "glovebox";
import { type Client, createClient, type ToolResult, unwrap } from "glovebox/client";

/* What compiles with a client of known tools, and what does not: a line below `@ts-expect-error` must be a mistake. */
interface Tools {
  readonly greet: {
    readonly input: { readonly name: string; readonly language?: "en" | "de" };
    readonly output: { readonly text: string };
  };
  readonly "shop-count": { readonly input: { readonly item: string }; readonly output: { readonly count: number } };
}
/** Of modules, as `typeof import("./tools/index.ts")` has it. */
interface Modules {
  readonly hello: {
    readonly name: "greet";
    readonly description: string;
    readonly "~types"?: { readonly input: { readonly name: string }; readonly output: number };
  };
}

export async function calls(client: Client<ToolsOf<Tools>>): Promise<void> {
  unwrap(await client.tools.greet({ name: "Ada" }, { id: "c1" })).text.trim();
  unwrap(await client.execute({ name: "shop-count", arguments: { item: "pears" } })).count.toFixed();
  // @ts-expect-error No tool has this name.
  await client.execute({ name: "gret", arguments: { name: "Ada" } });
  // @ts-expect-error "fr" is not one of the languages.
  await client.tools.greet({ name: "Ada", language: "fr" });
  for await (const update of client.stream({ name: "greet", arguments: { name: "Ada" } })) {
    if (update.type === "result" && update.result.success) update.result.output.text.trim();
    // @ts-expect-error Only a progress has a total.
    else void update.total;
  }
  // @ts-expect-error The item is missing.
  client.stream({ name: "shop-count", arguments: {} });
  const names: readonly ("greet" | "shop-count")[] = (await client.list()).map(({ name }) => name);
  void names;
}

export async function batches(client: Client<ToolsOf<Tools>>): Promise<void> {
  const [one, two] = await client.batch([
    { name: "greet", arguments: { name: "Ada" } },
    { name: "shop-count", arguments: { item: "apples" }, options: { idempotencyKey: "a" } },
  ]);
  if (one.success && two.success) void [one.output.text.trim(), two.output.count.toFixed()];
  await client.batch([
    { name: "greet", arguments: { name: "Ada" } },
    // @ts-expect-error The second call's arguments are those of shop-count.
    { name: "shop-count", arguments: { name: "Ada" } },
  ]);
}

export async function others(typed: Client<ToolsOf<Tools>>): Promise<void> {
  const ofModules = createClient<Modules>({ url: "https://tools.example.com" });
  unwrap(await ofModules.tools.greet({ name: "Ada" })).toFixed();
  const plain = createClient({ url: new URL("https://tools.example.com"), key: async () => "gb_…" });
  const result: ToolResult = await plain.execute({ name: "anything", arguments: { a: 1 } });
  const [first] = await plain.batch([{ name: "anything", arguments: {} }]);
  await plain.tools["anything"]?.({ a: 1 });
  const loose: Client = typed;
  void [result, first, loose];
}
