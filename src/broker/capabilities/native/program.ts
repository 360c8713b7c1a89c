import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import type { CallBinary } from "../capability.ts";
import { closedIn, DEVICES_OF_ONE, LIBRARIES, ownFolder, readOnly } from "../../../base/os/bubblewrap.ts";
import { limitCommands } from "../../../base/os/rlimits.ts";
import type { Inside } from "../../jail/jail.ts";
import { NATIVE_LIMITS } from "./limits.ts";

/** Where things are inside. */
const PROGRAM = "/tool/binary";
const FOLDER = "/call";
const OUTPUT = "output.json";

const MIB = 1024 * 1024;
/** The main thread's stack is no part of what the system takes for data. */
const STACK_BYTES = 64 * MIB;
const { addressBytes, folderBytes, folderEntries, openFiles, spareBytes, threads } = NATIVE_LIMITS;

/**
 * A binary as a sandbox runs it: it sees its own file and the system's libraries, to be read only, and one folder of its own,
 * in which it starts and into which it writes. It has no environment but that folder's name.
 */
export function binaryInside(
  file: string,
  argument: string,
  limits: CallBinary["limits"],
): Inside & { readonly kept: string } {
  const memoryBytes = limits.memoryMb * MIB;
  const itself = ["--clearenv", "--ro-bind", file, PROGRAM];
  const temporary = ["--symlink", FOLDER.slice(1), "/tmp"];
  return {
    program: [PROGRAM, argument, join(FOLDER, OUTPUT)],
    walls: [
      ...itself,
      ...readOnly(LIBRARIES),
      ...DEVICES_OF_ONE,
      ...ownFolder(FOLDER, folderBytes),
      ...temporary,
      ...closedIn(FOLDER),
    ],
    // The watch ends a binary that has used up its processor time or its memory, and says so. These limits hold where it is late.
    limits: limitCommands({
      cpuSeconds: Math.ceil(limits.cpuMs / 1_000) + 1,
      fileBytes: folderBytes,
      openFiles,
      dataBytes: memoryBytes + spareBytes,
      addressBytes: memoryBytes + addressBytes,
      stackBytes: STACK_BYTES,
    }),
    mayFork: false,
    ceilings: { tasks: threads, memoryBytes, cpuMs: limits.cpuMs, folders: [FOLDER], folderEntries },
    wallMs: limits.wallMs,
    kept: FOLDER,
  };
}

/** What lies where a binary was to write its answer. */
export type Answer =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "nothing" }
  /** Something else than a file. */
  | { readonly kind: "odd" }
  | { readonly kind: "large"; readonly bytes: number };

/** Reads the answer from the folder that was kept: whoever wrote it has ended. */
export async function readAnswer(folder: string, maxBytes: number): Promise<Answer> {
  let handle;
  try {
    // Neither is a link followed, nor does a pipe make anybody wait.
    handle = await open(join(folder, OUTPUT), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    return { kind: error instanceof Error && "code" in error && error.code === "ENOENT" ? "nothing" : "odd" };
  }
  await using owned = handle;
  const found = await owned.stat();
  if (!found.isFile()) return { kind: "odd" };
  if (found.size > maxBytes) return { kind: "large", bytes: found.size };
  return { kind: "text", text: await owned.readFile("utf8") };
}
