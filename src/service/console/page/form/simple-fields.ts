import { h } from "../elements.ts";
import { exactNumber, isDigits, readJson } from "../exact-json.ts";
import type { Json } from "../wire.ts";
import { ABSENT, type Control, type Field, LabelledField, type Place, type Reading, valueOf, WRONG } from "./field.ts";

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
  const looks = { placeholder: exampleOf(place), spellcheck: "false", autocomplete: "off" };
  const control = isShort
    ? h("input", { ...looks, type, step: type === "datetime-local" || type === "time" ? 1 : null })
    : h("textarea", { ...looks, rows: 1 });
  const read = (): Reading => {
    const { value } = control;
    if (value === "") return isRequired && type === "text" ? valueOf("") : ABSENT;
    return valueOf(type === "datetime-local" ? new Date(value).toISOString() : value);
  };
  const write = (value: Json | undefined): void => {
    const text = typeof value === "string" ? value : "";
    control.value = type === "datetime-local" ? localTime(text) : text;
  };
  return simple(place, control, read, write);
}

export function numberField(place: Place): Field {
  const { schema, isRequired } = place;
  const isInteger = schema["type"] === "integer";
  const control = h("input", {
    type: "number",
    step: isInteger ? 1 : "any",
    placeholder: exampleOf(place),
    inputmode: isInteger ? "numeric" : "decimal",
  });
  const read = (): Reading | string => {
    if (control.validity.badInput) return "This is not a number.";
    if (control.value === "") return isRequired ? "A number is missing." : ABSENT;
    return valueOf(exactNumber(control.valueAsNumber, control.value));
  };
  return simple(place, control, read, (value) => {
    control.value = typeof value === "number" || isDigits(value) ? JSON.stringify(value) : "";
  });
}

/** A checkbox; a choice of three if the value may be absent. */
export function booleanField(place: Place): Field {
  if (!place.isRequired && typeof place.schema["default"] !== "boolean") return choiceOf(place, [true, false]);
  const control = h("input", { type: "checkbox" });
  const read = (): Reading => valueOf(control.checked);
  return simple(place, control, read, (value) => {
    control.checked = value === true;
  });
}

/** A choice of the values that the schema lists. */
export function enumField(place: Place): Field {
  const { enum: values } = place.schema;
  return choiceOf(place, Array.isArray(values) ? (values as readonly Json[]) : []);
}

/** A field with one possible value. */
export function constField(place: Place): Field {
  return choiceOf({ ...place, isRequired: true }, [place.schema["const"] ?? null]);
}

/** Any value, as JSON. */
export function jsonField(place: Place): Field {
  const control = h("textarea", {
    class: "code",
    rows: 2,
    placeholder: "JSON",
    spellcheck: "false",
    autocomplete: "off",
  });
  const read = (): Reading | string => {
    if (control.value.trim() === "") return place.isRequired ? "A value is missing." : ABSENT;
    try {
      return valueOf(readJson(control.value));
    } catch (error) {
      return `This is not JSON: ${error instanceof Error ? error.message : ""}`;
    }
  };
  return simple(place, control, read, (value) => {
    control.value = value === undefined ? "" : JSON.stringify(value, null, 2);
  });
}

function choiceOf(place: Place, values: readonly Json[]): Field {
  const isOpen = !place.isRequired && place.schema["default"] === undefined;
  const options = values.map((value, at) => h("option", { value: at }, showValue(value)));
  const control = h("select", {}, isOpen ? h("option", { value: "" }, "—") : null, ...options);
  const read = (): Reading => {
    const value = control.value === "" ? undefined : values[Number(control.value)];
    return value === undefined ? ABSENT : valueOf(value);
  };
  return simple(place, control, read, (value) => {
    const text = JSON.stringify(value);
    const at = values.findIndex((one) => JSON.stringify(one) === text);
    control.value = at >= 0 ? String(at) : isOpen ? "" : "0";
  });
}

function simple(
  place: Place,
  control: Control,
  read: () => Reading | string,
  write: (value: Json | undefined) => void,
): Field {
  const labelled = new LabelledField(place, control);
  return {
    element: labelled.element,
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

function exampleOf({ schema }: Place): string | null {
  const { examples } = schema;
  const [example] = Array.isArray(examples) ? (examples as readonly Json[]) : [];
  return example === undefined ? null : showValue(example);
}

/** A time in the control's format: local time zone, to the second. */
function localTime(text: string): string {
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) return "";
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}
