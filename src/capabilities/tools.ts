import { type Capability, CapabilityRefusal, matchesName, type OpenCall } from "./capability.ts";
import { nameGrants } from "./names.ts";

/** Calls on behalf of one call that run side by side; more wait. */
const AT_ONCE_MAX = 8;

interface ToolRequest {
  readonly name: string;
  readonly arguments: Record<string, unknown>;
}

/** `tools`: other tools of the engine, by name. */
export function createTools(): Capability<readonly string[]> {
  return {
    name: "tools",
    grants: nameGrants,
    methods: {
      call: {
        input: {
          type: "object",
          properties: { name: { type: "string", maxLength: 128 }, arguments: { type: "object" } },
          required: ["name", "arguments"],
        },
      },
    },
    open: (call, grants) => {
      const children = new Children(call);
      const names = grants.flat();
      return {
        invoke: (_method, args) => {
          const { name, arguments: given } = args as ToolRequest;
          if (names.some((pattern) => matchesName(pattern, name))) return children.run(name, given);
          throw new CapabilityRefusal("denied", `the tool "${name}" was not granted`, {
            asked: `tools "${name}"`,
            granted: `tools ${nameGrants.describe(names)}`,
            remedy: `add "${name}" to capabilities.tools of the tool, and to allow.tools of a policy rule`,
          });
        },
      };
    },
  };
}

/** A call's children, of which a few run at once. */
class Children {
  readonly #call: OpenCall;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(call: OpenCall) {
    this.#call = call;
  }

  async run(name: string, args: Record<string, unknown>): Promise<unknown> {
    // Who ends hands its place to the next one.
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
