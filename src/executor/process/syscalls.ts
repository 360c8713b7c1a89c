/** A system call's numbers on x64 and on arm64; `null` where there is no such call. */
type Numbers = readonly [x64: number | null, arm64: number | null];

/**
 * What an executor may ask of the kernel: what V8, libuv and the C library were seen to need under load, when they
 * run out of memory and when they abort, and what their other versions take instead. There is no `socket`, `connect`,
 * `bind`, `accept` or `sendmsg` in it, no `fork`, no `ptrace`, no mount, no io_uring, and nothing that changes a file.
 * What is harmless with certain arguments only is in `seccomp.ts`.
 */
export const ALLOWED: { readonly [name: string]: Numbers } = {
  // The hot ones first: the filter is read from its beginning.
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
  // Threads, signals, and the end.
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
  // The filter is there before the program is: what a program starts in its own place has it too.
  execve: [59, 221],
  // Time and chance.
  clock_getres: [229, 114],
  clock_gettime: [228, 113],
  clock_nanosleep: [230, 115],
  nanosleep: [35, 101],
  gettimeofday: [96, 169],
  time: [201, null],
  getrandom: [318, 278],
  // Files, of which there are few and none to write; what was inherited.
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
  // The links to the host, which are there already: none can be made.
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
  // What a process asks about itself and the machine.
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

/** System calls of which the filter looks at an argument. */
export const CHECKED = {
  clone: [56, 220],
  clone3: [435, 435],
  ioctl: [16, 29],
  prctl: [157, 167],
} as const satisfies { readonly [name: string]: Numbers };
