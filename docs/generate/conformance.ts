import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Cases, Outcome } from "../../test/conformance/outcome.ts";
import { page, sentence, table } from "./markdown.ts";

const OUTCOMES = fileURLToPath(new URL("../../test/conformance/outcomes", import.meta.url));

export function conformancePage(): string {
  const outcomes = readdirSync(OUTCOMES)
    .sort()
    .map((name) => JSON.parse(readFileSync(`${OUTCOMES}/${name}`, "utf8")) as Outcome);
  const rows = outcomes.map(({ suite, version, passed, refused, open, notApplicable }) => [
    suite,
    version,
    `${passed}`,
    `${sum(refused)}`,
    `${sum(open)}`,
    `${sum(notApplicable)}`,
  ]);
  return page("Conformance", [
    "Outcomes of the public suites that run in this repository: `npm run test:conformance` runs them. A case that does not pass is *refused* if that is on purpose, and *open* if it should pass. A case is *not applicable* if it is for hosts of another kind, and does not run.",
    table(["suite", "version", "passed", "refused", "open", "not applicable"], rows),
    ...outcomes.flatMap(reasons),
  ]);
}

function reasons({ suite, refused, open, notApplicable }: Outcome): readonly string[] {
  const rows = [...rowsOf("refused", refused), ...rowsOf("open", open), ...rowsOf("not applicable", notApplicable)];
  return rows.length === 0 ? [] : [`## ${suite}`, table(["cases", "", "reason"], rows)];
}

function rowsOf(kind: string, group: readonly Cases[]): readonly (readonly string[])[] {
  return group.map(({ reason, cases }) => [`${cases}`, kind, sentence(reason)]);
}

function sum(group: readonly Cases[]): number {
  return group.reduce((total, { cases }) => total + cases, 0);
}
