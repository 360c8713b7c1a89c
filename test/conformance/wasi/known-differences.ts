/** Cases of wasi-testsuite for preview 1 that do not pass, with the reason. */
type Differences = ReadonlyMap<string, string>;

const ARGUMENTS = "the host gives the command arguments of its own, and a tool's are those of its call";
const ENVIRONMENT = "the host gives the command an environment, and a tool has none";
const FILES = "the host gives the command files, and a tool has none at its start";

/** Cases for hosts of another kind. They do not run. */
export const NOT_APPLICABLE: Differences = new Map([
  ["assemblyscript/args_get-multiple-arguments", ARGUMENTS],
  ["assemblyscript/args_sizes_get-multiple-arguments", ARGUMENTS],
  ["assemblyscript/args_sizes_get-no-arguments", ARGUMENTS],
  ["assemblyscript/environ_get-multiple-variables", ENVIRONMENT],
  ["assemblyscript/environ_sizes_get-multiple-variables", ENVIRONMENT],
  ["c/fdopendir-with-access", FILES],
  ["c/fopen-with-access", FILES],
  ["c/lseek", FILES],
  ["c/pread-with-access", FILES],
  ["c/pwrite-with-access", FILES],
  ["c/stat-dev-ino", FILES],
]);

/** Cases that do not pass, on purpose. */
export const REFUSED: Differences = new Map([
  ["c/sock_shutdown-invalid_fd", "it takes descriptor 3 for a closed one, which is the root that every tool has"],
]);
