import type { Machine } from "../fleet/machine/machine.ts";
import type { WatchedMachine, WorkerSurface } from "../server/http/worker-surface.ts";
import { EXIT } from "./exit.ts";
import { listenFailure } from "./listen-failure.ts";
import { print, say } from "./output.ts";
import { ServiceManager } from "./service-manager.ts";
import { StopSignals } from "./stop-signals.ts";

export interface WorkerServiceOptions {
  readonly fleet: string;
  /** Address of its metrics and probes. */
  readonly host: string;
  readonly port: number;
  /** Maximum time to finish running calls after a stop signal, in milliseconds. */
  readonly drainMs: number;
}

/**
 * Runs a worker machine until a signal stops it; then it accepts no more jobs and finishes those it has. Resolves when
 * the machine is running. Rejects if it cannot start.
 */
export async function runWorker(
  start: (onOpen: (machine: Machine) => void) => Promise<Machine>,
  options: WorkerServiceOptions,
): Promise<void> {
  const resources = new AsyncDisposableStack();
  let machine: Machine | null = null;
  let opened: Machine | null = null;
  const manager = resources.use(new ServiceManager(process.env));
  const signals = resources.use(
    new StopSignals(() => {
      // The machine has no jobs yet, and its start may wait forever.
      if (machine === null) process.exit(EXIT.OK);
      void manager.stopping();
      void stop(machine, options.drainMs, resources);
    }),
  );
  let surface: WorkerSurface;
  try {
    surface = resources.use(
      await openSurface(options, { machine: () => machine ?? opened, isDraining: () => signals.hasBegun }),
    );
    machine = await start((begun) => {
      opened = begun;
    });
  } catch (error) {
    await resources.disposeAsync();
    throw error;
  }
  const { id, executor } = machine.stats();
  if (executor.sandbox.kind !== "off") say(`glovebox: executors run inside ${executor.sandbox.kind}`);
  else say(`glovebox: executors run without a sandbox of the operating system: ${executor.sandbox.reason}`);
  print(`glovebox worker ${id} serves fleet ${options.fleet}; metrics on ${surface.url}/metrics`);
  void manager.ready(`serving fleet ${options.fleet}`);
}

async function openSurface({ host, port }: WorkerServiceOptions, watched: WatchedMachine): Promise<WorkerSurface> {
  const { openWorkerSurface } = await import("../server/http/worker-surface.ts");
  try {
    return await openWorkerSurface(watched, host, port);
  } catch (error) {
    throw listenFailure(error, `${host}, port ${port}`);
  }
}

/**
 * Stops the machine, then its surface, so that probes report draining until the end; afterwards the process is not kept
 * alive.
 */
async function stop(machine: Machine, drainMs: number, resources: AsyncDisposableStack): Promise<void> {
  const failure: unknown = await end(machine, drainMs).then(
    () => null,
    (error: unknown) => error,
  );
  await resources.disposeAsync();
  if (failure === null) return;
  say(`glovebox: ${failure instanceof Error ? failure.message : "it could not be stopped"}`);
  // A resource that failed to close could keep the process alive forever.
  process.exit(EXIT.FAILED);
}

async function end(machine: Machine, drainMs: number): Promise<void> {
  try {
    await machine.drain(drainMs);
  } finally {
    await machine.close();
  }
}
