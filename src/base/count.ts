/** An option's whole number, or `fallback` where the option is not set. Throws a `RangeError` that names the option. */
export function count(name: string, value: number | undefined, fallback: number, least: number): number {
  if (value === undefined) return fallback;
  if (value !== Number.POSITIVE_INFINITY && (!Number.isInteger(value) || value < least)) {
    throw new RangeError(`${name} must be a whole number of at least ${least}`);
  }
  return value;
}
