import { execFile } from "node:child_process";
import { closeSync, constants, openSync } from "node:fs";
import { Socket } from "node:net";
import path from "node:path";
import { promisify } from "node:util";
import { TemporaryFolders } from "../capabilities/temporary.ts";

const run = promisify(execFile);
const MAKE_MS = 10_000;
const folders = new TemporaryFolders("pipes");

/** A named pipe: bytes written to the descriptor are read from the stream. */
export interface Outlet {
  readonly stream: Socket;
  /** Write end. `closeOutlets` closes it once a child process has inherited it. */
  readonly fd: number;
}

/**
 * Makes named pipes (FIFOs). Node's pipes between processes are sockets, which cannot be opened by name: a command that
 * writes to `/dev/stderr` would fail. Rejects if they cannot be made.
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

/** Opens all of them, or none if there are not enough descriptors. */
function openAll(names: readonly string[]): readonly Outlet[] {
  using undo = new DisposableStack();
  const outlets = names.map((name): Outlet => {
    // Open for reading first: opening a FIFO for writing waits for a reader.
    const stream = new Socket({ fd: openSync(name, constants.O_RDONLY | constants.O_NONBLOCK), writable: false });
    undo.defer(() => stream.destroy());
    const fd = openSync(name, constants.O_WRONLY);
    undo.defer(() => closeSync(fd));
    return { stream, fd };
  });
  undo.move();
  return outlets;
}

/** Closes the write ends. */
export function closeOutlets(outlets: readonly Outlet[]): void {
  for (const { fd } of outlets) closeSync(fd);
}
