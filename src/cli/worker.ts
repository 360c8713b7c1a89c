import { Command } from "commander";
import type { Override } from "../server/config/configuration.ts";
import { digestOf, showConfiguration } from "../server/config/digest.ts";
import { MACHINE_DEFAULTS, machineSettings, SERVICE_DEFAULTS, settingsOf } from "../server/config/effective.ts";
import type { Config } from "../server/config/schema.ts";
import type { MachineOptions } from "../fleet/machine/machine.ts";
import type { LedgerAddress } from "../fleet/ledger/redis-ledger.ts";
import { resolveOptions, WORKERS_DEFAULT } from "../kernel/engine/options.ts";
import { FLEET_DEFAULT } from "../fleet/redis/url.ts";
import { claimGroups } from "../kernel/base/os/cgroup.ts";
import { watchPressure } from "../kernel/base/os/pressure.ts";
import { importOptional } from "../kernel/base/optional-package.ts";
import { CliError, EXIT } from "./exit.ts";
import { CONFIG, engineOptions, orUsage, readSettings } from "./open-engine.ts";
import { warnOfFiles } from "./open-files.ts";
import { forgetKeys } from "./service-keys.ts";
import { openLog } from "./service-log.ts";
import { addSettingFlags, readFlags } from "./setting-flags.ts";
import { runWorker, type WorkerServiceOptions } from "./worker-service.ts";

interface Options {
  readonly config?: string;
}

const { slotsPerWorker, host, port, drainMs } = MACHINE_DEFAULTS;

const FLAGS = [
  { flags: "--redis <url>", setting: "executor/url" },
  { flags: "--fleet <name>", setting: "executor/fleet", otherwise: FLEET_DEFAULT },
  { flags: "--slots <number>", setting: "machine/slots", otherwise: `${slotsPerWorker} for each isolate thread` },
  { flags: "--workers <number>", setting: "workers", otherwise: WORKERS_DEFAULT },
  { flags: "--sandbox <mode>", setting: "executor/sandbox", otherwise: "auto" },
  { flags: "--host <address>", setting: "machine/host", otherwise: host },
  { flags: "--port <number>", setting: "machine/port", otherwise: port },
  { flags: "--drain-ms <number>", setting: "machine/drainMs", otherwise: drainMs },
  { flags: "--log-level <level>", setting: "logLevel", otherwise: SERVICE_DEFAULTS.logLevel },
];

/**
 * Servers and machines may share a configuration, in which the server may run calls itself; a machine always belongs to
 * a fleet.
 */
const IN_A_FLEET: Override = {
  path: ["executor", "kind"],
  value: "queue",
  source: { kind: "flag", name: "glovebox worker" },
};

/** `glovebox worker`: runs the calls of servers that share a Redis with it. */
export function workerCommand(): Command {
  const command = new Command("worker")
    .description("run the calls of a fleet's servers on this machine (fleet secret: GLOVEBOX_FLEET_SECRET)")
    .option(...CONFIG);
  return addSettingFlags(command, FLAGS).action((options: Options) => work(options, command));
}

async function work({ config }: Options, command: Command): Promise<void> {
  const { values, file } = await readSettings(config, [IN_A_FLEET, ...readFlags(command, FLAGS)]);
  const { machine, service } = await orUsage(decide(values));
  const digest = digestOf(settingsOf(values), file);
  // Child processes do not need keys.
  forgetKeys(process.env, values);
  const logger = await openLog(values.logLevel);
  claimGroups();
  watchPressure();
  const load = () => import("../fleet/machine/machine.ts");
  const { startMachine } = await importOptional("a worker machine", ["bullmq", "ioredis"], load);
  await runWorker((onOpen) => {
    const opened: typeof onOpen = (begun) => {
      showConfiguration(begun.registry, digest);
      onOpen(begun);
    };
    return orUsage(startMachine({ ...machine, logger }, opened));
  }, service);
  warnOfFiles();
}

/** Options of a machine and its service. Rejects as `createEngine` does. */
async function decide(
  values: Config,
): Promise<{ readonly machine: MachineOptions; readonly service: WorkerServiceOptions }> {
  if (values.executor === undefined || typeof values.executor === "string" || values.executor.url === undefined)
    throw new CliError(
      EXIT.USAGE,
      "say where the fleet's Redis is: --redis URL, GLOVEBOX_EXECUTOR__URL or executor.url",
    );
  const { PRELUDE_PARTS, PLUGINS } = await import("../standard/plugins.ts");
  const { fleetExecutor } = await import("../fleet/server/fleet-executor.ts");
  const { executor, workers, idempotency } = resolveOptions({ ...engineOptions(values), plugins: PLUGINS });
  if (executor.kind !== "plugin") throw new TypeError("a worker machine serves a fleet");
  const { slots, ...surface } = machineSettings(values.machine, workers);
  const { url, fleet, secret, store } = fleetExecutor.resolve(values.executor);
  const { warmIsolates, spinMs, rssMb, spare, recycle, sandbox, trust } = executor;
  const { ttlMs, maxEntries, maxBytes } = idempotency;
  const ledger =
    "factory" in idempotency ? { ...(idempotency.own as LedgerAddress), ttlMs, maxEntries, maxBytes } : undefined;
  const isolates = { warmIsolates, spinMs, rssMb, spare, recycle, sandbox, trust };
  return {
    machine: { parts: PRELUDE_PARTS, url, fleet, secret, store, slots, workers, ledger, executor: isolates },
    service: { fleet, ...surface },
  };
}
