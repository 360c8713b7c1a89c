import { errnoOf } from "../errno.ts";
import { closeSync, openSync, readdirSync, readFileSync } from "node:fs";
import { devNull } from "node:os";
import { join } from "node:path";
import type { StdioNull, StdioPipe } from "node:child_process";
import type { Stream } from "node:stream";

/** One entry of a child process's `stdio` option. */
type Stdio = StdioNull | StdioPipe | "ipc" | number | Stream;

const SELF = "/proc/self";
const FIRST_OF_NOBODY = 3;
const CLOSE_ON_EXEC = 0o2000000;

/**
 * The `stdio` of a new process: the named descriptors, with every inheritable descriptor of this process replaced by
 * `/dev/null`. An inherited descriptor of a folder leads out of every sandbox. Dispose after the process has started.
 */
export class Descriptors implements Disposable {
  readonly stdio: Stdio[];
  #nothing: number | null = null;

  constructor(named: readonly Stdio[]) {
    const stdio = [...named];
    for (const descriptor of inherited()) {
      if (descriptor < named.length && named[descriptor] !== "ignore") continue;
      while (stdio.length < descriptor) stdio.push("ignore");
      stdio[descriptor] = this.#nothing ??= openSync(devNull, "r+");
    }
    this.stdio = stdio;
  }

  [Symbol.dispose](): void {
    if (this.#nothing !== null) closeSync(this.#nothing);
  }
}

/** Descriptors that every child process inherits from this one. Node's own are close-on-exec. */
function inherited(): readonly number[] {
  return descriptors().filter((descriptor) => descriptor >= FIRST_OF_NOBODY && isKept(descriptor));
}

/**
 * Empty if the system has no `/proc`. Throws if it cannot be read: the inherited descriptors of a child are then
 * unknown.
 */
function descriptors(): readonly number[] {
  try {
    return readdirSync(join(SELF, "fd")).map(Number);
  } catch (error) {
    if (isAbsent(error)) return [];
    throw error;
  }
}

function isKept(descriptor: number): boolean {
  try {
    const [, flags] = /^flags:\s*([0-7]+)$/m.exec(readFileSync(join(SELF, "fdinfo", String(descriptor)), "utf8")) ?? [];
    return flags !== undefined && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0;
  } catch (error) {
    // The descriptor has been closed meanwhile.
    if (isAbsent(error)) return false;
    throw error;
  }
}

function isAbsent(error: unknown): boolean {
  return errnoOf(error) === "ENOENT";
}
