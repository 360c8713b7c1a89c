import { createEngine, type Engine, type EngineOptions } from "../../../src/glovebox/index.ts";

/** An engine with a tool that answers, one that fails, one that waits until it is cancelled, and one with an odd name. */
export async function openEngine(options: EngineOptions = {}): Promise<Engine> {
  const engine = await createEngine({ workers: 1, executor: "threads", modelChars: Infinity, ...options });
  await engine.register({
    name: "get_weather",
    description: "Current weather of a city",
    annotations: { title: "Weather", readOnly: true },
    inputSchema: {
      type: "object",
      properties: { city: { type: "string", description: "City name" } },
      required: ["city"],
      additionalProperties: false,
    },
    outputSchema: {
      type: "object",
      properties: { city: { type: "string" }, temperature: { type: "number" } },
      required: ["city", "temperature"],
    },
    source: "export default ({ city }) => ({ city, temperature: city.length })",
  });
  await engine.register({
    name: "fail",
    description: "Always fails",
    source: "export default () => { throw new RangeError('there is no such place'); }",
  });
  await engine.register({
    name: "wait",
    description: "Waits until it is cancelled",
    source: "export default () => new Promise(() => setTimeout(() => undefined, 60_000))",
  });
  await engine.register({
    name: "text.upper",
    description: "Text in capitals",
    outputSchema: { type: "string" },
    source: "export default ({ text }) => text.toUpperCase()",
  });
  return engine;
}
