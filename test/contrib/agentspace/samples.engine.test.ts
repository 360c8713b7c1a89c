import { describe, expect, test } from "vitest";
import type { RegistrationRecord, Registry } from "../../../src/contrib/agentspace/index.ts";
import type { Engine, ExecuteOptions, ToolResult } from "../../../src/glovebox/index.ts";
import { moduleFile, sample, serve, startBench } from "./bench.ts";

const KEY = "0123456789abcdef0123456789abcdef";
const NAME = "weather-forecast-v1";

/** What OpenWeatherMap answers, as far as the guide's tool asks it. */
interface Weather {
  readonly origin: string;
  readonly asked: string[];
  /** What it answers instead: a status, and nothing. */
  fails: number | null;
}

async function startWeather(): Promise<Weather> {
  const asked: string[] = [];
  const weather = { origin: "", asked, fails: null as number | null };
  weather.origin = await serve((request, response) => {
    const url = new URL(request.url ?? "/", "http://localhost");
    asked.push(`${url.pathname}?${url.searchParams.toString()}`);
    if (weather.fails !== null) response.statusCode = weather.fails;
    response.setHeader("content-type", "application/json");
    if (url.pathname === "/geo") {
      const isKnown = url.searchParams.get("q") !== "Atlantis";
      return response.end(JSON.stringify(isKnown ? [{ lat: 52.5, lon: 13.4 }] : []));
    }
    const day = (temp: number, description: string) => ({ temp: { day: temp }, weather: [{ description }] });
    return response.end(JSON.stringify({ daily: [day(20, "sunny"), day(21.5, "light rain")] }));
  });
  return weather;
}

interface Bench {
  readonly engine: Engine;
  readonly registry: Registry;
  readonly weather: Weather;
  readonly run: (args: Record<string, unknown>, command?: string, options?: ExecuteOptions) => Promise<ToolResult>;
}

/** The weather tool, which asks a server of this machine. `mayFetch`: whether the operator lets it. */
async function startForecast(data: Record<string, string | number> = {}, mayFetch = true): Promise<Bench> {
  const weather = await startWeather();
  const privateOrigins = mayFetch ? [weather.origin] : [];
  const { engine, registry } = await startBench({
    policy: { rules: [{ tools: [NAME], allow: { fetch: { origins: [], privateOrigins } } }] },
  });
  const tool_data = {
    weather_api_key: KEY,
    weather_api_base_url: `${weather.origin}/onecall`,
    weather_geo_base_url: `${weather.origin}/geo`,
    ...data,
  };
  registry.register(sample(NAME, { tool_data }), { capabilities: { fetch: { origins: [weather.origin] } } });
  const run: Bench["run"] = (args, command, options) =>
    registry.execute({ name: NAME, arguments: args, ...(command === undefined ? {} : { command }) }, options);
  return { engine, registry, weather, run };
}

describe("the greeting of the guide", () => {
  async function startGreeting() {
    const { registry } = await startBench();
    registry.register(sample("greeting-tool-v1"));
    return (args: Record<string, unknown>, command?: string) =>
      registry.execute({ name: "greeting-tool-v1", arguments: args, ...(command === undefined ? {} : { command }) });
  }

  test("greets whom it is told, and else the world [C17 C20 C27 C32]", async () => {
    const run = await startGreeting();
    expect((await run({ name: "Ann" })).output).toEqual({ message: "Hello, Ann from tool greeting-tool-v1" });
    expect((await run({})).output).toEqual({ message: "Hello, World from tool greeting-tool-v1" });
    expect((await run({ name: 7 })).error?.code).toBe("invalid_arguments");
  });

  test("has a command that answers with a text, which is no object as its output is [C23 C25 C28]", async () => {
    const run = await startGreeting();
    expect((await run({ text: "ab" }, "uppercase")).output).toBe("AB");
    expect((await run({}, "uppercase")).output).toBe("");
  });

  test("says of a command that it does not know that it is unknown [C26]", async () => {
    const run = await startGreeting();
    expect((await run({}, "lowercase")).error).toMatchObject({
      code: "tool_error",
      type: "NotImplementedError",
      message: "Unknown command: lowercase",
    });
  });
});

