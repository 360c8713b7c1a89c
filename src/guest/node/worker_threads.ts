import type { NodeModule } from "./inner/library.ts";

/** `node:worker_threads`: what tells that this is the main thread. */
export const shared: NodeModule = {
  isMainThread: true,
  isInternalThread: false,
  parentPort: null,
  workerData: null,
  threadId: 0,
  threadName: "",
  resourceLimits: Object.freeze({}),
  SHARE_ENV: Symbol.for("nodejs.worker_threads.SHARE_ENV"),
  markAsUncloneable: () => undefined,
  markAsUntransferable: () => undefined,
  isMarkedAsUntransferable: () => false,
  getEnvironmentData: () => undefined,
  setEnvironmentData: () => undefined,
};
