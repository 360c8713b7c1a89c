import { isRecord, type Json, type Schema } from "../wire.ts";
import { fill, h, newId } from "../elements.ts";

/** State of a field: a value, empty, or invalid; an invalid field shows its own message. */
export type Reading = { readonly kind: "value"; readonly value: Json } | { readonly kind: "absent" | "wrong" };

/** A part of a form that stands for one value. */
export interface Field {
  readonly element: HTMLElement;
  read(): Reading;
  /** Shows a value; `undefined` empties the field. */
  write(value: Json | undefined): void;
  /** Shows what is wrong with the value at a path below it. Answers whether there was a place for that. */
  complain(path: readonly string[], message: string): boolean;
}

/** Which value a field stands for. */
export interface Place {
  /** Empty for the arguments as a whole. */
  readonly label: string;
  readonly schema: Schema;
  /** Whether the value may not be missing. */
  readonly isRequired: boolean;
  readonly depth: number;
  /** How many fields the form may still have: a schema that refers to itself has no end. */
  readonly budget: { fields: number };
  /** The schema in which references are looked up. */
  readonly root: Schema;
  /** Makes the fields of what is inside. */
  readonly make: (place: Place) => Field;
}

export const ABSENT: Reading = { kind: "absent" };
export const WRONG: Reading = { kind: "wrong" };

export function valueOf(value: Json): Reading {
  return { kind: "value", value };
}

export type Control = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement;

/** A control with its label, what is said of it, and a place for what is wrong with it. */
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

/** A group of fields with a heading, and a place for what is wrong with all of it. */
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

/** What the schema says in words. */
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

/** What a form begins with: the defaults that a schema names, and its examples where they are asked for. */
export function initialValue(schema: Schema, withExamples: boolean): Json {
  return valueFor(schema, withExamples) ?? {};
}

/** The same for any value; nothing where nothing is said of it. */
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
