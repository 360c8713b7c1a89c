/** Decodes percent-encoding in place; percent signs that encode nothing stay. */
export function percentDecode(bytes: Uint8Array): Uint8Array {
  let length = 0;
  for (let index = 0; index < bytes.length; index += 1) {
    const high = bytes[index] === 0x25 ? hexDigit(bytes[index + 1]) : -1;
    const low = high < 0 ? -1 : hexDigit(bytes[index + 2]);
    // The write position never exceeds the read position, so the input can be overwritten.
    bytes[length++] = low < 0 ? (bytes[index] ?? 0) : high * 16 + low;
    if (low >= 0) index += 2;
  }
  return bytes.subarray(0, length);
}

function hexDigit(byte: number | undefined): number {
  if (byte === undefined) return -1;
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}
