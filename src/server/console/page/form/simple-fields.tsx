import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { exactNumber, isDigits, readJson } from "../exact-json.ts";
import { type Json, listOf } from "../wire.ts";
import {
  ABSENT,
  type ControlAttributes,
  type Field,
  LabelledField,
  type Place,
  type Reading,
  valueOf,
  WRONG,
} from "./field.tsx";

const SHORT_LENGTH = 80;
const INPUT_TYPES: Readonly<Record<string, string>> = {
  date: "date",
  time: "time",
  "date-time": "datetime-local",
  email: "email",
  uri: "url",
  password: "password",
};

/** A text field, on one line if the text is short. */
export function textField(place: Place): Field {
  const { schema, isRequired } = place;
  const { format, pattern, maxLength } = schema;
  const type = typeof format === "string" ? (INPUT_TYPES[format] ?? "text") : "text";
  const isShort =
    format !== undefined || pattern !== undefined || (typeof maxLength === "number" && maxLength <= SHORT_LENGTH);
  const text = signal("");
  const looks = { placeholder: exampleOf(place), spellcheck: false, autocomplete: "off" } as const;
  const step = type === "datetime-local" || type === "time" ? 1 : undefined;
  const onInput = (event: { readonly currentTarget: { readonly value: string } }): void =>
    void (text.value = event.currentTarget.value);
  return simple(place, {
    draw: (attributes) =>
      isShort ? (
        // The types of attributes differ for each type of input.
        <input {...attributes} {...looks} type={type as "text"} step={step} value={text.value} onInput={onInput} />
      ) : (
        <textarea {...attributes} {...looks} rows={1} value={text.value} onInput={onInput} />
      ),
    read: () => {
      if (text.value === "") return isRequired && type === "text" ? valueOf("") : ABSENT;
      return valueOf(type === "datetime-local" ? new Date(text.value).toISOString() : text.value);
    },
    write: (value) => {
      const given = typeof value === "string" ? value : "";
      text.value = type === "datetime-local" ? localTime(given) : given;
    },
  });
}

export function numberField(place: Place): Field {
  const { schema, isRequired } = place;
  const isInteger = schema["type"] === "integer";
  const text = signal("");
  let isBad = false;
  return simple(place, {
    draw: (attributes) => (
      <input
        {...attributes}
        type="number"
        step={isInteger ? 1 : "any"}
        placeholder={exampleOf(place)}
        inputMode={isInteger ? "numeric" : "decimal"}
        value={text.value}
        onInput={({ currentTarget }) => {
          isBad = currentTarget.validity.badInput;
          text.value = currentTarget.value;
        }}
      />
    ),
    read: () => {
      if (isBad) return "This is not a number.";
      if (text.value === "") return isRequired ? "A number is missing." : ABSENT;
      return valueOf(exactNumber(Number(text.value), text.value));
    },
    write: (value) => {
      isBad = false;
      text.value = typeof value === "number" || isDigits(value) ? JSON.stringify(value) : "";
    },
  });
}

/** A checkbox; a choice of three if the value may be absent. */
export function booleanField(place: Place): Field {
  if (!place.isRequired && typeof place.schema["default"] !== "boolean") return choiceOf(place, [true, false]);
  const isTicked = signal(false);
  return simple(place, {
    isTick: true,
    draw: (attributes) => (
      <input
        {...attributes}
        type="checkbox"
        checked={isTicked.value}
        onInput={(event) => (isTicked.value = event.currentTarget.checked)}
      />
    ),
    read: () => valueOf(isTicked.value),
    write: (value) => void (isTicked.value = value === true),
  });
}

/** A choice of the values that the schema lists. */
export function enumField(place: Place): Field {
  const { enum: values } = place.schema;
  return choiceOf(place, listOf<Json>(values));
}

/** A field with one possible value. */
export function constField(place: Place): Field {
  return choiceOf({ ...place, isRequired: true }, [place.schema["const"] ?? null]);
}

/** Any value, as JSON. */
export function jsonField(place: Place): Field {
  const text = signal("");
  return simple(place, {
    draw: (attributes) => (
      <textarea
        {...attributes}
        class="code"
        rows={2}
        placeholder="JSON"
        spellcheck={false}
        autocomplete="off"
        value={text.value}
        onInput={(event) => (text.value = event.currentTarget.value)}
      />
    ),
    read: () => {
      if (text.value.trim() === "") return place.isRequired ? "A value is missing." : ABSENT;
      try {
        return valueOf(readJson(text.value));
      } catch (error) {
        return `This is not JSON: ${error instanceof Error ? error.message : ""}`;
      }
    },
    write: (value) => void (text.value = value === undefined ? "" : JSON.stringify(value, null, 2)),
  });
}

function choiceOf(place: Place, values: readonly Json[]): Field {
  const isOpen = !place.isRequired && place.schema["default"] === undefined;
  const nothing = isOpen ? "" : "0";
  const chosen = signal(nothing);
  return simple(place, {
    draw: (attributes) => (
      <select {...attributes} value={chosen.value} onChange={(event) => (chosen.value = event.currentTarget.value)}>
        {isOpen && <option value="">—</option>}
        {values.map((value, at) => (
          <option value={String(at)}>{showValue(value)}</option>
        ))}
      </select>
    ),
    read: () => {
      const value = chosen.value === "" ? undefined : values[Number(chosen.value)];
      return value === undefined ? ABSENT : valueOf(value);
    },
    write: (value) => {
      const text = JSON.stringify(value);
      const at = values.findIndex((one) => JSON.stringify(one) === text);
      chosen.value = at >= 0 ? String(at) : nothing;
    },
  });
}

/** The particulars of a field with one control. */
interface Particulars {
  readonly isTick?: boolean;
  readonly draw: (attributes: ControlAttributes) => JSX.Element;
  /** Its value, or the mistake in it. */
  readonly read: () => Reading | string;
  readonly write: (value: Json | undefined) => void;
}

function simple(place: Place, { isTick = false, draw, read, write }: Particulars): Field {
  const labelled = new LabelledField(place);
  return {
    render: () => labelled.render(draw, isTick),
    read: () => {
      labelled.clear();
      const reading = read();
      if (typeof reading !== "string") return reading;
      labelled.complain(reading);
      return WRONG;
    },
    write: (value) => {
      labelled.clear();
      write(value);
    },
    complain: (_path, message) => labelled.complain(message),
  };
}

function showValue(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function exampleOf({ schema }: Place): string | undefined {
  const { examples } = schema;
  const [example] = listOf<Json>(examples);
  return example === undefined ? undefined : showValue(example);
}

/** A time in the control's format: local time zone, to the second. */
function localTime(text: string): string {
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) return "";
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}
