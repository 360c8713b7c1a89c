/** The command line as a process. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const MAIN = join(fileURLToPath(new URL("../../..", import.meta.url)), "src/service/cli/main.ts");

export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the command in a folder to its end. */
export function glovebox(cwd: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> {
  return new Promise((resolve) => {
    const options = { cwd, env: { ...process.env, ...env }, timeout: 30_000 };
    const all = ["--no-node-snapshot", "--no-warnings", MAIN, ...args];
    const child = execFile(process.execPath, all, options, (_error, stdout, stderr) => {
      resolve({ code: child.exitCode ?? -1, stdout, stderr });
    });
  });
}
