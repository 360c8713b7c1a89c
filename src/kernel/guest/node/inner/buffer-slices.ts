import { nodeError } from "./errors.ts";

/** Methods of `Buffer` with the encoding in their names: `utf8Slice`, `hexWrite`. */

const SLICES = ["utf8", "latin1", "ascii", "ucs2", "hex", "base64", "base64url"] as const;

type ToText = (this: Uint8Array, encoding?: unknown, start?: unknown, end?: unknown) => string;
type Write = (bytes: Uint8Array, text: unknown, offset: unknown, length: unknown, encoding: unknown) => number;

export function sliceMethods(toText: ToText, write: Write): { [name: string]: unknown } {
  const made: { [name: string]: unknown } = {};
  for (const name of SLICES) {
    made[`${name}Slice`] = function (this: Uint8Array, start?: unknown, end?: unknown) {
      return Reflect.apply(toText, this, [name, start, end]);
    };
    made[`${name}Write`] = function (this: Uint8Array, text: unknown, offset?: unknown, length?: unknown) {
      const start = offset === undefined ? 0 : Number(offset);
      const most = this.length - start;
      const isOutside = start > this.length || (length !== undefined && (Number(length) < 0 || Number(length) > most));
      if (isOutside) throw nodeError(RangeError, "ERR_BUFFER_OUT_OF_BOUNDS", '"length" is outside of buffer bounds');
      return write(this, text, start, length, name);
    };
  }
  return made;
}
