import { setTimeout as delay } from "node:timers/promises";
import { beforeAll, describe, expect, test } from "vitest";
import { BackgroundLoad } from "../../bench/background-load.ts";
import { renderChart } from "../../bench/chart.ts";
import { offer, OPEN_MAX, poissonArrivals } from "../../bench/open-loop.ts";
import { renderReport, type Report } from "../../bench/report.ts";
import { inRounds, pick } from "../../bench/rounds.ts";
import { measure, type Subject } from "../../bench/sampling.ts";
import type { Context } from "../../bench/scenario.ts";
import { SCENARIOS } from "../../bench/scenarios/index.ts";
import { median, percentile, summarize } from "../../bench/statistics.ts";
import { runSuite } from "../../bench/suite.ts";
import { escapeXml } from "../../bench/svg.ts";
import { byLength } from "../length.ts";

/** Of what the subjects answer, and of how many there are: none of it depends on the machine. */
const CHECKSUMS = {
  "dispatch, quiet": "c5ce77a245ab57ea",
  "dispatch, busy": "c5ce77a245ab57ea",
  "paths, quiet": "4f50734b785e0f44",
  "scheduler, quiet": "a575815b5dc26b0e",
  "schemas, quiet": "d748e585794e478f",
  "isolation, quiet": "ab3f5dad45f9d3ad",
  "payload, quiet": "4875d45664dd93d7",
  "capability, quiet": "4f5755ed0e96a75c",
  "child-call, quiet": "97fb25056d9561d0",
  "code-mode, quiet": "05708ccbf2d6d8db",
  "kv, quiet": "1d66932b466a7403",
  "fetch, quiet": "173680c39f0af722",
  "redaction, quiet": "108d3ddc12b27d23",
  "contracts, quiet": "9f938ebe962849d2",
  "modules, quiet": "91f38909e47004c5",
  "cpu-tool, quiet": "896f7b5d9056d0e6",
  "cold-start, quiet": "d748e585794e478f",
  "wasi, quiet": "8a4183c719a46ec1",
  "memory, quiet": "b5584a1464119498",
  "python, quiet": "693e3c3ba01f7149",
  "metrics, quiet": "3d586f167f8f0577",
  "tracing, quiet": "173680c39f0af722",
  // Two of its disks are mounted.
  "keeping, quiet": process.getuid?.() === 0 ? "3d5ef663978a4796" : "ab3f5dad45f9d3ad",
  "open-loop, quiet": "d748e585794e478f",
  "mixed-load, quiet": "1d66932b466a7403",
  "overload, quiet": "881f8dfe58fbb6aa",
  "http, quiet": "bdd2adc2e2dde787",
  "keys, quiet": "3e23ea7733e6a2af",
  "http-flood, quiet": "bdd2adc2e2dde787",
  "sandbox, quiet": "8a4183c719a46ec1",
  "failover, quiet": "173680c39f0af722",
  "queue, quiet": "67cb6a7332a7f016",
};

const SUITE_MS = 1_800_000;
/** Those of the hot path in every run; all with `npm run test:slow`. */
const SCOPE: readonly string[] = byLength(
  ["dispatch", "capability"],
  SCENARIOS.map(({ name }) => name),
);
const RUN = SCENARIOS.filter(({ name }) => SCOPE.includes(name));

const context: Context = {
  size: { states: ["quiet"], rounds: 2, sampleMs: 5 },
  state: "quiet",
  progress: () => {},
};

