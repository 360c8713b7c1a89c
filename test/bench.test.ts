import { beforeAll, describe, expect, test } from "vitest";
import { renderReport, type Report } from "../bench/report.ts";
import { measure, type Subject } from "../bench/sampling.ts";
import type { Context } from "../bench/scenario.ts";
import { SCENARIOS } from "../bench/scenarios/index.ts";
import { median, summarize } from "../bench/statistics.ts";
import { runSuite } from "../bench/suite.ts";

/** Of what the subjects answer, and of how many there are: none of it depends on the machine. */
const CHECKSUMS = {
  "dispatch, quiet": "1d66932b466a7403",
  "dispatch, busy": "1d66932b466a7403",
  "isolation, quiet": "ab3f5dad45f9d3ad",
  "payload, quiet": "4875d45664dd93d7",
  "capability, quiet": "4f5755ed0e96a75c",
  "cold-start, quiet": "d748e585794e478f",
  "memory, quiet": "b5584a1464119498",
  "metrics, quiet": "3d586f167f8f0577",
  "http, quiet": "bdd2adc2e2dde787",
};

const SUITE_MS = 90_000;

const context: Context = {
  size: { states: ["quiet"], rounds: 2, sampleMs: 5 },
  state: "quiet",
  progress: () => {},
};

describe("every benchmark, in its smoke size", () => {
  let report: Report;

  beforeAll(async () => {
    report = await runSuite({ smoke: true });
  }, SUITE_MS);

  test("answers what it did the last time", () => {
    const checksums = report.scenarios.map(({ name, state, checksum }) => [`${name}, ${state}`, checksum]);
    expect(Object.fromEntries(checksums)).toEqual(CHECKSUMS);
  });

  test("runs in its states and finds something", () => {
    for (const { name, smoke } of SCENARIOS) {
      const own = report.scenarios.filter((scenario) => scenario.name === name);
      expect(own.map(({ state }) => state)).toEqual(smoke.states);
      for (const { rows } of own) expect(rows).not.toEqual([]);
    }
  });

  test("finds numbers, and compares only what it measured", () => {
    for (const { name, rows } of report.scenarios) {
      for (const row of rows) {
        const where = `${name}: ${row.subject}: ${row.metric}`;
        const { median: middle, min, max, p50 = middle, p99 = max } = row;
        for (const value of [middle, min, max, p50, p99]) expect(value, where).toSatisfy(Number.isFinite);
        expect(min <= middle && middle <= max, where).toBe(true);
        for (const [baseline, ratio] of Object.entries(row.ratios)) {
          expect(ratio, where).toSatisfy(Number.isFinite);
          expect(rows, where).toContainEqual(expect.objectContaining({ subject: baseline, metric: row.metric }));
        }
      }
    }
  });

  test("is reported for programs and for people", () => {
    expect(JSON.parse(JSON.stringify(report))).toEqual(report);
    expect(report.machine).toEqual({
      cpus: expect.any(Number),
      node: process.versions.node,
      v8: process.versions.v8,
    });
    expect(new Date(report.startedAt).toISOString()).toBe(report.startedAt);
    const text = renderReport(report);
    for (const { name, state, rows } of report.scenarios) {
      expect(text).toContain(`## ${name}, ${state} `);
      for (const { subject, metric } of rows) {
        expect(text).toContain(metric);
        expect(text).toContain(subject);
      }
    }
  });
});

describe("a scenario that nobody knows", () => {
  test("is refused with the names of those that there are", async () => {
    await expect(runSuite({ smoke: true, scope: ["speed"] })).rejects.toThrow(/"speed".*dispatch, isolation/);
  });
});

