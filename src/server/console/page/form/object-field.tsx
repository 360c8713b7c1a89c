import { Fragment } from "preact";
import { isRecord, type Json, listOf, recordOf, type Schema } from "../wire.ts";
import { ABSENT, type Field, FieldGroup, type Place, type Reading, valueOf, WRONG } from "./field.tsx";

/** One field for each property of the schema. Other properties of the value are kept unchanged. */
export function objectField(place: Place): Field {
  const { schema, isRequired } = place;
  const fields = new Map(
    propertiesOf(schema).map((property) => [
      property.label,
      place.make({ ...place, ...property, depth: place.depth + 1 }),
    ]),
  );
  let others: Readonly<Record<string, Json>> = {};
  const box = new FieldGroup(place);
  // An optional object stays absent until the user edits it: only then are its own fields required.
  let isTouched = isRequired;
  const readAll = (): Reading => {
    box.clear();
    if (!isTouched) return ABSENT;
    const entries: [string, Json][] = Object.entries(others);
    let isWrong = false;
    for (const [name, field] of fields) {
      const reading = field.read();
      if (reading.kind === "wrong") isWrong = true;
      if (reading.kind === "value") entries.push([name, reading.value]);
    }
    if (isWrong) return WRONG;
    const isEmpty = entries.every(([, value]) => value === "");
    return isEmpty && !isRequired ? ABSENT : valueOf(Object.fromEntries(entries));
  };
  return {
    render: () =>
      box.render(
        [...fields].map(([name, field]) => <Fragment key={name}>{field.render()}</Fragment>),
        () => void (isTouched = true),
      ),
    read: readAll,
    write: (value) => {
      box.clear();
      isTouched = isRequired || value !== undefined;
      const given = recordOf<Json>(value);
      others = Object.fromEntries(Object.entries(given).filter(([name]) => !fields.has(name)));
      for (const [name, field] of fields) field.write(Object.hasOwn(given, name) ? given[name] : undefined);
    },
    complain: ([name = "", ...rest], message) => fields.get(name)?.complain(rest, message) ?? box.complain(message),
  };
}

/** Properties of an object schema, the required ones first. */
export function propertiesOf(schema: Schema): readonly Pick<Place, "label" | "schema" | "isRequired">[] {
  const { properties, required } = schema;
  if (!isRecord(properties)) return [];
  const names = listOf(required);
  return Object.entries(properties)
    .map(([label, property]) => ({
      label,
      schema: recordOf<Json>(property),
      isRequired: names.includes(label),
    }))
    .toSorted((a, b) => Number(b.isRequired) - Number(a.isRequired));
}