describe("the weather forecast of the guide", () => {
  test("tells what tomorrow will be like", async () => {
    const { run, weather } = await startForecast();
    const { output, error } = await run({ location: "Berlin" });
    expect({ output, error }).toEqual({
      output: { predicted_temperature: 21.5, predicted_conditions: "light rain" },
      error: null,
    });
    expect(weather.asked).toEqual([
      `/geo?q=Berlin&limit=1&appid=${KEY}`,
      `/onecall?lat=52.5&lon=13.4&exclude=minutely%2Chourly%2Calerts&appid=${KEY}&units=metric`,
    ]);
  });

  test("without a location fails, and says so [C52]", async () => {
    const { run, weather } = await startForecast();
    expect((await run({})).error).toMatchObject({
      code: "tool_error",
      type: "ValueError",
      message: "Missing required input: location",
    });
    expect(weather.asked).toEqual([]);
  });

  test("takes days and unit from its data, and else 7 and metric [C53]", async () => {
    const { run } = await startForecast();
    expect((await run({}, "settings")).output).toEqual({ unit: "metric", past_days: 7 });
    expect((await run({ past_days: 3 }, "settings")).output).toEqual({ unit: "metric", past_days: 3 });
    const told = await startForecast({ default_days: 5, temperature_unit: "imperial" });
    expect((await told.run({}, "settings")).output).toEqual({ unit: "imperial", past_days: 5 });
    await told.run({ location: "Berlin" });
    expect(told.weather.asked[1]).toContain("units=imperial");
  });

  test("takes 1 to 30 days, and no more and no less [C33]", async () => {
    const { run } = await startForecast();
    const codeFor = async (days: unknown) => (await run({ location: "Berlin", past_days: days })).error?.code ?? "ok";
    expect(await Promise.all([0, 1, 30, 31, 1.5, "7"].map(codeFor))).toEqual([
      "invalid_arguments",
      "ok",
      "ok",
      "invalid_arguments",
      "invalid_arguments",
      "invalid_arguments",
    ]);
  });

  test("finds a place by its command [C54]", async () => {
    const { run } = await startForecast();
    expect((await run({ location: "Berlin" }, "geocode")).output).toEqual({ coordinates: [52.5, 13.4] });
    expect((await run({}, "locate")).error).toMatchObject({
      type: "NotImplementedError",
      message: "Unknown command: locate",
    });
  });

  test("says that it does not know a place [C55]", async () => {
    const { run } = await startForecast();
    expect((await run({ location: "Atlantis" })).error).toMatchObject({
      code: "tool_error",
      type: "ValueError",
      message: "Invalid location or not found",
    });
  });

  test("fails where a server does, and no word of it has the key in it [C51 C55]", async () => {
    const { engine, run, weather } = await startForecast();
    const heard: unknown[] = [];
    engine.on("tool:error", (event) => heard.push(event));
    weather.fails = 500;
    const { error, metadata } = await run({ location: "Berlin" });
    expect(error).toMatchObject({
      type: "HTTPError",
      message: expect.stringMatching(/^500 Error: .* for url: .*appid=\(weather_api_key\)$/),
    });
    const told = JSON.stringify({ error, metadata, heard, metrics: await engine.metrics() });
    expect(heard).toHaveLength(1);
    expect(told).not.toContain(KEY);
  });

  // A request with an effect is not sent twice: test/kernel/engine/retries.engine.test.ts.
  test("sends its request again as often as its retries say, because a GET has no effect [C45 F12]", async () => {
    const { run, weather } = await startForecast();
    weather.fails = 503;
    expect((await run({ location: "Berlin" })).metadata.attempts).toBe(3);
    expect(weather.asked).toHaveLength(3);
    const again = await run({ location: "Berlin" }, undefined, { idempotencyKey: "k1" });
    expect(again.metadata.attempts).toBe(3);
    expect(weather.asked).toHaveLength(6);
  });

  test("reaches nothing that its operator does not allow [C55]", async () => {
    const { run, weather } = await startForecast({}, false);
    const { error } = await run({ location: "Berlin" });
    expect(error?.code).toBe("capability_denied");
    expect(JSON.stringify(error)).not.toContain(KEY);
    expect(weather.asked).toEqual([]);
  });
});

describe("the keys of a tool", () => {
  const leaking = async (body: string): Promise<RegistrationRecord> =>
    sample("greeting-tool-v1", {
      tool_id: "leaks",
      tool_data: { api_key: KEY, nested: [{ token: "another-secret" }], short: "en" },
      tool_source_code_link: await moduleFile(`export class AgentSpaceV1Tool { ${body} }`),
    });

  test("are in no error, log line or event, however the tool writes them [C51]", async () => {
    const { engine, registry } = await startBench();
    const heard: unknown[] = [];
    const lines: unknown[] = [];
    engine.on("tool:error", (event) => heard.push(event));
    const body = `
      constructor(id, data) { this.data = data; }
      execute() {
        const { api_key, nested, short } = this.data;
        console.log("nested", nested);
        throw new Error(["language " + short, api_key, btoa(api_key), JSON.stringify(this.data)].join());
      }`;
    registry.register(await leaking(body));
    const { error, metadata } = await registry.execute(
      { name: "leaks", arguments: {} },
      { onLog: (line) => lines.push(line) },
    );
    expect(error).toMatchObject({ type: "Error", message: expect.stringContaining("(api_key)") });
    expect(metadata.logs[0]?.message).toContain("(token)");
    expect(lines).toEqual(metadata.logs);
    const told = JSON.stringify({ error, metadata, heard, lines });
    for (const value of [KEY, Buffer.from(KEY).toString("base64"), "another-secret"]) expect(told).not.toContain(value);
    expect(told).toContain("language en");
  });

  test("are not in the error of a constructor that throws either [C18 C51]", async () => {
    const { registry } = await startBench();
    const body = 'constructor(id, { api_key }) { throw new Error("no model at " + api_key); } execute() { return {}; }';
    registry.register(await leaking(body));
    const { error } = await registry.execute({ name: "leaks", arguments: {} });
    expect(error).toMatchObject({
      code: "load_error",
      message: expect.stringContaining("no model at (api_key)"),
    });
    expect(JSON.stringify(error)).not.toContain(KEY);
  });
});
