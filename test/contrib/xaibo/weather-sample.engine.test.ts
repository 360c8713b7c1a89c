import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isToolProvider, toolProvider } from "../../../src/contrib/xaibo/index.ts";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";

const FIXTURES = fileURLToPath(new URL("../../../fixtures/contracts/xaibo/", import.meta.url));
const PROBE = `${FIXTURES}weather-probe.js`;

let engine: Engine;

beforeAll(async () => {
  const provider = { path: `${FIXTURES}weather.js`, config: { api_key: "k" } };
  engine = await createEngine({ workers: 1, executor: "threads", tools: [PROBE, provider] });
});

afterAll(() => engine.close());

/** What the provider answers inside an isolate. */
async function probe(args: Record<string, unknown>): Promise<unknown> {
  const { output, error } = await engine.execute({ name: "weather-probe", arguments: args });
  expect(error).toBeNull();
  return output;
}

const ask = (tool_name: string, parameters: unknown) => probe({ tool_name, parameters });

describe("the document's weather provider, in the sandbox", () => {
  test("has the methods of a provider [E03]", async () => {
    const module: { WeatherToolProvider: new (config: object) => unknown } = await import(`${FIXTURES}weather.js`);
    expect(isToolProvider(new module.WeatherToolProvider({}))).toBe(true);
  });

  test("takes its key and its address from the config, with the document's address as the default [E29]", async () => {
    expect(await probe({})).toMatchObject({ api_key: null, base_url: "https://api.weather.com" });
    expect(await probe({ config: { api_key: "k", base_url: "https://w.example" } })).toMatchObject({
      api_key: "k",
      base_url: "https://w.example",
    });
  });

  test("lists the current weather: a city, and units with a default and an enum [E04 E30]", async () => {
    expect(await probe({})).toMatchObject({
      tools: [
        {
          name: "get_current_weather",
          description: "Get current weather conditions for a city",
          parameters: {
            city: { type: "string", required: true },
            units: {
              type: "string",
              required: false,
              default: "celsius",
              enum: ["celsius", "fahrenheit", "kelvin"],
            },
          },
        },
        {},
      ],
    });
  });

  test("lists the forecast: a city, and days, of which there are five [E04 E31]", async () => {
    expect(await probe({})).toMatchObject({
      tools: [
        {},
        {
          name: "get_weather_forecast",
          parameters: {
            city: { type: "string", required: true },
            days: { type: "integer", required: false, default: 5 },
          },
        },
      ],
    });
  });

  test.each([
    ["celsius", 22.5],
    ["fahrenheit", 72.5],
    ["kelvin", 72.5],
  ])("tells the current weather in %s [E32 E35]", async (units, temperature) => {
    expect(await ask("get_current_weather", { city: "Paris", units })).toEqual({
      success: true,
      result: { city: "Paris", temperature, units, humidity: 65, conditions: "partly cloudy", wind_speed: 10 },
    });
  });

  test.each(["get_current_weather", "get_weather_forecast"])("%s wants a city [E33]", async (tool_name) => {
    expect(await ask(tool_name, {})).toEqual({ success: false, error: "City parameter is required" });
    expect(await ask(tool_name, { city: "" })).toEqual({ success: false, error: "City parameter is required" });
  });

  test("forecasts as many days as asked, sunny and cloudy in turn [E34 E35]", async () => {
    expect(await ask("get_weather_forecast", { city: "Paris", days: 3 })).toEqual({
      success: true,
      result: {
        city: "Paris",
        forecast: [
          { date: "2024-01-01", high: 25, low: 15, conditions: "sunny" },
          { date: "2024-01-02", high: 26, low: 16, conditions: "cloudy" },
          { date: "2024-01-03", high: 27, low: 17, conditions: "sunny" },
        ],
      },
    });
    const ten = await ask("get_weather_forecast", { city: "Paris", days: 10 });
    expect(ten).toMatchObject({ result: { forecast: { length: 10, 9: { date: "2024-01-10" } } } });
  });

  test("says of a tool that it does not have that it does not know it [E23]", async () => {
    expect(await ask("get_tides", { city: "Paris" })).toEqual({ success: false, error: "Unknown tool: get_tides" });
  });

  test("makes a result of an exception [E24]", async () => {
    expect(await ask("get_current_weather", null)).toEqual({
      success: false,
      error: "Tool execution failed: Cannot read properties of null (reading 'city')",
    });
  });
});

describe("the document's weather provider, registered as it is", () => {
  test("is two tools of the engine's [E01 E04 E20]", () => {
    expect(engine.get("get_current_weather")).toMatchObject({
      contract: "xaibo",
      description: "Get current weather conditions for a city",
      inputSchema: { required: ["city"], properties: { units: { enum: ["celsius", "fahrenheit", "kelvin"] } } },
    });
    expect(engine.get("get_weather_forecast")).toMatchObject({ contract: "xaibo" });
  });

  test("gives its results as outputs, with its own defaults [E02 E13 E32 E34]", async () => {
    const current = await engine.execute({ name: "get_current_weather", arguments: { city: "Paris" } });
    expect(current).toMatchObject({ success: true, output: { city: "Paris", temperature: 22.5, units: "celsius" } });
    const forecast = await engine.execute({ name: "get_weather_forecast", arguments: { city: "Paris" } });
    expect(forecast).toMatchObject({ success: true, output: { city: "Paris", forecast: { length: 5 } } });
  });

  test("is asked for its words only when the parameters fit [E14 E22 E33]", async () => {
    const codeFor = async (args: Record<string, unknown>) =>
      (await engine.execute({ name: "get_current_weather", arguments: args })).error;
    expect(await codeFor({})).toMatchObject({ code: "invalid_arguments" });
    expect(await codeFor({ city: "Paris", units: "furlong" })).toMatchObject({ code: "invalid_arguments" });
    expect(await codeFor({ city: "" })).toMatchObject({ code: "tool_error", message: "City parameter is required" });
  });

  test("goes through the engine and back without a difference [E07 E47]", async () => {
    const through = toolProvider(engine);
    const both = (tool_name: string, parameters: Record<string, unknown>) =>
      Promise.all([through.execute_tool(tool_name, parameters), ask(tool_name, parameters)]);
    const [success, own] = await both("get_weather_forecast", { city: "Paris", days: 2 });
    expect(success).toEqual({ ...(own as object), error: null });
    const [failure, ownFailure] = await both("get_weather_forecast", { city: "" });
    expect(failure).toEqual({ ...(ownFailure as object), result: null });
    expect(Object.keys(success)).toEqual(Object.keys(failure));
  });
});
