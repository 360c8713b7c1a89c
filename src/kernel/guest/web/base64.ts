import { decodeForgivingly, encodeBase64 } from "./base64-bytes.ts";
import { bytesFromString, stringFromUnits } from "./bytes.ts";
import { DOMException } from "./dom-exception.ts";

/** Encodes a string of byte characters as Base64. */
export function btoa(data: string): string {
  if (arguments.length === 0) throw new TypeError("btoa needs 1 argument, but got none");
  const bytes = bytesFromString(`${data}`);
  if (bytes === undefined) {
    throw new DOMException("The string to encode has characters above U+00FF", "InvalidCharacterError");
  }
  return encodeBase64(bytes);
}

/** Decodes Base64 to a string of byte characters, by the web's forgiving rules: padding optional, spaces ignored. */
export function atob(data: string): string {
  if (arguments.length === 0) throw new TypeError("atob needs 1 argument, but got none");
  const bytes = decodeForgivingly(`${data}`);
  if (bytes === undefined) {
    throw new DOMException("The string to decode is not valid Base64", "InvalidCharacterError");
  }
  return stringFromUnits(bytes);
}
