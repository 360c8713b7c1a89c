import { afterAll, beforeAll, expect, test } from "vitest";
import { PYTHON_MS, PythonBench } from "./bench.ts";

let bench: PythonBench;

beforeAll(async () => {
  bench = await PythonBench.open();
}, PYTHON_MS);

afterAll(() => bench[Symbol.asyncDispose]());

/** Modules of the contracts that wrap outputs: `answers` has what each returns for the name in `input`. */
const MODULES: readonly (readonly [contract: string, name: string, source: string])[] = [
  [
    "amplifier",
    "wrapped_amplifier",
    `from amplifier_core.models import ToolResult
ANSWERS = {
    "valid": ToolResult(success=True, output=5), "null": ToolResult(success=True),
    "large": ToolResult(success=True, output=50), "text": ToolResult(success=True, output="5"),
    "failed": ToolResult(success=False, output="x", error={"message": "no"}),
}
class MyTool:
    name = "wrapped_amplifier"
    description = "d"
    def __init__(self, config): self.config = config
    async def execute(self, input): return ANSWERS[input["way"]]
`,
  ],
  [
    "strands",
    "wrapped_strands",
    `TOOL_SPEC = {"name": "wrapped_strands", "description": "d", "inputSchema": {"json": {}}}
ANSWERS = {
    "valid": [{"json": 5}], "null": [], "large": [{"json": 50}], "text": [{"text": "5"}],
    "failed": [{"text": "no"}, {"text": "x"}], "list": [{"json": 1}, {"text": "a"}],
}
def wrapped_strands(tool, **kwargs):
    way = tool["input"]["way"]
    status = "error" if way == "failed" else "success"
    return {"toolUseId": tool["toolUseId"], "status": status, "content": ANSWERS[way]}
`,
  ],
  [
    "xaibo",
    "wrapped_xaibo",
    `from xaibo.core.protocols.tools import ToolProviderProtocol
from xaibo.core.models.tools import Tool, ToolParameter, ToolResult
ANSWERS = {
    "valid": ToolResult(success=True, result=5), "null": ToolResult(success=True),
    "large": ToolResult(success=True, result=50), "text": ToolResult(success=True, result="5"),
    "failed": ToolResult(success=False, result="x", error="no"),
}
class Provider(ToolProviderProtocol):
    def __init__(self, config=None): pass
    async def list_tools(self): return [Tool(name="wrapped_xaibo", description="d", parameters={})]
    async def execute_tool(self, name, parameters): return ANSWERS[parameters["way"]]
`,
  ],
];

test.each(MODULES)("an output that %s wraps is checked where it is", async (contract, name, source) => {
  for (const isolation of ["instance", "isolate"] as const) {
    await bench.tool(source, { name, isolation, outputSchema: { type: "integer", maximum: 10 } });
    expect(bench.engine.get(name)?.contract).toBe(contract);
    const run = (way: string) => bench.run(name, { way });
    expect((await run("valid")).output).toBe(5);
    expect((await run("failed")).error).toMatchObject({ code: "tool_error", message: "no" });
    const refused = ["large", "text", "null", ...(contract === "strands" ? ["list"] : [])];
    for (const way of refused) {
      const { success, output, error } = await run(way);
      expect([success, output], `${way} ${isolation}`).toEqual([false, null]);
      expect(error).toMatchObject({
        code: "invalid_output",
        message: "the output does not match the tool's outputSchema",
        details: { violations: [{ pointer: "", keyword: way === "large" ? "maximum" : "type" }] },
      });
    }
  }
});

test("a wrapped output whose check takes too long ends its call, not the host", async () => {
  const source = `from amplifier_core.models import ToolResult
class MyTool:
    name = "slow"
    description = "d"
    def __init__(self, config): self.config = config
    async def execute(self, input): return ToolResult(success=True, output="a" * 5000 + "!")
`;
  const outputSchema = { type: "string", pattern: "^(a+)+$" };
  await bench.tool(source, { name: "slow", outputSchema, limits: { cpuMs: 2_000, wallMs: 120_000 } });
  const { error } = await bench.run("slow");
  expect(error?.code).toBe("cpu_limit");
  expect(error?.message).toContain("while checking the output");
});
