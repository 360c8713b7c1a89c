import { GloveboxError, loadError } from "../base/errors.ts";
import { parseWritten } from "../base/exact-json.ts";
import { isObject, type JsonSchema } from "../base/json.ts";
import { parsing, type ToolChecks } from "../base/protocol/script.ts";
import type { Bundle } from "./bundle/bundle.ts";
import { ContractError, type ModuleReaders, type ToolAnnotations } from "./contracts/contract.ts";
import { mcp } from "./contracts/mcp.ts";
import type { SchemaUse } from "./defined-tool.ts";
import { type CheckedDefinition, checkDefinition } from "./definition.ts";
import { checksOf, type PrepareContext } from "./load.ts";
import { configFor, extrasIn, type LocationExtras, requireNames, together } from "./module.ts";
import { type Loaded, type RegisteredTool, registeredTool } from "./registered-tool.ts";

/** A tool of another library in a module, as its isolate describes it: hostile input, checked by its shape only. */
interface SetTool {
  readonly library: string;
  /** `weather`, `tools.weather`, `tools[0]`. */
  readonly place: string;
  /** A definition without its source, unchecked. */
  readonly definition: object;
  /** Schema of the arguments that are not certainly refused; `null` if the JSON Schema is complete. */
  readonly check: JsonSchema | null;
  /** Whether the output's schema does more than its JSON Schema, so that only the library can check it. */
  readonly isOutputOwn: boolean;
  readonly more: readonly string[];
  readonly wraps: boolean;
  /** Whether it asks for approvals of some calls in their midst. */
  readonly pauses: boolean;
}

const TOOLS_MAX = 256;
const NAME = /^[A-Za-z0-9_.-]{1,128}$/;
const SHOWN_MAX = 500;
const NAME_MAX = 128;
const MESSAGE_MAX = 2_000;

/**
 * Prepares the tools of a module that exports tools of other libraries. Each call evaluates the whole module, which is
 * bundled once. A tool that cannot be called is left out and reported. Throws a `GloveboxError` with `load_error`, in
 * words of the module's author, if none can be called.
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
  const set = readSet(loaded.described, name, context.readers);
  for (const tool of set.tools) requireAllowed(tool, name, extras);
  const tools: RegisteredTool[] = [];
  const refused = [...set.refused];
  for (const tool of set.tools) {
    try {
      const definition = definitionOf(tool, loaded, name, extras, context.readers);
      const own: Loaded = { ...loaded, contract: tool.library, key: context.nextKey(), use: useOf(tool) };
      tools.push(registeredTool(definition, await checksFor(tool, definition, context), called, own, context));
    } catch (error) {
      if (!(error instanceof GloveboxError) || error.code !== "load_error") throw error;
      refused.push({ name: nameOf(tool), error });
    }
  }
  const [first] = refused;
  if (first !== undefined && tools.length === 0) throw first.error;
  for (const { name: one, error } of refused) {
    context.omitted?.({ name: one.slice(0, NAME_MAX), module: name, message: error.message.slice(0, MESSAGE_MAX) });
  }
  return tools;
}

function checksFor(tool: SetTool, definition: CheckedDefinition, context: PrepareContext): Promise<ToolChecks> {
  const { outputSchema, ...judged } = tool.check === null ? definition : { ...definition, inputSchema: tool.check };
  const isChecked = outputSchema !== undefined && !tool.isOutputOwn;
  const checks = checksOf(isChecked ? { ...judged, outputSchema } : judged, context);
  return tool.wraps ? checks.then((made) => ({ ...made, outputAt: "/output" })) : checks;
}

function nameOf({ definition }: SetTool): string {
  return String(Reflect.get(definition, "name"));
}

function useOf({ library, more }: SetTool): SchemaUse {
  const wholeReason = `a module with tools of ${library === "tools" ? "its own form" : library} is evaluated as it is`;
  return more.length === 0
    ? { parses: "host", wholeReason }
    : { parses: "isolate", parsesReason: more.join("; "), wholeReason };
}

/** Throws if the place of a module does not allow such a tool: then the whole module is refused. */
function requireAllowed(tool: SetTool, name: string, { contract: wanted, names }: LocationExtras): void {
  const { library } = tool;
  if (wanted !== undefined && wanted !== library && wanted !== "tools") {
    throw new GloveboxError("load_error", `tool "${name}" is not written for the contract ${wanted}`, {
      contract: library,
    });
  }
  if (NAME.test(nameOf(tool))) requireNames([nameOf(tool)], name, names);
}

