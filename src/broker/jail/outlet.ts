import { execFile } from "node:child_process";
import { closeSync, constants, openSync } from "node:fs";
import { Socket } from "node:net";
import path from "node:path";
import { promisify } from "node:util";
import { TemporaryFolders } from "../capabilities/temporary.ts";

const run = promisify(execFile);
const MAKE_MS = 10_000;
const folders = new TemporaryFolders("pipes");

/** A pipe: what is written to the descriptor is read from the stream. */
export interface Outlet {
  readonly stream: Socket;
  /** Is its maker's to close once somebody else has it. */
  readonly fd: number;
}

/**
 * Pipes of the system's. What Node makes between processes are sockets, which nobody can open by name: a command that
 * writes to `/dev/stderr` would fail. Rejects where there can be none.
 */
export async function makeOutlets(count: number): Promise<readonly Outlet[]> {
  const folder = await folders.make();
  try {
    const names = Array.from({ length: count }, (_, at) => path.join(folder, `${at}`));
    await run("mkfifo", ["-m", "600", ...names], { timeout: MAKE_MS });
    return openAll(names);
  } finally {
    await folders.remove(folder);
  }
}

/** All of them, or where there are not so many descriptors, none. */
function openAll(names: readonly string[]): readonly Outlet[] {
  using undo = new DisposableStack();
  const outlets = names.map((name): Outlet => {
    // Reading comes first: whoever opens such a pipe to write waits for a reader.
    const stream = new Socket({ fd: openSync(name, constants.O_RDONLY | constants.O_NONBLOCK), writable: false });
    undo.defer(() => stream.destroy());
    const fd = openSync(name, constants.O_WRONLY);
    undo.defer(() => closeSync(fd));
    return { stream, fd };
  });
  undo.move();
  return outlets;
}

/** Gives up the writing ends. */
export function closeOutlets(outlets: readonly Outlet[]): void {
  for (const { fd } of outlets) closeSync(fd);
}
