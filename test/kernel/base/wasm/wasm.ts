/** WebAssembly modules, built by hand: what no compiler would write as well. */

export const MAGIC = [0x00, 0x61, 0x73, 0x6d];
const VERSION = [0x01, 0x00, 0x00, 0x00];

/** A number as WebAssembly writes it. `pad` makes it longer than it has to be. */
export function u32(value: number, pad = 0): number[] {
  const bytes: number[] = [];
  let rest = value;
  do {
    bytes.push(rest % 128);
    rest = Math.floor(rest / 128);
  } while (rest > 0);
  for (let left = Math.min(pad, 5 - bytes.length); left > 0; left--) bytes.push(0);
  return bytes.map((byte, index) => (index < bytes.length - 1 ? byte | 0x80 : byte));
}

export function name(text: string): number[] {
  const bytes = [...Buffer.from(text)];
  return [...u32(bytes.length), ...bytes];
}

export function section(id: number, ...body: number[]): number[] {
  return [id, ...u32(body.length), ...body];
}

export function wasm(...sections: readonly number[][]): Uint8Array<ArrayBuffer> {
  return Uint8Array.from([...MAGIC, ...VERSION, ...sections.flat()]);
}

/** A component that exports instances of interfaces. */
export function component(...interfaces: readonly string[]): Uint8Array<ArrayBuffer> {
  const exported = interfaces.flatMap((one) => [1, ...name(one), 5, 0, 0]);
  return componentOf(section(11, ...u32(interfaces.length), ...exported));
}

/** A component of these sections. */
export function componentOf(...sections: readonly number[][]): Uint8Array<ArrayBuffer> {
  return Uint8Array.from([...MAGIC, 0x0d, 0x00, 0x01, 0x00, ...sections.flat()]);
}

/** `min` and, where it is given, `max`. */
export function limits(min: number, max?: number, pad = 0): number[] {
  return max === undefined ? [0, ...u32(min, pad)] : [1, ...u32(min, pad), ...u32(max, pad)];
}

export const FUNCREF = 0x70;
export const EXTERNREF = 0x6f;

/** A type without parameters and results, one function of it that does `body`, and what a command has to export. */
export const TYPES = section(1, 1, 0x60, 0, 0);
export const FUNCTIONS = section(3, 1, 0);
export const memory = (...of: readonly number[]): number[] => section(5, 1, ...of);
export const exportsOf = (start: number): number[] =>
  section(7, 2, ...name("_start"), 0, ...u32(start), ...name("memory"), 2, 0);
export const code = (...body: readonly number[]): number[] => {
  const whole = [0, ...body, 0x0b];
  return section(10, 1, ...u32(whole.length), ...whole);
};

/** Imports of functions of the first type. */
export function imports(...named: readonly (readonly [module: string, name: string])[]): number[] {
  return section(2, ...u32(named.length), ...named.flatMap(([from, one]) => [...name(from), ...name(one), 0, 0]));
}

/** A command that does nothing, with a memory of these limits. */
export function command(min = 1, max?: number): Uint8Array<ArrayBuffer> {
  return wasm(TYPES, FUNCTIONS, memory(...limits(min, max)), exportsOf(0), code());
}
