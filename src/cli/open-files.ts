import { readdirSync, readFileSync } from "node:fs";
import { say } from "./output.ts";

/** Fewer free files than this are too few for connections on an ordinary day. */
const LEAST_FREE = 1_000;

/** Warns of a low limit of open files, once a service has started: then the needs of its configuration are known. */
export function warnOfFiles(): void {
  const files = openFiles();
  if (files === null || files.limit - files.open >= LEAST_FREE) return;
  const { open, limit } = files;
  say(
    `glovebox: warning: this process may open ${limit} files, and has ${open} open after its start: ${limit - open} are left ` +
      "for connections of clients and of tools, one each; raise the limit to 65,536 (LimitNOFILE of a systemd unit, " +
      "--ulimit nofile of a container, ulimit -n elsewhere)",
  );
}

/** Files, sockets and pipes that this process has open and may open; `null` if the system does not report them. */
function openFiles(): { readonly open: number; readonly limit: number } | null {
  try {
    const [, limit] = /^Max open files\s+(\S+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
    return { open: readdirSync("/proc/self/fd").length, limit: limit === "unlimited" ? Infinity : Number(limit) };
  } catch {
    return null;
  }
}
