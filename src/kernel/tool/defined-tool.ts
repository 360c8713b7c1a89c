import { GloveboxError } from "../base/errors.ts";
import { parseWritten } from "../base/exact-json.ts";
import { isObject, type JsonSchema } from "../base/json.ts";
import { type Inspection, parsing } from "../base/protocol/script.ts";
import { describeSchema, isStandardSchema } from "../base/schema/describe-schema.ts";
import type { SchemaSide } from "../base/schema/from-json-schema.ts";
import type { Bundle } from "./bundle/bundle.ts";
import type { ToolDefinition } from "./definition.ts";

/** A tool of `defineTool` as its isolate describes it: hostile input, checked by its shape only. */
export interface DefinedTool {
  /** A definition without its source, unchecked. */
  readonly definition: object;
  /** Schema of the arguments that are not certainly refused. `null`: the JSON Schema is complete. */
  readonly check: JsonSchema | null;
  /** Rules of its schemas that their JSON Schemas do not have. */
  readonly more: readonly string[];
}

const MORE_MAX = 500;

/** The defined tool in an inspection; `undefined` for a module of another form. */
export function definedIn({
  contract,
  described,
}: Pick<Extract<Inspection, { ok: true }>, "contract" | "described">): DefinedTool | undefined {
  if (contract !== "glovebox") return undefined;
  const found = parseWritten(described);
  if (!isObject(found) || !isObject(found["definition"])) return undefined;
  const { definition, check, more } = found;
  const all = Array.isArray(more) ? more.filter((one) => typeof one === "string") : [];
  const isSchema = isObject(check) || typeof check === "boolean";
  return {
    definition,
    check: isSchema && all.length > 0 ? check : null,
    more: all.map((one) => one.slice(0, MORE_MAX)),
  };
}

/** How the schemas of a tool are applied, for `ToolInfo`. */
export interface SchemaUse {
  readonly parses: "host" | "isolate";
  readonly parsesReason?: string;
  /** The reason why calls evaluate the whole module. */
  readonly wholeReason?: string;
}

/** The bundle that calls of a tool evaluate, and the reason for the choice. */
export interface ChosenBundle {
  readonly bundle: Bundle;
  readonly use: SchemaUse;
}

/** Schemas that do more than their JSON Schemas parse in the isolate, and need the whole module. */
export function bundleForCalls(defined: DefinedTool, bundle: Bundle): ChosenBundle {
  const { halves, ...whole } = bundle;
  if (defined.more.length > 0) {
    const text = parsing(bundle.text);
    const use: SchemaUse = { parses: "isolate", parsesReason: defined.more.join("; ") };
    return { bundle: { ...whole, text, bytes: Buffer.byteLength(text) }, use };
  }
  if (halves?.kind === "call") return { bundle: { ...whole, ...halves.call }, use: { parses: "host" } };
  return wholeForCalls(bundle, halves?.reason ?? "its bundle has no half for calls");
}

export function wholeForCalls(bundle: Bundle, wholeReason: string): ChosenBundle {
  return { bundle, use: { parses: "host", wholeReason } };
}

/** A definition with JSON Schemas of the schemas that an embedder has given. Throws a `GloveboxError` with `load_error`. */
export function withJsonSchemas(definition: ToolDefinition): ToolDefinition {
  const input = jsonSchemaOf(definition, "inputSchema", "input");
  const output = jsonSchemaOf(definition, "outputSchema", "output");
  if (input === undefined && output === undefined) return definition;
  return {
    ...definition,
    ...(input === undefined ? {} : { inputSchema: input }),
    ...(output === undefined ? {} : { outputSchema: output }),
  };
}

/** `undefined` for a JSON Schema, and without a schema. */
function jsonSchemaOf(
  definition: ToolDefinition,
  where: "inputSchema" | "outputSchema",
  side: SchemaSide,
): JsonSchema | undefined {
  // JavaScript callers may pass any value, which is checked later.
  const schema: unknown = isObject(definition) ? definition[where] : undefined;
  if (!isStandardSchema(schema)) return undefined;
  const refuse = (problem: string): GloveboxError =>
    new GloveboxError("load_error", `tool "${String(definition.name).slice(0, 128)}" has an ${where} ${problem}`);
  let found: ReturnType<typeof describeSchema>;
  try {
    found = describeSchema(schema, side);
  } catch (error) {
    throw refuse(`that cannot be used: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (found.more === null) return found.schema;
  throw refuse(
    `that says more than its JSON Schema (${found.more}), and nothing would check that; ` +
      "define the tool in its module with defineTool, which applies the schema in the isolate",
  );
}
