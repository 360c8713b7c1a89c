import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { readablePaths } from "../executor/process/permissions.ts";
import { bundlePrelude } from "../executor/prelude.ts";
import type { Recording } from "../recording.ts";

export interface DebugOptions {
  /** `127.0.0.1:9229`: where a debugger may attach. Whoever reaches it can do what the process can. */
  readonly inspect: string;
  /** Takes the lines that Node writes, with the address for the debugger among them. */
  readonly onNotice: (text: string) => void;
  readonly onLog: (level: string, message: string) => void;
}

/** How it ended: the output's JSON, or a failure's. */
export interface Debugged {
  readonly ok: boolean;
  readonly payload: string;
}

/**
 * Runs a recorded call with a debugger: in a process that waits until one attaches, with a breakpoint before the tool's
 * first line. isolated-vm's own inspector aborts V8 on the Nodes that there are, so the tool is in a context of that
 * process instead of an isolate, and what holds it is Node's permission model: no files, no network, no children.
 */
export async function debugCall(recording: Recording, { inspect, onNotice, onLog }: DebugOptions): Promise<Debugged> {
  const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
  const entry = fileURLToPath(new URL(`entry.${extension}`, import.meta.url));
  const child = fork(entry, [], {
    execArgv: [
      `--inspect-wait=${inspect}`,
      "--permission",
      "--allow-inspector",
      ...[...readablePaths()].map((path) => `--allow-fs-read=${path}`),
      "--no-warnings",
    ],
    env: {},
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  child.stderr?.setEncoding("utf8").on("data", onNotice);
  const prelude = await bundlePrelude();
  return new Promise((resolve, reject) => {
    let ended: Debugged | null = null;
    child.on("message", (message) => {
      const [kind, first = "", second = ""] = message as [string, string?, string?];
      if (kind === "log") onLog(first, second);
      else ended = { ok: first.startsWith("+"), payload: first.slice(1) };
    });
    child.on("error", reject);
    child.on("exit", () => {
      if (ended === null) reject(new Error("the process ended before the call did"));
      else resolve(ended);
    });
    child.send({ prelude, recording: JSON.stringify(recording) });
  });
}