describe("benchmarks, in their smoke size", () => {
  let report: Report;

  beforeAll(async () => {
    report = await runSuite({ smoke: true, scope: SCOPE });
  }, SUITE_MS);

  test("answers what it did the last time", () => {
    const checksums = report.scenarios.map(({ name, state, checksum }) => [`${name}, ${state}`, checksum]);
    const known = Object.entries(CHECKSUMS).filter(([run]) => SCOPE.includes(run.split(",", 1)[0] ?? ""));
    expect(Object.fromEntries(checksums)).toEqual(Object.fromEntries(known));
    expect(SCENARIOS.map(({ name }) => name).filter((name) => !(`${name}, quiet` in CHECKSUMS))).toEqual([]);
  });

  test("runs in its states and finds something", () => {
    for (const { name, smoke } of RUN) {
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

  test("is drawn", () => {
    const svg = renderChart(report) ?? "";
    expect(unbalanced(svg)).toEqual([]);
    const compared = report.scenarios.filter(({ name }) => name === "dispatch").flatMap(({ rows }) => rows);
    for (const { subject } of compared) expect(svg).toContain(`>${escapeXml(subject)}</text>`);
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

describe("the chart", () => {
  const row = { metric: "latency_us", unit: "us", better: "lower", median: 2, min: 1, max: 3 } as const;
  const subjects = ['own <&> "tool"', "peer"];
  const rows = [
    { ...row, subject: 'own <&> "tool"', ratios: { peer: 0.5 } },
    { ...row, subject: "peer", ratios: {} },
    { ...row, subject: "peer", metric: "elsewhere", ratios: {} },
  ];
  const report: Report = {
    machine: { cpus: 2, node: "26.0.0", v8: "14.6" },
    startedAt: "2026-01-02T03:04:05.678Z",
    smoke: false,
    scenarios: [
      { name: "dispatch", state: "quiet", rows, checksum: "" },
      { name: "dispatch", state: "busy", rows, checksum: "" },
    ],
  };

  test("is well-formed, and shows every subject of the main comparison with its figures and ratios", () => {
    const svg = renderChart(report) ?? "";
    expect(unbalanced(svg)).toEqual([]);
    const texts = [...svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map(([, text]) => text);
    for (const subject of subjects) expect(texts).toContain(escapeXml(subject));
    expect(texts.filter((text) => text === "2.00 us")).toHaveLength(4);
    expect(texts.filter((text) => text === "0.50× this")).toHaveLength(2);
    expect(texts).toContain("2 processors, Node 26.0.0, 2026-01-02");
    expect(svg).not.toMatch(/<script|href|url\(|@import/);
    expect(svg).toContain("prefers-color-scheme: dark");
  });

  test("is not drawn where the main comparison was not measured", () => {
    const [first] = report.scenarios;
    if (first === undefined) throw new Error("there is no scenario");
    expect(renderChart({ ...report, scenarios: [{ ...first, name: "payload" }] })).toBeNull();
  });

  test("holds nothing that XML cannot", () => {
    expect(escapeXml("a\u0000<b>\ud800&'\"")).toBe("a\ufffd&lt;b&gt;\ufffd&amp;&apos;&quot;");
  });
});

/** The tags of a text that are not closed where they should be, and ampersands that begin no entity. */
function unbalanced(xml: string): string[] {
  const open: string[] = [];
  const wrong = [...xml.matchAll(/&(?!(?:amp|lt|gt|quot|apos);)/g)].map(({ index }) => `& at ${index}`);
  const rest = xml.replaceAll(
    /<(\/?)([a-z]+)((?: [a-zA-Z]+="[^"<>]*")*)(\/?)>/g,
    (_tag, end, name, _attributes, empty) => {
      if (end === "/" && open.pop() !== name) wrong.push(`</${name}>`);
      if (end === "" && empty === "") open.push(name);
      return "";
    },
  );
  return [...wrong, ...open, ...(/[<>]/.exec(rest) ?? [])];
}

describe("a scenario that nobody knows", () => {
  test("is refused with the names of those that there are", async () => {
    await expect(runSuite({ smoke: true, scope: ["speed"] })).rejects.toThrow(/"speed".*dispatch, scheduler/);
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

describe("rounds", () => {
  test("leave out a subject that lacks a figure in any of them", async () => {
    let calls = 0;
    const rounds = await inRounds(context, [{ name: "some" }, { name: "all" }], "test", async ({ name }) =>
      name === "some" && calls++ === 1 ? null : 7,
    );
    expect(pick(rounds, (found) => found)).toEqual(new Map([["all", [{ value: 7 }, { value: 7 }]]]));
  });
});

describe("arrivals", () => {
  test("are the same every time, in order, within their window, and about as many as the rate says", () => {
    const { atMs, windowMs } = poissonArrivals(10_000, 1_000);
    expect(poissonArrivals(10_000, 1_000).atMs).toEqual(atMs);
    expect(atMs).toEqual(atMs.toSorted());
    expect(atMs.at(-1)).toBeLessThan(windowMs);
    expect(Math.abs(atMs.length - 10_000)).toBeLessThan(400);
  });

  test.each(["spin", "sleep"] as const)("are sent when they are due, and waited for: %s", async (rest) => {
    const atMs = Float64Array.from({ length: 100 }, (_, nth) => nth / 5);
    const earlyMs: number[] = [];
    const { sent, elapsedMs } = await offer({ atMs, windowMs: 5_000 }, rest, async (_nth, dueMs) => {
      earlyMs.push(dueMs - performance.now());
      await delay(5);
    });
    expect(sent).toBe(atMs.length);
    expect(Math.max(...earlyMs)).toBeLessThanOrEqual(0);
    expect(elapsedMs).toBeGreaterThan(20);
  });

  test("are held back by whoever does not keep up, and given up in the end", async () => {
    const late = Promise.withResolvers<void>();
    const atMs = new Float64Array(OPEN_MAX * 2);
    let sent = 0;
    const offered = offer({ atMs, windowMs: 200 }, "spin", () => {
      sent++;
      return late.promise;
    });
    await delay(250);
    expect(sent).toBe(OPEN_MAX);
    late.resolve();
    await expect(offered).resolves.toMatchObject({ sent: OPEN_MAX });
  });

  test("end with the first that fails", async () => {
    const failing = offer(poissonArrivals(1_000, 60_000), "sleep", async () => {
      throw new Error("no");
    });
    await expect(failing).rejects.toThrow("no");
  });
});

describe("a load in the background", () => {
  test("of callers has as many calls open as there are of them, until it is stopped", async () => {
    let open = 0;
    let openMax = 0;
    await using load = BackgroundLoad.closed(3, async () => {
      openMax = Math.max(openMax, ++open);
      await delay(2);
      open--;
    });
    await delay(20);
    expect(await load.stop()).toBeGreaterThan(0);
    expect([open, openMax]).toEqual([0, 3]);
  });

  test("at intervals does not wait for answers, but for all of them in the end", async () => {
    const answer = Promise.withResolvers<void>();
    let calls = 0;
    await using load = BackgroundLoad.every(1, () => {
      calls++;
      return answer.promise;
    });
    while (calls < 3) await delay(1);
    const stopped = load.stop();
    answer.resolve();
    expect(await stopped).toBeGreaterThan(0);
  });

  test.each(["closed", "every"] as const)("tells of a call that failed when it is stopped: %s", async (kind) => {
    await using load = BackgroundLoad[kind](2, async () => {
      throw new Error("no");
    });
    await delay(5);
    await expect(load.stop()).rejects.toThrow("no");
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

  test("gives the middle half of four rounds' ratios or more, and none of fewer", () => {
    const of = (values: readonly number[]) =>
      new Map([
        ["own", values.map((value) => ({ value }))],
        ["base", values.map(() => ({ value: 10 }))],
      ]);
    expect(summarize(metric, [own, base], of([10, 20, 30, 40]))[0]?.ratioQuartiles).toEqual({ base: [1, 3] });
    expect(summarize(metric, [own, base], of([10, 20, 30]))[0]).not.toHaveProperty("ratioQuartiles");
  });

  test("refuses a baseline that was not measured", () => {
    const samples = new Map([["own", [{ value: 1 }]]]);
    expect(() => summarize(metric, [own], samples)).toThrow('"base" was not measured for time');
  });

  test("compares with no baseline that did nothing in any round", () => {
    const samples = new Map([
      ["own", [{ value: 2 }]],
      ["base", [{ value: 0 }]],
    ]);
    expect(summarize(metric, [own, base], samples)[0]).toMatchObject({ median: 2, ratios: {} });
  });

  test("has no median of nothing, and no percentile", () => {
    expect(() => median([])).toThrow(RangeError);
    expect(() => percentile([], 0.5)).toThrow(RangeError);
  });

  test("takes the value that a share of them is at most for a percentile", () => {
    const values = [1, 2, 3, 4];
    expect([0, 0.25, 0.5, 0.51, 1].map((share) => percentile(values, share))).toEqual([1, 1, 2, 3, 4]);
  });
});
