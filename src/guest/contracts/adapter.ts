import type { ToolContext, ToolFacts } from "../tool-context.ts";

/** A tool as the realm calls it. `command` names an operation beside its main one, where its contract has such. */
export type ToolFunction = (input: unknown, context: ToolContext, command: string | undefined) => unknown;

/** What a module exports. */
export type Exports = { readonly [name: string]: unknown };

/** How a module that is written in a contract says what it is, and how its tools are called. */
export interface Adapter {
  /** As the host names the contract. */
  readonly name: string;
  /** Whether a module is written in it. */
  matches(exports: Exports): boolean;
  /** What the module says of itself, as JSON, for the host's reader of the contract; or a promise of it. */
  describe(exports: Exports, facts: ToolFacts): unknown;
  /** An instance of the tool that `facts` name. `lives`: it serves more than one call. Throws where it cannot be made. */
  open(exports: Exports, facts: ToolFacts, lives: boolean): ToolFunction;
}

/** The tool's config, which its contract takes as an object. */
export function configOf(facts: ToolFacts): object {
  const config: unknown = JSON.parse(facts.config);
  return isObject(config) ? config : {};
}

export function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return isObject(value) && typeof Reflect.get(value, "then") === "function";
}

/** A method of an object of the tool's, bound to it. */
export function methodOf(value: unknown, name: string): ((...args: unknown[]) => unknown) | undefined {
  if (!isObject(value) && typeof value !== "function") return undefined;
  const method: unknown = Reflect.get(value, name);
  return typeof method === "function" ? (...args) => Reflect.apply(method, value, args) as unknown : undefined;
}
