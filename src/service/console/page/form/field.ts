import { isRecord, type Json, type Schema } from "../wire.ts";
import { fill, h, newId } from "../elements.ts";

/** State of a field: a value, empty, or invalid; an invalid field shows its own message. */
export type Reading = { readonly kind: "value"; readonly value: Json } | { readonly kind: "absent" | "wrong" };

/** A part of a form, for one value. */
export interface Field {
  readonly element: HTMLElement;
  read(): Reading;
  /** Shows a value; `undefined` empties the field. */
  write(value: Json | undefined): void;
  /** Shows an error of the value at a path below this one. Returns whether it could be shown. */
  complain(path: readonly string[], message: string): boolean;
}

/** Position of a field in the form, and its schema. */
export interface Place {
  /** Empty for the arguments object itself. */
  readonly label: string;
  readonly schema: Schema;
  readonly isRequired: boolean;
  readonly depth: number;
  /** Number of fields that the form may still create; bounds recursive schemas. */
  readonly budget: { fields: number };
  /** Root schema, in which references are resolved. */
  readonly root: Schema;
  /** Creates nested fields. */
  readonly make: (place: Place) => Field;
}

export const ABSENT: Reading = { kind: "absent" };
export const WRONG: Reading = { kind: "wrong" };

export function valueOf(value: Json): Reading {
  return { kind: "value", value };
}

export type Control = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement;

/** A control with its label, description and error message. */
export class LabelledField {
  readonly element: HTMLElement;
  readonly #control: Control;
  readonly #error: HTMLElement;

  constructor({ label, schema, isRequired }: Place, control: Control) {
    const id = newId();
    control.id = id;
    this.#control = control;
    this.#error = h("p", { class: "error", id: `${id}-error`, hidden: true });
    const hint = hintOf(schema);
    const hintLine = hint === "" ? null : h("p", { class: "hint", id: `${id}-hint` }, hint);
    control.setAttribute("aria-describedby", hintLine === null ? `${id}-error` : `${id}-hint ${id}-error`);
    if (isRequired) control.setAttribute("aria-required", "true");
    control.addEventListener("input", () => this.clear());
    const name = h("label", { for: id }, h("span", { class: "name" }, label), " ", kindLine(schema, isRequired));
    const isTick = control instanceof HTMLInputElement && control.type === "checkbox";
    this.element = isTick
      ? h("div", { class: "field tick" }, control, name, hintLine, this.#error)
      : h("div", { class: "field" }, name, control, hintLine, this.#error);
  }

  complain(message: string): true {
    fill(this.#error, message);
    this.#error.hidden = false;
    this.#control.setAttribute("aria-invalid", "true");
    return true;
  }

  clear(): void {
    this.#error.hidden = true;
    this.#control.removeAttribute("aria-invalid");
  }
}

/** A group of fields with a heading and an error message. */
export function group({ label, schema, isRequired }: Place, ...children: readonly (Node | null)[]) {
  const error = h("p", { class: "error", hidden: true });
  const hint = hintOf(schema);
  const legend = h("legend", {}, h("span", { class: "name" }, label), " ", kindLine(schema, isRequired));
  const hintLine = hint === "" ? null : h("p", { class: "hint" }, hint);
  const element =
    label === ""
      ? h("div", { class: "fields" }, ...children, error)
      : h("fieldset", { class: "fields" }, legend, hintLine, ...children, error);
  return {
    element,
    complain: (message: string): true => {
      fill(error, message);
      error.hidden = false;
      return true;
    },
    clear: () => {
      error.hidden = true;
    },
  };
}

/** Description of a schema. */
export function hintOf({ description }: Schema): string {
  return typeof description === "string" ? description : "";
}

function kindLine(schema: Schema, isRequired: boolean): HTMLElement {
  const { type, format, minimum, maximum } = schema;
  const name = typeof format === "string" ? format : typeof type === "string" ? type : "";
  const range =
    typeof minimum === "number" && typeof maximum === "number"
      ? `${minimum} to ${maximum}`
      : typeof minimum === "number"
        ? `at least ${minimum}`
        : typeof maximum === "number"
          ? `at most ${maximum}`
          : "";
  const words = [name, range, isRequired ? "required" : ""].filter((word) => word !== "");
  return h("span", { class: "kind" }, words.join(", "));
}

const DEPTH_MAX = 6;

/** Initial arguments of a form: the schema's defaults and, if requested, its examples. */
export function initialValue(schema: Schema, withExamples: boolean): Json {
  return valueFor(schema, withExamples) ?? {};
}

/** Initial value for any schema; `undefined` if it has no defaults. */
export function valueFor(schema: Schema, withExamples: boolean, depth = 0): Json | undefined {
  const { examples, properties } = schema;
  if (withExamples && Array.isArray(examples)) return (examples as readonly Json[])[0];
  if (schema["default"] !== undefined) return schema["default"];
  if (!isRecord(properties) || depth > DEPTH_MAX) return undefined;
  const entries = Object.entries(properties).flatMap(([name, property]): [string, Json][] => {
    const value = isRecord(property) ? valueFor(property as Schema, withExamples, depth + 1) : undefined;
    return value === undefined ? [] : [[name, value]];
  });
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}
