import { isObject } from "../../kernel/base/json.ts";

/** Settings that may be of any value, which isolates read. `*`: each entry of a list. */
const PLACES: readonly (readonly string[])[] = [
  ["tools", "*", "config"],
  ["policy", "approvals", "*", "when"],
];

/**
 * The value of the settings at a path, with the digits of the long integers in such settings, from `exact`. In all
 * others they are numbers, which their bounds refuse or cut.
 */
export function withExactValues(value: unknown, exact: () => unknown, path: readonly string[] = []): unknown {
  const places = PLACES.filter((place) => path.every((name, at) => name === place[at]));
  if (places.length === 0 || typeof value !== "object" || value === null) return value;
  const whole = exact();
  return places.reduce((kept, place) => withPlace(kept, whole, place.slice(path.length)), value as unknown);
}

function withPlace(value: unknown, exact: unknown, [name, ...rest]: readonly string[]): unknown {
  if (name === undefined) return exact;
  if (name === "*") {
    if (!Array.isArray(value) || !Array.isArray(exact)) return value;
    return value.map((one: unknown, at) => withPlace(one, exact[at], rest));
  }
  if (!isObject(value) || !isObject(exact) || !Object.hasOwn(value, name)) return value;
  return { ...value, [name]: withPlace(value[name], exact[name], rest) };
}
