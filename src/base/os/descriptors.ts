import { closeSync, openSync, readdirSync, readFileSync } from "node:fs";
import { devNull } from "node:os";
import { join } from "node:path";
import type { StdioNull, StdioPipe } from "node:child_process";

/** What a process is to have at one of its descriptors. */
type Stdio = StdioNull | StdioPipe | "ipc" | number;

const SELF = "/proc/self";
const FIRST_OF_NOBODY = 3;
const CLOSE_ON_EXEC = 0o2000000;

/**
 * What a process is started with so that it has the descriptors that are named, and none that this process was itself
 * started with: of a folder, such a one leads out of every sandbox. Disposed of when the process has been started.
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

/** Descriptors of this process that every process has that it starts. Node's own are none of them. */
function inherited(): readonly number[] {
  return descriptors().filter((descriptor) => descriptor >= FIRST_OF_NOBODY && isKept(descriptor));
}

/** None where the system does not say. */
function descriptors(): readonly number[] {
  try {
    return readdirSync(join(SELF, "fd")).map(Number);
  } catch {
    return [];
  }
}

function isKept(descriptor: number): boolean {
  try {
    const [, flags] = /^flags:\s*([0-7]+)$/m.exec(readFileSync(join(SELF, "fdinfo", String(descriptor)), "utf8")) ?? [];
    return flags !== undefined && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0;
  } catch {
    // It is closed by now.
    return false;
  }
}
