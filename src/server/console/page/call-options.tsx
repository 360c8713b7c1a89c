import { signal } from "@preact/signals";
import type { Field } from "./form/field.tsx";
import { numberField, textField } from "./form/simple-fields.tsx";
import type { Json, Schema } from "./wire.ts";

/** Form with the options of a call. */
export class CallOptions {
  readonly #isOpen = signal(false);
  readonly #tenant = option("Tenant", TENANT, textField);
  readonly #priority = option("Priority", PRIORITY, numberField);
  readonly #wallMs = option("Time limit in milliseconds", { type: "integer", minimum: 1 }, numberField);

  readonly View = () => (
    <details open={this.#isOpen.value} onToggle={(event) => (this.#isOpen.value = event.currentTarget.open)}>
      <summary>Options</summary>
      <div class="fields">
        {this.#tenant.render()}
        {this.#priority.render()}
        {this.#wallMs.render()}
      </div>
    </details>
  );

  /** `null` if an option is invalid; the form is then opened to show it. */
  read(): Readonly<Record<string, Json>> | null {
    const readings = [this.#tenant.read(), this.#priority.read(), this.#wallMs.read()] as const;
    if (readings.some(({ kind }) => kind === "wrong")) {
      this.#isOpen.value = true;
      return null;
    }
    const [tenant, priority, wallMs] = readings.map((one) => (one.kind === "value" ? one.value : undefined));
    return {
      ...(tenant === undefined ? {} : { tenant }),
      ...(priority === undefined ? {} : { priority }),
      ...(wallMs === undefined ? {} : { limits: { wallMs } }),
    };
  }
}

const TENANT: Schema = { type: "string", maxLength: 80, description: "Tenant of the call, unless your key has one." };
const PRIORITY: Schema = { type: "integer", minimum: -10, maximum: 10, description: "Higher goes first." };

function option(label: string, schema: Schema, make: (place: Parameters<typeof textField>[0]) => Field): Field {
  return make({ label, schema, isRequired: false, depth: 0, budget: { fields: 0 }, root: schema, make });
}
