import { closedIn, DEVICES, type Inside, ownFolder, PROGRAMS, readOnly } from "../../jail/inside.ts";
import type { ExecMount } from "./grants.ts";
import { EXEC_LIMITS } from "./limits.ts";

/** A command of a shell's, for how long at most, and the host's folders that it sees. */
export interface Command {
  readonly command: string;
  readonly wallMs: number;
  readonly mounts: ReadonlyMap<string, ExecMount>;
}

const { addressBytes, fileBytes, folderBytes, folderEntries, memoryBytes, processes } = EXEC_LIMITS;
/** Folders of the command's own, in memory, which are gone with it. */
const OWN: readonly string[] = ["/home", "/tmp", "/dev/shm"];
const SHELL = "/bin/sh";
/**
 * Shells disagree on the letter that limits processes, and on the length of the blocks that limit files, 512 or 1024 bytes.
 * What cannot be set is done without: the number of processes, where the host runs as root, is for the watch alone.
 */
const LIMITED = `{ ulimit -c 0; ulimit -t "$2"; ulimit -f ${fileBytes / 1024}; ulimit -v ${addressBytes / 1024}
ulimit -u ${processes} || ulimit -p ${processes}; } 2>/dev/null
exec ${SHELL} -c -- "$1"`;

/** A command as a sandbox runs it: all of the host's programs are there to be read, and folders of its own. */
export function commandInside({ command, wallMs, mounts }: Command): Inside {
  const given = [...mounts].flatMap(([name, { path, mode }]) => [mode === "rw" ? "--bind" : "--ro-bind", path, name]);
  const own = OWN.flatMap((path) => ownFolder(path, folderBytes));
  return {
    program: [SHELL, "-c", LIMITED, SHELL, command, String(Math.ceil(wallMs / 1000))],
    walls: [...readOnly(PROGRAMS), ...DEVICES, ...own, ...given, ...closedIn("/home")],
    limits: "",
    mayFork: true,
    ceilings: { tasks: processes, memoryBytes, cpuMs: null, folders: OWN, folderEntries },
    wallMs,
    kept: null,
  };
}
