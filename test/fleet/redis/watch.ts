/** Reads what `watcher.ts` says. */
import type { ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** Its file, which `node` runs. */
export const WATCHER = fileURLToPath(new URL("watcher.ts", import.meta.url));

/** The lines of a program whose output is a pipe, as they come. */
export function linesOf({ stdout }: ChildProcess): readonly string[] {
  const lines: string[] = [];
  if (stdout !== null) createInterface({ input: stdout }).on("line", (line) => lines.push(line));
  return lines;
}
