import { existsSync } from "node:fs";

export const SHELL = "/bin/sh";

/** Limits of the operating system for each process, beside none on core files. */
interface ProcessLimits {
  readonly cpuSeconds?: number;
  readonly fileBytes: number;
  readonly openFiles?: number;
  readonly dataBytes?: number;
  readonly addressBytes?: number;
  readonly stackBytes?: number;
  readonly processes?: number;
}

const KIB = 1024;
const EXECUTOR_FILE_BYTES = 128 * KIB;

/**
 * Shell commands that set limits. A limit that cannot be set stays as it is. Shells count a file's length in blocks of 512
 * bytes or of 1024, and disagree on the letter that limits processes.
 */
export function limitCommands(limits: ProcessLimits): string {
  const { cpuSeconds, fileBytes, openFiles, dataBytes, addressBytes, stackBytes, processes } = limits;
  const inKib = (bytes: number | undefined) => (bytes === undefined ? undefined : Math.ceil(bytes / KIB));
  const limit = (value: number | undefined, ...options: readonly string[]) =>
    value === undefined ? [] : [options.map((option) => `ulimit ${option} ${value}`).join(" || ")];
  const commands = [
    ...limit(0, "-c"),
    ...limit(cpuSeconds, "-t"),
    ...limit(inKib(fileBytes), "-f"),
    ...limit(openFiles, "-n"),
    ...limit(inKib(dataBytes), "-d"),
    ...limit(inKib(addressBytes), "-v"),
    // Each thread gets as much as the soft limit of stacks says, so that one stays where it can.
    ...limit(inKib(stackBytes), "-Hs", "-s"),
    ...limit(processes, "-u", "-p"),
  ];
  return `{ ${commands.join("; ")}; } 2>/dev/null`;
}

/**
 * `trap`: a signal to a process group or control group must not end the shell between the supervisor and Node, which sets
 * its own signal handlers. A core file would contain what a process held in memory. The limit on files keeps the inherited
 * file from filling a disk. Where the machine runs out of memory, it kills executors first.
 *
 * There is no limit on memory: V8 reserves half a gigabyte of addresses for each isolate's code, which the limit on data
 * counts as used, so one above what isolates need would be far above what a machine has.
 */
const SCRIPT = `trap '' HUP INT TERM
${limitCommands({ fileBytes: EXECUTOR_FILE_BYTES })}
{ echo 500 >/proc/self/oom_score_adj; } 2>/dev/null
exec "$@"`;

/** An executor's command under limits of the operating system; unchanged where the system has none. */
export function withExecutorLimits(command: readonly string[]): readonly string[] {
  if (process.platform !== "linux" || !existsSync(SHELL)) return command;
  return [SHELL, "-c", SCRIPT, SHELL, ...command];
}
