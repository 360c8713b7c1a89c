import type { ChildProcess } from "node:child_process";

/**
 * Ends a process and all others of its group by SIGKILL. The process has to lead its group, as after a start with
 * `detached`; on Windows, which has no groups, it ends alone.
 */
export function killGroup(child: ChildProcess): void {
  const { pid } = child;
  if (pid === undefined) return;
  if (process.platform === "win32") child.kill("SIGKILL");
  else killGroupOf(pid);
}

/** Ends all processes of a group by SIGKILL. `pid`: of its first process. */
export function killGroupOf(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // The whole group has ended.
  }
}
