/** A Python module's exports as JavaScript: the contracts' adapters use it like a module of their own. */

/** Signature of `mount`. A stand-in for a Python function carries its signature as a property. */
export interface MountSignature {
  readonly parameters: number;
  readonly is_async: boolean;
}

/** Tools of the SDK in Python: decorated functions and methods, which define their specifications themselves. */
export interface StrandsTools {
  readonly specs: readonly unknown[];
  readonly call: (name: string, use: object, config: object) => Promise<unknown>;
}

/** Exports with a meaning in a contract, as Python describes them. */
export type Described = readonly Export[];

export type Export =
  | { readonly kind: "value"; readonly name: string; readonly value: unknown }
  | { readonly kind: "function"; readonly name: string; readonly context: ContextPlace }
  | {
      readonly kind: "class";
      readonly name: string;
      readonly methods: readonly Method[];
      /** AgentSpace's: the commands that its code shows. */
      readonly commands?: readonly string[];
    }
  /** Strands': tools of its SDK, by their specifications. */
  | { readonly kind: "tools"; readonly name: string; readonly specs: readonly unknown[] }
  /** Amplifier's: objects that it mounts are registered with the coordinator. */
  | { readonly kind: "mount"; readonly name: string; readonly signature: MountSignature };

export interface Method {
  readonly name: string;
  /** Maximum number of arguments passed, even if an adapter provides more. */
  readonly arguments: number;
  readonly context: ContextPlace;
}

/** How a function gets the call's context: as its last positional argument, by name, or not at all. */
export type ContextPlace = "positional" | "named" | null;

/** The function to call: `mount`, a function, a method of a class's object, or a reported object or its method. */
export type Target =
  | { readonly kind: "mount" }
  | { readonly kind: "function" | "tool"; readonly name: string }
  | {
      readonly kind: "class";
      readonly name: string;
      /** The object's number. Created on first use, so that its constructor may await capability calls as well. */
      readonly key: number;
      readonly init: readonly unknown[];
      readonly method: string;
    }
  | { readonly kind: "object"; readonly object: number; readonly method: string | null };

export type Invoke = (target: Target, args: readonly unknown[], context?: ContextPlace) => Promise<unknown>;

export function moduleOf(described: Described, invoke: Invoke): object {
  const exports = Object.create(null) as { [name: string]: unknown };
  for (const one of described) exports[one.name] = exportOf(one, invoke);
  return exports;
}

function exportOf(one: Export, invoke: Invoke): unknown {
  const { name } = one;
  switch (one.kind) {
    case "value":
      return one.value;
    case "function":
      return (input: unknown) => invoke({ kind: "function", name }, [input], one.context);
    case "class":
      return Object.assign(classOf(name, one.methods, invoke), { commands: one.commands });
    case "tools": {
      const tools: StrandsTools = {
        specs: one.specs,
        call: (tool, use, config) => invoke({ kind: "tool", name: tool }, [use, config]),
      };
      return tools;
    }
    case "mount":
      return Object.assign((coordinator: Coordinator, config: unknown) => mount(coordinator, config, invoke), {
        signature: one.signature,
      });
    default:
      return one satisfies never;
  }
}

function classOf(name: string, methods: readonly Method[], invoke: Invoke): object {
  const made = new WeakMap<object, { readonly key: number; readonly init: readonly unknown[] }>();
  let keys = 0;
  const Class = class {
    constructor(...init: readonly unknown[]) {
      made.set(this, { key: ++keys, init });
    }
  };
  for (const { name: method, arguments: count, context } of methods) {
    const value = function (this: object, ...args: readonly unknown[]): Promise<unknown> {
      const object = made.get(this);
      if (object === undefined) throw new TypeError(`${method} is called on what is no ${name}`);
      return invoke({ kind: "class", name, method, ...object }, args.slice(0, count), context);
    };
    Object.defineProperty(Class.prototype, method, { value });
  }
  Object.defineProperty(Class, "name", { value: name });
  return Class;
}

/** Mounts a module's tools. */
interface Coordinator {
  mount(point: string, module: unknown, options: { readonly name: string }): Promise<void>;
  register_contributor(channel: string, name: string, contribute: () => unknown): void;
  register_cleanup(cleanup: () => unknown): void;
}

/** The effects of Python's `mount`. */
interface MountReport {
  readonly mounted: readonly { readonly point: string; readonly name: string; readonly tool: MountedTool }[];
  readonly contributors: readonly { readonly channel: string; readonly name: string; readonly values: unknown }[];
  /** Numbers of the cleanup functions. */
  readonly cleanups: readonly number[];
  readonly returned: MountedTool | { readonly cleanup: number } | { readonly other: string } | null;
}

interface MountedTool {
  readonly object: number;
  readonly attributes: { readonly [name: string]: unknown };
  readonly methods: readonly string[];
}

async function mount(coordinator: Coordinator, config: unknown, invoke: Invoke): Promise<unknown> {
  const report = (await invoke({ kind: "mount" }, [config])) as MountReport;
  const tools = new Map<number, object>();
  const toolOf = (tool: MountedTool): object => {
    const known = tools.get(tool.object) ?? mountedTool(tool, invoke);
    tools.set(tool.object, known);
    return known;
  };
  for (const { point, name, tool } of report.mounted) await coordinator.mount(point, toolOf(tool), { name });
  for (const { channel, name, values } of report.contributors) {
    coordinator.register_contributor(channel, name, () => values);
  }
  for (const cleanup of report.cleanups)
    coordinator.register_cleanup(() => invoke({ kind: "object", object: cleanup, method: null }, []));
  const { returned } = report;
  if (returned === null) return null;
  if ("other" in returned) return { type: returned.other };
  return "cleanup" in returned
    ? () => invoke({ kind: "object", object: returned.cleanup, method: null }, [])
    : toolOf(returned);
}

function mountedTool({ object, attributes, methods }: MountedTool, invoke: Invoke): object {
  const entries = methods.map((method) => {
    const call = (input: unknown): Promise<unknown> => invoke({ kind: "object", object, method }, [input]);
    return [method, call] as const;
  });
  return { ...attributes, ...Object.fromEntries(entries) };
}
