import { isRecord, type Json, listOf, nameOfSegment, recordOf, type Schema } from "../wire.ts";
import { arrayField } from "./array-field.tsx";
import { choiceField } from "./choice-field.tsx";
import type { Field, Place } from "./field.tsx";
import { objectField, propertiesOf } from "./object-field.tsx";
import { booleanField, constField, enumField, jsonField, numberField, textField } from "./simple-fields.tsx";

/** Maximum depth; deeper values are edited as JSON. */
const DEPTH_MAX = 4;
const PROPERTIES_MAX = 100;
const BRANCHES_MAX = 20;

/** Creates the field for a schema; a JSON field if none fits. */
export function createField(place: Place): Field {
  const schema = resolve(place.schema, place.root);
  const isTooMuch = place.depth > DEPTH_MAX || --place.budget.fields < 0;
  if (schema === null || isTooMuch) return jsonField({ ...place, schema: schema ?? {} });
  return fieldOf({ ...place, schema });
}

function fieldOf(place: Place): Field {
  const { schema } = place;
  if (schema["const"] !== undefined) return constField(place);
  if (Array.isArray(schema["enum"])) return enumField(place);
  const branches = branchesOf(schema);
  if (branches.length > 1) return choiceField(place, branches);
  switch (branches.length === 1 ? branches[0]?.["type"] : typeOf(schema)) {
    case "string":
      return textField(place);
    case "number":
    case "integer":
      return numberField(place);
    case "boolean":
      return booleanField(place);
    case "null":
      return constField({ ...place, schema: { ...schema, const: null } });
    case "array":
      return isRecord(schema["items"]) ? arrayField(place) : jsonField(place);
    case "object": {
      const count = propertiesOf(schema).length;
      return count > 0 && count <= PROPERTIES_MAX ? objectField(place) : jsonField(place);
    }
    default:
      return jsonField(place);
  }
}

function typeOf(schema: Schema): Json | undefined {
  if (schema["type"] !== undefined) return schema["type"];
  return isRecord(schema["properties"]) ? "object" : undefined;
}

/** Alternatives of a schema (`oneOf`, `anyOf` or a list of types), each merged with the rest of the schema. */
export function branchesOf(schema: Schema): readonly Schema[] {
  const { oneOf, anyOf, type, ...rest } = schema;
  if (Array.isArray(type))
    return (type as readonly Json[]).slice(0, BRANCHES_MAX).map((one) => ({ ...rest, type: one }));
  const listed = oneOf ?? anyOf;
  if (!Array.isArray(listed)) return [];
  const { description: _said, default: _default, title: _title, ...base } = rest;
  const inherited = type === undefined ? base : { ...base, type };
  return (listed as readonly Json[])
    .slice(0, BRANCHES_MAX)
    .map((branch) => (isRecord(branch) ? merge(inherited, branch as Schema) : {}));
}

function merge(base: Schema, branch: Schema): Schema {
  const properties = { ...recordOf<Json>(base["properties"]), ...recordOf<Json>(branch["properties"]) };
  const required = [...listOf<Json>(base["required"]), ...listOf<Json>(branch["required"])];
  return {
    ...base,
    ...branch,
    ...(Object.keys(properties).length === 0 ? {} : { properties }),
    ...(required.length === 0 ? {} : { required }),
  };
}

/** Resolves references within the schema; `null` if one is unresolvable or circular. */
function resolve(schema: Schema, root: Schema): Schema | null {
  let found = schema;
  for (let hops = 0; hops < 8; hops++) {
    const { $ref: reference, ...rest } = found;
    if (typeof reference !== "string") return found;
    const target = lookUp(root, reference);
    if (target === null) return null;
    found = { ...target, ...rest };
  }
  return null;
}

function lookUp(root: Schema, reference: string): Schema | null {
  if (!reference.startsWith("#")) return null;
  let found: unknown = root;
  for (const segment of reference.slice(1).split("/").slice(1)) {
    const name = nameOfSegment(decodeURIComponent(segment));
    found = isRecord(found) && Object.hasOwn(found, name) ? found[name] : undefined;
  }
  return isRecord(found) ? (found as Schema) : null;
}
