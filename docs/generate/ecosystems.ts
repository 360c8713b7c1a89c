import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Answer, Published, Upstream } from "../../test/conformance/published.ts";
import { code, page, sentence, table } from "./markdown.ts";

const RECORDS = fileURLToPath(new URL("../../test/conformance/published", import.meta.url));

export function ecosystemsPage(): string {
  const upstreams = readdirSync(RECORDS)
    .sort()
    .map((name) => JSON.parse(readFileSync(`${RECORDS}/${name}`, "utf8")) as Upstream);
  const rows = upstreams.map(({ title, published }) => [
    title,
    `${published.length}`,
    count(published, ({ loads }) => loads === "yes"),
    count(published, ({ validates }) => validates === "yes"),
    count(published, ({ runs }) => runs === "yes"),
    count(published, ({ verdict }) => verdict === "refused"),
    count(published, ({ verdict }) => verdict === "open"),
  ]);
  return page("Ecosystems", [
    "Modules and examples that the authors of other contracts publish, unchanged, as tests find them in a checkout that a variable names. *Loads*: it is read, and registered if it is a tool. *Validates*: `glovebox validate` has no error to report. *Runs*: the example in its own documentation runs. One that does not is *refused* if that is on purpose or for want of something that its operator has to give, and *open* if it should run.",
    table(["upstream", "published", "load", "validate", "run", "refused", "open"], rows),
    ...upstreams.flatMap(sectionOf),
  ]);
}

function sectionOf({ title, source, version, given, published }: Upstream): readonly string[] {
  const rows = published.map(({ name, loads, validates, runs, verdict, why = "" }) => [
    code(name),
    shown(loads),
    shown(validates),
    shown(runs),
    verdict === "works" ? "" : `${verdict}: ${sentence(why)}`,
  ]);
  return [
    `## ${title}`,
    `[${source.replace("https://", "")}](${source}) at ${code(version)}. ${sentence(given)}`,
    table(["name", "loads", "validates", "runs", "why not"], rows),
  ];
}

function shown(answer: Answer): string {
  return answer === "-" ? "–" : answer;
}

function count(published: readonly Published[], isMeant: (one: Published) => boolean): string {
  return `${published.filter(isMeant).length}`;
}
