import type { JsonSchema } from "../../base/json.ts";
import type { CalledToolResult, Capability, OpenCall } from "./capability.ts";
import { nameGrants, requireGranted } from "./names.ts";

/** Maximum number of a call's child calls that run at once; more wait. */
const AT_ONCE_MAX = 8;

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
      call: { input: TOOL_CALL },
    },
    open: (call, grants) => {
      const children = new ChildCalls(call);
      const names = grants.flat();
      return {
        invoke: (_method, args) => {
          const { name, arguments: given } = args as ToolRequest;
          requireGranted("tools", "tool", name, names);
          return children.run(name, given);
        },
      };
    },
  };
}

/** Child calls of a call, limited in concurrency. */
export class ChildCalls {
  readonly #call: OpenCall;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(call: OpenCall) {
    this.#call = call;
  }

  async run(name: string, args: Record<string, unknown>): Promise<CalledToolResult> {
    // A child that ends hands its slot to the next in the queue, so `#running` stays the same.
    if (this.#running >= AT_ONCE_MAX) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#running++;
    try {
      return await this.#call.callTool(name, args);
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running--;
      else next();
    }
  }
}
