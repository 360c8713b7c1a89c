import { answer, type ToolResult, type ToolUse } from "./parts/strands.ts";

export const TOOL_SPEC = {
  name: "calculator",
  description: "Perform arithmetic calculations",
  inputSchema: {
    json: {
      type: "object",
      properties: {
        operation: {
          type: "string",
          description: "Arithmetic operation to perform",
          enum: ["add", "subtract", "multiply", "divide"],
        },
        a: { type: "number", description: "First operand" },
        b: { type: "number", description: "Second operand" },
        precision: { type: "integer", description: "Number of decimal places", default: 2, minimum: 0, maximum: 10 },
      },
      required: ["operation", "a", "b"],
    },
  },
};

export const spec = { annotations: { readOnly: true, idempotent: true } };

interface Input {
  readonly operation: "add" | "subtract" | "multiply" | "divide";
  readonly a: number;
  readonly b: number;
  readonly precision: number;
}

export function calculator(tool: ToolUse<Input>): ToolResult {
  const { operation, a, b, precision = 2 } = tool.input ?? {};
  if (operation === undefined) return answer(tool, "error", "Missing required parameter: operation");
  if (a === undefined || b === undefined) return answer(tool, "error", "Missing required parameter: a, b");
  if (operation === "divide" && b === 0) return answer(tool, "error", "Invalid input: division by zero");
  const value = calculate(operation, a, b);
  if (!Number.isFinite(value)) return answer(tool, "error", "Invalid input: the result is too large");
  return answer(tool, "success", String(Number(value.toFixed(precision))));
}

function calculate(operation: Input["operation"], a: number, b: number): number {
  switch (operation) {
    case "add":
      return a + b;
    case "subtract":
      return a - b;
    case "multiply":
      return a * b;
    case "divide":
      return a / b;
    default:
      return operation satisfies never;
  }
}
