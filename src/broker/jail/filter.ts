/**
 * A filter for the kernel (classic BPF over `struct seccomp_data`) that forbids what other walls do not hold, and
 * what makes more of the kernel reachable than programs need. All else is allowed: nobody knows what a program needs.
 */

/** A system call's numbers on x64 and on arm64. */
type Numbers = readonly [x64: number, arm64: number];

const FORBIDDEN: { readonly [name: string]: Numbers } = {
  // Keys of whoever started the engine: those of a session are inherited, whatever the namespaces.
  add_key: [248, 217],
  request_key: [249, 218],
  keyctl: [250, 219],
  // What the kernel says of the machine; not every host keeps it to itself.
  syslog: [103, 116],
  // Large parts of the kernel that programs do without.
  bpf: [321, 280],
  perf_event_open: [298, 241],
  userfaultfd: [323, 282],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  // Other processes' memory and descriptors: bubblewrap's own is beside them.
  ptrace: [101, 117],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  pidfd_getfd: [438, 438],
  // Memory that belongs to no process, so that whoever watches processes does not see it.
  memfd_create: [319, 279],
  memfd_secret: [447, 447],
  shmget: [29, 194],
  semget: [64, 190],
  msgget: [68, 186],
  // Namespaces and mounts, which need rights that nobody inside has.
  unshare: [272, 97],
  setns: [308, 268],
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  open_tree: [428, 428],
  move_mount: [429, 429],
  fsopen: [430, 430],
  fsmount: [432, 432],
  mount_setattr: [442, 442],
};
/** What gives a file its mode, in which argument: a file of a mount could be somebody else's program outside. */
const MODES: readonly {
  readonly numbers: readonly [x64: number, arm64: number | null];
  readonly argument: number;
  readonly flags?: number;
}[] = [
  { numbers: [90, null], argument: 1 }, // chmod
  { numbers: [91, 52], argument: 1 }, // fchmod
  { numbers: [268, 53], argument: 2 }, // fchmodat
  { numbers: [452, 452], argument: 2 }, // fchmodat2
  { numbers: [85, null], argument: 1 }, // creat
  { numbers: [133, null], argument: 1 }, // mknod
  { numbers: [259, 33], argument: 2 }, // mknodat
  { numbers: [83, null], argument: 1 }, // mkdir
  { numbers: [258, 34], argument: 2 }, // mkdirat
  { numbers: [2, null], argument: 2, flags: 1 }, // open
  { numbers: [257, 56], argument: 3, flags: 2 }, // openat
];
/** S_ISUID and S_ISGID. */
const SET_ID = 0o6000;
/** O_CREAT, or the bit of O_TMPFILE that is no other's: without them there is no mode, but whatever lies there. */
const MAKES = 0o100 | 0o20000000;
/** Its mode lies in memory, which a filter cannot read; who is told that there is no such call takes `openat`. */
const OPENAT2 = 437;

/** What makes a process; the first of them makes threads as well. */
const CLONE: Numbers = [56, 220];
const FORKS: readonly (readonly [x64: number, arm64: number | null])[] = [
  [57, null], // fork
  [58, null], // vfork
];
const CLONE_THREAD = 0x1_0000;
/** Its flags lie in memory as well; who is told that there is no such call takes `clone`. */
const CLONE3 = 435;
/**
 * What is shared with nobody but who comes of a fork is memory of no process as well: its addresses can be given up, and its
 * pages be had for ever. And what grows downwards is a stack to the system, which its limit of data leaves out.
 */
const MMAP: Numbers = [9, 222];
const [MAP_SHARED, MAP_ANONYMOUS, MAP_GROWSDOWN] = [0x01, 0x20, 0x100];

const SOCKET: Numbers = [41, 198];
/** AF_UNIX, AF_INET, AF_INET6, AF_NETLINK. Of others some belong to no namespace: AF_VSOCK leads to the machine's own host. */
const FAMILIES = [1, 2, 10, 16];
/** What is one process has nobody to speak to by an address, and connections to itself would hold memory of the kernel's. */
const FAMILIES_OF_ONE = [1];

/** AUDIT_ARCH_*: numbers mean something else in another architecture's system calls. */
const ARCHITECTURES: ReadonlyMap<string, { readonly audit: number; readonly column: 0 | 1 }> = new Map([
  ["x64", { audit: 0xc000_003e, column: 0 }],
  ["arm64", { audit: 0xc000_00b7, column: 1 }],
]);
/** Set in the number of a call of the x32 ABI, which would pass a list of numbers by. */
const X32_BIT = 0x4000_0000;

