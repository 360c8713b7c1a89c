import { Worker } from "node:worker_threads";
import { lostRun, REPORT_MS, type Report, type Run, type RunProgram, runnerText, runOf } from "./program-runner.ts";

/** A worker's own names of CommonJS are no globals of Node, and exceptions that nobody catches are not heard here. */
const TEXT = `
const { parentPort, workerData } = require("node:worker_threads");
for (const name of ["module", "exports", "require", "__filename", "__dirname"]) delete globalThis[name];
process.on("uncaughtException", () => {});
const { harness, program, runner } = workerData;
new Function(...runner)(harness, program, globalThis).then((report) => parentPort.postMessage(report));
`;

/** Runs programs with Node's globals, each in a thread of its own. */
export function runInNode(harness: string, reportMs = REPORT_MS): RunProgram {
  return async (program) => {
    const workerData = { harness, program, runner: runnerText("eval", reportMs) };
    const worker = new Worker(TEXT, { eval: true, workerData, stdout: true, stderr: true });
    let timer: NodeJS.Timeout | undefined;
    const run = await new Promise<Run>((resolve) => {
      timer = setTimeout(() => resolve(lostRun("it does not end")), 2 * reportMs);
      worker.once("message", (report: Report) => resolve(runOf(report)));
      worker.once("error", (error) => resolve(lostRun(String(error))));
      worker.once("exit", () => resolve(lostRun("it ended without a report")));
    });
    clearTimeout(timer);
    await worker.terminate();
    return run;
  };
}
