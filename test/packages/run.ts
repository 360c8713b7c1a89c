import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { isDeepStrictEqual, promisify } from "node:util";
import { createEngine, type Engine } from "../../src/index.ts";

/**
 * `npm run test:packages`: packages of npm, each in a small tool that does its main job. They are installed into a
 * temporary folder, without their scripts. Compares the outcomes with `outcomes.json`; `--write` writes them there.
 */

interface Job {
  readonly name: string;
  readonly version: string;
  /** Other packages that its tool imports, with their versions. */
  readonly beside?: { readonly [name: string]: string };
  readonly tool: readonly string[];
  /** The tool's output; or, of a package that no isolate can run, what its error says. */
  readonly expected: unknown;
}

/** Packages that must answer right, of all. */
const RIGHT_MIN = 84;
const JOBS = new URL("../../fixtures/programs/packages.json", import.meta.url);
const OUTCOMES = new URL("./outcomes.json", import.meta.url);
const LIMITS = { cpuMs: 20_000, wallMs: 30_000, memoryMb: 256 };

async function install(jobs: readonly Job[], folder: string): Promise<void> {
  const dependencies = Object.fromEntries(
    jobs.flatMap(({ name, version, beside = {} }) => [[name, version], ...Object.entries(beside)]),
  );
  await writeFile(path.join(folder, "package.json"), JSON.stringify({ private: true, dependencies }));
  const args = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error"];
  await promisify(execFile)("npm", args, { cwd: folder, timeout: 300_000 });
}

/** `right`, or why not. */
async function outcomeOf(engine: Engine, { name, tool, expected }: Job, folder: string, at: number): Promise<string> {
  const entry = path.join(folder, `tool-${at}.mjs`);
  await writeFile(entry, tool.join("\n"));
  const wanted = (expected as { error?: unknown } | null)?.error;
  const judge = (message: string): string =>
    typeof wanted === "string" && message.includes(wanted) ? "right" : message.slice(0, 300);
  try {
    await engine.register({ name: `package_${at}`, description: `A job of ${name}.`, entry, limits: LIMITS });
    const { output, error } = await engine.execute({ name: `package_${at}`, arguments: {} });
    if (error !== null) return judge(`${error.code}: ${error.message}`);
    return isDeepStrictEqual(output, expected) ? "right" : `answers ${JSON.stringify(output)}`.slice(0, 300);
  } catch (error) {
    return judge(error instanceof Error ? error.message : String(error));
  }
}

async function run(): Promise<{ readonly [name: string]: string }> {
  const jobs = JSON.parse(await readFile(JOBS, "utf8")) as readonly Job[];
  const folder = await mkdtemp(path.join(tmpdir(), "glovebox-packages-"));
  const engine = await createEngine({ executor: "threads", workers: 1 });
  const outcomes: { [name: string]: string } = {};
  try {
    await install(jobs, folder);
    for (const [at, job] of jobs.entries()) {
      outcomes[job.name] = await outcomeOf(engine, job, folder, at);
      console.log(`${job.name} ${job.version}: ${outcomes[job.name] ?? ""}`);
    }
  } finally {
    await engine.close();
    await rm(folder, { recursive: true, force: true });
  }
  return outcomes;
}

const outcomes = await run();
const right = Object.values(outcomes).filter((outcome) => outcome === "right").length;
console.log(`${right} of ${Object.keys(outcomes).length} answer right`);
if (process.argv.includes("--write")) await writeFile(OUTCOMES, `${JSON.stringify(outcomes, null, 2)}\n`);
const known = JSON.parse(await readFile(OUTCOMES, "utf8")) as { readonly [name: string]: string };
const changed = Object.keys(outcomes).filter((name) => (outcomes[name] === "right") !== (known[name] === "right"));
if (changed.length > 0) console.log(`differ from outcomes.json: ${changed.join(", ")}`);
process.exitCode = right < RIGHT_MIN || changed.length > 0 ? 1 : 0;
