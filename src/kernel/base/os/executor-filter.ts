import { ALLOW, decide, decideBy, ifAnyBit, type Instruction, loadArgument, REFUSE, UNKNOWN } from "./bpf.ts";
import { systemCallFilter, type SystemCallNumbers } from "./bpf.ts";

/**
 * System calls of an executor: those that V8, libuv and the C library were observed to need under load, when they run
 * out of memory and when they abort, and those that other versions of them use instead. The list has no `socket`,
 * `connect`, `bind`, `accept` or `sendmsg`, no `fork`, no `ptrace`, no mount, no io_uring, and nothing that changes a
 * file.
 */
export const ALLOWED: { readonly [name: string]: SystemCallNumbers } = {
  // The most frequent calls first: the kernel evaluates the filter from its beginning.
  futex: [202, 98],
  read: [0, 63],
  write: [1, 64],
  epoll_pwait: [281, 22],
  mprotect: [10, 226],
  madvise: [28, 233],
  getpid: [39, 172],
  mmap: [9, 222],
  munmap: [11, 215],
  // Memory.
  brk: [12, 214],
  mremap: [25, 216],
  membarrier: [324, 283],
  pkey_alloc: [330, 289],
  pkey_free: [331, 290],
  pkey_mprotect: [329, 288],
  // Threads, signals and exit.
  exit: [60, 93],
  exit_group: [231, 94],
  gettid: [186, 178],
  tkill: [200, 130],
  tgkill: [234, 131],
  kill: [62, 129],
  rt_sigaction: [13, 134],
  rt_sigprocmask: [14, 135],
  rt_sigreturn: [15, 139],
  sigaltstack: [131, 132],
  set_robust_list: [273, 99],
  set_tid_address: [218, 96],
  rseq: [334, 293],
  arch_prctl: [158, null],
  // The process that waits for Node has the same filter.
  wait4: [61, 260],
  restart_syscall: [219, 128],
  sched_getaffinity: [204, 123],
  sched_getparam: [143, 121],
  sched_getscheduler: [145, 120],
  sched_yield: [24, 124],
  getcpu: [309, 168],
  // The filter is installed before the program starts; a program that replaces itself keeps it.
  execve: [59, 221],
  // Time and randomness.
  clock_getres: [229, 114],
  clock_gettime: [228, 113],
  clock_nanosleep: [230, 115],
  nanosleep: [35, 101],
  gettimeofday: [96, 169],
  time: [201, null],
  getrandom: [318, 278],
  // Files, few and all read-only; inherited descriptors.
  access: [21, null],
  close: [3, 57],
  dup: [32, 23],
  dup3: [292, 24],
  faccessat: [269, 48],
  faccessat2: [439, 439],
  fcntl: [72, 25],
  fstat: [5, 80],
  getcwd: [79, 17],
  getdents64: [217, 61],
  lseek: [8, 62],
  lstat: [6, null],
  newfstatat: [262, 79],
  open: [2, null],
  openat: [257, 56],
  pread64: [17, 67],
  pwrite64: [18, 68],
  readlink: [89, null],
  readlinkat: [267, 78],
  readv: [19, 65],
  stat: [4, null],
  statx: [332, 291],
  writev: [20, 66],
  // The connections to the host, which exist already: no new one can be made.
  getsockname: [51, 204],
  getsockopt: [55, 209],
  recvmsg: [47, 212],
  shutdown: [48, 210],
  // Waiting.
  epoll_create1: [291, 20],
  epoll_ctl: [233, 21],
  epoll_wait: [232, null],
  eventfd2: [290, 19],
  pipe2: [293, 59],
  poll: [7, null],
  ppoll: [271, 73],
  // Facts about the process itself and the machine.
  capget: [125, 90],
  getegid: [108, 177],
  geteuid: [107, 175],
  getgid: [104, 176],
  getppid: [110, 173],
  getrusage: [98, 165],
  getuid: [102, 174],
  prlimit64: [302, 261],
  sysinfo: [99, 179],
  uname: [63, 160],
};

/** System calls that are harmless with certain arguments only. */
export const CHECKED = {
  clone: [56, 220],
  clone3: [435, 435],
  ioctl: [16, 29],
  prctl: [157, 167],
} as const satisfies { readonly [name: string]: SystemCallNumbers };

const CLONE_THREAD = 0x0001_0000;
/** The flags that create a namespace: time, mount, cgroup, uts, ipc, user, pid, net. */
const CLONE_NEW =
  0x80 | 0x0002_0000 | 0x0200_0000 | 0x0400_0000 | 0x0800_0000 | 0x1000_0000 | 0x2000_0000 | 0x4000_0000;
/** TCGETS, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX: libuv's requests on a descriptor. */
const IOCTLS = [0x5401, 0x541b, 0x5421, 0x5450, 0x5451];
/** PR_SET_NAME, PR_GET_NAME, PR_SET_VMA: names of threads and of memory. */
const PRCTLS = [15, 16, 0x5356_4d41];

/**
 * The filter of an executor, a list of allowed calls. All others fail with EPERM, which V8 and libuv handle. `null` for
 * an architecture whose numbers are missing here.
 */
export function executorFilter(architecture: string): Uint8Array | null {
  return systemCallFilter(architecture, (column) => [
    ...Object.values(ALLOWED).flatMap((numbers) => decide(numbers[column], ALLOW)),
    // The flags of `clone3` are in memory, which a filter cannot read; a C library that gets ENOSYS falls back to
    // `clone`.
    ...decide(CHECKED.clone3[column], UNKNOWN),
    ...decideBy(CHECKED.clone[column], threadsOnly()),
    ...decideBy(CHECKED.ioctl[column], oneOf(1, IOCTLS)),
    ...decideBy(CHECKED.prctl[column], oneOf(0, PRCTLS)),
    REFUSE,
  ]);
}

function oneOf(argument: number, values: readonly number[]): Instruction[] {
  return [loadArgument(argument), ...values.flatMap((value) => decide(value, ALLOW)), REFUSE];
}

/** Allows only a thread of the same process in the same namespaces: no process, and no way to more rights. */
function threadsOnly(): Instruction[] {
  return [loadArgument(0), ifAnyBit(CLONE_NEW, 2, 0), ifAnyBit(CLONE_THREAD, 0, 1), ALLOW, REFUSE];
}
