import { signal } from "@preact/signals";
import { useId } from "preact/hooks";
import { Quiet } from "../elements.tsx";
import { isDigits, readJson } from "../exact-json.ts";
import { isRecord, type Json, nameOfSegment, type Schema } from "../wire.ts";
import { branchesOf, createField } from "./create-field.tsx";
import { type Field, initialValue } from "./field.tsx";
import { propertiesOf } from "./object-field.tsx";

const FIELDS_MAX = 500;
const PRESETS_MAX = 10;

/** Form for a call's arguments: fields if the schema has properties, else a JSON editor. */
export class ArgumentsForm {
  readonly #fields: Field | null;
  /** Suggested arguments: the schema's, and the tool's own. */
  readonly #presets: readonly Json[];
  readonly #isRaw;
  readonly #text = signal("");
  readonly #message = signal<string | null>(null);
  #element: HTMLElement | null = null;

  constructor(schema: Schema, examples: readonly Json[] = []) {
    this.#fields = makeFields(schema);
    this.#isRaw = signal(this.#fields === null);
    const own =
      this.#fields !== null && JSON.stringify(schema).includes('"examples"') ? [initialValue(schema, true)] : [];
    this.#presets = [...own, ...examples].slice(0, PRESETS_MAX);
    this.write(initialValue(schema, false));
  }

  readonly View = () => {
    const hasFields = this.#fields !== null;
    return (
      <div class="arguments" ref={(one) => void (this.#element = one)}>
        {(hasFields || this.#presets.length > 0) && (
          <div class="row">
            {this.#presets.map((preset, at) => (
              <Quiet small onClick={() => this.write(preset)}>
                {this.#presets.length === 1 ? "Fill in the example" : `Fill in example ${at + 1}`}
              </Quiet>
            ))}
            {hasFields && (
              <Quiet small onClick={() => this.#switch()}>
                {this.#isRaw.value ? "Edit as a form" : "Edit as JSON"}
              </Quiet>
            )}
          </div>
        )}
        {this.#isRaw.value || this.#fields === null ? <this.Editor /> : this.#fields.render()}
      </div>
    );
  };

  readonly Editor = () => {
    const id = useId();
    return (
      <div class="stack tight">
        <label for={id} class="name">
          Arguments as JSON
        </label>
        <textarea
          id={id}
          class="code editor"
          rows={6}
          spellcheck={false}
          autocomplete="off"
          aria-describedby={`${id}-error`}
          aria-invalid={this.#message.value === null ? undefined : true}
          value={this.#text.value}
          onInput={({ currentTarget }) => {
            this.#text.value = currentTarget.value;
            this.#parse();
          }}
        />
        <p class="error" id={`${id}-error`} role="status">
          {this.#message}
        </p>
      </div>
    );
  };

  /** `null` if a value is invalid; the form shows the reason. */
  read(): Json | null {
    if (this.#isRaw.value || this.#fields === null) return this.#parse() ?? null;
    const reading = this.#fields.read();
    if (reading.kind === "value") return reading.value;
    if (reading.kind === "absent") return {};
    setTimeout(() => this.#element?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus());
    return null;
  }

  write(value: Json): void {
    this.#text.value = JSON.stringify(value, null, 2);
    this.#message.value = null;
    this.#fields?.write(value);
  }

  /** Shows a value for editing: as JSON if the fields would change it. */
  edit(value: Json): void {
    this.write(value);
    const reading = this.#fields?.read();
    this.#isRaw.value = reading?.kind !== "value" || sorted(reading.value) !== sorted(value);
  }

  /** Shows the server's error for the value at a JSON pointer. */
  complain(pointer: string, message: string): void {
    if (this.#isRaw.value) return;
    const path = pointer.split("/").slice(1);
    this.#fields?.complain(path.map(nameOfSegment), message);
  }

  #switch(): void {
    if (this.#isRaw.value) {
      const value = this.#parse();
      if (value === undefined) return;
      this.write(value);
    } else {
      const reading = this.#fields?.read();
      if (reading?.kind === "wrong") return;
      this.#text.value = JSON.stringify(reading?.kind === "value" ? reading.value : {}, null, 2);
    }
    this.#isRaw.value = !this.#isRaw.value;
  }

  #parse(): Json | undefined {
    const { value, error } = parseObject(this.#text.value);
    this.#message.value = error;
    return value;
  }
}

function makeFields(schema: Schema): Field | null {
  const root = { label: "", schema, isRequired: true, depth: 0, budget: { fields: FIELDS_MAX }, root: schema };
  const isForm = propertiesOf(schema).length > 0 || branchesOf(schema).length > 1;
  return isForm ? createField({ ...root, make: createField }) : null;
}

/** A value as JSON, with its members sorted. */
function sorted(value: Json): string {
  return JSON.stringify(value, (_key, one: Json) => {
    if (!isRecord(one) || isDigits(one as Json)) return one;
    return Object.fromEntries(Object.entries(one).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  });
}

function parseObject(text: string): { readonly value?: Json; readonly error: string | null } {
  if (text.trim() === "") return { value: {}, error: null };
  try {
    const value = readJson(text);
    return isRecord(value) ? { value: value as Json, error: null } : { error: "Arguments are an object: { … }." };
  } catch (error) {
    return { error: `This is not JSON: ${error instanceof Error ? error.message : ""}` };
  }
}
