import { parse } from "yaml";
import { describe, expect, test } from "vitest";
import { alertOutcomes } from "./alert.ts";
import { alertNames, readRules, scaleRules, THRESHOLDS } from "./scaling.ts";
import { ALERT_SCENES, TRIED } from "./table.ts";

interface Rules {
  readonly groups: readonly {
    readonly rules: readonly { readonly alert?: string; readonly expr: string; readonly for?: string }[];
  }[];
}

const rulesOf = (text: string): Rules["groups"][number]["rules"] =>
  (parse(text) as Rules).groups.flatMap(({ rules }) => rules);

test("each alert is brought about by a fault, once", () => {
  expect(TRIED.toSorted()).toEqual(alertNames().toSorted());
});

test("each alert has fired in a real Prometheus and has cleared, under the fault that the table names", () => {
  const faults = ALERT_SCENES.flatMap(({ trials }) =>
    trials.flatMap(({ alerts, fault, what, heals }) => alerts.map((alert) => ({ alert, fault, what, heals }))),
  );
  const outcomes = alertOutcomes.read();
  expect(outcomes.map(({ alert, fault, what, heals }) => ({ alert, fault, what, heals }))).toEqual(
    alertNames().map((name) => faults.find(({ alert }) => alert === name)),
  );
  expect(outcomes.filter(({ firedMs, clearedMs }) => firedMs === null || clearedMs === null)).toEqual([]);
});

describe("rules at the speed of a test", () => {
  const [published, tried] = [readRules("alerts.yaml"), scaleRules(readRules("alerts.yaml"))];

  test("hold for seconds, and look back for seconds", () => {
    const durations = [...tried.matchAll(/for: (\w+)|\[(\w+)\]/g)].map(([, holds, back]) => holds ?? back ?? "");
    expect(durations.length).toBeGreaterThan(30);
    for (const duration of durations) expect(duration).toMatch(/^([4-9]|1\d|2[0-8])s$/);
  });

  test("keep the order of the published durations", () => {
    expect(scaleRules("for: 30s for: 1m for: 5m [5m] [10m] [1h] [6h] [1d]")).toBe(
      "for: 4s for: 4s for: 7s [7s] [9s] [16s] [28s] [45s]",
    );
  });

  test("have the published thresholds, but for those of the table", () => {
    const scaled = new Set(THRESHOLDS.map(({ alert }) => alert));
    const plain = ({ expr }: { readonly expr: string }): string => expr.replaceAll(/\[\w+\]/g, "[…]");
    const [before, after] = [rulesOf(published), rulesOf(tried)];
    const changed = before.filter((rule, at) => plain(rule) !== plain(after[at] ?? { expr: "" }));
    expect(changed.map(({ alert = "" }) => alert).toSorted()).toEqual([...scaled].toSorted());
  });
});