describe("measure", () => {
  const honest: Subject = { name: "honest", against: [], sync: true, run: (index) => index + 1 };
  const late: Subject = { name: "late", against: ["honest"], run: async (index) => index + 1 };
  const expected = (index: number) => index + 1;

  test("samples every subject in every round, in reversed order every other round", async () => {
    const order: string[] = [];
    const watch = ({ name, against }: Subject): Subject => ({
      name,
      against,
      run: async (index) => {
        if (order.at(-1) !== name) order.push(name);
        return index + 1;
      },
    });
    await measure(context, { subjects: [watch(honest), watch(late)], expected, concurrencies: [2] });
    // The probes, the warm-up, and two rounds. Neighbours that are the same count once: without reversal it would be 8.
    expect(order).toEqual(["honest", "late", "honest", "late", "honest", "late"]);
  });

  test("gives percentiles where calls were timed one by one, ratios to baselines, and one checksum", async () => {
    const plan = { subjects: [honest, late], expected, latency: { name: "latency_us", unit: "us" } } as const;
    const first = await measure(context, plan);
    const second = await measure(context, { ...plan, concurrencies: [2] });
    expect(first.rows.map(({ subject }) => subject)).toEqual(["honest", "late"]);
    expect(first.rows[1]).toMatchObject({ p50: expect.any(Number), p99: expect.any(Number) });
    expect(Object.keys(first.rows[1]?.ratios ?? {})).toEqual(["honest"]);
    expect(second.checksum).toBe(first.checksum);
    expect(second.rows.map(({ metric }) => metric)).toContain("calls_per_second_c2");
  });

  test.each([
    ["at once", 0],
    ["after a while", 20],
  ])("fails where a subject answers wrongly %s", async (_when, from) => {
    let calls = 0;
    const liar: Subject = { name: "liar", against: [], run: async (index) => (calls++ >= from ? -1 : index + 1) };
    await expect(measure(context, { subjects: [liar], expected, concurrencies: [2] })).rejects.toThrow(
      /"liar" answered -1 instead of/,
    );
  });

  test("does what belongs around a call around every call", async () => {
    let isOpen = false;
    const subject: Subject = {
      name: "door",
      against: [],
      before: async () => {
        isOpen = true;
      },
      after: async () => {
        isOpen = false;
      },
      run: async (index) => {
        const wasOpen = isOpen;
        isOpen = false;
        return wasOpen ? index + 1 : Number.NaN;
      },
    };
    const { rows } = await measure(context, {
      subjects: [subject],
      expected,
      latency: { name: "latency_ms", unit: "ms" },
    });
    expect(rows).toHaveLength(1);
  });
});

describe("summarize", () => {
  const metric = { name: "time", unit: "us", better: "lower" } as const;
  const own = { name: "own", against: ["base"] };
  const base = { name: "base", against: [] };

  test("compares round by round, so that a slow round weighs nothing", () => {
    const samples = new Map([
      ["own", [{ value: 2 }, { value: 200 }, { value: 3 }]],
      ["base", [{ value: 1 }, { value: 100 }, { value: 1 }]],
    ]);
    expect(summarize(metric, [own, base], samples)).toEqual([
      { subject: "own", metric: "time", unit: "us", better: "lower", median: 3, min: 2, max: 200, ratios: { base: 2 } },
      { subject: "base", metric: "time", unit: "us", better: "lower", median: 1, min: 1, max: 100, ratios: {} },
    ]);
  });

  test("gives the medians of the rounds' percentiles", () => {
    const samples = new Map([
      [
        "base",
        [
          { value: 1, p99: 10 },
          { value: 3, p99: 30 },
        ],
      ],
    ]);
    expect(summarize(metric, [base], samples)[0]).toMatchObject({ median: 2, p50: 2, p99: 20 });
  });

  test("refuses a baseline that was not measured", () => {
    const samples = new Map([["own", [{ value: 1 }]]]);
    expect(() => summarize(metric, [own], samples)).toThrow('"base" was not measured for time');
  });

  test("has no median of nothing", () => {
    expect(() => median([])).toThrow(RangeError);
  });
});
