import { registerHooks } from "node:module";
import { afterAll, expect, test } from "vitest";
import { ToolRegistry } from "../../../src/contrib/strands/index.ts";

// As on a machine where the optional package is not installed.
const hooks = registerHooks({
  resolve(specifier, context, next) {
    if (specifier === "pyodide") throw new Error("Cannot find package 'pyodide'");
    return next(specifier, context);
  },
});
// Other files run in this process after this one.
afterAll(() => hooks.deregister());

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
