/** The command line as a process. */
import { execFile } from "node:child_process";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const MAIN = join(fileURLToPath(new URL("../..", import.meta.url)), "src/cli/main.ts");

export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the command in a folder to its end. */
export function glovebox(cwd: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> {
  return new Promise((resolve) => {
    const options = { cwd, env: { ...process.env, ...env }, timeout: 120_000 };
    const all = ["--no-node-snapshot", "--no-warnings", MAIN, ...args];
    const child = execFile(process.execPath, all, options, (_error, stdout, stderr) => {
      resolve({ code: child.exitCode ?? -1, stdout, stderr });
    });
  });
}

/** Puts the command into a folder, for a `PATH` with it. */
export async function addCommand(folder: string): Promise<void> {
  const command = [process.execPath, "--no-node-snapshot", "--no-warnings", MAIN].map((part) => `'${part}'`).join(" ");
  await writeFile(join(folder, "glovebox"), `#!/bin/sh\nexec ${command} "$@"\n`);
  await chmod(join(folder, "glovebox"), 0o755);
}
