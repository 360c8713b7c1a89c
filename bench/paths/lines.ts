import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { openEngine, sumOf } from "../engines.ts";
import type { Path, PathFamily } from "./path.ts";

const LINES = 100;
const SOURCE = `export default ({ index }) => {
  for (let nth = 0; nth < ${LINES}; nth++) console.log("line", nth);
  return { sum: index };
};`;

/** Lines that a tool logs, sent live or kept until its end, against messages of a thread. */
export const lines: PathFamily = async (opened) => {
  const engine = opened.use(await openEngine("process"));
  await engine.register({ name: "logs", description: "logs", source: SOURCE });
  const worker = opened.use(await LineWorker.start());
  const bare = { name: "messages of a thread", run: (index: number) => worker.run(index) };
  const live = async (index: number): Promise<number> => {
    let heard = 0;
    const { output } = await engine.execute({ name: "logs", arguments: { index } }, { onLog: () => void heard++ });
    return sumOf(output) + heard;
  };
  const kept = async (index: number): Promise<number> => {
    const { output, metadata } = await engine.execute({ name: "logs", arguments: { index } });
    return sumOf(output) + metadata.logs.length;
  };
  const rest = { operations: LINES, concurrency: null, expected: (index: number) => index + LINES };
  return [
    { name: "log line, sent live", ...rest, subjects: [{ name: "process", run: live }, bare] },
    { name: "log line, kept", ...rest, subjects: [{ name: "process", run: kept }, bare] },
  ] satisfies Path[];
};

const PROGRAM = `const { parentPort } = require("node:worker_threads");
parentPort.on("message", () => {
  for (let nth = 0; nth < ${LINES}; nth++) parentPort.postMessage("line " + nth);
});`;

/** A thread that answers each message with so many of its own. */
class LineWorker implements AsyncDisposable {
  readonly #worker: Worker;
  #heard = 0;
  #done: (() => void) | null = null;

  private constructor(worker: Worker) {
    this.#worker = worker;
    worker.on("message", () => {
      if (++this.#heard === LINES) this.#done?.();
    });
  }

  static async start(): Promise<LineWorker> {
    const worker = new Worker(PROGRAM, { eval: true });
    await once(worker, "online");
    return new LineWorker(worker);
  }

  async run(index: number): Promise<number> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#heard = 0;
    this.#done = resolve;
    this.#worker.postMessage(0);
    await promise;
    return index + this.#heard;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker.terminate();
  }
}
