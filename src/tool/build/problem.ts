import type { Outcome } from "./build-process.ts";
import { ADDRESS_MB } from "./limits.ts";

/** Words for a job: "took too long to <verb>", "could not be <participle>", and the remedy of its author. */
export interface JobWords {
  readonly verb: string;
  readonly participle: string;
  readonly remedy: string;
}

const CRASHES = {
  stack: "its source is nested too deeply, flatten it",
  memory:
    `bundling it needs more than ${ADDRESS_MB} MB of addresses; import less, and ` +
    "compute large values when the tool runs instead of in enums and constants",
} as const;

/** The problem of a job that its build process did not answer, for a sentence that begins with its subject. */
export function problemOf(
  outcome: Exclude<Outcome, { readonly kind: "done" | "refused" }>,
  { verb, participle, remedy }: JobWords,
  deadlineMs: number,
): string {
  switch (outcome.kind) {
    case "crashed":
      return `crashed the bundler; ${CRASHES[outcome.needed]}${outcome.largest === "" ? "" : ` (${outcome.largest})`}`;
    case "late":
      return `took longer than ${deadlineMs} ms to ${verb}; ${remedy}`;
    case "unreadable":
      return `could not be ${participle}: the build process answered with ${outcome.reason}; ${remedy}`;
    case "lost":
      return `could not be ${participle}: the build process ended twice (${outcome.reason}); register it again`;
    default:
      return outcome satisfies never;
  }
}
