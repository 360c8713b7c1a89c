import type { Fields, FieldSpec } from "./contract/spec.ts";
import type { ShownRecord } from "./shown-record.ts";

/** One control of a form. Lists, objects and non-string choices are written as JSON. */
export interface FormField {
  /** Name of the field in the input. */
  readonly name: string;
  readonly label: string;
  readonly description: string;
  readonly control: "text" | "number" | "checkbox" | "select" | "json";
  readonly required: boolean;
  readonly min?: number;
  readonly max?: number;
  /** 1 for whole numbers. */
  readonly step?: number | "any";
  readonly default?: unknown;
  readonly choices?: readonly unknown[];
}

/** Form for a tool's input: as data, and as HTML in which all text of the record is escaped. */
export interface Form {
  readonly tool_id: string;
  readonly title: string;
  readonly fields: readonly FormField[];
  readonly html: string;
}

/** Builds the form of a tool's specification. */
export function writeForm({ tool_id: id, tool_metadata: metadata, tools_api_spec: spec }: ShownRecord): Form {
  const fields = fieldsOf(spec.input);
  const title = metadata?.description ?? id;
  const controls = fields.map((field, at) => controlOf(field, `${id}-${at}`));
  const html = [
    `<form method="post" data-tool-id="${escapeHtml(id)}">`,
    `<p>${escapeHtml(title)}</p>`,
    ...controls,
    '<button type="submit">Run</button>',
    "</form>",
  ].join("\n");
  return { tool_id: id, title, fields, html };
}

function fieldsOf(input: Fields): readonly FormField[] {
  return Object.entries(input).map(([name, spec]): FormField => {
    const { description = "", min, max, default: preset, enum: choices, required = false } = spec;
    return {
      name,
      label: labelOf(name),
      description,
      control: controlKind(spec),
      required,
      ...(min === undefined ? {} : { min }),
      ...(max === undefined ? {} : { max }),
      ...(spec.type === "integer" ? { step: 1 } : spec.type === "number" ? { step: "any" } : {}),
      ...(preset === undefined ? {} : { default: preset }),
      ...(choices === undefined ? {} : { choices }),
    };
  });
}

/** Converts `past_days` to "Past days". */
function labelOf(name: string): string {
  const words = name.replaceAll(/[_\s]+/g, " ").trim();
  return words === "" ? name : words.charAt(0).toUpperCase() + words.slice(1);
}

function controlKind({ type, enum: choices }: FieldSpec): FormField["control"] {
  if (choices !== undefined) return "select";
  switch (type) {
    case "string":
      return "text";
    case "integer":
    case "number":
      return "number";
    case "boolean":
      return "checkbox";
    case "object":
    case "array":
      return "json";
  }
}

function controlOf(field: FormField, id: string): string {
  const described = field.description === "" ? "" : ` aria-describedby="${escapeHtml(id)}-about"`;
  // HTML's `required` would force a checkbox to be ticked; a required flag may be false.
  const required = field.required && field.control !== "checkbox" ? " required" : "";
  const common = `id="${escapeHtml(id)}" name="${escapeHtml(field.name)}"${described}${required}`;
  const about =
    field.description === "" ? "" : `<small id="${escapeHtml(id)}-about">${escapeHtml(field.description)}</small>`;
  const label = `<label for="${escapeHtml(id)}">${escapeHtml(field.label)}</label>`;
  return `<div>${label}${inputOf(field, common)}${about}</div>`;
}

function inputOf(
  { control, min, max, step, default: preset, choices = [], required }: FormField,
  common: string,
): string {
  switch (control) {
    case "text":
      return `<input type="text" ${common}${attribute("value", preset)}>`;
    case "number":
      return `<input type="number" ${common}${attribute("min", min)}${attribute("max", max)}${attribute("step", step)}${attribute("value", preset)}>`;
    case "checkbox":
      return `<input type="checkbox" ${common}${preset === true ? " checked" : ""}>`;
    case "select": {
      const none = required ? [] : ['<option value=""></option>'];
      const options = choices.map((choice) => {
        const chosen = preset !== undefined && textOf(choice) === textOf(preset) ? " selected" : "";
        return `<option value="${escapeHtml(textOf(choice))}"${chosen}>${escapeHtml(textOf(choice))}</option>`;
      });
      return `<select ${common}>${[...none, ...options].join("")}</select>`;
    }
    case "json":
      return `<textarea data-type="json" ${common}>${preset === undefined ? "" : escapeHtml(JSON.stringify(preset))}</textarea>`;
  }
}

function attribute(name: string, value: unknown): string {
  return value === undefined ? "" : ` ${name}="${escapeHtml(textOf(value))}"`;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** A text as HTML shows it. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
