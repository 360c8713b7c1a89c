import { errnoOf } from "../kernel/base/errno.ts";
import { CliError, EXIT } from "./exit.ts";

/** What to do, by the code of the system. */
const REMEDIES: ReadonlyMap<string, string> = new Map([
  ["EADDRINUSE", "another program listens there: end it, or name another port with --port"],
  ["EACCES", "this user may not listen there: name a port of 1024 or more with --port"],
  ["EADDRNOTAVAIL", "this machine has no such address: name one of its own with --host"],
  ["ENOTFOUND", "there is no such host: name an address of this machine with --host"],
]);

/** An address on which a service cannot listen. `where`: `127.0.0.1, port 8080`. */
export function listenFailure(error: unknown, where: string): CliError {
  const code = errnoOf(error) ?? "unknown error";
  const remedy = REMEDIES.get(code);
  return new CliError(EXIT.USAGE, `cannot listen on ${where}: ${code}${remedy === undefined ? "" : `; ${remedy}`}`);
}
