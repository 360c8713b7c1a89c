import { describe, expect, test } from "vitest";
import { ALLOWED, CHECKED, executorFilter } from "../../../../src/kernel/base/os/executor-filter.ts";

/** What the kernel tells a filter of a system call. */
interface Call {
  readonly audit: number;
  readonly number: number;
  readonly args?: readonly bigint[];
}

const AUDIT = { x64: 0xc000_003e, arm64: 0xc000_00b7, i386: 0x4000_0003 };
const ALLOW = 0x7fff_0000;
const EPERM = 0x0005_0001;
const ENOSYS = 0x0005_0026;
/** What glibc gives a thread. */
const THREAD = 0x003d_0f00n;

/** The kernel's interpreter of classic BPF, as far as filters of system calls go. */
function decide(program: Uint8Array, { audit, number, args = [] }: Call): number {
  const data = new DataView(new ArrayBuffer(64));
  data.setUint32(0, number, true);
  data.setUint32(4, audit, true);
  for (const [index, arg] of args.entries()) data.setBigUint64(16 + index * 8, arg, true);
  const code = new DataView(program.buffer, program.byteOffset, program.byteLength);
  let accumulator = 0;
  for (let at = 0; at < program.byteLength; at += 8) {
    const value = code.getUint32(at + 4, true);
    const jump = (yes: boolean) => (at += 8 * code.getUint8(at + (yes ? 2 : 3)));
    switch (code.getUint16(at, true)) {
      case 0x20:
        accumulator = data.getUint32(value, true);
        break;
      case 0x15:
        jump(accumulator === value);
        break;
      case 0x35:
        jump(accumulator >= value);
        break;
      case 0x45:
        jump((accumulator & value) !== 0);
        break;
      case 0x06:
        return value;
      default:
        throw new Error(`no such instruction at ${at / 8}`);
    }
  }
  throw new Error("the program has no end");
}

describe.each([
  ["x64", 0],
  ["arm64", 1],
] as const)("the filter for %s", (architecture, column) => {
  const program = executorFilter(architecture) ?? new Uint8Array();
  const audit = AUDIT[architecture];
  const call = (name: keyof typeof CHECKED, args: readonly bigint[]) =>
    decide(program, { audit, number: CHECKED[name][column], args });

  test("allows what is on the list, and nothing else of all numbers that there are", () => {
    const listed = Object.values(ALLOWED).flatMap((numbers) => numbers[column] ?? []);
    expect(listed.length).toBeGreaterThan(50);
    const allowed = Array.from({ length: 1_024 }, (_, number) => number).filter(
      (number) => decide(program, { audit, number }) === ALLOW,
    );
    expect(allowed).toEqual(listed.toSorted((a, b) => a - b));
  });

  test("fits into what the kernel takes", () => {
    expect(program.byteLength % 8).toBe(0);
    expect(program.byteLength / 8).toBeLessThanOrEqual(4_096);
  });

  test("refuses system calls of another architecture, whose numbers mean something else", () => {
    const others = Object.values(AUDIT).filter((other) => other !== audit);
    for (const other of others) {
      for (let number = 0; number < 512; number++) expect(decide(program, { audit: other, number })).toBe(EPERM);
    }
  });

  test("refuses the second set of numbers that x64 has for calls with short pointers", () => {
    for (let number = 0; number < 1_024; number++) {
      expect(decide(program, { audit, number: 0x4000_0000 + number })).toBe(EPERM);
    }
    expect(decide(program, { audit, number: 0xffff_ffff })).toBe(EPERM);
  });

  test("lets threads be made, and neither processes nor namespaces", () => {
    expect(call("clone", [THREAD])).toBe(ALLOW);
    expect(call("clone", [0x0120_0011n])).toBe(EPERM);
    expect(call("clone", [0x4111n])).toBe(EPERM);
    for (const flag of [
      0x80n,
      0x2_0000n,
      0x200_0000n,
      0x400_0000n,
      0x800_0000n,
      0x1000_0000n,
      0x2000_0000n,
      0x4000_0000n,
    ]) {
      expect(call("clone", [THREAD | flag])).toBe(EPERM);
    }
  });

  test("says that there is no clone3, so that threads are made by clone", () => {
    expect(call("clone3", [THREAD])).toBe(ENOSYS);
  });

  test("lets a descriptor be asked for what libuv asks, and nothing be typed into a terminal", () => {
    expect(call("ioctl", [3n, 0x5421n])).toBe(ALLOW);
    expect(call("ioctl", [0x5421n, 0x5412n])).toBe(EPERM);
  });

  test("lets threads be named, and nothing else about the process be changed", () => {
    expect(call("prctl", [15n])).toBe(ALLOW);
    for (let option = 0n; option < 80n; option++) {
      if (option !== 15n && option !== 16n) expect(call("prctl", [option])).toBe(EPERM);
    }
  });
});

test("there is no filter for a processor whose numbers are not known", () => {
  expect(executorFilter("riscv64")).toBeNull();
});

test.each([
  [
    "x64",
    0,
    [41, 42, 43, 46, 49, 50, 53, 57, 58, 101, 155, 165, 250, 272, 298, 304, 308, 310, 319, 321, 323, 425, 434],
  ],
  ["arm64", 1, [198, 199, 200, 201, 202, 203, 211, 117, 40, 41, 97, 241, 264, 265, 268, 270, 279, 280, 282, 425, 434]],
] as const)(
  "nothing on the list for %s is a socket, a process, a mount, or a door into the kernel",
  (_name, column, numbers) => {
    const listed = new Set(Object.values(ALLOWED).map((each) => each[column]));
    expect(numbers.filter((number) => listed.has(number))).toEqual([]);
  },
);
