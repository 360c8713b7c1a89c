import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { documentFile, documentText, PYTHON_MS, PythonBench } from "./bench.ts";

let bench: PythonBench;

beforeAll(async () => {
  bench = await PythonBench.open();
  await bench.engine.register(documentFile("xaibo/python/weather.py"));
}, PYTHON_MS);

afterAll(() => bench[Symbol.asyncDispose]());

const indent = (text: string) => text.replaceAll(/^(?=.)/gm, "    ");
const MODELS =
  "from xaibo.core.protocols.tools import ToolProviderProtocol\nfrom xaibo.core.models.tools import Tool, ToolParameter, ToolResult\n";

describe("the document's provider of weather, unchanged", () => {
  test("holds two tools, with their parameters [E01 E04 E20 E30 E31]", () => {
    const current = bench.engine.get("get_current_weather");
    expect([current?.contract, current?.runtime]).toEqual(["xaibo", "python"]);
    expect(current?.inputSchema).toMatchObject({
      required: ["city"],
      properties: { units: { type: "string", default: "celsius", enum: ["celsius", "fahrenheit", "kelvin"] } },
    });
    expect(bench.engine.get("get_weather_forecast")?.inputSchema).toMatchObject({
      properties: { days: { type: "integer", default: 5 } },
    });
  });

  test("tells the weather, after it has waited [E02 E32 E35]", async () => {
    const weather = { city: "Paris", units: "celsius", humidity: 65, conditions: "partly cloudy", wind_speed: 10 };
    expect((await bench.run("get_current_weather", { city: "Paris" })).output).toEqual({
      ...weather,
      temperature: 22.5,
    });
    const { output } = await bench.run("get_current_weather", { city: "Paris", units: "kelvin" });
    expect(output).toMatchObject({ temperature: 72.5 });
  });

  test("tells the days to come, five where nobody says how many [E34]", async () => {
    const { output } = await bench.run("get_weather_forecast", { city: "Rome", days: 2 });
    const first = { date: "2024-01-01", high: 25, low: 15, conditions: "sunny" };
    expect(output).toEqual({
      city: "Rome",
      forecast: [first, { date: "2024-01-02", high: 26, low: 16, conditions: "cloudy" }],
    });
    const five = (await bench.run("get_weather_forecast", { city: "Rome" })).output as { forecast: unknown[] };
    expect(five.forecast).toHaveLength(5);
  });

  test("says that it wants a city, and is not asked without one or in units that there are not [E14 E22 E33]", async () => {
    expect((await bench.run("get_current_weather", { city: "" })).error?.message).toBe("City parameter is required");
    for (const args of [{}, { city: "P", units: "rankine" }, { city: 3 }]) {
      expect((await bench.run("get_current_weather", args)).error?.code).toBe("invalid_arguments");
    }
  });

  test("calls side by side wait side by side [E35]", async () => {
    const cities = ["Oslo", "Bern", "Lima", "Kyiv"];
    const results = await Promise.all(cities.map((city) => bench.run("get_current_weather", { city })));
    expect(results.map(({ output }) => (output as { city: string }).city)).toEqual(cities);
  });
});

describe("a provider in Python", () => {
  const provider = (body: string) => `${MODELS}
class Provider:
    def __init__(self, config): self.config = config
${body}`;
  const lists = (tools: string) => `    async def list_tools(self): return [${tools}]\n`;

  test("is given its config, and may answer with data as well as with a result [E18 E19 E29]", async () => {
    const source = provider(`${lists('Tool(name="configured", description="d")')}
    async def execute_tool(self, tool_name, parameters):
        return ToolResult(success=True, result={"name": tool_name, "config": self.config, "given": parameters})`);
    await bench.register(source, { config: { api_key: "k", base_url: "https://x" } });
    const config = { api_key: "k", base_url: "https://x" };
    expect((await bench.run("configured", { a: 1 })).output).toEqual({ name: "configured", config, given: { a: 1 } });
  });

  test("has parameters of six types, with defaults that are not left out where they are false or empty [E12 E13 E15]", async () => {
    const kinds = "string number integer boolean object array".split(" ");
    const parameters = kinds.map((kind) => `"${kind}": ToolParameter(type="${kind}")`).join(", ");
    const more = `"off": ToolParameter(type="boolean", default=False), "none": ToolParameter(type="array", default=[])`;
    const source = provider(`${lists(`Tool(name="typed", description="d", parameters={${parameters}, ${more}})`)}
    async def execute_tool(self, tool_name, parameters): return ToolResult(success=True, result=parameters)`);
    await bench.register(source);
    expect((await bench.run("typed", { number: 1.5, array: [1] })).output).toEqual({
      number: 1.5,
      array: [1],
      off: false,
      none: [],
    });
    for (const args of [{ integer: 4.2 }, { boolean: "true" }, { array: {} }, { object: [] }]) {
      expect((await bench.run("typed", args)).error?.code).toBe("invalid_arguments");
    }
  });

  test("fails by what it answers, and by what it raises [E06 E07]", async () => {
    const source = provider(`${lists('Tool(name="fails", description="d")')}
    async def execute_tool(self, tool_name, parameters):
        if parameters.get("raise"): raise ConnectionError("down")
        return ToolResult(success=False, error="City 'InvalidCity' not found")`);
    await bench.register(source);
    expect((await bench.run("fails")).error?.message).toBe("City 'InvalidCity' not found");
    expect((await bench.run("fails", { raise: true })).error).toMatchObject({
      message: "down",
      type: "ConnectionError",
    });
  });

  test("may wrap what it does as the document's example does, unchanged, with its classes of errors [E21 E26 E27 E28]", async () => {
    const wrapper = indent(documentText("xaibo/python/wrapper.py"));
    const source = `${documentText("xaibo/python/errors.py")}\n${provider(`${lists('Tool(name="wrapped", description="d")')}
    def _validate_parameters(self, tool, parameters): return parameters.get("complain")
    async def _execute_tool_impl(self, tool_name, parameters):
        if parameters.get("raise"): raise ToolParameterError("odd")
        return issubclass(ToolParameterError, ToolError)
${wrapper}`)}`;
    await bench.register(source);
    expect((await bench.run("wrapped")).output).toBe(true);
    expect((await bench.run("wrapped", { complain: "not so" })).error?.message).toBe("not so");
    expect((await bench.run("wrapped", { raise: true })).error?.message).toBe("Unexpected error: odd");
  });
});

