import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { parse } from "yaml";

const PROGRAM = "promtool";
const DEADLINE_MS = 120_000;

/** A rule that records, or one that alerts. */
interface Rule {
  readonly record?: string;
  readonly alert?: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels?: { readonly severity: string };
  readonly annotations?: Readonly<Record<string, string>>;
}

/** The rules of one of the files for Prometheus. */
export function rulesOf(name: "rules" | "alerts"): readonly Rule[] {
  const file = new URL(`../../../../fixtures/deploy/prometheus/${name}.yaml`, import.meta.url);
  const { groups } = parse(readFileSync(file, "utf8")) as { groups: readonly { rules: readonly Rule[] }[] };
  return groups.flatMap(({ rules }) => rules);
}

/** The names of metrics in a query: what stands before a selector, or is called like ours. */
export function metricsIn(expr: string): string[] {
  return expr.match(/(?<![\w:"])(?:up|(?:glovebox|nodejs|process|job|job_tool)[:_][a-z0-9_:]+)(?=[\s{[()]|$)/g) ?? [];
}

export interface Checked {
  readonly code: number | null;
  readonly said: string;
}

/** What Prometheus's own tool says of something. */
export async function promtool(args: readonly string[], input = ""): Promise<Checked> {
  const child = spawn(PROGRAM, args, { timeout: DEADLINE_MS, stdio: ["pipe", "pipe", "pipe"] });
  child.stdin.on("error", () => undefined);
  child.stdin.end(input);
  const closed = once(child, "close") as Promise<[number | null]>;
  const [said, complaints, [code]] = await Promise.all([text(child.stdout), text(child.stderr), closed]);
  return { code, said: said + complaints };
}
