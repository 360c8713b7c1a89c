/** Channel in which modules declare their events. */
const EVENTS = "observability.events";
const EVENTS_MAX = 1_000;

/**
 * Events that a module contributes, from its isolate's description. A contributor that threw, or gave no list of
 * strings, contributes none and blocks no other.
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
