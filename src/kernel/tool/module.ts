import {
  ContractError,
  type ModuleReader,
  type ModuleReaders,
  recordReader,
  type ToolDescription,
} from "./contracts/contract.ts";
import { GloveboxError, loadError } from "../base/errors.ts";
import { parseWritten } from "../base/exact-json.ts";
import { isObject, type JsonValue } from "../base/json.ts";
import type { Inspection, Runtime } from "../base/protocol/script.ts";
import { definedIn } from "./defined-tool.ts";
import { checkDefinition, type CheckedDefinition, type ToolLocation } from "./definition.ts";

/** The result of a module's inspection, and its runtime. */
type Found = Pick<Extract<Inspection, { ok: true }>, "contract" | "described" | "spec" | "defaultExport"> & {
  readonly runtime: Runtime;
  readonly isCommand?: true;
};

/** Settings of a tool from outside its module. */
export type LocationExtras = Omit<ToolLocation, "path">;

/** Maximum length of an error's description of a module's exports. */
const SEEN_MAX = 1_000;
/** Advice for a module that is not meant to be a tool. */
const HELPER = ". Is it a helper of tools? Begin the name of its file with _ or move it to a subfolder";
const MAX_SPEC_LENGTH = 4 * 1024 * 1024;
/** Settings that a module may export in `spec` because contracts have no place for them. */
const EXTRAS = [
  "capabilities",
  "limits",
  "isolation",
  "tags",
  "version",
  "annotations",
  "approval",
  "undo",
  "outputChars",
  "timeoutArgument",
] as const;

/** The config with which a module is loaded, before its own description is known. */
export function configFor({ config, record }: LocationExtras, readers: ModuleReaders): JsonValue {
  if (config !== undefined) return config;
  const records = record === undefined ? undefined : recordReader(readers);
  if (records === undefined) return null;
  // Parsed from JSON, so it is a JSON value.
  return reading("the record", () => records.configOf(record)) as JsonValue;
}

/** The tools of a module, from the description by its isolate: hostile input. */
export function readTools(
  found: Found,
  name: string,
  extras: LocationExtras,
  readers: ModuleReaders,
): readonly CheckedDefinition[] {
  const tools = definitionsIn(found, name, extras, readers);
  requireNames(
    tools.map((tool) => tool.name),
    name,
    extras.names,
  );
  return tools;
}

/** Throws if a module's tool has a name that is not among those it may define. */
export function requireNames(names: readonly string[], module: string, allowed: LocationExtras["names"]): void {
  const other = names.find((one) => allowed?.includes(one) === false);
  if (other === undefined) return;
  throw loadError(module, `holds "${other}", which is not one of the tool names that it may define`);
}

function definitionsIn(
  found: Found,
  name: string,
  extras: LocationExtras,
  readers: ModuleReaders,
): readonly CheckedDefinition[] {
  for (const text of [found.spec, found.described]) {
    if (text.length > MAX_SPEC_LENGTH) throw loadError(name, `has a spec of more than ${MAX_SPEC_LENGTH} characters`);
  }
  const spec = parseWritten(found.spec);
  const { record: _record, contract: wanted, names: _names, ...location } = extras;
  const { contract: written } = found;
  if (wanted !== undefined && wanted !== written) {
    const message = `tool "${name}" is not written for the contract ${wanted}`;
    throw new GloveboxError("load_error", message, { contract: written });
  }
  const defined = definedIn(found);
  if (defined !== undefined) return [checkDefinition(together(defined.definition, location), MODULE)];
  if (written === "glovebox")
    return [checkDefinition(together(readSpec(name, spec, found, extras, readers), location), MODULE)];
  const reader = readers.get(written);
  if (reader === undefined) throw loadError(name, `is written for the contract ${written}, which no plugin brings`);
  const descriptions = reading(name, () => describedBy(reader, found, name, extras));
  // The module's neighbours still register.
  if (descriptions.length === 0 && reader.mayBeEmpty !== true)
    throw loadError(name, "defines no tools: its list of tools is empty");
  const config = configFor(extras, readers);
  return descriptions.map((description) =>
    checkDefinition({ config, ...together(extrasIn(spec), definitionOf(description, reader), location) }, MODULE),
  );
}

