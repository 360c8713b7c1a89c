import { expect, test, vi } from "vitest";
import { ToolRegistry } from "../../../src/ecosystems/strands/index.ts";

vi.mock("../../../src/tool/runtimes/python/place.ts", () => ({ findPyodide: () => null, pythonPlace: () => null }));

test("without Pyodide, the default registry leaves python_exec out and says why", async () => {
  const logged: unknown[] = [];
  const logger = { warn: (fields: object, message: string) => void logged.push({ message, ...fields }) };
  await using registry = await ToolRegistry.discover({ logger });
  expect(registry.list_all().map(({ id }) => id)).toEqual(["calculator", "echo", "js_exec"]);
  expect(registry.warnings).toEqual([
    {
      message: "Failed to import tool module, skipping",
      module_name: "python_exec",
      error: expect.stringContaining("pyodide"),
    },
  ]);
  expect(logged).toEqual(registry.warnings);
});
