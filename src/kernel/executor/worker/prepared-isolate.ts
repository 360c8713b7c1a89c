import type ivm from "isolated-vm";
import type { GuestRealm, LoadedTool } from "./guest-realm.ts";

/** An isolate with a realm that no call has used yet. */
export interface PreparedIsolate {
  readonly isolate: ivm.Isolate;
  /** Its number with the terminator, unique in the worker. */
  readonly number: number;
  readonly realm: GuestRealm;
  /** Opens another realm for a tool, unhardened. */
  readonly open: (tool: LoadedTool) => GuestRealm;
}

/** Memory of an isolate, in its heap and outside, in bytes. */
export function heapBytesOf(isolate: ivm.Isolate): number {
  const { used_heap_size: used, externally_allocated_size: external } = isolate.getHeapStatisticsSync();
  return used + external;
}

/** Disposes of an isolate that may be disposed of already, also by the terminator at this moment. */
export function disposeOf(isolate: ivm.Isolate): void {
  try {
    if (!isolate.isDisposed) isolate.dispose();
  } catch {
    // It is disposed of already.
  }
}
