/** What is wrong with a store, in words for a tool or a caller: no path of the host and no address is in them. */
export class StoreError extends Error {
  override readonly name = "StoreError";
}
