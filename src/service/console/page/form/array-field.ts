import { h } from "../elements.ts";
import { isRecord, type Json, type Schema } from "../wire.ts";
import { ABSENT, type Field, group, type Place, type Reading, valueFor, valueOf, WRONG } from "./field.ts";

const ITEMS_MAX = 200;

/** A list of items with one schema; items can be added and removed. */
export function arrayField(place: Place): Field {
  const { schema, isRequired } = place;
  const items = isRecord(schema["items"]) ? (schema["items"] as Schema) : {};
  const { maxItems = ITEMS_MAX, minItems = 0 } = schema;
  const most = Math.min(ITEMS_MAX, typeof maxItems === "number" ? maxItems : ITEMS_MAX);
  const least = typeof minItems === "number" ? Math.min(minItems, most) : 0;
  const list = h("ol", { class: "items" });
  let rows: { readonly field: Field; readonly row: HTMLElement }[] = [];

  const addRow = (value: Json | undefined): Field => {
    const label = `${place.label} ${rows.length + 1}`;
    const field = place.make({ ...place, schema: items, label, isRequired: true, depth: place.depth + 1 });
    field.write(value ?? valueFor(items, false));
    const remove = h(
      "button",
      {
        type: "button",
        class: "quiet small",
        "aria-label": `Remove ${label}`,
        click: () => {
          const rest = rows.filter((one) => one.row !== row).map((one) => one.field.read());
          writeAll(rest.map((reading) => (reading.kind === "value" ? reading.value : undefined)));
          add.focus();
        },
      },
      "Remove",
    );
    const row = h("li", {}, field.element, remove);
    rows.push({ field, row });
    list.append(row);
    add.disabled = rows.length >= most;
    return field;
  };
  const writeAll = (values: readonly (Json | undefined)[]): void => {
    rows = [];
    list.replaceChildren();
    add.disabled = false;
    for (const value of values.slice(0, most)) addRow(value);
    while (rows.length < least) addRow(undefined);
  };
  const add = h(
    "button",
    {
      type: "button",
      class: "quiet small",
      click: () => addRow(undefined).element.querySelector<HTMLElement>("input, textarea, select, button")?.focus(),
    },
    `Add to ${place.label === "" ? "the list" : place.label}`,
  );
  const box = group(place, list, add);

  const read = (): Reading => {
    box.clear();
    const readings = rows.map(({ field }) => field.read());
    if (readings.some(({ kind }) => kind === "wrong")) return WRONG;
    if (readings.length === 0 && !isRequired && !Array.isArray(schema["default"])) return ABSENT;
    return valueOf(readings.flatMap((reading) => (reading.kind === "value" ? [reading.value] : [])));
  };
  return {
    element: box.element,
    read,
    write: (value) => {
      box.clear();
      writeAll(Array.isArray(value) ? (value as readonly Json[]) : []);
    },
    complain: ([index = "", ...rest], message) =>
      rows[Number(index === "" ? NaN : index)]?.field.complain(rest, message) ?? box.complain(message),
  };
}
