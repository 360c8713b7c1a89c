import type { Place } from "../../test/faults/fault.ts";
import { faultOutcomes, type KeptOutcome } from "../../test/faults/outcomes.ts";
import { alertOutcomes } from "../../test/faults/alerts/alert.ts";
import { THRESHOLDS } from "../../test/faults/alerts/scaling.ts";
import { code, page, sentence, table } from "./markdown.ts";

const TITLES: Readonly<Record<Place, string>> = {
  start: "A start that ends",
  server: "A server, its executors, and those that its tools ask",
  store: "What a server keeps on its disk",
  redis: "Redis",
  machine: "Machines and servers of a fleet",
};

/** The page of faults, from the outcomes of the last run. */
export function faultsPage(): string {
  const outcomes = faultOutcomes.read();
  const days = outcomes.map(({ on }) => on).toSorted();
  const [first = "", last = ""] = [days[0], days.at(-1)];
  const when = first === last ? `on ${first}` : `between ${first} and ${last}`;
  const places = [...Map.groupBy(outcomes, ({ place }) => place)];
  return page("Faults", [
    `Each fault of this page was brought about for real, on a running service that had some ten calls a second, ${when}, on a machine of two cores that had other work: \`npm run faults\` does so again, \`npm run faults -- NAME\` one of them. Half of the calls tell a server outside something and have an idempotency key; a caller asks again with the same key where the answer is \`retryable\`, or where nobody took the request, which counts as \`no connection\`. Of ${outcomes.length} faults, ${sumOf(outcomes, "lost")} lost a call (no answer, or an effect that was reported and did not happen), and ${sumOf(outcomes, "twice")} had an effect happen twice.`,
    "What to do first: look for the log's line in the tables, or for the metric that your alert names; the row says what callers see meanwhile, and whether it heals by itself. The line itself says what to change. [Runbooks](../how-to/runbooks/index.md) say how to find a cause, [Observe a server](../how-to/observe.md) where to look.",
    "*Answers* are counted from the fault to the end of all calls. *Log* is the first line about the fault. *Metric* is a line of a scrape while it lasted; `up` is Prometheus' own. *Ready* is `/readyz` at its worst while it lasted; it was `200` before, and after it where the row names nothing else. *Recovery* is the time until calls of both kinds ended well again, and `/readyz` was as before: from the repair, or from the fault where nothing had to be repaired.",
    ...places.flatMap(([place, of]) => [`## ${TITLES[place]}`, place === "start" ? tableOfStarts(of) : tableOf(of)]),
    ...alertSection(),
  ]);
}

/** Alerts, with the faults that brought them about. */
function alertSection(): readonly string[] {
  const outcomes = alertOutcomes.read();
  const rows = outcomes.map(({ alert, fault, what, heals, firedMs, clearedMs, besides }) => [
    `[${code(alert)}](../how-to/runbooks/${alert}.md)`,
    `${code(fault)}: ${sentence(what)}`,
    secondsOf(firedMs),
    sentence(heals),
    secondsOf(clearedMs),
    besides,
  ]);
  const thresholds = THRESHOLDS.map(
    ({ alert, published, tried, why }) => `${code(alert)}, ${code(tried)} in place of ${code(published)}: ${why}`,
  );
  return [
    "## Alerts",
    `Each alert fired in a real Prometheus that scraped such a service, its machines included, and was gone after the repair: \`npm run alerts\` does so again, \`npm run alerts -- NAME\` one of them. Durations of the rules were scaled to the cube root of their seconds (a minute to 4 s, an hour to 16 s, six hours to 28 s), and thresholds were as published but for ${thresholds.length}: ${thresholds.join("; ")}. *Fired* is the time from the fault, *gone* that from the repair. *Besides* are alerts that fired with the fault as well.`,
    table(["alert", "fault", "fired", "repair", "gone", "besides"], rows),
  ];
}

function secondsOf(ms: number | null): string {
  return ms === null ? "" : `${(ms / 1_000).toFixed(1)} s`;
}

function sumOf(outcomes: readonly KeptOutcome[], count: "lost" | "twice"): number {
  return outcomes.filter((one) => one[count] > 0).length;
}

function tableOfStarts(outcomes: readonly KeptOutcome[]): string {
  const rows = outcomes.map(({ name, what, answers, log }) => [
    code(name),
    sentence(what),
    answers.replace("exit code ", ""),
    lineOf(log),
  ]);
  return table(["fault", "what was done", "exit code", "what it says"], rows);
}

function tableOf(outcomes: readonly KeptOutcome[]): string {
  const rows = outcomes.map(({ name, what, answers, log, metric, ready, recoveryMs }) => [
    code(name),
    sentence(what),
    answers,
    lineOf(log),
    lineOf(metric),
    readinessOf(ready),
    secondsOf(recoveryMs),
  ]);
  return table(["fault", "what was done", "answers", "log", "metric", "ready", "recovery"], rows);
}

/** At its worst, and afterwards where that is not what it was before. */
function readinessOf(ready: KeptOutcome["ready"]): string {
  if (ready === null) return "";
  const { during, after, before } = ready;
  return after === before ? lineOf(during) : `${lineOf(during)}; after it had been ready again: ${lineOf(after)}`;
}

/** A line of a log as code: its own code has other quotes. */
function lineOf(text: string): string {
  return text === "" ? "–" : code(text.replaceAll("`", "'"));
}
