/** Rows that wait for something, and for what. */
export const WAITING: ReadonlyMap<string, string> = new Map([
  ["C62", "binaries; that a package is one is known, and refused"],
]);
