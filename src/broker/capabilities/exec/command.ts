import { closedIn, DEVICES, ownFolder, PROGRAMS, readOnly } from "../../../base/os/bubblewrap.ts";
import { limitCommands, SHELL } from "../../../base/os/rlimits.ts";
import type { Inside } from "../../jail/jail.ts";
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
/** A command as a sandbox runs it: all of the host's programs are there to be read, and folders of its own. */
export function commandInside({ command, wallMs, mounts }: Command): Inside {
  const given = [...mounts].flatMap(([name, { path, mode }]) => [mode === "rw" ? "--bind" : "--ro-bind", path, name]);
  const own = OWN.flatMap((path) => ownFolder(path, folderBytes));
  // Where the host runs as root the system does not limit the number of processes: the watch does.
  const limits = limitCommands({ cpuSeconds: Math.ceil(wallMs / 1000), fileBytes, addressBytes, processes });
  return {
    program: [SHELL, "-c", `${limits}\nexec ${SHELL} -c -- "$1"`, SHELL, command],
    walls: [...readOnly(PROGRAMS), ...DEVICES, ...own, ...given, ...closedIn("/home")],
    limits: "",
    mayFork: true,
    ceilings: { tasks: processes, memoryBytes, cpuMs: null, folders: OWN, folderEntries },
    wallMs,
    kept: null,
  };
}
