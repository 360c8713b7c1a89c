import type { Standing } from "../access/budget.ts";

const MICROSECONDS = 1_000_000;

/**
 * What is left of a key's budgets, as `RateLimit` and `RateLimit-Policy` of draft-ietf-httpapi-ratelimit-headers: lists
 * of names with parameters, in whole seconds. Processor time is rounded so that nobody is promised what there is not.
 */
export function writeRateLimit(standings: readonly Standing[]): Readonly<Record<string, string>> {
  if (standings.length === 0) return {};
  return {
    "ratelimit-policy": standings.map(writePolicy).join(", "),
    ratelimit: standings.map(writeStanding).join(", "),
  };
}

function writePolicy({ name, quota, windowMs }: Standing): string {
  const seconds = Math.ceil(windowMs / 1_000);
  if (name !== "cpu") return `"${name}";q=${quota};w=${seconds}`;
  return `"cpu";q=${Math.floor(quota / MICROSECONDS)};qu="cpu-seconds";w=${seconds}`;
}

function writeStanding({ name, remaining, resetMs }: Standing): string {
  const left = name === "cpu" ? Math.floor(remaining / MICROSECONDS) : remaining;
  return `"${name}";r=${left};t=${Math.ceil(resetMs / 1_000)}`;
}
