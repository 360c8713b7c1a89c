/** Console representation of an object; `undefined` if its properties suffice. */
export type Show = (value: object) => object | undefined;

const shows: Show[] = [];

/** Registers how a part of the realm displays its objects. */
export function addShow(show: Show): void {
  shows.push(show);
}

/** Console representation of an object, from the first registered part that recognises it. */
export function shown(value: object): object | undefined {
  for (const show of shows) {
    const facts = show(value);
    if (facts !== undefined) return facts;
  }
  return undefined;
}