function definitionOf(
  tool: SetTool,
  { spec }: Loaded,
  name: string,
  extras: LocationExtras,
  readers: ModuleReaders,
): CheckedDefinition {
  const { record: _record, contract: _wanted, names: _names, ...location } = extras;
  const { place, definition } = tool;
  const called = nameOf(tool);
  if (!NAME.test(called)) {
    const problem = `exports ${place}, whose name ${JSON.stringify(called.slice(0, 128))} no tool can have`;
    throw loadError(name, `${problem}; a name is 1 to 128 of A-Z a-z 0-9 _ . -`);
  }
  const all = together(extrasIn(parseWritten(spec)), definition, location);
  const asked: unknown = Reflect.get(all, "capabilities") ?? {};
  // A value that is no object is refused when the definition is checked.
  const capabilities = tool.pauses && isObject(asked) ? { capabilities: { pause: true, ...asked } } : {};
  return checkDefinition({ config: configFor(extras, readers), ...all, ...capabilities }, { allowNoSource: true });
}

interface RefusedTool {
  readonly name: string;
  readonly error: GloveboxError;
}

/** The tools that the isolate found, and those that cannot be called here. Throws for a module without any to call. */
function readSet(
  described: string,
  name: string,
  readers: ModuleReaders,
): { readonly tools: SetTool[]; readonly refused: RefusedTool[] } {
  const found = parseWritten(described);
  const problem: unknown = isObject(found) ? found["problem"] : undefined;
  if (typeof problem === "string") throw loadError(name, problem.slice(0, SHOWN_MAX));
  const tools: unknown = isObject(found) ? found["tools"] : undefined;
  const others: unknown = isObject(found) ? found["refused"] : undefined;
  const refused = (Array.isArray(others) ? others : []).slice(0, TOOLS_MAX).map((one) => readRefused(one, name));
  const [first] = refused;
  if (!Array.isArray(tools) || tools.length === 0)
    throw first?.error ?? loadError(name, "exports a server that has no tools");
  if (tools.length > TOOLS_MAX) throw loadError(name, `exports more than ${TOOLS_MAX} tools; split it`);
  return { tools: tools.map((tool) => readTool(tool, name, readers)), refused };
}

function readRefused(one: unknown, name: string): RefusedTool {
  const { name: called, problem } = isObject(one) ? one : {};
  const why = typeof problem === "string" ? problem : "holds a tool that cannot be called";
  return { name: typeof called === "string" ? called : "", error: loadError(name, why.slice(0, SHOWN_MAX)) };
}

function readTool(tool: unknown, name: string, readers: ModuleReaders): SetTool {
  const { library, place, wraps, input, output, title, asks, listed, ...said } = isObject(tool) ? tool : {};
  const isKnown = typeof library === "string" && readers.get(library)?.isLibrary === true;
  if (!isKnown || typeof place !== "string") throw loadError(name, "is described in a form that is not known");
  const [given, made] = [schemaOf(input), schemaOf(output)];
  const annotations = annotationsOf(listed, title);
  const definition = {
    name: said["name"],
    description: typeof said["description"] === "string" ? said["description"] : said["name"],
    ...(given === null ? {} : { inputSchema: given.schema }),
    ...(made === null ? {} : { outputSchema: made.schema }),
    ...(annotations === undefined ? {} : { annotations }),
    ...(asks === "always" ? { approval: "always" } : {}),
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
    pauses: asks === "some",
  };
}

interface DescribedSchema {
  readonly schema: unknown;
  readonly check: JsonSchema | null;
  readonly more: string | null;
}

/** A `SchemaDescription` from an untrusted value. */
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
