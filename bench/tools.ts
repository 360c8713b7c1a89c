/** The functions that engines and baselines run alike, as source text. */

/** Does next to nothing, so that what is measured is the way there and back. */
export const ADD_FUNCTION = "({ a, b }) => ({ sum: a + b })";

export const ADD_MODULE = `export default ${ADD_FUNCTION};`;

/** What the `add` tools are called with for the n-th time, and what they must answer. */
export function addArguments(index: number): { readonly a: number; readonly b: number } {
  return { a: index, b: 1 };
}

export function expectedSum(index: number): number {
  return index + 1;
}
