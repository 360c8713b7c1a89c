import { ALLOWED, CHECKED } from "./syscalls.ts";

/**
 * A filter for the kernel (classic BPF over `struct seccomp_data`): a list of what is allowed, everything else fails
 * with EPERM as if the caller lacked the right, which V8 and libuv know how to take.
 */

interface Architecture {
  /** AUDIT_ARCH_*: numbers mean something else in another architecture's system calls. */
  readonly audit: number;
  /** Where its numbers stand in the tables. */
  readonly column: 0 | 1;
}

const ARCHITECTURES: { readonly [name: string]: Architecture } = {
  x64: { audit: 0xc000_003e, column: 0 },
  arm64: { audit: 0xc000_00b7, column: 1 },
};

/** Set in the number of a call of the x32 ABI, which would pass a list of numbers by. */
const X32_BIT = 0x4000_0000;

// The parts of `struct seccomp_data`, whose arguments have eight bytes each; on both architectures the low half is first.
const NUMBER_AT = 0;
const ARCH_AT = 4;
const argumentAt = (index: number) => 16 + 8 * index;

// Instructions of classic BPF.
const LOAD = 0x20;
const JUMP_IF_EQUAL = 0x15;
const JUMP_IF_AT_LEAST = 0x35;
const JUMP_IF_ANY_BIT = 0x45;
const RETURN = 0x06;

const ALLOW = 0x7fff_0000;
const FAIL = 0x0005_0000;
const EPERM = 1;
const ENOSYS = 38;

const CLONE_THREAD = 0x0001_0000;
/** The flags that make a namespace: time, mount, cgroup, uts, ipc, user, pid, net. */
const CLONE_NEW =
  0x80 | 0x0002_0000 | 0x0200_0000 | 0x0400_0000 | 0x0800_0000 | 0x1000_0000 | 0x2000_0000 | 0x4000_0000;
/** TCGETS, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX: what libuv asks of a descriptor. */
const IOCTLS = [0x5401, 0x541b, 0x5421, 0x5450, 0x5451];
/** PR_SET_NAME, PR_GET_NAME, PR_SET_VMA: names of threads and of memory. */
const PRCTLS = [15, 16, 0x5356_4d41];

interface Instruction {
  readonly code: number;
  readonly value: number;
  /** How many instructions are skipped where the comparison holds, and where it does not. */
  readonly yes: number;
  readonly no: number;
}

/** The filter for an architecture, as the kernel takes it; `null` for one whose numbers are not known here. */
export function seccompFilter(architecture: string): Uint8Array | null {
  const known = ARCHITECTURES[architecture];
  if (known === undefined) return null;
  const { audit, column } = known;
  const program = [
    at(LOAD, ARCH_AT),
    at(JUMP_IF_EQUAL, audit, 1, 0),
    at(RETURN, FAIL | EPERM),
    at(LOAD, NUMBER_AT),
    at(JUMP_IF_AT_LEAST, X32_BIT, 0, 1),
    at(RETURN, FAIL | EPERM),
  ];
  for (const numbers of Object.values(ALLOWED)) {
    const number = numbers[column];
    if (number !== null) program.push(at(JUMP_IF_EQUAL, number, 0, 1), at(RETURN, ALLOW));
  }
  // Its flags lie in memory, which a filter cannot read; a C library that is told that there is no such call takes clone.
  program.push(at(JUMP_IF_EQUAL, CHECKED.clone3[column], 0, 1), at(RETURN, FAIL | ENOSYS));
  program.push(...checked(CHECKED.clone[column], 0, threadsOnly()));
  program.push(...checked(CHECKED.ioctl[column], 1, oneOf(IOCTLS)));
  program.push(...checked(CHECKED.prctl[column], 0, oneOf(PRCTLS)));
  program.push(at(RETURN, FAIL | EPERM));
  return assemble(program);
}

/** Decides about one system call by the low half of one of its arguments. */
function checked(number: number, argument: number, decide: readonly Instruction[]): Instruction[] {
  const body = [at(LOAD, argumentAt(argument)), ...decide, at(RETURN, FAIL | EPERM)];
  return [at(JUMP_IF_EQUAL, number, 0, body.length), ...body];
}

function oneOf(values: readonly number[]): Instruction[] {
  return values.flatMap((value) => [at(JUMP_IF_EQUAL, value, 0, 1), at(RETURN, ALLOW)]);
}

/** A thread of the same process, in the same namespaces: neither a process nor a way to more rights. */
function threadsOnly(): Instruction[] {
  return [at(JUMP_IF_ANY_BIT, CLONE_NEW, 2, 0), at(JUMP_IF_ANY_BIT, CLONE_THREAD, 0, 1), at(RETURN, ALLOW)];
}

function at(code: number, value: number, yes = 0, no = 0): Instruction {
  return { code, value: value >>> 0, yes, no };
}

/** `struct sock_filter[]`, eight bytes each. */
function assemble(program: readonly Instruction[]): Uint8Array {
  const bytes = new DataView(new ArrayBuffer(program.length * 8));
  for (const [index, { code, value, yes, no }] of program.entries()) {
    bytes.setUint16(index * 8, code, true);
    bytes.setUint8(index * 8 + 2, yes);
    bytes.setUint8(index * 8 + 3, no);
    bytes.setUint32(index * 8 + 4, value, true);
  }
  return new Uint8Array(bytes.buffer);
}
