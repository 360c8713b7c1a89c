import { fill, h, newId } from "../elements.ts";
import { readJson } from "../exact-json.ts";
import { isRecord, type Json, type Schema } from "../wire.ts";
import { createField } from "./create-field.ts";
import { type Field, initialValue } from "./field.ts";
import { propertiesOf } from "./object-field.ts";

const FIELDS_MAX = 500;

/** Form for a call's arguments: fields if the schema has properties, else a JSON editor. */
export class ArgumentsForm {
  readonly element: HTMLElement;
  readonly #fields: Field | null;
  readonly #editor: HTMLTextAreaElement;
  readonly #message: HTMLElement;
  readonly #body: HTMLElement;
  readonly #toggle: HTMLButtonElement;
  #isRaw: boolean;

  constructor(schema: Schema) {
    this.#fields = makeFields(schema);
    this.#isRaw = this.#fields === null;
    const id = newId();
    this.#message = h("p", { class: "error", id: `${id}-error`, role: "status" });
    this.#editor = h("textarea", {
      id,
      class: "code editor",
      rows: 6,
      spellcheck: "false",
      autocomplete: "off",
      "aria-describedby": `${id}-error`,
      input: () => void this.#parse(),
    });
    this.#body = h("div");
    this.#toggle = h("button", { type: "button", class: "quiet small", click: () => this.#switch() });
    const hasExamples = this.#fields !== null && JSON.stringify(schema).includes('"examples"');
    const example = h(
      "button",
      { type: "button", class: "quiet small", click: () => this.write(initialValue(schema, true)) },
      "Fill in the example",
    );
    const label = h("label", { for: id, class: "name" }, "Arguments as JSON");
    this.element = h(
      "div",
      { class: "arguments" },
      h("div", { class: "row" }, hasExamples ? example : null, this.#fields === null ? null : this.#toggle),
      this.#body,
    );
    this.#rawParts = [label, this.#editor, this.#message];
    this.write(initialValue(schema, false));
    this.#show();
  }

  readonly #rawParts: readonly Node[];

  /** `null` if a value is invalid; the form shows the reason. */
  read(): Json | null {
    if (this.#isRaw || this.#fields === null) return this.#parse() ?? null;
    const reading = this.#fields.read();
    if (reading.kind === "value") return reading.value;
    if (reading.kind === "absent") return {};
    this.element.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
    return null;
  }

  write(value: Json): void {
    this.#editor.value = JSON.stringify(value, null, 2);
    fill(this.#message);
    this.#fields?.write(value);
  }

  /** Shows the server's error for the value at a JSON pointer. */
  complain(pointer: string, message: string): void {
    if (this.#isRaw || this.#fields === null) return;
    const path = pointer.split("/").slice(1);
    this.#fields.complain(
      path.map((segment) => segment.replaceAll("~1", "/").replaceAll("~0", "~")),
      message,
    );
  }

  #switch(): void {
    if (this.#isRaw) {
      const value = this.#parse();
      if (value === undefined) return this.#editor.focus();
      this.write(value);
    } else {
      const reading = this.#fields?.read();
      if (reading?.kind === "wrong") return;
      this.#editor.value = JSON.stringify(reading?.kind === "value" ? reading.value : {}, null, 2);
    }
    this.#isRaw = !this.#isRaw;
    this.#show();
  }

  #show(): void {
    this.#toggle.textContent = this.#isRaw ? "Edit as a form" : "Edit as JSON";
    if (this.#isRaw || this.#fields === null) fill(this.#body, ...this.#rawParts);
    else fill(this.#body, this.#fields.element);
  }

  #parse(): Json | undefined {
    const { value, error } = parseObject(this.#editor.value);
    fill(this.#message, error);
    this.#editor.toggleAttribute("aria-invalid", false);
    if (error !== null) this.#editor.setAttribute("aria-invalid", "true");
    return value;
  }
}

function makeFields(schema: Schema): Field | null {
  const field = createField({
    label: "",
    schema,
    isRequired: true,
    depth: 0,
    budget: { fields: FIELDS_MAX },
    root: schema,
    make: createField,
  });
  const isForm = propertiesOf(schema).length > 0 || field.element.classList.contains("choice");
  return isForm ? field : null;
}

function parseObject(text: string): { readonly value?: Json; readonly error: string | null } {
  if (text.trim() === "") return { value: {}, error: null };
  try {
    const value = readJson(text);
    return isRecord(value) ? { value, error: null } : { error: "Arguments are an object: { … }." };
  } catch (error) {
    return { error: `This is not JSON: ${error instanceof Error ? error.message : ""}` };
  }
}
