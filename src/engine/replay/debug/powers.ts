import inspector from "node:inspector";
import { syncBuiltinESMExports } from "node:module";

/** What of `process` reaches other processes, the machine, or what Node is made of. */
const POWERS =
  "_debugEnd _debugProcess _getActiveHandles _kill _linkedBinding abort binding chdir dlopen execve " +
  "getBuiltinModule initgroups kill loadEnvFile report send setegid seteuid setgid setgroups setuid umask";

/**
 * V8's and Node's own flags for a process in which a tool runs without an isolate. Where the stack ends while Node
 * describes an error, the tool gets an error that is not of its own realm, whatever that realm is wrapped in. So there
 * is nothing to be had from such an object: `Function` and `eval` make nothing out there, and nothing can be changed.
 */
export const CLOSING_FLAGS = [
  "--disallow-code-generation-from-strings",
  "--frozen-intrinsics",
  // Without it Node refuses `import` with an error of its own instead of the realm's.
  "--experimental-vm-modules",
];

/** Node has it since 26. */
interface Droppable {
  readonly drop?: (scope: string) => void;
}

/** Gives up what a process that debugs does not need once it runs: files, other processes, and other debuggers. */
export function giveUpPowers(): void {
  (process.permission as Droppable | undefined)?.drop?.("fs");
  for (const name of POWERS.split(" ")) Reflect.deleteProperty(process, name);
  for (const name of ["open", "close", "Session"]) Reflect.deleteProperty(inspector, name);
  syncBuiltinESMExports();
}