test("the document's protocol and its examples of models, unchanged, say what they say [E03 E08 E10 E11 E18]", async () => {
  const source = `from typing import Protocol, runtime_checkable\n${MODELS}
${documentText("xaibo/python/protocol.py")}
${documentText("xaibo/python/models.py")}
class Half:
    async def list_tools(self): return []

def execute(input):
    return [tool, isinstance(Half(), ToolProviderProtocol), result, number_param.default, Tool(name="n", description="d").parameters]`;
  const { output } = await bench.once(source);
  expect(output).toMatchObject([
    { name: "get_weather", parameters: { city: { type: "string", required: true }, units: { default: "celsius" } } },
    false,
    { success: false, error: "City 'InvalidCity' not found" },
    30,
    {},
  ]);
});

test("the document's mock, unchanged, answers as its test says, and remembers its calls [E36 E37 E38]", async () => {
  const [mock, usage] = ["mock_tool_provider", "mock_usage"].map((name) =>
    indent(documentText(`xaibo/python/${name}.py`)),
  );
  const { output, error } = await bench.once(`${MODELS}
async def execute(input):
${mock}${usage}
    mock_provider.results["bad"] = LookupError("gone")
    bad, missing = await mock_provider.execute_tool("bad", {"a": 1}), await mock_provider.execute_tool("none", {})
    return [bad.error, missing.error, mock_provider.call_history]`);
  expect(error).toBeNull();
  expect(output).toEqual([
    "gone",
    "Tool none not mocked",
    [
      ["test_tool", {}],
      ["bad", { a: 1 }],
      ["none", {}],
    ],
  ]);
});

describe("a class that only looks like a provider", () => {
  const provider = (name: string): string =>
    documentText("xaibo/python/weather.py")
      .replaceAll("get_current_weather", `${name}_weather`)
      .replaceAll("get_weather_forecast", `${name}_forecast`);

  test.each([
    [
      "abstract",
      "import abc\nclass Base(abc.ABC):\n    @abc.abstractmethod\n    async def list_tools(self): ...\n    @abc.abstractmethod\n    async def execute_tool(self, tool_name, parameters): ...\n",
    ],
    [
      "wrapping",
      "class Caching:\n    def __init__(self, inner, seconds): ...\n    async def list_tools(self): ...\n    async def execute_tool(self, tool_name, parameters): ...\n",
    ],
    [
      "private",
      "class _Fake:\n    async def list_tools(self): ...\n    async def execute_tool(self, tool_name, parameters): ...\n",
    ],
    ["partial", "class Half:\n    list_tools = execute_tool = None\n"],
    [
      "odd",
      "class Odd(type):\n    def __getattr__(cls, name):\n        raise RuntimeError(name)\nclass Thing(metaclass=Odd):\n    pass\n",
    ],
  ])("because it is %s stands in no provider's way", async (name, source) => {
    const registered = await bench.register(`${provider(name)}\n${source}`);
    expect(registered.toSorted()).toEqual([`${name}_forecast`, `${name}_weather`]);
  });

  test("is not meant where another says that it is a provider", async () => {
    const mock =
      "class Mock:\n    async def list_tools(self): ...\n    async def execute_tool(self, tool_name, parameters): ...\n";
    const said = provider("said").replace(
      "class WeatherToolProvider:",
      "class WeatherToolProvider(ToolProviderProtocol):",
    );
    expect((await bench.register(`${mock}${said}`)).toSorted()).toEqual(["said_forecast", "said_weather"]);
    await expect(bench.register(`${mock}${provider("unsaid")}`)).rejects.toMatchObject({
      code: "load_error",
      message: expect.stringContaining("two classes of providers; export one of them"),
    });
  });

  test("stands in the way of no tool of another contract, nor of functions that are tools", async () => {
    const like =
      "class Like:\n    def __init__(self, inner): ...\n    async def list_tools(self): ...\n    async def execute_tool(self, tool_name, parameters): ...\n";
    expect((await bench.once(`${provider("helper")}\ndef execute(input): return "executed"`)).output).toBe("executed");
    const mounted = `${like}
class Tool:
    name = "like_mounted"
    description = "d"
    async def execute(self, input): return {"success": True, "output": 1}
async def mount(coordinator, config): await coordinator.mount("tools", Tool())`;
    expect(await bench.register(mounted)).toEqual(["like_mounted"]);
    const marked =
      "from xaibo.primitives.modules.tools.python_tool_provider import tool\n@tool\ndef execute(): return 1\n";
    const [name = ""] = await bench.register(marked + like);
    expect(name).toMatch(/^module\d+-execute$/);
    expect((await bench.run(name)).output).toBe(1);
  });
});
