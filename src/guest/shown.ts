/** What an object shows of itself on a console; `undefined` where nobody knows more than its properties say. */
export type Show = (value: object) => object | undefined;

const shows: Show[] = [];

/** Adds what a part of the realm knows to show of its objects. */
export function addShow(show: Show): void {
  shows.push(show);
}

/** What an object shows, by all the parts that have been made. */
export function shown(value: object): object | undefined {
  for (const show of shows) {
    const facts = show(value);
    if (facts !== undefined) return facts;
  }
  return undefined;
}
