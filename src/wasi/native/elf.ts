/** Checks ELF headers. */

/** A program for this machine, or a description of the file's actual type. */
export type Judged = { readonly ok: true } | { readonly ok: false; readonly is: string };

const HEADER_BYTES = 64;
const ELF_MAGIC = [0x7f, 0x45, 0x4c, 0x46];
const [CLASS_AT, DATA_AT, TYPE_AT, MACHINE_AT] = [4, 5, 16, 18];
const [CLASS_32, CLASS_64] = [1, 2];
const [LITTLE, BIG] = [1, 2];
/** ET_*. Programs have type 2 or 3; a shared object may be a program. */
const TYPES: ReadonlyMap<number, string> = new Map([
  [1, "an object file, which has not been linked"],
  [4, "a core dump"],
]);
const PROGRAMS: readonly number[] = [2, 3];

/** EM_*, with Node's names of architectures if they exist. */
const MACHINES: ReadonlyMap<number, string> = new Map([
  [0x03, "ia32"],
  [0x08, "mips"],
  [0x14, "ppc"],
  [0x15, "ppc64"],
  [0x16, "s390x"],
  [0x28, "arm"],
  [0x3e, "x64"],
  [0xb7, "arm64"],
  [0xf3, "riscv64"],
  [0x102, "loong64"],
]);

/** Magic bytes of files that are often mistaken for programs of this system. */
const OTHERS: readonly (readonly [bytes: readonly number[], is: string])[] = [
  [[0x23, 0x21], "a script, which begins with #!"],
  [[0x4d, 0x5a], "a program for Windows (PE)"],
  [[0xcf, 0xfa, 0xed, 0xfe], "a program for macOS (Mach-O)"],
  [[0xce, 0xfa, 0xed, 0xfe], "a program for macOS (Mach-O)"],
  [[0xca, 0xfe, 0xba, 0xbe], "a program for macOS (Mach-O), or a class of Java's"],
  [[0x00, 0x61, 0x73, 0x6d], "a WebAssembly module, which has the runtime wasi"],
  [[0x50, 0x4b, 0x03, 0x04], "a zip archive"],
  [[0x1f, 0x8b], "compressed with gzip"],
];

/** Description of a program for an architecture. */
export function neededOn(architecture: string): string {
  return `a 64-bit ELF program for ${architecture}`;
}

/** Whether a file is a program for an architecture, as Node names it. */
export function judgeElf(file: Uint8Array, architecture: string): Judged {
  const no = (is: string): Judged => ({ ok: false, is });
  const starts = (bytes: readonly number[]): boolean => bytes.every((byte, at) => file[at] === byte);
  if (file.length === 0) return no("empty");
  if (!starts(ELF_MAGIC)) {
    return no(OTHERS.find(([bytes]) => starts(bytes))?.[1] ?? "not ELF");
  }
  const [width, order] = [file[CLASS_AT], file[DATA_AT]];
  if (file.length < HEADER_BYTES) return no("an ELF file that ends within its header");
  if (order !== LITTLE && order !== BIG) return no("an ELF file of no known byte order");
  const view = new DataView(file.buffer, file.byteOffset, HEADER_BYTES);
  const half = (at: number): number => view.getUint16(at, order === LITTLE);
  const machine = MACHINES.get(half(MACHINE_AT)) ?? `a machine with the number ${half(MACHINE_AT)}`;
  const bits = width === CLASS_64 ? "64-bit" : width === CLASS_32 ? "32-bit" : "odd";
  const shown = `${bits} ELF for ${machine}${order === BIG ? " with the other byte order" : ""}`;
  const type = half(TYPE_AT);
  if (!PROGRAMS.includes(type)) return no(`${shown}, ${TYPES.get(type) ?? `of the type ${type}`}`);
  return bits === "64-bit" && order === LITTLE && machine === architecture ? { ok: true } : no(shown);
}
