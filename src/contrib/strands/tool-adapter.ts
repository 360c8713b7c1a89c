import { memberOf } from "../../kernel/base/json.ts";
import { toolError } from "../../kernel/base/errors.ts";
import { emptyMetadata, failure } from "../../kernel/base/result.ts";
import { forLoop } from "../../kernel/tool/contracts/runner.ts";
import type { AgentTools } from "./agent.ts";
import { ToolError } from "./errors.ts";
import type { ToolRegistry } from "./registry.ts";
import { TOOL_KINDS, type Workflow } from "./workflow.ts";

/** Names of the tools that a workflow lists: native tools, and those to retrieve context with. */
export function callablesOf({ tools, others }: Workflow): readonly string[] {
  const listed = TOOL_KINDS.flatMap((kind) => tools[kind] ?? []).map(({ callable }) => callable);
  const jit = memberOf(memberOf(others.context_policy, "retrieval"), "jit_tools");
  return [...listed, ...(Array.isArray(jit) ? jit.map(String) : [])];
}

function toolNames(callables: readonly string[], registry: ToolRegistry): ReadonlySet<string> {
  return new Set(
    callables.map((callable) => {
      const info = registry.find(callable);
      if (info === null) throw new ToolError(`tool '${callable}' is not in the allowlist of ${registry.place}`);
      return info.id;
    }),
  );
}

/**
 * Tools of a workflow for its agents: all, or those that an agent or a step names, each once even if listed repeatedly. Throws a `ToolError` if one is not in the
 * registry's allowlist, whether or not the workflow was checked before.
 */
export function loadTools(spec: Workflow, registry: ToolRegistry, seen?: readonly string[]): AgentTools {
  const all = toolNames(callablesOf(spec), registry);
  const names = seen === undefined ? all : toolNames(seen, registry);
  for (const name of names) {
    if (!all.has(name)) throw new ToolError(`tool '${name}' is not one of the workflow's tools`);
  }
  const runner = forLoop(registry.engine);
  const descriptions = [...names].map((name) => {
    const description = runner.get(name);
    if (description === undefined) throw new ToolError(`tool '${name}' is no longer there`);
    return description;
  });
  return {
    get descriptions() {
      return runner.reader === undefined ? descriptions : [...descriptions, runner.reader];
    },
    async call(call, signal) {
      const { id, name, arguments: args } = call;
      if (names.has(name) || name === runner.reader?.name)
        return runner.execute({ id, name, arguments: args }, signal === undefined ? {} : { signal });
      const known = names.size === 0 ? "none" : [...names].join(", ");
      const message = `tool '${name.slice(0, 128)}' is not one of this workflow's: ${known}`;
      return failure(toolError("tool_not_found", message, undefined, "ToolError"), emptyMetadata(id, name, 0));
    },
  };
}
