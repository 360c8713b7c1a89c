/**
 * What only endures has two lengths: seconds in every run, and as long as it takes to learn more with `npm run
 * test:slow`, which runs the files that import this one.
 */
export const IS_LONG = process.env["TEST_LENGTH"] === "long";

/** The value for this run: the first in every run, the second with `npm run test:slow`. */
export function byLength<T>(short: T, long: T): T {
  return IS_LONG ? long : short;
}
