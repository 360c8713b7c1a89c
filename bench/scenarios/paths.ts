import { capabilities } from "../paths/capabilities.ts";
import { fetches } from "../paths/fetches.ts";
import { inFlight } from "../paths/in-flight.ts";
import { lines } from "../paths/lines.ts";
import type { Path, PathFamily, PathSubject } from "../paths/path.ts";
import { payloads } from "../paths/payloads.ts";
import { requests } from "../paths/requests.ts";
import { inRounds } from "../rounds.ts";
import { combine, probe, sampleLatency, sampleThroughput, type Subject } from "../sampling.ts";
import type { Context, Findings, Scenario } from "../scenario.ts";
import { type Metric, summarize } from "../statistics.ts";

const FAMILIES: readonly PathFamily[] = [inFlight, fetches, capabilities, requests, payloads, lines];

/**
 * Every path through the engine beside what it stands on: operations per second, so that a ratio above 1 is quicker than the
 * baseline. Those of paths that run one after the other follow from the median of a sample's runs.
 */
export const paths: Scenario = {
  name: "paths",
  description: "every path, one worker, against the library or the part of Node that it stands on",
  smoke: { states: ["quiet"], rounds: 1, sampleMs: 10 },
  full: { states: ["quiet", "busy"], rounds: 9, sampleMs: 200 },
  async run(context) {
    const parts: Findings[] = [];
    for (const family of FAMILIES) {
      await using opened = new AsyncDisposableStack();
      for (const path of await family(opened)) parts.push(await measurePath(context, path));
    }
    return combine(parts);
  },
};

async function measurePath(context: Context, path: Path): Promise<Findings> {
  const { name, subjects, expected } = path;
  const baseline = subjects.at(-1)?.name ?? "";
  const compared = subjects.map((subject) => ({ ...subject, against: subject.name === baseline ? [] : [baseline] }));
  const checksum = await probe(compared, expected);
  const samples = await inRounds(context, compared, name, (subject, sampleMs) => sample(path, subject, sampleMs));
  const perSecond: Metric = { name, unit: "/s", better: "higher" };
  const rows = [...summarize(perSecond, compared, samples)];
  const cpu = new Map(
    [...samples].map(([subject, all]) => [
      subject,
      all.flatMap(({ cpuUs }) => (cpuUs === null ? [] : [{ value: cpuUs }])),
    ]),
  );
  // The spinning thread's own time would drown everything else.
  if (context.state === "quiet" && [...cpu.values()].every((all) => all.length > 0)) {
    rows.push(...summarize({ name: `${name}: processor time`, unit: "us", better: "lower" }, compared, cpu));
  }
  return { rows, checksum };
}

/** Operations per second, and the processor time of each in all threads where calls are in flight together. */
async function sample(path: Path, subject: Subject & PathSubject, sampleMs: number) {
  const { concurrency, expected, operations } = path;
  if (subject.perSecond !== undefined) return { value: await subject.perSecond(sampleMs), cpuUs: null };
  if (concurrency !== null) {
    const { value, cpuUsPerCall } = await sampleThroughput(subject, expected, concurrency, sampleMs);
    return { value: value * operations, cpuUs: cpuUsPerCall === null ? null : cpuUsPerCall / operations };
  }
  const { p50 } = await sampleLatency(subject, expected, sampleMs);
  return { value: (operations / p50) * 1e3, cpuUs: null };
}
