/** Who waits for the end of this turn of the event loop. */
let waiting: { readonly promise: Promise<void>; readonly resolve: () => void } | null = null;

/**
 * Resolves when all that the system had for this process has been read. Requests of many connections that came at once
 * are read one after the other, each in a turn of its own as far as promises tell: calls that wait for this are made
 * together, and cross to the executor as one message.
 */
export function untilAllIsRead(): Promise<void> {
  if (waiting === null) {
    waiting = Promise.withResolvers<void>();
    setImmediate(() => {
      waiting?.resolve();
      waiting = null;
    });
  }
  return waiting.promise;
}
