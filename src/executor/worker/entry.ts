import { workerData as poolData } from "node:worker_threads";
import { TurnSlot } from "../../base/protocol/turn-record.ts";
import { collectGarbage } from "./idle-work.ts";
import { openLink, type ServeTask } from "./link.ts";
import { WorkerSession, type WorkerSettings } from "./worker-session.ts";

/**
 * The one long task of a worker thread: serve the host until it closes the link. Piscina owns the thread: its start,
 * its resource limits, its replacement. Calls reach it over the link.
 */
export default async function serve(task: ServeTask): Promise<void> {
  const settings = poolSettings();
  const link = openLink(task.link);
  const slot = new TurnSlot(settings.turnRecord, task.worker, settings.mirrorFd);
  const session = new WorkerSession(settings, slot, (text) => link.send(text));
  link.receive(session);
  await link.closed;
  session.close();
  // isolated-vm aborts the process when V8 collects a handle of its after the thread's environment has gone, so what
  // can be collected has to be now.
  collectGarbage();
}

/** Piscina wraps the pool's `workerData` into a list of its own. */
function poolSettings(): WorkerSettings {
  const data = poolData as unknown;
  return (Array.isArray(data) ? data[1] : data) as WorkerSettings;
}
