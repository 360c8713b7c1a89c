/** A worker thread that sends every message back: the least that crossing a thread can cost. */
import { parentPort } from "node:worker_threads";

parentPort?.on("message", (message: unknown) => parentPort?.postMessage(message));
