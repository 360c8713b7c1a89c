import type { JsonSchema } from "../../base/json.ts";
import type { Capability } from "./capability.ts";
import { nameGrants, requireGranted } from "./names.ts";

/** A call of another tool, as `TOOL_CALL` describes it. */
export interface ToolRequest {
  readonly name: string;
  readonly arguments: Record<string, unknown>;
}

/** Schema of a call of another tool. */
export const TOOL_CALL = {
  type: "object",
  properties: { name: { type: "string", maxLength: 128 }, arguments: { type: "object" } },
  required: ["name", "arguments"],
} satisfies JsonSchema;

/** `tools`: other tools of the engine, by name. */
export function createTools(): Capability<readonly string[]> {
  return {
    name: "tools",
    grants: nameGrants,
    methods: {
      call: { input: TOOL_CALL, isAnnounced: true },
    },
    open: (call, grants) => {
      const names = grants.flat();
      return {
        invoke: async (_method, args, step) => {
          const { name, arguments: given } = args as ToolRequest;
          requireGranted("tools", "tool", name, names);
          return (await call.callTool(name, given, step)).result;
        },
        adopt: (args, reply) => {
          const { name, arguments: given } = args as ToolRequest;
          requireGranted("tools", "tool", name, names);
          call.adoptChild?.(name, given, reply);
        },
      };
    },
  };
}
