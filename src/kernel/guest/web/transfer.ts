/** Moves the bytes of a buffer into a new one, and detaches it. */
export type TransferBuffer = (buffer: ArrayBuffer) => ArrayBuffer;

let given: TransferBuffer | null = null;

/** Sets how buffers are transferred. This code is evaluated once in each realm. */
export function provideTransfer(transfer: TransferBuffer): void {
  given = transfer;
}

/**
 * The global of this name in the stream classes: they call it only to transfer a buffer.
 *
 * @public The bundler injects it.
 */
export function structuredClone(buffer: ArrayBuffer): ArrayBuffer {
  if (given === null) throw new TypeError("the realm's parts are not provided yet");
  return given(buffer);
}
