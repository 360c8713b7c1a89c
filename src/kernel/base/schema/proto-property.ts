import { isObject, type JsonSchema } from "../json.ts";
import { schemaNodes } from "./schema-nodes.ts";

const PROTO = "__proto__";
const NAME_PATTERN = "^__proto__$";
const SAME_PATTERN = "(?:__proto__)";
/**
 * ajv ignores `__proto__` in a schema: the rules of such a property would not be enforced. Writes them INTO the schema
 * by keywords that ajv does not ignore. `text`: the schema as JSON; hardly any has the name.
 */
export function spellProtoProperties(schema: JsonSchema, text: string): void {
  if (!text.includes(PROTO)) return;
  for (const { node } of schemaNodes(schema)) spell(node);
}

type Entries = Record<string, unknown>;

function spell(node: Entries): void {
  const named = take(node["properties"]);
  const matched = take(node["patternProperties"]);
  const needed = take(node["dependencies"]);
  if (named !== undefined) addPattern(node, NAME_PATTERN, named);
  if (matched !== undefined) addPattern(node, SAME_PATTERN, matched);
  if (needed === undefined) return;
  const all: unknown = node["allOf"];
  const dependency = { anyOf: [{ not: { required: [PROTO] } }, Array.isArray(needed) ? { required: needed } : needed] };
  node["allOf"] = [...(Array.isArray(all) ? (all as readonly unknown[]) : []), dependency];
}

/** Removes the entry of that name from a map of schemas. */
function take(map: unknown): unknown {
  if (!isObject(map) || !Object.hasOwn(map, PROTO)) return undefined;
  const entries: Entries = map;
  const found = entries[PROTO];
  delete entries[PROTO];
  return found;
}

function addPattern(node: Entries, pattern: string, schema: unknown): void {
  const patterns: Entries = isObject(node["patternProperties"]) ? node["patternProperties"] : {};
  const known = patterns[pattern];
  patterns[pattern] = known === undefined ? schema : { allOf: [known, schema] };
  node["patternProperties"] = patterns;
}
