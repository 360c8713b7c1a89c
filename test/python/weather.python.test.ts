import { once } from "node:events";
import { createServer } from "node:http";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type EngineOptions, type ExecuteOptions, type ToolResult } from "../../src/glovebox/index.ts";
import { sample, startBench } from "../contrib/agentspace/bench.ts";
import { documentFile, PYTHON_MS } from "./bench.ts";

const KEY = "0123456789abcdef0123456789abcdef";
const NAME = "weather-forecast-v1";
/** The document's code names it. */
const ORIGIN = "http://api.openweathermap.org";
/** The code asks port 80. No other program listens there at an address of this machine that nobody names. */
const ADDRESS = `127.${1 + (process.pid % 250)}.80.53`;

let asked: string[] = [];
let fails: number | null = null;
let server: ReturnType<typeof createServer>;

beforeEach(async (context) => {
  asked = [];
  fails = null;
  server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", ORIGIN);
    asked.push(`${request.headers.host} ${url.pathname}?${url.searchParams.toString()}`);
    if (fails !== null) response.statusCode = fails;
    response.setHeader("content-type", "application/json");
    if (url.pathname.startsWith("/geo")) {
      const isKnown = url.searchParams.get("q") !== "Atlantis";
      return response.end(JSON.stringify(isKnown ? [{ lat: 52.5, lon: 13.4 }] : []));
    }
    const day = (temp: number, description: string) => ({ temp: { day: temp }, weather: [{ description }] });
    return response.end(JSON.stringify({ daily: [day(20, "sunny"), day(21.5, "light rain")] }));
  });
  const listening = once(server.listen(80, ADDRESS), "listening");
  await listening.catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EACCES") throw error;
    context.skip("port 80 is only for root on this machine");
  });
});

afterEach(async () => {
  server.closeAllConnections();
  await server[Symbol.asyncDispose]();
});

type Run = (args: Record<string, unknown>, command?: string, options?: ExecuteOptions) => Promise<ToolResult>;

/** The document's package. `isAllowed`: whether the operator lets it ask. */
async function startForecast(
  data: Record<string, string | number> = {},
  isAllowed = true,
  options: EngineOptions = {},
): Promise<Run> {
  const privateOrigins = isAllowed ? [ORIGIN] : [];
  const { registry } = await startBench({
    policy: { rules: [{ tools: [NAME], allow: { fetch: { origins: [], privateOrigins } } }] },
    fetch: { lookup: async () => [ADDRESS] },
    ...options,
  });
  const record = sample(NAME, {
    tool_source_code_link: documentFile("agentspace/python/weather-forecast-v1"),
    tool_data: { weather_api_key: KEY, weather_api_base_url: `${ORIGIN}/data/3.0/onecall`, ...data },
  });
  registry.register(record, {
    capabilities: { fetch: { origins: [ORIGIN] } },
    limits: { cpuMs: 30_000, wallMs: 60_000 },
  });
  return (args, command, more) =>
    registry.execute({ name: NAME, arguments: args, ...(command === undefined ? {} : { command }) }, more);
}

describe("the weather forecast of the guide, unchanged in Python", { timeout: PYTHON_MS }, () => {
  test.each(["threads", "process"] as const)("tells what tomorrow will be like, in %s [C53]", async (executor) => {
    const run = await startForecast({ temperature_unit: "imperial" }, true, { executor });
    const { output, error } = await run({ location: "Berlin" });
    expect({ output, error }).toEqual({
      output: { predicted_temperature: 21.5, predicted_conditions: "light rain" },
      error: null,
    });
    expect(asked).toEqual([
      `api.openweathermap.org /geo/1.0/direct?q=Berlin&limit=1&appid=${KEY}`,
      `api.openweathermap.org /data/3.0/onecall?lat=52.5&lon=13.4&exclude=minutely%2Chourly%2Calerts&appid=${KEY}&units=imperial`,
    ]);
  });

  test("without a location fails, and says so [C52]", async () => {
    const run = await startForecast();
    expect((await run({})).error).toMatchObject({
      code: "tool_error",
      type: "ValueError",
      message: "Missing required input: location",
    });
    expect(asked).toEqual([]);
  });

  test("finds a place by its command, and knows no other [C54]", async () => {
    const run = await startForecast();
    expect((await run({ location: "Berlin" }, "geocode")).output).toEqual({ coordinates: [52.5, 13.4] });
    expect((await run({}, "locate")).error).toMatchObject({
      type: "NotImplementedError",
      message: "Unknown command: locate",
    });
  });

  test("says that it does not know a place, and fails where a server does, without a word of its key [C51 C55]", async () => {
    const run = await startForecast();
    expect((await run({ location: "Atlantis" })).error).toMatchObject({
      code: "tool_error",
      type: "ValueError",
      message: "Invalid location or not found",
    });
    fails = 500;
    const { error } = await run({ location: "Berlin" });
    expect(error).toMatchObject({
      code: "tool_error",
      type: "HTTPError",
      message: expect.stringMatching(/^500 Server Error: Internal Server Error for url: .*appid=\(weather_api_key\)$/),
    });
    expect(JSON.stringify(error)).not.toContain(KEY);
  });

  test("reaches nothing that its operator does not allow [C55]", async () => {
    const run = await startForecast({}, false);
    const { error } = await run({ location: "Berlin" });
    expect(error?.code).toBe("capability_denied");
    expect(JSON.stringify(error)).not.toContain(KEY);
    expect(asked).toEqual([]);
  });
});
