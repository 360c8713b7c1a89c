import { signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { isRecord, type Json, type Schema } from "../wire.ts";

/** State of a field: a value, empty, or invalid; an invalid field shows its own message. */
export type Reading = { readonly kind: "value"; readonly value: Json } | { readonly kind: "absent" | "wrong" };

/** A part of a form, for one value. */
export interface Field {
  render(): JSX.Element;
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

/** Attributes of a control that belongs to a field. */
export interface ControlAttributes {
  readonly id: string;
  readonly "aria-describedby": string;
  readonly "aria-required": boolean | undefined;
  readonly "aria-invalid": boolean | undefined;
}

let ids = 0;

/** A label, a description and an error message around a control. */
export class LabelledField {
  readonly #place: Place;
  readonly #id = `field-${++ids}`;
  readonly #error = signal("");

  constructor(place: Place) {
    this.#place = place;
  }

  render(control: (attributes: ControlAttributes) => JSX.Element, isTick = false): JSX.Element {
    const { label, schema, isRequired } = this.#place;
    const id = this.#id;
    const hint = hintOf(schema);
    const error = this.#error.value;
    const name = (
      <label for={id}>
        <span class="name">{label}</span> <Kind schema={schema} isRequired={isRequired} />
      </label>
    );
    const shown = control({
      id,
      "aria-describedby": hint === "" ? `${id}-error` : `${id}-hint ${id}-error`,
      "aria-required": isRequired ? true : undefined,
      "aria-invalid": error === "" ? undefined : true,
    });
    return (
      <div class={isTick ? "field tick" : "field"} onInput={() => this.clear()}>
        {isTick ? [shown, name] : [name, shown]}
        {hint !== "" && (
          <p class="hint" id={`${id}-hint`}>
            {hint}
          </p>
        )}
        <p class="error" id={`${id}-error`}>
          {error}
        </p>
      </div>
    );
  }

  complain(message: string): true {
    this.#error.value = message;
    return true;
  }

  clear(): void {
    this.#error.value = "";
  }
}

/** A group of fields with a heading and an error message. */
export class FieldGroup {
  readonly #place: Place;
  readonly #error = signal("");

  constructor(place: Place) {
    this.#place = place;
  }

  render(children: ComponentChildren, onTouch?: () => void): JSX.Element {
    const { label, schema, isRequired } = this.#place;
    const hint = hintOf(schema);
    const touches = { onInput: onTouch, onChange: onTouch, onClick: onTouch };
    const error = <p class="error">{this.#error}</p>;
    if (label === "") {
      return (
        <div class="fields" {...touches}>
          {children}
          {error}
        </div>
      );
    }
    return (
      <fieldset class="fields" {...touches}>
        <legend>
          <span class="name">{label}</span> <Kind schema={schema} isRequired={isRequired} />
        </legend>
        {hint !== "" && <p class="hint">{hint}</p>}
        {children}
        {error}
      </fieldset>
    );
  }

  complain(message: string): true {
    this.#error.value = message;
    return true;
  }

  clear(): void {
    this.#error.value = "";
  }
}

/** Description of a schema. */
export function hintOf({ description }: Schema): string {
  return typeof description === "string" ? description : "";
}

function Kind({ schema, isRequired }: Pick<Place, "schema" | "isRequired">) {
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
  return <span class="kind">{words.join(", ")}</span>;
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
