import { GloveboxError } from "../base/errors.ts";
import { isObject, type JsonSchema } from "../base/json.ts";
import { isLibrary, type LibraryName, parsing } from "../base/protocol/script.ts";
import type { Bundle } from "./bundle/bundle.ts";
import { ContractError, type ToolAnnotations } from "./contracts/contract.ts";
import { mcp } from "./contracts/mcp.ts";
import type { SchemaUse } from "./defined-tool.ts";
import { type CheckedDefinition, checkDefinition } from "./definition.ts";
import { checksOf, type PrepareContext } from "./load.ts";
import { configFor, extrasIn, type LocationExtras, requireNames, together } from "./module.ts";
import { type Loaded, type RegisteredTool, registeredTool } from "./registered-tool.ts";

/** A tool of another library in a module, as its isolate describes it: hostile input, checked by its shape only. */
interface SetTool {
  readonly library: LibraryName;
  /** `weather`, `tools.weather`, `tools[0]`. */
  readonly place: string;
  /** A definition without its source, unchecked. */
  readonly definition: object;
  /** Schema of the arguments that are not certainly refused; `null` where the JSON Schema says all. */
  readonly check: JsonSchema | null;
  /** Whether the output's schema says more than its JSON Schema, so that only the library can check it. */
  readonly isOutputOwn: boolean;
  readonly more: readonly string[];
  readonly wraps: boolean;
}

const TOOLS_MAX = 256;
const NAME = /^[A-Za-z0-9_.-]{1,128}$/;
const SHOWN_MAX = 500;

/**
 * Prepares the tools of a module that exports tools of other libraries. Calls of each evaluate all of the module, which is
 * bundled once. Throws a `GloveboxError` with `load_error` in words of the module's author.
 */
export async function prepareToolSet(
  name: string,
  bundle: Bundle,
  extras: LocationExtras,
  loaded: Loaded,
  context: PrepareContext,
): Promise<readonly RegisteredTool[]> {
  context.forget(loaded.key);
  const { halves: _halves, ...whole } = bundle;
  const text = parsing(bundle.text);
  const called = { ...whole, text, bytes: Buffer.byteLength(text) };
  const tools: RegisteredTool[] = [];
  const set = readSet(loaded.described, name).map((tool) => [tool, definitionOf(tool, loaded, name, extras)] as const);
  for (const [tool, definition] of set) {
    const { outputSchema, ...judged } = tool.check === null ? definition : { ...definition, inputSchema: tool.check };
    const isChecked = outputSchema !== undefined && !tool.isOutputOwn;
    const checks = await checksOf(isChecked ? { ...judged, outputSchema } : judged, context);
    const { library, wraps } = tool;
    const own: Loaded = { ...loaded, contract: library, key: context.nextKey(), use: useOf(tool) };
    tools.push(registeredTool(definition, wraps ? { ...checks, outputAt: "/output" } : checks, called, own, context));
  }
  return tools;
}

function useOf({ library, more }: SetTool): SchemaUse {
  const wholeReason = `a module with tools of ${library === "tools" ? "its own form" : library} is evaluated as it is`;
  return more.length === 0
    ? { parses: "host", wholeReason }
    : { parses: "isolate", parsesReason: more.join("; "), wholeReason };
}

function definitionOf(
  { library, place, definition }: SetTool,
  { spec }: Loaded,
  name: string,
  extras: LocationExtras,
): CheckedDefinition {
  const { record: _record, contract: wanted, names, ...location } = extras;
  if (wanted !== undefined && wanted !== library && wanted !== "tools") {
    throw new GloveboxError("load_error", `tool "${name}" is not written for the contract ${wanted}`, {
      contract: library,
    });
  }
  const called = String(Reflect.get(definition, "name"));
  if (!NAME.test(called)) {
    const problem = `exports ${place}, whose name ${JSON.stringify(called.slice(0, 128))} no tool can have`;
    throw loadError(name, `${problem}; a name is 1 to 128 of A-Z a-z 0-9 _ . -`);
  }
  requireNames([called], name, names);
  const all = { config: configFor(extras), ...together(extrasIn(JSON.parse(spec)), definition, location) };
  return checkDefinition(all, { allowNoSource: true });
}

/** The tools that the isolate found. Throws for a module that holds one that cannot be called. */
function readSet(described: string, name: string): readonly SetTool[] {
  const found: unknown = JSON.parse(described);
  const problem: unknown = isObject(found) ? found["problem"] : undefined;
  if (typeof problem === "string") throw loadError(name, problem.slice(0, SHOWN_MAX));
  const tools: unknown = isObject(found) ? found["tools"] : undefined;
  if (!Array.isArray(tools) || tools.length === 0) throw loadError(name, "exports a server that has no tools");
  if (tools.length > TOOLS_MAX) throw loadError(name, `exports more than ${TOOLS_MAX} tools; split it`);
  return tools.map((tool) => readTool(tool, name));
}

function readTool(tool: unknown, name: string): SetTool {
  const { library, place, wraps, input, output, title, listed, ...said } = isObject(tool) ? tool : {};
  if (!isLibrary(library) || typeof place !== "string")
    throw loadError(name, "is described in a form that is not known");
  const [given, made] = [schemaOf(input), schemaOf(output)];
  const annotations = annotationsOf(listed, title);
  const definition = {
    name: said["name"],
    description: typeof said["description"] === "string" ? said["description"] : said["name"],
    ...(given === null ? {} : { inputSchema: given.schema }),
    ...(made === null ? {} : { outputSchema: made.schema }),
    ...(annotations === undefined ? {} : { annotations }),
  };
  return {
    library,
    place: place.slice(0, SHOWN_MAX),
    definition,
    check: given?.check ?? null,
    isOutputOwn: made !== null && made.more !== null,
    more: [given, made].flatMap((one, at) =>
      one === null || one.more === null ? [] : [`${at === 0 ? "inputSchema" : "outputSchema"} ${one.more}`],
    ),
    wraps: wraps === true,
  };
}

interface DescribedSchema {
  readonly schema: unknown;
  readonly check: JsonSchema | null;
  readonly more: string | null;
}

/** A `SchemaDescription`, of which nothing is certain. */
function schemaOf(described: unknown): DescribedSchema | null {
  if (!isObject(described)) return null;
  const { schema, check, more } = described;
  const isSchema = isObject(check) || typeof check === "boolean";
  const said = typeof more === "string" ? more.slice(0, SHOWN_MAX) : null;
  return { schema, check: isSchema && said !== null ? check : null, more: said };
}

/** The annotations of a tool that a server lists; for others, their title. */
function annotationsOf(listed: unknown, title: unknown): ToolAnnotations | undefined {
  if (!isObject(listed)) return typeof title === "string" ? { title: title.slice(0, SHOWN_MAX) } : undefined;
  try {
    return mcp.readTool({ ...listed, description: "", _meta: {} }).annotations;
  } catch (error) {
    if (error instanceof ContractError) return undefined;
    throw error;
  }
}

function loadError(tool: string, problem: string): GloveboxError {
  return new GloveboxError("load_error", `tool "${tool}" ${problem}`);
}
