/** Keeps a processor awake until it is told to stop. */
import { workerData } from "node:worker_threads";

const { stop } = workerData as { readonly stop: Int32Array<SharedArrayBuffer> };

while (Atomics.load(stop, 0) === 0);
