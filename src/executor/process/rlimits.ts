import { existsSync } from "node:fs";

const SHELL = "/bin/sh";

/**
 * `trap`: a signal to a whole process group or control group must not end what stands between the supervisor and Node,
 * which itself decides anew about signals when it starts. `-c`: what a process held in memory is not written down when
 * it aborts. `-f`: in blocks of 512 bytes, so that the file it inherits cannot be grown into a full disk. And where
 * the machine runs out of memory, an executor is what it can do without. What cannot be set is done without.
 *
 * There is no cap on memory: V8 takes half a gigabyte of addresses for each isolate's code, which the limit on data
 * (`-d`) counts as if they were in use, so one above what isolates need would be far above what a machine has.
 */
const SCRIPT = `trap '' HUP INT TERM
{ ulimit -c 0; ulimit -f 128; echo 500 >/proc/self/oom_score_adj; } 2>/dev/null
exec "$@"`;

/** A command under the operating system's own limits; as it is where the system has none. */
export function withLimits(command: readonly string[]): readonly string[] {
  if (process.platform !== "linux" || !existsSync(SHELL)) return command;
  return [SHELL, "-c", SCRIPT, SHELL, ...command];
}
