import type { CalledToolResult, Capability } from "./capability.ts";
import { wholeGrants } from "./custom.ts";
import { TOOL_CALL, type ToolRequest } from "./tools.ts";

/** Name of the capability through which a program calls the tools of its caller. */
export const PROGRAM_TOOLS = "program";

/** The tools of one run of a program. What the program gives its functions is hostile input. */
export interface ProgramTools {
  /** The failure of a call of a tool that the program may not call; `undefined` for one that it may. */
  refuse(name: string): Extract<CalledToolResult, { readonly ok: false }> | undefined;
  /** Finds tools, for `search_tools` in the program. Throws an error with a message for the program. */
  search(query: Readonly<Record<string, unknown>>): unknown;
  /** Receives each call of a tool, after its end. */
  onCall(call: ProgramCall): void;
}

/** A call of a tool by a program. */
export interface ProgramCall {
  readonly tool: string;
  /** `ok`, or the code of its error. */
  readonly code: string;
  readonly wallMs: number;
}

/** The same for all programs: their schemas are compiled once. */
const METHODS: Capability["methods"] = {
  call: { input: TOOL_CALL },
  search: { input: { type: "object" }, isRead: true },
};

/**
 * `program`: tools of the engine as a capability of one call. The caller of a program grants them with the call, so no
 * policy does.
 */
export function programTools(tools: ProgramTools): Capability<true> {
  return {
    name: PROGRAM_TOOLS,
    grants: wholeGrants,
    methods: METHODS,
    open: (call) => {
      const run = async ({ name, arguments: args }: ToolRequest): Promise<CalledToolResult> => {
        const startMs = performance.now();
        const result = tools.refuse(name) ?? (await call.callTool(name, args));
        tools.onCall({ tool: name, code: result.ok ? "ok" : result.code, wallMs: performance.now() - startMs });
        return result;
      };
      return {
        invoke: (method, args) =>
          method === "call" ? run(args as ToolRequest) : tools.search(args as Record<string, unknown>),
      };
    },
  };
}
