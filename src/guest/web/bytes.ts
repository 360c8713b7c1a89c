/** All the bytes, one after the other, in an array of its own. */
export function joinBytes(chunks: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.length, 0));
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}

/** Two hexadecimal digits for each byte. */
export function hexOf(bytes: Uint8Array, between = ""): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(between);
}
