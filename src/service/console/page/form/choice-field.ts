import { fill, h } from "../elements.ts";
import { isRecord, type Json, type Schema } from "../wire.ts";
import { ABSENT, type Field, LabelledField, type Place, valueFor } from "./field.ts";

/** A choice between several schemas, and the field of the chosen one. */
export function choiceField(place: Place, branches: readonly Schema[]): Field {
  const isOpen = !place.isRequired;
  const options = branches.map((branch, at) => h("option", { value: at }, nameOf(branch, at)));
  const select = h("select", {}, isOpen ? h("option", { value: "" }, "—") : null, ...options);
  const labelled = new LabelledField({ ...place, label: place.label === "" ? "Form" : place.label }, select);
  const inside = h("div", { class: "chosen" });
  let chosen: Field | null = null;
  const choose = (value: Json | undefined): void => {
    const branch = branches[select.value === "" ? -1 : Number(select.value)];
    const at = Number(select.value);
    const inner = { ...place, isRequired: true, depth: place.depth + 1 };
    chosen = branch === undefined ? null : place.make({ ...inner, schema: branch, label: nameOf(branch, at) });
    chosen?.write(value ?? (branch === undefined ? undefined : valueFor(branch, false)));
    fill(inside, chosen?.element ?? null);
    inside.hidden = chosen === null;
  };
  select.addEventListener("change", () => choose(undefined));
  choose(undefined);
  return {
    element: h("div", { class: "choice" }, labelled.element, inside),
    read: () => chosen?.read() ?? ABSENT,
    write: (value) => {
      labelled.clear();
      const at = branches.findIndex((branch) => value !== undefined && isLike(branch, value));
      select.value = at >= 0 ? String(at) : isOpen ? "" : "0";
      choose(at >= 0 ? value : undefined);
    },
    complain: (path, message) => chosen?.complain(path, message) ?? labelled.complain(message),
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
  const names = Array.isArray(required) ? (required as readonly Json[]) : [];
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
