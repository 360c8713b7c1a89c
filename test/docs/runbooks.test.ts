import { describe, expect, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { rulesOf } from "../kernel/engine/telemetry/promtool.ts";
import { commandsOf, readPage, RUNBOOKS } from "./markdown.ts";
import { runbooks } from "./runbooks.ts";

const PAGES = `${manifest.homepage.replace("#readme", "")}/blob/main/${RUNBOOKS}`;
const alerts = rulesOf("alerts");
const index = readPage(`${RUNBOOKS}index.md`);

test("each alert has a page, and each page an alert", () => {
  expect(runbooks.map(({ name }) => name).toSorted()).toEqual(alerts.map(({ alert = "" }) => alert).toSorted());
});

describe.each(alerts.map((rule) => [rule.alert ?? "", rule] as const))("the alert %s", (name, rule) => {
  const { labels, annotations, expr, for: lasting } = rule;
  const severity = labels?.severity ?? "";
  const runbook = runbooks.find((one) => one.name === name);

  test("names its page, and the index has it with its severity", () => {
    expect(annotations?.["runbook_url"]).toBe(`${PAGES}${name}.md`);
    expect(index.text).toMatch(new RegExp(`^\\| \\[${name}\\]\\(${name}\\.md\\) +\\| ${severity} +\\|`, "m"));
  });

  test("has on its page the query, the time and the severity of the rule", () => {
    expect(oneLine(runbook?.query?.text ?? "")).toBe(oneLine(expr));
    const [, said, time] =
      /^Severity `(\w+)`: .* It fires (?:after (\S+) of|at once \w.*):$/m.exec(runbook?.page.text ?? "") ?? [];
    expect({ said, time }).toEqual({ said: severity, time: lasting });
  });

  test("has as the first step of its page one command, or one query", () => {
    expect(["sh", "promql"]).toContain(runbook?.first?.language);
    expect(runbook?.first === undefined ? [] : commandsOf(runbook.first)).toHaveLength(1);
  });
});

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}