/**
 * Merges a module's `spec`, its description in the terms of its contract, or from its registration record
 * and the settings of its location. The last one wins; limits are merged one by one.
 */
export function together(...parts: readonly object[]): object {
  const merge = (values: readonly object[]): object => values.reduce((all, each) => ({ ...all, ...each }), {});
  const limits = parts.map((part): unknown => Reflect.get(part, "limits")).filter((one) => one !== undefined);
  // Limits that are not an object are refused later, when the definition is checked.
  return { ...merge(parts), ...(limits.length > 0 && limits.every(isObject) ? { limits: merge(limits) } : {}) };
}

const MODULE = { allowNoSource: true };

function describedBy(
  reader: ModuleReader,
  { described, isCommand }: Found,
  name: string,
  { record }: LocationExtras,
): readonly ToolDescription[] {
  const tools = reader.readModule(parseWritten(described), name);
  if (reader.records === undefined || record === undefined) return tools;
  return [reader.records.readTool(record, isCommand === true)];
}

function readSpec(name: string, spec: unknown, found: Found, extras: LocationExtras, readers: ModuleReaders): object {
  requireTool(found, name, readers, extras);
  if (isObject(spec)) return { name, ...spec };
  const written = found.runtime === "python" ? 'spec = { "name": …' : "export const spec = { name";
  throw loadError(name, `must export its specification: ${written}, description, inputSchema, … }`);
}

/** Throws if a module follows no other contract and exports no function to call. */
export function requireTool(
  { contract, defaultExport, runtime, described }: Omit<Found, "spec">,
  name: string,
  readers: ModuleReaders,
  extras: LocationExtras = {},
): void {
  if (contract !== "glovebox" || defaultExport === "function") return;
  const isPython = runtime === "python";
  const records = recordReader(readers);
  if (records !== undefined && extras.record !== undefined) {
    const problem = `must ${isPython ? "define" : "export"} ${records.form}, as ${records.title}'s contract asks`;
    throw loadError(name, `${problem}: its tool.json is a record of ${records.title}`);
  }
  if (!isPython) {
    const seen: unknown = Reflect.get(Object(JSON.parse(described)), "seen");
    const exported = typeof seen === "string" && seen !== "" ? `; it exports ${seen.slice(0, SEEN_MAX)}` : "";
    // Packages have a record, or none.
    const isPackage = records !== undefined && "record" in extras;
    const others = isPackage ? `tools of a library, or ${records.form}` : "or tools of a library";
    const helper = isPackage ? "" : HELPER;
    throw loadError(name, `must export default a function (input, context) => output, ${others}${exported}${helper}`);
  }
  const forms = ["execute(input)", ...[...readers.values()].flatMap(({ pythonForms = [] }) => pythonForms)];
  throw loadError(
    name,
    `must define one of: ${forms.join(", ")}, or one public function with type hints and a docstring${HELPER}`,
  );
}

/** Converts a description to a definition, without its unset fields. */
function definitionOf(description: ToolDescription, { retryOn }: ModuleReader): object {
  const { outputSchema, ...rest } = description;
  const said = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined));
  return {
    ...said,
    description: description.description === "" ? description.name : description.description,
    ...(outputSchema === null || outputSchema === undefined ? {} : { outputSchema }),
    ...(retryOn === undefined ? {} : { retryOn }),
  };
}

export function extrasIn(spec: unknown): object {
  if (!isObject(spec)) return {};
  const said = new Map<string, unknown>(Object.entries(spec));
  return Object.fromEntries(EXTRAS.filter((key) => said.has(key)).map((key) => [key, said.get(key)]));
}

function reading<Value>(name: string, read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ContractError)) throw error;
    throw new GloveboxError("load_error", `tool "${name}" is not defined correctly: ${error.message}`, {
      contract: error.contract,
      pointer: error.pointer,
    });
  }
}
