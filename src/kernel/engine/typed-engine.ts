import type { ToolCall, ToolResult } from "../base/result.ts";
import type { Simplify } from "../base/schema/from-json-schema.ts";
import type { ArgumentsOf, OutputFrom, Tool } from "../tool/define-tool.ts";
import type { ToolInfo } from "../tool/definition.ts";
import type { AnyTools, InputOf, OutputOf, RegisteredTools, ToolName, ToolTypes } from "../tool/register.ts";
import type { ToolRunner } from "../tool/contracts/runner.ts";
import type { ExecuteOptions } from "./execute-options.ts";
import type { LocalEngine, OfTenant } from "./local-engine.ts";
import type { EventMap, EventName } from "./telemetry/events.ts";

/*
 * The types of an engine whose tools are known. TypeScript quotes the last overload of `execute`, so that one names the
 * tools. `Engine` is an alias of two interfaces: one generic interface with these overloads would be invariant, and a
 * function that takes an `Engine` would refuse an engine of known tools.
 */

type TypesOf<T> = T extends { readonly "~types"?: infer Found } ? NonNullable<Found> : T extends ToolTypes ? T : never;
type NameOf<T, Key> = T extends { readonly name: infer Name extends string; readonly description: string } ? Name : Key;

type SchemaIn<T, Member extends string> = T extends { readonly [M in Member]: infer S } ? S : undefined;
type Definition<T> = T extends { readonly "~types"?: unknown }
  ? T
  : T extends
        | { readonly name: infer Name extends string; readonly source: string }
        | { readonly name: infer Name extends string; readonly entry: string }
    ? Tool<Name, ArgumentsOf<SchemaIn<T, "inputSchema">>, OutputFrom<SchemaIn<T, "outputSchema">, unknown>>
    : never;

/** Tools by their names, from a map of types, a list of definitions, or `typeof import("./tools/index.ts")`. */
export type ToolsOf<T> = T extends readonly (infer One)[]
  ? [Definition<One>] extends [never]
    ? RegisteredTools
    : Simplify<{ readonly [D in Definition<One> as NameOf<D, never>]: TypesOf<D> }> &
        (Extract<One, string | { readonly path: string }> extends never ? unknown : RegisteredTools)
  : string extends keyof T
    ? T
    : { readonly [K in keyof T as TypesOf<T[K]> extends never ? never : NameOf<T[K], K>]: TypesOf<T[K]> };

type Suggest<Names extends string> = Names | (string & Record<never, never>);

/** A tool as a function. Written as a method: an engine of known tools is then also one of unknown tools. */
export type ToolFunction<Input, Output> = {
  call(input: Input, options?: ExecuteOptions & { readonly id?: string }): Promise<ToolResult<Output>>;
}["call"];

/** A runner of calls of known tools: an engine, or a client of one. */
export interface Executes<Tools> {
  /** Types only. */
  readonly "~tools"?: Tools;
  /** Runs a call whose tool is known only at run time, such as a model's. A literal that names no tool is a mistake. */
  execute<const Name extends string>(
    call: ToolCall<Name> & (string extends Name ? unknown : never),
    options?: ExecuteOptions,
  ): Promise<ToolResult>;
  /** Runs another operation of a tool, whose arguments have no schema. */
  execute(
    call: ToolCall<ToolName<Tools>> & { readonly command: string },
    options?: ExecuteOptions,
  ): Promise<ToolResult>;
  /** Runs a call. Never rejects: an error is part of the result. */
  execute<const Name extends keyof Tools & string>(
    call: ToolCall<Name, InputOf<Tools, Name>>,
    options?: ExecuteOptions,
  ): Promise<ToolResult<OutputOf<Tools, Name>>>;
  /** The tools as functions: `engine.tools.greet({ name: "Ada" })`. */
  readonly tools: { readonly [Name in ToolName<Tools>]: ToolFunction<InputOf<Tools, Name>, OutputOf<Tools, Name>> };
}

interface Listens<Tools> {
  on<Event extends EventName>(event: Event, listener: (...args: EventMap<Tools>[Event]) => unknown): this;
  off<Event extends EventName>(event: Event, listener: (...args: EventMap<Tools>[Event]) => unknown): this;
}

/** The members of an engine that do not depend on its tools. */
type EngineBase = Omit<LocalEngine, "execute" | "tools" | "on" | "off" | "list" | "get">;

/** An engine of known tools. */
export interface TypedEngine<Tools> extends EngineBase, Executes<Tools>, Listens<Tools> {
  list(whose?: OfTenant): ToolInfo<ToolName<Tools>>[];
  get(name: Suggest<ToolName<Tools>>, whose?: OfTenant): ToolInfo | undefined;
}

/** An engine of unknown tools. */
export interface AnyEngine extends EngineBase, Omit<ToolRunner<AnyTools>, "forModels">, Listens<AnyTools> {
  /** Runs a call. Never rejects: an error is part of the result. */
  execute(call: ToolCall, options?: ExecuteOptions): Promise<ToolResult>;
  readonly tools: { readonly [name: string]: ToolFunction<Record<string, unknown>, unknown> };
  list(whose?: OfTenant): ToolInfo[];
  get(name: string, whose?: OfTenant): ToolInfo | undefined;
}

/** An engine, created by `createEngine`. Every `Engine<Tools>` is an `Engine`. */
export type Engine<Tools = AnyTools> = string extends keyof Tools ? AnyEngine : TypedEngine<Tools>;
