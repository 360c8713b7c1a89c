import { toolError } from "../../base/errors.ts";
import { emptyMetadata, failure } from "../../base/result.ts";
import type { AgentTools } from "./agent.ts";
import { ToolError } from "./errors.ts";
import type { ToolRegistry } from "./registry.ts";
import { TOOL_KINDS, type Workflow } from "./workflow.ts";

/**
 * Tools of a workflow for its agents, each once even if listed repeatedly. Throws a `ToolError` if one is not in the
 * registry's allowlist, whether or not the workflow was checked before.
 */
export function loadTools(spec: Workflow, registry: ToolRegistry): AgentTools {
  const names = new Set<string>();
  for (const kind of TOOL_KINDS) {
    for (const { callable } of spec.tools[kind] ?? []) {
      const info = registry.find(callable);
      if (info === null) throw new ToolError(`tool '${callable}' is not in the allowlist of ${registry.place}`);
      names.add(info.id);
    }
  }
  const { engine } = registry;
  const descriptions = [...names].map((name) => {
    const description = engine.get(name);
    if (description === undefined) throw new ToolError(`tool '${name}' is no longer there`);
    return description;
  });
  return {
    descriptions,
    async call(call, signal) {
      const { id, name, arguments: args } = call;
      if (names.has(name)) return engine.execute({ id, name, arguments: args }, signal === undefined ? {} : { signal });
      const known = names.size === 0 ? "none" : [...names].join(", ");
      const message = `tool '${name.slice(0, 128)}' is not one of this workflow's: ${known}`;
      return failure(toolError("tool_not_found", message, undefined, "ToolError"), emptyMetadata(id, name, 0));
    },
  };
}
