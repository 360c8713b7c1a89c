import { signal } from "@preact/signals";
import { Quiet } from "../elements.tsx";
import { type Json, listOf, recordOf } from "../wire.ts";
import { ABSENT, type Field, FieldGroup, type Place, valueFor, valueOf, WRONG } from "./field.tsx";

const ITEMS_MAX = 200;

/** A list of items with one schema; items can be added and removed. */
export function arrayField(place: Place): Field {
  const { schema, isRequired } = place;
  const items = recordOf<Json>(schema["items"]);
  const { maxItems = ITEMS_MAX, minItems = 0 } = schema;
  const most = Math.min(ITEMS_MAX, typeof maxItems === "number" ? maxItems : ITEMS_MAX);
  const least = typeof minItems === "number" ? Math.min(minItems, most) : 0;
  const box = new FieldGroup(place);
  const fields = signal<readonly Field[]>([]);
  const labelOf = (at: number): string => `${place.label} ${at + 1}`;
  const add = (value: Json | undefined): void => {
    const label = labelOf(fields.value.length);
    const field = place.make({ ...place, schema: items, label, isRequired: true, depth: place.depth + 1 });
    field.write(value ?? valueFor(items, false));
    fields.value = [...fields.value, field];
  };
  const write = (values: readonly (Json | undefined)[]): void => {
    fields.value = [];
    for (const value of values.slice(0, most)) add(value);
    while (fields.value.length < least) add(undefined);
  };
  // The labels of those after it change, so all are rebuilt.
  const remove = (gone: Field): void =>
    write(fields.value.filter((one) => one !== gone).map((one) => valueIn(one.read())));
  const onAdd = ({ currentTarget }: { readonly currentTarget: HTMLElement }): void => {
    add(undefined);
    const list = currentTarget.previousElementSibling;
    setTimeout(() => list?.lastElementChild?.querySelector<HTMLElement>("input, textarea, select, button")?.focus());
  };
  const onRemove = (field: Field, { currentTarget }: { readonly currentTarget: HTMLElement }): void => {
    const button = currentTarget.closest("ol")?.nextElementSibling;
    remove(field);
    if (button instanceof HTMLElement) button.focus();
  };
  return {
    render: () =>
      box.render([
        <ol class="items">
          {fields.value.map((field, at) => (
            <li key={at}>
              {field.render()}
              <Quiet small aria-label={`Remove ${labelOf(at)}`} onClick={(event) => onRemove(field, event)}>
                Remove
              </Quiet>
            </li>
          ))}
        </ol>,
        <Quiet small disabled={fields.value.length >= most} onClick={onAdd}>
          Add to {place.label === "" ? "the list" : place.label}
        </Quiet>,
      ]),
    read: () => {
      box.clear();
      const readings = fields.value.map((field) => field.read());
      if (readings.some(({ kind }) => kind === "wrong")) return WRONG;
      if (readings.length === 0 && !isRequired && !Array.isArray(schema["default"])) return ABSENT;
      return valueOf(readings.flatMap((reading) => (reading.kind === "value" ? [reading.value] : [])));
    },
    write: (value) => {
      box.clear();
      write(listOf<Json>(value));
    },
    complain: ([index = "", ...rest], message) =>
      fields.value[Number(index === "" ? NaN : index)]?.complain(rest, message) ?? box.complain(message),
  };
}

function valueIn(reading: ReturnType<Field["read"]>): Json | undefined {
  return reading.kind === "value" ? reading.value : undefined;
}
