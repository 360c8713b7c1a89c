import inspector from "node:inspector";
import { syncBuiltinESMExports } from "node:module";

/** Members of `process` that reach other processes, the machine or Node's internals. */
const POWERS =
  "_debugEnd _debugProcess _getActiveHandles _kill _linkedBinding abort binding chdir dlopen execve " +
  "getBuiltinModule initgroups kill loadEnvFile report send setegid seteuid setgid setgroups setuid umask";

/**
 * V8 and Node flags for a process in which a tool runs without an isolate. If the stack overflows while Node formats an
 * error, the tool gets an error object of the outer realm, however its own realm is wrapped. These flags make such an
 * object useless: the outer `Function` and `eval` generate no code, and its intrinsics are frozen.
 */
export const CLOSING_FLAGS = [
  "--disallow-code-generation-from-strings",
  "--frozen-intrinsics",
  // Without this flag Node rejects `import` with an error of its own realm instead of the tool's.
  "--experimental-vm-modules",
];

/** `permission.drop` exists since Node 26. */
interface Droppable {
  readonly drop?: (scope: string) => void;
}

/** Drops rights that a debugging process does not need once it runs: files, other processes and other debuggers. */
export function giveUpPowers(): void {
  (process.permission as Droppable | undefined)?.drop?.("fs");
  for (const name of POWERS.split(" ")) Reflect.deleteProperty(process, name);
  for (const name of ["open", "close", "Session"]) Reflect.deleteProperty(inspector, name);
  syncBuiltinESMExports();
}
