/**
 * The bytes of an `ArrayBuffer` or a view of one, as a plain `Uint8Array`, so that no override of a subclass is called;
 * `undefined` for any other value. A detached buffer has no bytes.
 */
export function bytesOf(source: unknown): Uint8Array | undefined {
  if (ArrayBuffer.isView(source)) {
    const { buffer, byteOffset, byteLength } = source;
    return byteLength === 0 ? new Uint8Array() : new Uint8Array(buffer, byteOffset, byteLength);
  }
  if (!isBuffer(source)) return undefined;
  return source.byteLength === 0 ? new Uint8Array() : new Uint8Array(source);
}

/** Whether a value is a real `ArrayBuffer`, rather than an object that inherits from it. */
export function isArrayBuffer(value: unknown): value is ArrayBuffer {
  return hasByteLength(ArrayBuffer.prototype, value);
}

function isBuffer(value: unknown): value is ArrayBuffer | SharedArrayBuffer {
  if (isArrayBuffer(value)) return true;
  return typeof SharedArrayBuffer === "function" && hasByteLength(SharedArrayBuffer.prototype, value);
}

/** The getter of `byteLength` throws for any object that is not of the prototype's class. */
function hasByteLength(prototype: object, value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  try {
    Reflect.get(prototype, "byteLength", value);
    return true;
  } catch {
    return false;
  }
}
