/** A process that measures one revision: `node bench/revisions/process.ts FOLDER`. It ends with its parent. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { sampleLatency, sampleThroughput } from "../sampling.ts";
import { expectedSum } from "../tools.ts";
import { type Library, openRevision, WORKLOADS } from "./workloads.ts";

/** What the parent asks for, one at a time. */
export interface Request {
  readonly workload: string;
  readonly sampleMs: number;
}

export type Reply = { readonly value: number } | { readonly error: string };

const CLOSE_MS = 5_000;
const [, , folder = ""] = process.argv;
const library = (await import(pathToFileURL(join(folder, entryOf(folder))).href)) as Library;
const opened = await openRevision(library);

process.on("message", (request: Request) => {
  void measure(request).then(
    (value) => reply({ value }),
    (error: unknown) => reply({ error: String(error) }),
  );
});
process.on("disconnect", () => {
  setTimeout(() => process.kill(process.pid, "SIGKILL"), CLOSE_MS).unref();
  void Promise.resolve(opened[Symbol.asyncDispose]()).finally(() => process.exit());
});
reply({ value: 0 });

async function measure({ workload: name, sampleMs }: Request): Promise<number> {
  const workload = WORKLOADS.find((one) => one.name === name);
  if (workload === undefined) throw new RangeError(`there is no workload "${name}"`);
  const subject = await workload.open(opened);
  const { concurrency } = workload;
  if (concurrency !== null) return (await sampleThroughput(subject, expectedSum, concurrency, sampleMs)).value;
  const usPerMs = 1_000;
  return (await sampleLatency(subject, expectedSum, sampleMs)).p50 * usPerMs;
}

function reply(message: Reply): void {
  process.send?.(message);
}

interface Manifest {
  readonly exports: { readonly ".": { readonly default: string } };
}

/** The source of the package's entry: revisions have it in different folders. */
function entryOf(folder: string): string {
  const { exports } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
  return exports["."].default.replace(/^\.\/dist\/(.*)\.js$/, "src/$1.ts");
}
