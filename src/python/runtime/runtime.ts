import type { ToolRuntime } from "../../kernel/tool/runtimes/runtime.ts";
import { pythonPlace } from "./place.ts";
import { MODULES_GROUP, PYPROJECT, PYPROJECT_BYTES_MAX } from "./pyproject.ts";

const EXTENSION = import.meta.url.endsWith(".ts") ? "ts" : "js";

/** Python, by Pyodide. */
export const python: ToolRuntime = {
  name: "python",
  isInterpreted: true,
  worker: new URL(`../worker/python.${EXTENSION}`, import.meta.url),
  files: () => {
    const place = pythonPlace();
    return place === null ? null : { root: place.cache, folder: place.image };
  },
  reader: {
    extensions: [".py"],
    index: {
      file: "__init__.py",
      // Names that mark the file as a tool rather than only as an importable folder.
      marks: /\b(?:TOOL_SPEC|AgentSpaceV1Tool|mount|execute|list_tools)\b|^spec\b|^@tool\b/m,
    },
    project: { file: PYPROJECT, marks: MODULES_GROUP, bytesMax: PYPROJECT_BYTES_MAX },
    // Files of test runners and installers.
    beside: /^test_.*\.py$|_test\.py$|^(?:conftest|setup)\.py$/,
    // Loaded on demand: most engines have no tool in Python.
    bundle: async (code, context) => (await import("./bundle.ts")).bundlePython(code, context),
  },
};
