import { parseWithBigInts } from "../../base/exact-json.ts";
import type { ToolContext, ToolFacts } from "../tool-context.ts";

// Captured before a tool can change it.
const { get } = Reflect;

/** The realm's function for a tool. `command` names an operation other than the main one, if the contract has any. */
export type ToolFunction = (input: unknown, context: ToolContext, command: string | undefined) => unknown;

/** Exports of a module. */
export type Exports = { readonly [name: string]: unknown };

/** Reads a module written for one contract: its self-description, and the calls of its tools. */
export interface Adapter {
  /** The host's name of the contract. */
  readonly name: string;
  /** Whether its exports have unique names: then it is tried before Glovebox's own contract. */
  readonly isDistinctive?: true;
  /** Classes whose objects modules get. A realm of several calls freezes them. */
  readonly classes?: readonly object[];
  /** Whether a module is written for this contract. */
  matches(exports: Exports): boolean;
  /**
   * The module's self-description as JSON for the host's reader of the contract, or a promise of it. `schemas`: the
   * describer of schemas of libraries, if the host has added it to the module.
   */
  describe(exports: Exports, facts: ToolFacts, schemas: unknown): unknown;
  /** An instance of the tool in `facts`; with `lives`, for more than one call. Throws if it cannot be created. */
  open(exports: Exports, facts: ToolFacts, lives: boolean): ToolFunction;
}

/**
 * A tool whose module may have a function that undoes a call: that is its only command, and its return value is
 * ignored.
 */
export function withUndo(
  tool: ToolFunction,
  undo: unknown,
  reads: ((input: unknown) => unknown) | null = null,
): ToolFunction {
  if (typeof undo !== "function") return tool;
  const run = undo as (call: object, context: ToolContext) => unknown;
  const undoes = async (call: unknown, context: ToolContext): Promise<null> => {
    const { input, output } = call as { readonly input: unknown; readonly output: unknown };
    await run({ input: reads === null ? input : await reads(input), output }, context);
    return null;
  };
  return (input, context, command) => (command === undefined ? tool(input, context, command) : undoes(input, context));
}

/** The tool's config as an object, which the contract requires. */
export function configOf(facts: ToolFacts): object {
  const config = parseWithBigInts(facts.config);
  return isObject(config) ? config : {};
}

export function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (isObject(value) || typeof value === "function") && typeof get(value, "then") === "function";
}

/** A method of one of the tool's objects, bound to it. */
export function methodOf(value: unknown, name: string): ((...args: unknown[]) => unknown) | undefined {
  if (!isObject(value) && typeof value !== "function") return undefined;
  const method: unknown = Reflect.get(value, name);
  return typeof method === "function" ? (...args) => Reflect.apply(method, value, args) as unknown : undefined;
}
