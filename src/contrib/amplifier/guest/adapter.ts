import type { MountSignature } from "../../../python/guest/module.ts";
import type { ToolContext, ToolFacts } from "../../../kernel/guest/tool-context.ts";
import {
  type Adapter,
  configOf,
  type Exports,
  isObject,
  methodOf,
  type ToolFunction,
} from "../../../kernel/guest/contracts/adapter.ts";
import { coordinate, type Coordination, Coordinator, endMounts } from "./coordinator.ts";
import { HookRegistry } from "./hooks.ts";

/** Amplifier: `mount(coordinator, config)`, which mounts tools or returns one. */
export const adapter: Adapter = {
  name: "amplifier",
  classes: [Coordinator, HookRegistry],
  matches: (exports) => typeof exports["mount"] === "function",
  describe: async (exports, facts) => {
    const { coordination, returned } = await mount(exports, facts);
    const described = {
      mounts: coordination.mounted.map(({ mount_point, name, module }) => ({
        mount_point,
        name,
        tool: describeTool(module),
      })),
      returned: kindOf(returned),
      ...(kindOf(returned) === "tool" ? { returned_tool: describeTool(returned) } : {}),
      contributors: coordination.contributors,
      ...signatureOf(exports["mount"]),
    };
    // Serialised before the cleanups run, which may change the described objects.
    const text = JSON.stringify(described);
    await endMounts(coordination);
    return JSON.parse(text) as unknown;
  },
  open: (exports, facts, lives) => (lives ? openShared(exports, facts) : openOnce(exports, facts)),
};

function openOnce(exports: Exports, facts: ToolFacts): ToolFunction {
  return async (input, context) => {
    const { coordination, returned } = await mount(exports, facts);
    try {
      return await execute(toolNamed(facts.name, coordination, returned), input, context);
    } finally {
      if (coordination.cleanups.length > 0) await endMounts(coordination);
    }
  };
}

/** A shared instance ends together with its isolate, so its cleanups never run. */
function openShared(exports: Exports, facts: ToolFacts): ToolFunction {
  let mounting: Promise<Mounting> | null = null;
  return async (input, context) => {
    mounting ??= mount(exports, facts);
    const { coordination, returned } = await mounting.catch((error: unknown) => {
      // The next call tries again.
      mounting = null;
      throw error;
    });
    return execute(toolNamed(facts.name, coordination, returned), input, context);
  };
}

interface Mounting {
  readonly coordination: Coordination;
  readonly returned: unknown;
}

async function mount(exports: Exports, facts: ToolFacts): Promise<Mounting> {
  const config = configOf(facts);
  const coordination = coordinate(config);
  const returned = await methodOf(exports, "mount")?.(coordination.face, config);
  if (typeof returned === "function") coordination.cleanups.push(returned);
  return { coordination, returned };
}

function toolNamed(name: string, { mounted }: Coordination, returned: unknown): unknown {
  for (const { mount_point, module } of mounted) {
    if (mount_point === "tools" && isObject(module) && Reflect.get(module, "name") === name) return module;
  }
  if (isObject(returned) && Reflect.get(returned, "name") === name) return returned;
  throw new TypeError(`the module mounts no tool "${name}" any more`);
}

/**
 * The result with its omitted fields filled in, so that the host reads one form. The context is an extension of the
 * contract: it gives access to `host`.
 */
async function execute(tool: unknown, input: unknown, context: ToolContext): Promise<unknown> {
  const run = methodOf(tool, "execute");
  if (run === undefined) throw new TypeError("the tool has no function execute");
  const result = await run(input, context);
  if (!isObject(result) || Array.isArray(result)) throw new TypeError("execute must return a ToolResult");
  const { success = true, output = null, error = null, metadata = {} } = result as { readonly [key: string]: unknown };
  return { success, output, error, metadata };
}

function describeTool(tool: unknown): unknown {
  if (!isObject(tool)) return { name: null, description: null, input_schema: null, is_tool: false };
  const read = (name: string): unknown => Reflect.get(tool, name) as unknown;
  const name = read("name");
  const description = read("description");
  const chars = read("max_output_chars");
  return {
    name: typeof name === "string" ? name : null,
    description: typeof description === "string" ? description : null,
    input_schema: read("input_schema") ?? methodOf(tool, "get_schema")?.() ?? {},
    has_get_schema: methodOf(tool, "get_schema") !== undefined,
    is_tool: typeof name === "string" && typeof description === "string" && methodOf(tool, "execute") !== undefined,
    ...(typeof chars === "number" ? { max_output_chars: chars } : {}),
  };
}

function kindOf(returned: unknown): "tool" | "cleanup" | "null" | "other" {
  if (returned === null || returned === undefined) return "null";
  if (typeof returned === "function") return "cleanup";
  return methodOf(returned, "execute") === undefined ? "other" : "tool";
}

function signatureOf(mount: unknown): MountSignature {
  if (typeof mount !== "function") return { parameters: 0, is_async: false };
  const { parameters, is_async } = (Reflect.get(mount, "signature") ?? {}) as Partial<MountSignature>;
  if (typeof parameters === "number" && typeof is_async === "boolean") return { parameters, is_async };
  return { parameters: parametersOf(mount), is_async: /^async\b/.test(sourceOf(mount)) };
}

/** Uses V8's `toString`, not a method that the module may have put in its place. */
function sourceOf(value: object): string {
  return Reflect.apply(Function.prototype.toString, value, []) as string;
}

/** Counts parameters with a default as well, which a function's `length` leaves out. */
function parametersOf(value: { readonly length: number }): number {
  const text = sourceOf(value);
  const list = text.slice(text.indexOf("(") + 1);
  let depth = 0;
  let count = 0;
  let isEmpty = true;
  for (const character of list) {
    if (character === ")" && depth === 0) break;
    if ("([{".includes(character)) depth++;
    else if (")]}".includes(character)) depth--;
    else if (character === "," && depth === 0) count++;
    isEmpty &&= /\s/.test(character);
  }
  return Math.max(value.length, isEmpty ? 0 : count + 1);
}
