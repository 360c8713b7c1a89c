import type { Machine } from "../../fleet/machine/machine.ts";
import type { WatchedMachine, WorkerDoor } from "../http/worker-surface.ts";
import { CliError, EXIT } from "./exit.ts";
import { print, say } from "./output.ts";
import { ServiceManager } from "./service-manager.ts";
import { StopSignals } from "./stop-signals.ts";

/** What a worker machine's process is told. */
export interface WorkerServiceOptions {
  readonly fleet: string;
  /** Where it says how it does. */
  readonly host: string;
  readonly port: number;
  /** How long calls may go on when it stops. */
  readonly drainMs: number;
}

/**
 * Runs a worker machine until a signal ends it: it takes no more jobs, and ends those that it has. Resolves once it is at
 * work. Rejects where it cannot start.
 */
export async function runWorker(
  start: () => Promise<Machine>,
  options: WorkerServiceOptions,
  onStart: () => void = () => undefined,
): Promise<void> {
  const resources = new AsyncDisposableStack();
  let machine: Machine | null = null;
  const manager = resources.use(new ServiceManager(process.env));
  const signals = resources.use(
    new StopSignals(() => {
      // It has no job yet, and whatever it waits for may never come.
      if (machine === null) process.exit(EXIT.OK);
      void manager.stopping();
      void stop(machine, options.drainMs, resources);
    }),
  );
  let door: WorkerDoor;
  try {
    door = resources.use(await openDoor(options, { machine: () => machine, isDraining: () => signals.hasBegun }));
    machine = await start();
  } catch (error) {
    await resources.disposeAsync();
    throw error;
  }
  onStart();
  const { id, executor } = machine.stats();
  if (executor.sandbox.kind !== "off") say(`glovebox: executors run inside ${executor.sandbox.kind}`);
  else say(`glovebox: executors run without a sandbox of the operating system: ${executor.sandbox.reason}`);
  print(`glovebox worker ${id} serves fleet ${options.fleet}; metrics on ${door.url}/metrics`);
  void manager.ready(`serving fleet ${options.fleet}`);
}

async function openDoor({ host, port }: WorkerServiceOptions, watched: WatchedMachine): Promise<WorkerDoor> {
  const { openWorkerDoor } = await import("../http/worker-surface.ts");
  try {
    return await openWorkerDoor(watched, host, port);
  } catch (error) {
    const { code = "unknown error" } = error as NodeJS.ErrnoException;
    throw new CliError(EXIT.USAGE, `cannot listen on ${host}, port ${port}: ${code}`);
  }
}

/** With the machine and its door closed nothing keeps this process. Probes hear until the end that it drains. */
async function stop(machine: Machine, drainMs: number, resources: AsyncDisposableStack): Promise<void> {
  const failure: unknown = await end(machine, drainMs).then(
    () => null,
    (error: unknown) => error,
  );
  await resources.disposeAsync();
  if (failure === null) return;
  say(`glovebox: ${failure instanceof Error ? failure.message : "it could not be stopped"}`);
  // What could not be closed may keep the process for ever.
  process.exit(EXIT.FAILED);
}

async function end(machine: Machine, drainMs: number): Promise<void> {
  try {
    await machine.drain(drainMs);
  } finally {
    await machine.close();
  }
}
