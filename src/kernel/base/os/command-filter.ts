import { ALLOW, decide, decideBy, ifAnyBit, ifEqual, type Instruction, loadArgument, REFUSE, UNKNOWN } from "./bpf.ts";
import { type Column, systemCallFilter, type SystemCallNumbers } from "./bpf.ts";

const FORBIDDEN: { readonly [name: string]: SystemCallNumbers } = {
  // Keys of the user who started the engine: a session keyring is inherited across all namespaces.
  add_key: [248, 217],
  request_key: [249, 218],
  keyctl: [250, 219],
  // The kernel's log, which not every host restricts.
  syslog: [103, 116],
  // Large kernel interfaces that programs do not need.
  bpf: [321, 280],
  perf_event_open: [298, 241],
  userfaultfd: [323, 282],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  // Memory and descriptors of other processes: bubblewrap's own process is visible inside.
  ptrace: [101, 117],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  pidfd_getfd: [438, 438],
  // Memory that belongs to no process, and so escapes limits and monitoring per process.
  memfd_create: [319, 279],
  memfd_secret: [447, 447],
  shmget: [29, 194],
  semget: [64, 190],
  msgget: [68, 186],
  // Namespaces and mounts, which need rights that no process inside has.
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
/**
 * Calls that set a file's mode, and the argument with the mode: a set-id file in a mount would be a program on the
 * host.
 */
const MODES: readonly {
  readonly numbers: SystemCallNumbers;
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
/** O_CREAT, or the bit that only O_TMPFILE has: without them the argument is not a mode. */
const MAKES = 0o100 | 0o20000000;
/**
 * The mode of `openat2` is in memory, which a filter cannot read; a C library that gets ENOSYS falls back to `openat`.
 */
const OPENAT2 = 437;

/** Creates both processes and threads. */
const CLONE: SystemCallNumbers = [56, 220];
const FORKS: readonly SystemCallNumbers[] = [
  [57, null], // fork
  [58, null], // vfork
];
const CLONE_THREAD = 0x1_0000;
/** Its flags are in memory as well; a C library that gets ENOSYS falls back to `clone`. */
const CLONE3 = 435;
/**
 * Memory shared with later forks belongs to no process: its addresses can be unmapped while its pages stay. A mapping
 * that grows downwards counts as a stack, to which the data limit does not apply.
 */
const MMAP: SystemCallNumbers = [9, 222];
const [MAP_SHARED, MAP_ANONYMOUS, MAP_GROWSDOWN] = [0x01, 0x20, 0x100];

const SOCKET: readonly [number, number] = [41, 198];
/**
 * AF_UNIX, AF_INET, AF_INET6, AF_NETLINK. Some other families are not bound to a namespace: AF_VSOCK reaches the
 * hypervisor.
 */
const FAMILIES = [1, 2, 10, 16];
/** A single process has no peer to address, and connections to itself would hold kernel memory. */
const FAMILIES_OF_ONE = [1];

/**
 * The filter of sandboxed commands and binaries, a list of forbidden calls: those that no other barrier stops, and
 * those that expose more of the kernel than programs need. All others are allowed, because the needs of programs are
 * unknown. A program that may not fork is one process with any number of threads, so limits per process hold it as a
 * whole.
 */
export function commandFilter(architecture: string, mayFork: boolean): Uint8Array | null {
  return systemCallFilter(architecture, (column) => [
    ...Object.values(FORBIDDEN).flatMap((numbers) => decide(numbers[column], REFUSE)),
    ...decide(OPENAT2, UNKNOWN),
    ...(mayFork ? [] : withoutForks(column)),
    ...MODES.flatMap(({ numbers, ...mode }) => decideBy(numbers[column], withoutSetId(mode))),
    ifEqual(SOCKET[column], 1, 0),
    ALLOW,
    loadArgument(0),
    ...(mayFork ? FAMILIES : FAMILIES_OF_ONE).flatMap((family) => decide(family, ALLOW)),
    REFUSE,
  ]);
}

/** Forbids new processes and memory shared with them; allows threads. */
function withoutForks(column: Column): Instruction[] {
  return [
    ...FORKS.flatMap((numbers) => decide(numbers[column], REFUSE)),
    ...decideBy(MMAP[column], [
      loadArgument(3),
      ifAnyBit(MAP_GROWSDOWN, 2, 0),
      ifAnyBit(MAP_SHARED, 0, 2),
      ifAnyBit(MAP_ANONYMOUS, 0, 1),
      REFUSE,
      ALLOW,
    ]),
    ...decide(CLONE3, UNKNOWN),
    ...decideBy(CLONE[column], [loadArgument(0), ifAnyBit(CLONE_THREAD, 1, 0), REFUSE, ALLOW]),
  ];
}

/** Forbids the set-user-ID and set-group-ID bits, if the flags say that the call has a mode. */
function withoutSetId({ argument, flags }: { readonly argument: number; readonly flags?: number }): Instruction[] {
  const makes = flags === undefined ? [] : [loadArgument(flags), ifAnyBit(MAKES, 1, 0), ALLOW];
  return [...makes, loadArgument(argument), ifAnyBit(SET_ID, 0, 1), REFUSE, ALLOW];
}
