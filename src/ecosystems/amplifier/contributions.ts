/** The channel in which modules say which events they have. */
const EVENTS = "observability.events";
const EVENTS_MAX = 1_000;

/**
 * The events that a module contributes, from what its isolate says of it. A contributor that threw, or gave no list of
 * texts, has none, and is in nobody's way.
 */
export function eventsIn(described: unknown): readonly string[] {
  const contributors: unknown =
    typeof described === "object" && described !== null ? Reflect.get(described, "contributors") : null;
  if (!Array.isArray(contributors)) return [];
  const values = contributors.flatMap((one: unknown): unknown[] => {
    if (typeof one !== "object" || one === null || Reflect.get(one, "channel") !== EVENTS) return [];
    const found: unknown = Reflect.get(one, "values");
    return Array.isArray(found) ? found : [];
  });
  return [...new Set(values.filter((value) => typeof value === "string"))].slice(0, EVENTS_MAX);
}
