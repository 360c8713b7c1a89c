/** Rows that wait for something, and for what. */
export const WAITING: ReadonlyMap<string, string> = new Map();
