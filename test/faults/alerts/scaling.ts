/** The rules as they are published, but for durations that a test can wait for. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";

const FOLDER = fileURLToPath(new URL("../../../fixtures/deploy/prometheus/", import.meta.url));
const UNIT_S: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };
/** How long an alert has to hold, and how far a query looks back. */
const DURATION = /(?<=\bfor: |\[)(\d+)([smhd])\b/g;

/** A threshold that a test does not reach: what stands in its place, and why. */
interface Threshold {
  readonly alert: string;
  readonly published: string;
  readonly tried: string;
  readonly why: string;
}

/** All others are as they are published. */
export const THRESHOLDS: readonly Threshold[] = [
  {
    alert: "GloveboxExecutorMemory",
    published: "> 3.5 * 1024 * 1024 * 1024",
    tried: "> 0.7 * 1024 * 1024 * 1024",
    why: "a test does not take that much memory of a machine that others use",
  },
  {
    alert: "GloveboxExecutorsLost",
    published: "[10m])) > 5",
    tried: "[10m])) > 2",
    why: "executors take as long as ever to start, and fewer do so within a window of seconds",
  },
];

/**
 * A text of rules with all durations as the cube roots of their seconds, rounded up: 30 s become 4 s, five minutes 7 s,
 * six hours 28 s. What was longer than another stays so, and all are longer than some scrapes.
 */
export function scaleRules(text: string): string {
  let rules = text;
  for (const { published, tried } of THRESHOLDS) rules = rules.replace(published, tried);
  return rules.replaceAll(DURATION, (_, count: string, unit: string) => `${scaleOf(Number(count), unit)}s`);
}

function scaleOf(count: number, unit: string): number {
  return Math.ceil(Math.cbrt(count * (UNIT_S[unit] ?? 1)));
}

export function readRules(name: "alerts.yaml" | "rules.yaml"): string {
  return readFileSync(`${FOLDER}${name}`, "utf8");
}

/** Names of all alerts, in the order of their file. */
export function alertNames(): readonly string[] {
  const { groups } = parse(readRules("alerts.yaml")) as {
    readonly groups: readonly { readonly rules: readonly { readonly alert: string }[] }[];
  };
  return groups.flatMap(({ rules }) => rules.map(({ alert }) => alert));
}
