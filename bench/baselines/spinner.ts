import { once } from "node:events";
import { Worker } from "node:worker_threads";

/** Keeps the machine busy with one spinning thread, until it is disposed of. */
export async function startSpinner(): Promise<AsyncDisposable> {
  const stop = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const worker = new Worker(new URL("./spinning-worker.ts", import.meta.url), { workerData: { stop } });
  await once(worker, "online");
  return {
    async [Symbol.asyncDispose]() {
      const ended = once(worker, "exit");
      Atomics.store(stop, 0, 1);
      await ended;
    },
  };
}
