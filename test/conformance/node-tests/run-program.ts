import { readFileSync } from "node:fs";
import { Worker } from "node:worker_threads";
import type { Engine, ToolDefinition } from "../../../src/glovebox/index.ts";
import type { Program } from "./programs.ts";

/** Outcomes of a file's cases by their names: why one does not pass, or `null`. */
export interface Run {
  readonly cases: ReadonlyMap<string, string | null>;
  /** Why the file did not end as it should, if it did not. */
  readonly ended: string | null;
}

export type RunProgram = (program: Program) => Promise<Run>;

/** What the harness reports, as JSON. */
interface Report {
  readonly ended: string | null;
  readonly results: readonly (readonly [name: string, failure: string | null])[];
}

const DEADLINE_MS = 30_000;
const HARNESS = readFileSync(new URL("harness.js", import.meta.url), "utf8");

/** Modules that the files require, with those that they use to look at others. */
export const MODULES = [
  ..."assert assert/strict async_hooks buffer child_process crypto diagnostics_channel domain events fs net os path path/posix".split(
    " ",
  ),
  ..."path/win32 punycode querystring stream string_decoder timers timers/promises trace_events tty url util util/types v8 vm".split(
    " ",
  ),
  "worker_threads",
];

function runOf({ ended, results }: Report): Run {
  return { ended, cases: new Map(results) };
}

/** Exceptions that nobody catches belong to the case that has begun last. */
const NODE_TEXT = `
const { parentPort, workerData } = require("node:worker_threads");
const load = require;
const globals = { Buffer, process, setImmediate, clearImmediate };
for (const name of ["module", "exports", "require", "__filename", "__dirname"]) delete globalThis[name];
let caught = () => {};
process.on("uncaughtException", (error) => caught(error));
const run = new Function("input", workerData.harness)({ program: workerData.program, load, globals });
caught = run.caught;
run.report.then((report) => parentPort.postMessage(report));
`;

/** Runs files with Node's own modules, each in a thread of its own. */
export const runInNode: RunProgram = async (program) => {
  const worker = new Worker(NODE_TEXT, {
    eval: true,
    workerData: { harness: HARNESS, program },
    stdout: true,
    stderr: true,
  });
  const { promise, resolve } = Promise.withResolvers<Run>();
  const lose = (ended: string): void => resolve({ cases: new Map(), ended });
  const timer = setTimeout(() => lose("it does not end"), DEADLINE_MS);
  worker.once("message", (report: Report) => resolve(runOf(report)));
  worker.once("error", (error) => lose(String(error)));
  worker.once("exit", () => lose("it ended without a report"));
  const run = await promise;
  clearTimeout(timer);
  await worker.terminate();
  return run;
};

const LIMITS = { cpuMs: 20_000, wallMs: DEADLINE_MS, memoryMb: 256, outputBytes: 2 ** 22 };
export const ENGINE_LIMITS = { outputBytes: LIMITS.outputBytes };

/** A tool that runs files with the modules of isolates. */
export const PROGRAM_TOOL: ToolDefinition = {
  name: "run",
  description: "Runs a test file of Node.",
  limits: LIMITS,
  source: `${MODULES.map((name, index) => `import m${index} from "node:${name}";`).join("\n")}
const modules = { ${MODULES.map((name, index) => `"${name}": m${index}`).join(", ")} };
const load = (name) => {
  if (!Object.hasOwn(modules, name)) throw new Error("the suite's tool does not import " + name);
  return modules[name];
};
const run = new Function("globalThis", "input", ${JSON.stringify(HARNESS)});
export default (program) => {
  const globals = { Buffer, process, setImmediate, clearImmediate, globalThis, isTool: true };
  return run(globalThis, { program, load, globals }).report;
};`,
};

/** Runs files as calls of a tool. */
export function runInTool(engine: Engine): RunProgram {
  return async (program) => {
    const result = await engine.execute({ name: "run", arguments: { ...program } });
    if (result.success) return runOf(result.output as Report);
    return { cases: new Map(), ended: `${result.error.code}: ${result.error.message}` };
  };
}
