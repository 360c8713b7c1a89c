import { h } from "./elements.ts";
import { textField, numberField } from "./form/simple-fields.ts";
import type { Field } from "./form/field.ts";
import type { Json, Schema } from "./wire.ts";

/** Form with the options of a call. */
export class CallOptions {
  readonly element: HTMLDetailsElement;
  readonly #tenant = option(
    "Tenant",
    { type: "string", maxLength: 80, description: "Tenant of the call, unless your key has one." },
    textField,
  );
  readonly #priority = option(
    "Priority",
    { type: "integer", minimum: -10, maximum: 10, description: "Higher goes first." },
    numberField,
  );
  readonly #wallMs = option("Time limit in milliseconds", { type: "integer", minimum: 1 }, numberField);

  constructor() {
    const fields = [this.#tenant, this.#priority, this.#wallMs].map(({ element }) => element);
    this.element = h("details", {}, h("summary", {}, "Options"), h("div", { class: "fields" }, ...fields));
  }

  /** `null` if an option is invalid; the form is then opened to show it. */
  read(): Readonly<Record<string, Json>> | null {
    const readings = [this.#tenant.read(), this.#priority.read(), this.#wallMs.read()] as const;
    if (readings.some(({ kind }) => kind === "wrong")) {
      this.element.open = true;
      return null;
    }
    const [tenant, priority, wallMs] = readings.map((reading) =>
      reading.kind === "value" ? reading.value : undefined,
    );
    return {
      ...(tenant === undefined ? {} : { tenant }),
      ...(priority === undefined ? {} : { priority }),
      ...(wallMs === undefined ? {} : { limits: { wallMs } }),
    };
  }
}

function option(label: string, schema: Schema, make: (place: Parameters<typeof textField>[0]) => Field): Field {
  return make({ label, schema, isRequired: false, depth: 0, budget: { fields: 0 }, root: schema, make });
}
