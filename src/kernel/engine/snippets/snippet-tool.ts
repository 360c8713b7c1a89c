import { frozen } from "../../base/json.ts";
import { type ProgramTools, programTools } from "../../broker/capabilities/program-tools.ts";
import type { ToolDefinition } from "../../tool/definition.ts";
import { programModule } from "../../tool/program/runner.ts";
import { programStack } from "../../tool/program/programs.ts";
import type { RegisteredTool } from "../../tool/registered-tool.ts";
import { type KeptSnippet, SNIPPET_PREFIX } from "./snippet.ts";

/** The program of a snippet is its author's, as that of `run_code` is its caller's: it has an isolate for itself. */
export function definitionOf({ name, version, description, program, ...schemas }: KeptSnippet): ToolDefinition {
  const { inputSchema, outputSchema } = schemas;
  return {
    name: SNIPPET_PREFIX + name,
    version,
    description,
    tags: ["snippet"],
    source: programModule(program),
    isolation: "isolate",
    inputSchema,
    ...(outputSchema === null ? {} : { outputSchema }),
  };
}

/** The tool of a snippet, with the tools that it may call. */
export function withTools(tool: RegisteredTool, names: readonly string[]): RegisteredTool {
  return { ...tool, own: programTools(onlyTools(names), names), snippet: names, mapStack: programStack };
}

/** The tool with the inferred schema of its output, for models. Its checks do not use it. */
export function withInferred(tool: RegisteredTool, { inferredOutputSchema: schema }: KeptSnippet): RegisteredTool {
  if (schema === null) return tool;
  return { ...tool, info: Object.freeze({ ...tool.info, inferredOutputSchema: frozen(schema) }) };
}

function onlyTools(names: readonly string[]): ProgramTools {
  const known = new Set(names);
  return {
    refuse: (name) => {
      if (known.has(name)) return undefined;
      const message = `the snippet may not call ${name}: it may call ${names.join(", ") || "no tool"}, as its author could`;
      return { ok: false, code: "tool_not_found", message };
    },
    search: () => {
      throw new Error("a snippet finds no tools: it calls those that its text names");
    },
    onCall: () => () => undefined,
  };
}
