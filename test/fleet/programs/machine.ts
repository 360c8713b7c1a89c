/** A worker machine in a process of its own: its options are its argument, and it says a line when it is ready. */
import { resolveExecutorOptions } from "../../../src/kernel/executor/options.ts";
import { scaled } from "../../../src/fleet/wire/fleet-timings.ts";
import { PRELUDE_PARTS } from "../../../src/standard/plugins.ts";
import { startMachine } from "../../../src/fleet/machine/machine.ts";
import { fleetLedger } from "../../../src/fleet/server/fleet-stores.ts";
import { DEFAULT_KEYS } from "../../../src/kernel/store/calls/ledger.ts";

const {
  url,
  fleet,
  secret,
  slots = 8,
  workers = 2,
  isLogged = false,
  drainMs = 10_000,
  ledger,
  scale,
} = JSON.parse(process.argv[2] ?? "{}");
const log = (fields: object, message: string) => {
  if (isLogged) process.stderr.write(`${JSON.stringify({ ...fields, message })}\n`);
};
const machine = await startMachine({
  parts: PRELUDE_PARTS,
  url,
  fleet,
  secret,
  slots,
  workers,
  timings: scaled(scale),
  ledger: ledger === undefined ? undefined : { ...DEFAULT_KEYS, ...fleetLedger.resolve(ledger) },
  executor: resolveExecutorOptions("process"),
  logger: { info: log, warn: log },
});
process.stdout.write(`${machine.stats().id}\n`);
process.on("SIGTERM", () => {
  void machine
    .drain(drainMs)
    .then(() => machine.close())
    .then(() => process.exit(0));
});
