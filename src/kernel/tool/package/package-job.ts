import { type BuildOptions, builds } from "../build/builds.ts";
import type { PackageJob } from "../build/job.ts";
import { type JobWords, problemOf } from "../build/problem.ts";
import { PackageError } from "./step.ts";

const DEADLINE_MS = 30_000;

/** Runs a package's job in a build process. Rejects with a `PackageError`. `registrant`: see `BuildOptions`. */
export async function runPackageJob(
  head: PackageJob,
  words: JobWords,
  registrant: BuildOptions["registrant"],
): Promise<{ readonly value: unknown; readonly texts: readonly string[] }> {
  const outcome = await builds.run({ head, texts: [] }, { registrant, deadlineMs: DEADLINE_MS });
  if (outcome.kind === "done") return outcome;
  if (outcome.kind === "refused") throw new PackageError(outcome.message, outcome.details);
  throw new PackageError(`it ${problemOf(outcome, words, DEADLINE_MS)}`);
}
