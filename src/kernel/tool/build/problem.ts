import type { Outcome } from "./build-process.ts";

/** Words for a job: "took too long to <verb>", "could not be <participle>", and the remedy of its author. */
export interface JobWords {
  readonly verb: string;
  readonly participle: string;
  readonly remedy: string;
}

const FLATTEN = "its source is nested too deeply, flatten it";

function memoryOf({ largest, addressMb }: Extract<Outcome, { readonly kind: "crashed" }>): string {
  const remedy = "import less, and compute large values when the tool runs instead of in enums and constants";
  return `bundling it needs more than ${addressMb} MB of addresses; ${remedy}${largest === "" ? "" : ` (${largest})`}`;
}

/** The problem of a job that its build process did not answer, for a sentence that begins with its subject. */
export function problemOf(
  outcome: Exclude<Outcome, { readonly kind: "done" | "refused" }>,
  { verb, participle, remedy }: JobWords,
  deadlineMs: number,
): string {
  switch (outcome.kind) {
    case "crashed":
      return `crashed the bundler; ${outcome.needed === "stack" ? FLATTEN : memoryOf(outcome)}`;
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
