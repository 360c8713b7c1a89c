import { expect } from "vitest";
import { type Document, indent } from "./block.ts";

const IMPORTS = `from typing import Any, Dict, List, Protocol, runtime_checkable
from xaibo.core.protocols.tools import ToolProviderProtocol
from xaibo.core.models.tools import Tool, ToolParameter, ToolResult
`;
/** A provider with one tool, for examples that use one. It is within a function, so that the module is no provider. */
const PROVIDER = `def provider():
    class Provider:
        async def list_tools(self):
            city = ToolParameter(type="string", description="The city", required=True)
            return [Tool(name="get_weather", description="Weather", parameters={"city": city})]
        async def execute_tool(self, tool_name, parameters):
            if parameters["city"] == "Atlantis": return ToolResult(success=False, error="not found")
            return ToolResult(success=True, result=parameters)
    return Provider()
`;
const printed = (logs: readonly { readonly message: string }[]): string =>
  logs.map(({ message }) => message).join("\n");

export const XAIBO: Document = {
  file: "xaibo-tools-protocol.md",
  isFenced: false,
  blocks: [
    {
      starts: "@runtime_checkable\nclass ToolProviderProtocol(Protocol):",
      ends: '"""Execute a tool with the given parameters"""\n        ...',
      is: "program",
      fixture: "xaibo/python/protocol.py",
      run: async (text, { bench }) => {
        const source = `${IMPORTS}${text}\n${PROVIDER}class Half:\n    async def list_tools(self): ...\ndef execute(input): return [isinstance(provider(), ToolProviderProtocol), isinstance(Half(), ToolProviderProtocol)]`;
        expect((await bench.once(source)).output).toEqual([true, false]);
      },
    },
    {
      starts: "tools = await tool_provider.list_tools()\nfor tool in tools:",
      ends: '{param.description}")',
      is: "program",
      run: async (text, { bench }) => {
        const { metadata } = await bench.once(
          `${IMPORTS}${PROVIDER}async def execute(input):\n    tool_provider = provider()\n${indent(text)}`,
        );
        expect(printed(metadata.logs)).toBe("get_weather: Weather\n  city (string): The city");
      },
    },
    {
      starts: "result = await tool_provider.execute_tool(\n",
      ends: 'print(f"Error: {result.error}")',
      is: "program",
      run: async (text, { bench }) => {
        const { metadata } = await bench.once(
          `${IMPORTS}${PROVIDER}async def execute(input):\n    tool_provider = provider()\n${indent(text)}\n${indent(text.replace("Paris", "Atlantis"))}`,
        );
        expect(printed(metadata.logs)).toBe("Weather data: {'city': 'Paris', 'units': 'metric'}\nError: not found");
      },
    },
    {
      starts: 'tool = Tool(\n    name="get_weather",',
      ends: "        )\n    }\n)",
      is: "program",
      within: 5,
    },
    {
      starts: 'param = ToolParameter(\n    type="string",',
      ends: "    default=30.0\n)",
      is: "program",
      run: async (text, { bench, texts }) => {
        const source = `${IMPORTS}${texts[3]}\n${text}\ndef execute(input): return [tool, param, enum_param, number_param]`;
        expect((await bench.once(source)).output).toMatchObject([
          {
            name: "get_weather",
            parameters: { units: { default: "celsius", enum: ["celsius", "fahrenheit", "kelvin"] } },
          },
          { type: "string", required: true },
          { default: "celsius" },
          { type: "number", default: 30 },
        ]);
      },
    },
    { starts: "result = ToolResult(\n    success=True,", ends: "    }\n)", is: "program", within: 7 },
    {
      starts: "result = ToolResult(\n    success=False,",
      ends: 'not found"\n)',
      is: "program",
      run: async (text, { bench, texts }) => {
        const source = `${IMPORTS}${texts[5]}\nfirst = result\n${text}\ndef execute(input): return [first, result]`;
        expect((await bench.once(source)).output).toMatchObject([
          { success: true, result: { temperature: 22.5, humidity: 65, conditions: "partly cloudy" } },
          { success: false, error: "City 'InvalidCity' not found" },
        ]);
      },
    },
    {
      starts: "from xaibo.core.protocols.tools import ToolProviderProtocol\nfrom xaibo.core.models.tools",
      ends: "assert isinstance(WeatherToolProvider({}), ToolProviderProtocol)",
      is: "program",
      fixture: "xaibo/python/weather.py",
      run: async (text, { bench }) => {
        expect((await bench.register(text)).toSorted()).toEqual(["get_current_weather", "get_weather_forecast"]);
        expect((await bench.run("get_current_weather", { city: "Paris" })).output).toMatchObject({ temperature: 22.5 });
        expect((await bench.run("get_weather_forecast", { city: "Rome", days: 2 })).output).toMatchObject({
          forecast: [{ date: "2024-01-01" }, { conditions: "cloudy" }],
        });
      },
    },
    {
      starts: "class ToolError(Exception):",
      ends: 'error=f"Unexpected error: {str(e)}"\n        )',
      is: "program",
      run: async (text, { bench }) => {
        const [errors = "", wrapper = ""] = text.split(/^# Example.*\n/m);
        const source = `${IMPORTS}${errors}
class Provider:
    def __init__(self, config): ...
    async def list_tools(self): return [Tool(name="document_wrapped", description="d")]
    def _validate_parameters(self, tool, parameters): return parameters.get("complain")
    async def _execute_tool_impl(self, tool_name, parameters): return issubclass(ToolParameterError, ToolError)
${indent(wrapper)}`;
        await bench.register(source);
        expect((await bench.run("document_wrapped")).output).toBe(true);
        expect((await bench.run("document_wrapped", { complain: "no" })).error?.message).toBe("no");
      },
    },
    {
      starts: 'class MockToolProvider:\n    """Mock tool provider for testing"""',
      ends: 'assert result.result == {"message": "success"}',
      is: "program",
      run: async (text, { bench }) => {
        const source = `${IMPORTS}async def execute(input):\n${indent(text)}\n    return mock_provider.call_history`;
        expect((await bench.once(source)).output).toEqual([["test_tool", {}]]);
      },
    },
    {
      starts: "# Get tools from provider\ntools = await",
      ends: "str(result.result)))",
      is: "program",
      run: async (text, { bench }) => {
        const source = `${IMPORTS}${PROVIDER}
from types import SimpleNamespace as LLMOptions
class LLMMessage:
    @staticmethod
    def function_result(*said): return said
class Model:
    async def generate(self, messages, options):
        call = LLMOptions(id="1", name=options.functions[0].name, arguments={"city": "Oslo"})
        return LLMOptions(tool_calls=[call])
async def execute(input):
    tool_provider, llm, messages = provider(), Model(), []
${indent(text)}
    return messages`;
        expect((await bench.once(source)).output).toEqual([["1", "get_weather", "{'city': 'Oslo'}"]]);
      },
    },
  ],
};
