import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const DEADLINE_MS = 290_000;

/** A version of the protocol's own suite, and the scenarios of it that run. */
export interface Suite {
  /** The package's name in `node_modules`. */
  readonly package: string;
  readonly select: readonly string[];
}

/** A check's verdict, by `scenario:check`. */
export type Verdicts = ReadonlyMap<string, Verdict>;
type Verdict = "SUCCESS" | "SKIPPED" | "WARNING" | "FAILURE";

/** From good to bad: several results of one check have the worst of their verdicts. `INFO` is no verdict. */
const VERDICTS: readonly string[] = ["SUCCESS", "SKIPPED", "WARNING", "FAILURE"] satisfies readonly Verdict[];

/** The version of a suite that is installed. */
export function versionOf(suite: Suite): string {
  const file = new URL(`../../../node_modules/${suite.package}/package.json`, import.meta.url);
  return (JSON.parse(readFileSync(file, "utf8")) as { readonly version: string }).version;
}

/** Runs the server scenarios of a suite against a server, in a process of their own. */
export async function runSuite(suite: Suite, url: string): Promise<Verdicts> {
  const program = fileURLToPath(new URL(`../../../node_modules/${suite.package}/dist/index.js`, import.meta.url));
  const folder = mkdtempSync(join(tmpdir(), "glovebox-conformance-"));
  try {
    await run([program, "server", "--url", url, ...suite.select, "--output-dir", folder]);
    const verdicts = new Map<string, Verdict>();
    for (const [check, verdict] of readdirSync(folder).flatMap((name) => readChecks(folder, name))) {
      const known = verdicts.get(check);
      if (known === undefined || VERDICTS.indexOf(known) < VERDICTS.indexOf(verdict)) verdicts.set(check, verdict);
    }
    return verdicts;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function run(args: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, { timeout: DEADLINE_MS, maxBuffer: 2 ** 26 }, (error, _stdout, stderr) => {
      // It exits with 1 where a check failed.
      if (error === null || error.code === 1) resolve();
      else reject(new Error(`the suite did not end by itself: ${stderr.slice(-2_000)}`, { cause: error }));
    });
  });
}

/** The checks of a scenario, from a folder `server-<scenario>-<time>`. */
function readChecks(folder: string, name: string): [check: string, verdict: Verdict][] {
  const scenario = /^server-(.+?)-\d{4}-\d\d-\d\dT/.exec(name)?.[1];
  if (scenario === undefined) throw new Error(`the suite wrote ${name}, which names no scenario`);
  const checks: unknown = JSON.parse(readFileSync(join(folder, name, "checks.json"), "utf8"));
  return (checks as readonly { readonly id: string; readonly status: string }[]).flatMap(({ id, status }) =>
    isVerdict(status) ? [[`${scenario}:${id}`, status]] : [],
  );
}

function isVerdict(status: string): status is Verdict {
  return VERDICTS.includes(status);
}
