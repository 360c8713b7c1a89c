import type { JsonSchema } from "../json.ts";
import type { Capability, CapabilityCall, GrantKind } from "./capability.ts";

/** One method of a capability: its schemas, and what does the work in the host. */
export interface CapabilityMethod {
  /** Schema of the arguments; anything goes where there is none. */
  readonly input?: JsonSchema;
  readonly output?: JsonSchema;
  // The embedder knows what its own schema lets through, so the handler's argument is its to declare.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly handler: (args: any, call: CapabilityCall) => unknown;
}

/** A capability of the embedder's own. */
export interface CustomCapability {
  readonly name: string;
  readonly methods: { readonly [method: string]: CapabilityMethod };
}

const NAME = /^[A-Za-z][A-Za-z0-9_]{0,63}$/;

/** Names whose meaning is the engine's. */
const RESERVED: ReadonlySet<string> = new Set(["fetch", "fs", "kv", "secrets", "tools", "env", "then", "toJSON"]);

/**
 * Declares a capability of the embedder's own. Tools ask for it, and policies allow it, by its name:
 * `capabilities: { counter: true }`; a tool then calls `await context.host.counter.add({ by: 1 })`.
 * Throws a `TypeError` where a name is not one, or a handler is missing.
 */
export function defineCapability(capability: CustomCapability): CustomCapability {
  if (!NAME.test(capability.name) || RESERVED.has(capability.name)) {
    throw new TypeError(`"${capability.name}" cannot be the name of a capability`);
  }
  const methods = Object.entries(capability.methods);
  if (methods.length === 0) throw new TypeError(`capability "${capability.name}" has no methods`);
  for (const [name, method] of methods) {
    if (!NAME.test(name)) throw new TypeError(`"${capability.name}.${name}" cannot be the name of a method`);
    if (typeof method.handler !== "function") {
      throw new TypeError(`capability "${capability.name}.${name}" has no handler`);
    }
  }
  return Object.freeze({ name: capability.name, methods: Object.freeze({ ...capability.methods }) });
}

/** It is given or not: whatever stands for it beside `false` and nothing. */
const wholeGrants: GrantKind<unknown> = {
  read: (value) => value,
  meet: (_asked, allowed) => allowed,
  uncovered: (_asked, granted) => (granted.length > 0 ? [] : [{ pointer: "", asked: "the capability" }]),
  describe: () => "all of its methods",
};

/** The broker's view of it. */
export function asCapability({ name, methods }: CustomCapability): Capability {
  return {
    name,
    grants: wholeGrants,
    methods,
    open: (call) => ({ invoke: (method, args) => methods[method]?.handler(args, call) }),
  };
}
