import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const FLAGS = ["--no-warnings", "--expose-gc"];

/** How a guarded program ended: `code` is null where the clock ended it. */
export interface Guarded {
  readonly lines: readonly string[];
  readonly stderr: string;
  readonly code: number | null;
}

/**
 * Runs a program in a process of its own, and kills it when it has not ended by itself within `ms`. Its executors end
 * with it. Lines are told as they come, because a program that is killed has no last word.
 */
export async function runGuarded(
  program: URL,
  args: readonly string[],
  ms: number,
  onLine: (line: string) => void = () => undefined,
): Promise<Guarded> {
  const child = spawn(process.execPath, [...FLAGS, fileURLToPath(program), ...args], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const guard = setTimeout(() => child.kill("SIGKILL"), ms);
  const lines: string[] = [];
  let stderr = "";
  let rest = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    const parts = (rest + text).split("\n");
    rest = parts.pop() ?? "";
    for (const line of parts) {
      lines.push(line);
      onLine(line);
    }
  });
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  clearTimeout(guard);
  return { lines, stderr, code };
}
