/**
 * An instruction of classic BPF; `yes` and `no`: number of instructions to skip if a jump's comparison holds or fails.
 */
export type Instruction = readonly [code: number, value: number, yes: number, no: number];

/** A system call's numbers on x64 and arm64; `null` if the call does not exist. */
export type SystemCallNumbers = readonly [x64: number | null, arm64: number | null];

/** The column of an architecture in the tables. */
export type Column = 0 | 1;

/** AUDIT_ARCH_*: the numbers mean other calls in another architecture's ABI. */
const ARCHITECTURES: ReadonlyMap<string, { readonly audit: number; readonly column: Column }> = new Map([
  ["x64", { audit: 0xc000_003e, column: 0 }],
  ["arm64", { audit: 0xc000_00b7, column: 1 }],
]);
/** Set in the numbers of the x32 ABI, which would bypass a list of numbers. */
const X32_BIT = 0x4000_0000;

// Offsets in `struct seccomp_data`; arguments have eight bytes each, on both architectures the low half first.
const [NUMBER_AT, ARCH_AT, ARGUMENTS_AT] = [0, 4, 16];
const [LOAD, JUMP_IF_EQUAL, JUMP_IF_AT_LEAST, JUMP_IF_ANY_BIT, RETURN] = [0x20, 0x15, 0x35, 0x45, 0x06];

export const ALLOW: Instruction = [RETURN, 0x7fff_0000, 0, 0];
/** Fails with EPERM, as if the caller lacked the right. */
export const REFUSE: Instruction = [RETURN, 0x0005_0001, 0, 0];
/** Fails with ENOSYS, as if the kernel had no such call: C libraries then fall back to an older one. */
export const UNKNOWN: Instruction = [RETURN, 0x0005_0026, 0, 0];

/** Loads the low half of an argument for the instructions that follow. */
export function loadArgument(index: number): Instruction {
  return [LOAD, ARGUMENTS_AT + 8 * index, 0, 0];
}

export function ifEqual(value: number, yes: number, no: number): Instruction {
  return [JUMP_IF_EQUAL, value, yes, no];
}

export function ifAnyBit(bits: number, yes: number, no: number): Instruction {
  return [JUMP_IF_ANY_BIT, bits, yes, no];
}

/** Decides by equality alone; no instruction for a call that does not exist. */
export function decide(value: number | null, verdict: Instruction): Instruction[] {
  return value === null ? [] : [ifEqual(value, 0, 1), verdict];
}

/** Decides one system call with instructions that all end in a verdict. */
export function decideBy(number: number | null, body: readonly Instruction[]): Instruction[] {
  return number === null ? [] : [ifEqual(number, 0, body.length), ...body];
}

/**
 * A system call filter in the kernel's format; `null` for an architecture whose numbers are missing here. The rules
 * start with the system call's number loaded, and end with a verdict for all other calls.
 */
export function systemCallFilter(
  architecture: string,
  rules: (column: Column) => readonly Instruction[],
): Uint8Array | null {
  const known = ARCHITECTURES.get(architecture);
  if (known === undefined) return null;
  return assemble([
    [LOAD, ARCH_AT, 0, 0],
    ifEqual(known.audit, 1, 0),
    REFUSE,
    [LOAD, NUMBER_AT, 0, 0],
    [JUMP_IF_AT_LEAST, X32_BIT, 0, 1],
    REFUSE,
    ...rules(known.column),
  ]);
}

/** `struct sock_filter[]`, eight bytes each. */
function assemble(program: readonly Instruction[]): Uint8Array {
  const bytes = new DataView(new ArrayBuffer(program.length * 8));
  for (const [index, [code, value, yes, no]] of program.entries()) {
    bytes.setUint16(index * 8, code, true);
    bytes.setUint8(index * 8 + 2, yes);
    bytes.setUint8(index * 8 + 3, no);
    bytes.setUint32(index * 8 + 4, value >>> 0, true);
  }
  return new Uint8Array(bytes.buffer);
}