const [NUMBER_AT, ARCH_AT, ARGUMENT_AT] = [0, 4, 16];
const [LOAD, JUMP_IF_EQUAL, JUMP_IF_AT_LEAST, JUMP_IF_ANY_BIT, RETURN] = [0x20, 0x15, 0x35, 0x45, 0x06];
const ALLOW = 0x7fff_0000;
const EPERM = 0x0005_0001;
const ENOSYS = 0x0005_0026;
const argumentAt = (index: number) => ARGUMENT_AT + 8 * index;

type Instruction = readonly [code: number, value: number, yes: number, no: number];

/**
 * The filter for an architecture, as the kernel takes it; `null` for one whose numbers are not known here. What may not fork is
 * one process, with as many threads as it is let have: so what the system limits by process it limits altogether.
 */
export function systemCallFilter(architecture: string, mayFork: boolean): Uint8Array | null {
  const known = ARCHITECTURES.get(architecture);
  if (known === undefined) return null;
  const { audit, column } = known;
  return assemble([
    [LOAD, ARCH_AT, 0, 0],
    [JUMP_IF_EQUAL, audit, 1, 0],
    [RETURN, EPERM, 0, 0],
    [LOAD, NUMBER_AT, 0, 0],
    [JUMP_IF_AT_LEAST, X32_BIT, 0, 1],
    [RETURN, EPERM, 0, 0],
    ...Object.values(FORBIDDEN).flatMap((numbers): Instruction[] => [
      [JUMP_IF_EQUAL, numbers[column], 0, 1],
      [RETURN, EPERM, 0, 0],
    ]),
    [JUMP_IF_EQUAL, OPENAT2, 0, 1],
    [RETURN, ENOSYS, 0, 0],
    ...(mayFork ? [] : withoutForks(column)),
    ...MODES.flatMap(({ numbers, ...mode }) => withoutSetId(numbers[column], mode)),
    [JUMP_IF_EQUAL, SOCKET[column], 1, 0],
    [RETURN, ALLOW, 0, 0],
    [LOAD, argumentAt(0), 0, 0],
    ...(mayFork ? FAMILIES : FAMILIES_OF_ONE).flatMap((family): Instruction[] => [
      [JUMP_IF_EQUAL, family, 0, 1],
      [RETURN, ALLOW, 0, 0],
    ]),
    [RETURN, EPERM, 0, 0],
  ]);
}

/** Forbids what makes processes, and what they would have in common, and leaves threads. */
function withoutForks(column: 0 | 1): Instruction[] {
  const numbers = FORKS.flatMap((each) => each[column] ?? []);
  return [
    ...numbers.flatMap((number): Instruction[] => [
      [JUMP_IF_EQUAL, number, 0, 1],
      [RETURN, EPERM, 0, 0],
    ]),
    [JUMP_IF_EQUAL, MMAP[column], 0, 6],
    [LOAD, argumentAt(3), 0, 0],
    [JUMP_IF_ANY_BIT, MAP_GROWSDOWN, 2, 0],
    [JUMP_IF_ANY_BIT, MAP_SHARED, 0, 2],
    [JUMP_IF_ANY_BIT, MAP_ANONYMOUS, 0, 1],
    [RETURN, EPERM, 0, 0],
    [RETURN, ALLOW, 0, 0],
    [JUMP_IF_EQUAL, CLONE3, 0, 1],
    [RETURN, ENOSYS, 0, 0],
    [JUMP_IF_EQUAL, CLONE[column], 0, 4],
    [LOAD, argumentAt(0), 0, 0],
    [JUMP_IF_ANY_BIT, CLONE_THREAD, 1, 0],
    [RETURN, EPERM, 0, 0],
    [RETURN, ALLOW, 0, 0],
  ];
}

/** Forbids a call whose mode would make a program run as its owner, or its group. */
function withoutSetId(
  number: number | null,
  { argument, flags }: { readonly argument: number; readonly flags?: number },
): Instruction[] {
  if (number === null) return [];
  const judge: Instruction[] = [
    [LOAD, argumentAt(argument), 0, 0],
    [JUMP_IF_ANY_BIT, SET_ID, 0, 1],
    [RETURN, EPERM, 0, 0],
    [RETURN, ALLOW, 0, 0],
  ];
  const made: Instruction[] =
    flags === undefined
      ? []
      : [
          [LOAD, argumentAt(flags), 0, 0],
          [JUMP_IF_ANY_BIT, MAKES, 1, 0],
          [RETURN, ALLOW, 0, 0],
        ];
  return [[JUMP_IF_EQUAL, number, 0, made.length + judge.length], ...made, ...judge];
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
