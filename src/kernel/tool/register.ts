import type { Simplify } from "../base/schema/from-json-schema.ts";

/** Types of a tool when a program is compiled. `glovebox types` writes such entries. */
export interface ToolTypes {
  readonly input: unknown;
  readonly output: unknown;
}

/** Unknown tools. */
export interface AnyTools {
  readonly [name: string]: { readonly input: { readonly [key: string]: unknown }; readonly output: unknown };
}

/**
 * The types of a whole project. A declaration file from `glovebox types --register` adds to it: `declare module
 * "glovebox" { interface Register { tools: Tools } }`. `tools` has a `ToolTypes` for each tool by its name,
 * `capabilities` a `CustomCapability` for each of the embedder's capabilities by its name.
 */
// oxlint-disable-next-line typescript/no-empty-object-type
export interface Register {}

type FromRegister<Key extends string, Else> = Register extends { readonly [K in Key]: infer Found } ? Found : Else;

/** The tools of `Register`, or any. Mapped, because an interface has no index signature. */
export type RegisteredTools = Simplify<FromRegister<"tools", AnyTools>>;
/** The embedder's capabilities of `Register`, or none. */
export type RegisteredCapabilities = FromRegister<"capabilities", object>;

export type ToolName<Tools> = keyof Tools & string;

/** The arguments of a tool, as callers write them. */
export type InputOf<Tools, Name> = Name extends keyof Tools
  ? Tools[Name] extends { readonly input: infer I }
    ? I
    : never
  : never;

/** The output of a tool, as callers read it. */
export type OutputOf<Tools, Name> = Name extends keyof Tools
  ? Tools[Name] extends { readonly output: infer O }
    ? O
    : never
  : unknown;
