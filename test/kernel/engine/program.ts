import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export interface Ended {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number | null;
}

/** Runs a program of `programs/` in a process of its own, which has to end by itself within `ms`; `env` is over the test's own. */
export function runProgram(
  name: string,
  args: readonly string[] = [],
  ms = 300_000,
  env: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  const file = fileURLToPath(new URL(`programs/${name}.ts`, import.meta.url));
  return new Promise((resolve) => {
    const flags = ["--no-warnings"];
    const options = { timeout: ms, killSignal: "SIGKILL" as const, env: { ...process.env, ...env } };
    execFile(process.execPath, [...flags, file, ...args], options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === "number" ? error.code : null;
      resolve({ stdout, stderr, code });
    });
  });
}

/** Process ids of executor processes whose parent is gone. Linux only; elsewhere none are visible. */
export function orphans(): number[] {
  const found: number[] = [];
  for (const entry of listProcesses()) {
    try {
      const command = readFileSync(`/proc/${entry}/cmdline`, "utf8");
      const parent = /^PPid:\t(\d+)/m.exec(readFileSync(`/proc/${entry}/status`, "utf8"))?.[1];
      if (parent === "1" && /executor\/process\/child\.[jt]s/.test(command)) found.push(Number(entry));
    } catch {
      // It has ended meanwhile.
    }
  }
  return found;
}

function listProcesses(): string[] {
  try {
    return readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
}
