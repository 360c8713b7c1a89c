/** Rows that wait for something, and for what. */
export const WAITING: ReadonlyMap<string, string> = new Map();

/** Rows that say something else than the checklist of the documents, and why. */
export const MENDED: ReadonlyMap<string, string> = new Map([
  ["C49", "the document's execution flow imports and initializes in each request, so only what comes before is cached"],
]);
