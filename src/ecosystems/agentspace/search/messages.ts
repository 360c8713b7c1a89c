import type { Found, IndexedRecord, Query } from "./record-index.ts";

/** A message to the thread of the index. All but `forget` are answered, by `id`. */
export type ToThread =
  | { readonly kind: "add"; readonly id: number; readonly records: readonly IndexedRecord[] }
  | { readonly kind: "forget"; readonly id: number; readonly revision: number }
  | { readonly kind: "find"; readonly id: number; readonly query: Query };

export interface FromThread {
  readonly id: number;
  readonly found: readonly Found[];
}
