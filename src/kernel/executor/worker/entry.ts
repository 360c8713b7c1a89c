import { workerData as poolData } from "node:worker_threads";
import { WorkerHoldings } from "../../base/protocol/holdings.ts";
import { CELL, TurnSlot } from "../../base/protocol/turn-record.ts";
import { systemThreadId } from "../thread-times.ts";
import { collectGarbage } from "./idle-work.ts";
import { openBrokerLink, openLink, type ServeTask } from "./link.ts";
import { WorkerSession } from "./worker-session.ts";
import { isolationWith, type WorkerSettings } from "./isolation.ts";
import { WorkerRuntimes } from "./worker-runtime.ts";

/**
 * The one long task of a worker thread: it serves the host until the link is closed. Piscina manages the thread: its
 * start, its resource limits, its replacement. Calls arrive over the link.
 */
export default async function serve(task: ServeTask): Promise<void> {
  const settings = poolSettings();
  const link = openLink(task.link, settings.spinMs);
  if (!link.begin()) return;
  const broker = task.broker === null ? null : openBrokerLink(task.broker, settings.spinMs);
  try {
    const slot = new TurnSlot(settings.turnRecord, task.worker, settings.mirrorFd);
    Atomics.store(slot.cells, CELL.thread, systemThreadId());
    const holdings = new WorkerHoldings(settings.holdings, task.worker);
    const open = isolationWith(await WorkerRuntimes.import(settings.prelude.runtimes));
    const toBroker = broker === null ? null : (text: string) => broker.send(text);
    const session = new WorkerSession(settings, slot, holdings, { toHost: (text) => link.send(text), toBroker }, open);
    link.receive(session);
    broker?.receive(session);
    let isServing = true;
    void broker?.closed.then(() => isServing && session.onBrokerLost());
    await link.closed;
    isServing = false;
    await session.close();
    // isolated-vm aborts the process if V8 collects one of its handles after the thread's environment is gone, so collect
    // them now. That takes a tenth of a second, after which a process that ends has nothing to collect.
    if (!link.isHurried) collectGarbage();
  } finally {
    broker?.end();
    link.end();
  }
}

/** Piscina wraps the pool's `workerData` in a list of its own. */
function poolSettings(): WorkerSettings {
  const data = poolData as unknown;
  return (Array.isArray(data) ? data[1] : data) as WorkerSettings;
}
