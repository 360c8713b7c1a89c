import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PYTHON_MS, PythonBench } from "./bench.ts";

let bench: PythonBench;

beforeAll(async () => {
  bench = await PythonBench.open();
}, PYTHON_MS);

afterAll(() => bench[Symbol.asyncDispose]());

const failure = async (text: string): Promise<string> =>
  bench.register(text).then(
    (names) => `registered ${String(names)}`,
    (error: unknown) => String(error),
  );

describe("a module with one public function, type hints and a docstring", () => {
  test("is the tool that the function describes, and answers with what it returns", async () => {
    const text = `
from dataclasses import dataclass
from datetime import date
from typing import Literal

@dataclass
class Point:
    x: int
    y: int = 0

_SEEN = []

def _twice(value):
    return value * 2

def move(point: Point, by: int, unit: Literal["mm", "cm"] = "mm", note: str | None = None) -> dict:
    """Moves a point.

    Args:
        point: Where it is
        by: How far it goes
    """
    return {"x": point["x"] + _twice(by), "unit": unit, "note": note, "kind": type(by).__name__}
`;
    expect(await bench.register(text)).toEqual(["move"]);
    const info = bench.engine.get("move");
    expect([info?.contract, info?.description]).toEqual(["glovebox", "Moves a point."]);
    expect(info?.inputSchema).toMatchObject({
      type: "object",
      properties: {
        point: { $ref: "#/$defs/Point", description: "Where it is" },
        by: { type: "integer", description: "How far it goes" },
        unit: { enum: ["mm", "cm"], default: "mm" },
      },
      required: ["point", "by"],
    });
    const { output } = await bench.run("move", { point: { x: 1 }, by: 2 });
    expect(output).toEqual({ x: 5, unit: "mm", note: null, kind: "int" });
    const { error } = await bench.run("move", { point: { x: 1 }, by: "far" });
    expect(error?.code).toBe("invalid_arguments");
  });

  test("may be asynchronous, take the call's context, and have a spec beside it", async () => {
    const text = `
import asyncio
from glovebox import Context

spec = {"description": "Says who calls.", "tags": ["who"]}

async def whose_call(greeting: str, context: Context) -> str:
    """Says something else."""
    await asyncio.sleep(0)
    return f"{greeting} {context.call_id != ''}"
`;
    expect(await bench.register(text)).toEqual(["whose_call"]);
    expect(bench.engine.get("whose_call")).toMatchObject({ description: "Says who calls.", tags: ["who"] });
    expect(bench.engine.get("whose_call")?.inputSchema).toMatchObject({ required: ["greeting"] });
    expect(JSON.stringify(bench.engine.get("whose_call")?.inputSchema)).not.toContain("context");
    expect((await bench.run("whose_call", { greeting: "hi" })).output).toBe("hi True");
  });

  test.each([
    ["no docstring", "def greet(name: str) -> str:\n    return name\n"],
    ["a parameter without a hint", 'def greet(name) -> str:\n    """Greets."""\n    return name\n'],
    ["parameters without names", 'def greet(*names: str) -> str:\n    """Greets."""\n    return "a"\n'],
    [
      "a second public function",
      'def greet(name: str):\n    """Greets."""\n\ndef part(name: str):\n    """Parts."""\n',
    ],
    ["none of its own", "from json import dumps\n"],
  ])("is refused with the forms of tools where there is %s", async (_what, text) => {
    expect(await failure(text)).toContain("or one public function with type hints and a docstring");
  });
});
