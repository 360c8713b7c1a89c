import { isObject, type JsonSchema, pointerSegment } from "../json.ts";

/** Keywords with values, and no schemas. */
const VALUES: ReadonlySet<string> = new Set(["const", "default", "enum", "examples", "required", "dependentRequired"]);
/** Keywords with schemas by names, which are no keywords. */
const MAPS: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "dependencies",
  "dependentSchemas",
  "definitions",
  "$defs",
]);

export interface SchemaNode {
  readonly node: Record<string, unknown>;
  /** JSON pointer from the whole schema. */
  readonly pointer: string;
}

/**
 * The object schemas in a schema, itself first. If a visitor changes a schema, the walk continues in the changed one.
 * Without recursion: a schema may be nested deeper than the stack. Unknown keywords may contain schemas too, so they
 * are entered.
 */
export function* schemaNodes(schema: JsonSchema): Generator<SchemaNode, void, void> {
  const open: (readonly [value: unknown, pointer: string])[] = [[schema, ""]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [value, pointer] = next;
    if (Array.isArray(value)) {
      for (const [at, item] of value.entries()) open.push([item, `${pointer}/${at}`]);
    } else if (isObject(value)) {
      yield { node: value as Record<string, unknown>, pointer };
      for (const [keyword, member] of Object.entries(value)) {
        const place = pointer + pointerSegment(keyword);
        if (MAPS.has(keyword) && isObject(member)) {
          for (const [name, one] of Object.entries(member)) open.push([one, place + pointerSegment(name)]);
        } else if (!VALUES.has(keyword)) open.push([member, place]);
      }
    }
  }
}
