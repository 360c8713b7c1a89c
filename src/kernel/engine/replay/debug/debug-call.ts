import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { Descriptors } from "../../../base/os/descriptors.ts";
import { readablePaths } from "../../../executor/process/permissions.ts";
import { Sandbox } from "../../../executor/process/sandbox.ts";
import { loadPrelude } from "../../../tool/runtimes/prelude.ts";
import { type Plugin, resolvePlugins } from "../../plugin.ts";
import { checksOf, type Recording } from "../recording.ts";
import { CLOSING_FLAGS } from "./powers.ts";

export interface DebugOptions {
  /**
   * Address for the debugger, such as `127.0.0.1:9229`. Processes that reach it have the rights of the debugged one.
   */
  readonly inspect: string;
  /** The plugins of its engine. */
  readonly plugins: readonly Plugin[];
  /** Receives Node's own output, including the debugger's address. */
  readonly onNotice: (text: string) => void;
  readonly onLog: (level: string, message: string) => void;
}

/** End of a debugged call: the output's JSON, or a failure's. */
export interface Debugged {
  readonly ok: boolean;
  readonly payload: string;
}

/**
 * Runs a recorded call with a debugger, in a process that waits until one attaches, with a breakpoint before the tool's
 * first line. isolated-vm's inspector aborts V8 on current Node versions, so the tool runs in a context of that process
 * instead of an isolate. It is contained by a realm that exposes no object of the process, and by Node's permission
 * model: no files, network or child processes.
 */
export async function debugCall(
  recording: Recording,
  { inspect, plugins, onNotice, onLog }: DebugOptions,
): Promise<Debugged> {
  const { runtime } = recording.tool;
  if (runtime !== "javascript")
    throw new TypeError(`a debugger reads JavaScript, and the tool's runtime is ${runtime}`);
  const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
  const entry = fileURLToPath(new URL(`entry.${extension}`, import.meta.url));
  const flags = [
    `--inspect-wait=${inspect}`,
    "--permission",
    "--allow-inspector",
    ...CLOSING_FLAGS,
    ...[...readablePaths()].map((path) => `--allow-fs-read=${path}`),
    "--no-warnings",
  ];
  // With a sandbox, other processes and files are out of reach even if the process is taken over.
  const sandbox = new Sandbox("auto");
  await sandbox.prepare();
  const [file = "", ...args] = sandbox.wrapReachable([process.execPath, ...flags, entry]);
  const child = start(file, args);
  child.stderr?.setEncoding("utf8").on("data", onNotice);
  const { readers, parts } = resolvePlugins(plugins);
  const prelude = await loadPrelude(parts);
  const { tool } = recording;
  const message = { prelude, recording: { ...recording, tool: { ...tool, checks: checksOf(recording, readers) } } };
  return new Promise((resolve, reject) => {
    let ended: Debugged | null = null;
    child.on("message", (answer) => {
      // Messages of the process are untrusted, even in their format.
      const [kind, first, second] = Array.isArray(answer) ? answer.map(String) : [];
      if (kind === "log") onLog(first ?? "", second ?? "");
      else if (kind === "end") ended ??= { ok: first?.startsWith("+") === true, payload: first?.slice(1) ?? "" };
    });
    // The process may exit before all its messages have been read.
    Promise.all([once(child, "exit"), once(child, "disconnect")]).then(() => {
      if (ended === null) reject(new Error("the process ended before the call did"));
      else resolve(ended);
    }, reject);
    child.send(message);
  });
}

function start(file: string, args: readonly string[]): ChildProcess {
  using descriptors = new Descriptors(["ignore", "ignore", "pipe", "ipc"]);
  return spawn(file, args, { env: {}, stdio: descriptors.stdio });
}
