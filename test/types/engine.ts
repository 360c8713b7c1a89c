import {
  createEngine,
  type Engine,
  type ErrorCode,
  type ToolCall,
  type ToolResult,
  type ToolRunner,
  type ToolsOf,
  unwrap,
} from "glovebox";

/*
 * What compiles with an engine of known tools, and what does not: a line below `@ts-expect-error` must be a mistake.
 * `glovebox types` writes such an interface.
 */
interface Tools {
  readonly greet: {
    readonly input: { readonly name: string; readonly language?: "en" | "de" };
    readonly output: { readonly text: string };
  };
  readonly "shop-count": { readonly input: { readonly item: string }; readonly output: { readonly count: number } };
}

export async function results(engine: Engine<ToolsOf<Tools>>): Promise<void> {
  const result = await engine.execute({ name: "greet", arguments: { name: "Ada" } });
  // @ts-expect-error The output is known only after `success` is.
  void result.output.text;
  if (result.success) {
    const text: string = result.output.text;
    const nothing: null = result.error;
    void [text, nothing];
    return;
  }
  switch (result.error.code) {
    case "invalid_arguments":
      result.error.details?.violations.map(({ pointer }) => pointer);
      break;
    case "queue_full":
      void result.error.details?.retryAfterMs.toFixed();
      break;
    case "tool_not_found":
      // @ts-expect-error This code has no details.
      void result.error.details.violations;
      break;
    // @ts-expect-error There is no such code.
    case "queue_fulll":
      break;
    default:
  }
}

export async function calls(engine: Engine<ToolsOf<Tools>>): Promise<void> {
  unwrap(await engine.tools.greet({ name: "Ada", language: "de" }, { tenant: "acme" })).text.trim();
  unwrap(await engine.tools["shop-count"]({ item: "apples" })).count.toFixed();
  // @ts-expect-error No tool has this name; the message lists those that there are.
  await engine.execute({ name: "gret", arguments: { name: "Ada" } });
  // @ts-expect-error The name is missing.
  await engine.execute({ name: "greet", arguments: {} });
  // @ts-expect-error "fr" is not one of the languages.
  await engine.tools.greet({ name: "Ada", language: "fr" });
  // A model's call may name any tool, and its output is unknown.
  const asked: ToolCall = { name: "greet", arguments: { name: "Ada" } };
  const output: unknown = unwrap(await engine.execute(asked));
  const commanded: unknown = unwrap(
    await engine.execute({ name: "greet", command: "uppercase", arguments: { any: 1 } }),
  );
  void [output, commanded];
}

export function events(engine: Engine<ToolsOf<Tools>>): void {
  engine.on("tool:post", (event) => {
    if (event.tool === "greet") event.result.output.text.trim();
    // @ts-expect-error Only the output of greet has a text.
    else event.result.output.text.trim();
  });
  engine.on("tool:error", ({ result: { error } }) => void error.retryable);
  engine.on("tool:pre", (event) => {
    if (event.tool === "greet" && event.call.arguments.name === "") event.block("no name");
  });
}

/** Definitions in the host: types from their schemas, also from plain JSON Schema without `as const`. */
export async function inline(): Promise<void> {
  const engine = await createEngine({
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
        outputSchema: { type: "object", properties: { sum: { type: "number" } }, required: ["sum"] },
      },
    ],
  });
  unwrap(await engine.execute({ name: "add", arguments: { a: 1, b: 2 } })).sum.toFixed();
  // @ts-expect-error a is a number.
  await engine.execute({ name: "add", arguments: { a: "1", b: 2 } });
  // @ts-expect-error `run` is code of this process; the module of a tool is registered by its path.
  await engine.register({ name: "x", description: "x", source: "", run: () => 1 });
}

/** Programs that know nothing of the tools compile as before. */
export async function untyped(typed: Engine<ToolsOf<Tools>>): Promise<void> {
  const plain: Engine = await createEngine({ tools: ["./tools"] });
  const ofTools: Engine = await createEngine<Tools>();
  const result: ToolResult = await plain.execute({ name: "anything", arguments: { a: 1 } });
  const shown: { success: boolean; output: unknown; error: { code: ErrorCode; message: string } | null } = result;
  const loose: Engine = typed;
  const runner: ToolRunner = typed;
  await plain.tools["anything"]?.({ a: 1 });
  void [ofTools, shown, loose, runner];
}
