import { existsSync } from "node:fs";
import type { ControlGroup } from "./cgroup.ts";

export const SHELL = "/bin/sh";

/** Operating system limits of each process; core files are always disabled. */
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
 * Shell commands that set limits; a limit that cannot be set stays unchanged. Shells count file length in blocks of 512
 * or 1024 bytes, and disagree on the option that limits processes.
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
    // The soft stack limit sets the size of each thread's stack, so only the hard limit is set if the shell can.
    ...limit(inKib(stackBytes), "-Hs", "-s"),
    ...limit(processes, "-u", "-p"),
  ];
  return `{ ${commands.join("; ")}; } 2>/dev/null`;
}

/**
 * `trap`: a signal to a process group or control group must not end the shell between the supervisor and Node, which
 * sets its own signal handlers. A core file would contain the process's memory. The file limit keeps the inherited file
 * from filling a disk. `oom_score_adj`: when the machine runs out of memory, it kills executors first.
 *
 * Memory is limited by a control group or not at all: V8 reserves half a gigabyte of addresses for each isolate's code,
 * which the data limit counts as used, so a limit above the needs of isolates would be far above a machine's memory.
 */
const SCRIPT = `trap '' HUP INT TERM
${limitCommands({ fileBytes: EXECUTOR_FILE_BYTES })}
{ echo 500 >/proc/self/oom_score_adj; } 2>/dev/null
exec "$@"`;

/**
 * Wraps an executor's command in operating system limits, and in a control group if there is one; unchanged on systems
 * without them.
 */
export function withExecutorLimits(command: readonly string[], group: ControlGroup | null = null): readonly string[] {
  if (process.platform !== "linux" || !existsSync(SHELL)) return command;
  return [SHELL, "-c", group === null ? SCRIPT : `${group.joinCommand}\n${SCRIPT}`, SHELL, ...command];
}
