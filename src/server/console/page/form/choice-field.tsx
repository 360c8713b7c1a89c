import { signal } from "@preact/signals";
import { isRecord, type Json, listOf, type Schema } from "../wire.ts";
import { ABSENT, type Field, LabelledField, type Place, valueFor } from "./field.tsx";

/** A choice between several schemas, and the field of the chosen one. */
export function choiceField(place: Place, branches: readonly Schema[]): Field {
  const isOpen = !place.isRequired;
  const labelled = new LabelledField({ ...place, label: place.label === "" ? "Form" : place.label });
  const chosen = signal<{ readonly at: number; readonly field: Field } | null>(null);
  const choose = (at: number, value?: Json): void => {
    const schema = branches[at];
    if (schema === undefined) return void (chosen.value = null);
    const label = nameOf(schema, at);
    const field = place.make({ ...place, schema, label, isRequired: true, depth: place.depth + 1 });
    field.write(value ?? valueFor(schema, false));
    chosen.value = { at, field };
  };
  choose(isOpen ? -1 : 0);
  return {
    render: () => (
      <div class="choice">
        {labelled.render((attributes) => (
          <select
            {...attributes}
            value={String(chosen.value?.at ?? "")}
            onChange={({ currentTarget: { value } }) => choose(value === "" ? -1 : Number(value))}
          >
            {isOpen && <option value="">—</option>}
            {branches.map((branch, at) => (
              <option value={String(at)}>{nameOf(branch, at)}</option>
            ))}
          </select>
        ))}
        {chosen.value !== null && (
          <div class="chosen" key={chosen.value.at}>
            {chosen.value.field.render()}
          </div>
        )}
      </div>
    ),
    read: () => chosen.value?.field.read() ?? ABSENT,
    write: (value) => {
      labelled.clear();
      const at = branches.findIndex((branch) => value !== undefined && isLike(branch, value));
      choose(at >= 0 ? at : isOpen ? -1 : 0, at >= 0 ? value : undefined);
    },
    complain: (path, message) => chosen.value?.field.complain(path, message) ?? labelled.complain(message),
  };
}

function nameOf(schema: Schema, at: number): string {
  const { title, type } = schema;
  if (typeof title === "string") return title;
  if (schema["const"] !== undefined) return JSON.stringify(schema["const"]);
  // A property with a constant value distinguishes one object schema from another.
  const { properties } = schema;
  const tag = isRecord(properties)
    ? Object.values(properties).find((property) => isRecord(property) && typeof property["const"] === "string")
    : undefined;
  if (isRecord(tag) && typeof tag["const"] === "string") return tag["const"];
  return typeof type === "string" ? type : `Form ${at + 1}`;
}

/** Whether a value probably belongs to a schema: by its type, and for objects by their properties. */
function isLike(schema: Schema, value: Json): boolean {
  if (schema["const"] !== undefined) return JSON.stringify(schema["const"]) === JSON.stringify(value);
  const { type, properties, required } = schema;
  if (typeof type === "string" && type !== typeOf(value) && !(type === "number" && typeof value === "number"))
    return false;
  if (!isRecord(value)) return true;
  const names = listOf(required);
  if (!names.every((name) => typeof name === "string" && Object.hasOwn(value, name))) return false;
  if (!isRecord(properties)) return true;
  return Object.entries(properties).every(([name, property]) => {
    const fixed = isRecord(property) ? property["const"] : undefined;
    return fixed === undefined || JSON.stringify(fixed) === JSON.stringify(value[name]);
  });
}

function typeOf(value: Json): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return typeof value === "number" && Number.isInteger(value) ? "integer" : typeof value;
}
