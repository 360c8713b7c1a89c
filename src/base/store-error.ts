/** A store failure, worded for a tool or a caller: it contains no path of the host and no address. */
export class StoreError extends Error {
  override readonly name = "StoreError";
}
