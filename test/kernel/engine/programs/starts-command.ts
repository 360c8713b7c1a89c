/** Says that it begins, and runs a command that sleeps for as many seconds as its argument says: for whoever kills it meanwhile. */
import { commandInside } from "../../../../src/kernel/broker/capabilities/exec/exec.ts";
import { findJail } from "../../../../src/kernel/broker/jail/jail.ts";
import { runInside } from "../../../../src/kernel/broker/jail/run.ts";

const jail = await findJail();
if ("reason" in jail) throw new Error(jail.reason);
const command = `sleep ${process.argv[2] ?? ""}`;
const inside = commandInside({ command, wallMs: 60_000, mounts: new Map() });
const { signal } = new AbortController();
process.stdout.write("begins\n");
await runInside(jail.start, inside, { stdin: "", outputBytes: 1_000, drainedBytes: 1_000 }, signal);
