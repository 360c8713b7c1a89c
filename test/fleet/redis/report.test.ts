import { afterEach, expect, test } from "vitest";
import type { RedisProblem } from "../../../src/kernel/store/outage.ts";
import { problemOf } from "../../../src/fleet/redis/problem.ts";
import type { RedisDown, RedisUp } from "../../../src/kernel/store/outage.ts";
import { EFFECTS, RedisReport } from "../../../src/fleet/redis/report.ts";

let problem: RedisProblem | null = null;
let told: (readonly [atMs: number, event: string])[] = [];
let nowMs = 0;
let last: RedisDown | RedisUp | null = null;

function open(): RedisReport {
  problem = null;
  told = [];
  nowMs = 0;
  return new RedisReport({
    uses: ["kv"],
    effect: EFFECTS.kv,
    problem: () => problem,
    onDown: (event) => {
      last = event;
      told.push([nowMs, event.code]);
    },
    onUp: (event) => {
      last = event;
      told.push([nowMs, "up"]);
    },
  });
}

function pass(report: RedisReport, ms: number): void {
  for (const untilMs = nowMs + ms; nowMs < untilMs; nowMs += 100) report.look(nowMs);
}

afterEach(() => {
  last = null;
});

const REFUSED = problemOf("ECONNREFUSED");

test("an outage is told at once, and then with pauses that double, up to five minutes", () => {
  using report = open();
  pass(report, 1_000);
  problem = REFUSED;
  pass(report, 3_600_000);
  const times = told.map(([atMs]) => atMs);
  expect(times.slice(0, 5)).toEqual([1_000, 6_000, 16_000, 36_000, 76_000]);
  expect((times.at(-1) ?? 0) - (times.at(-2) ?? 0)).toBe(300_000);
  expect(times.length).toBeLessThan(20);
});

test("a line says what happens, what it means for calls, and what to do", () => {
  using report = open();
  problem = REFUSED;
  pass(report, 100);
  expect(last).toEqual({
    uses: ["kv"],
    kind: "unreachable",
    code: "ECONNREFUSED",
    isLasting: false,
    downMs: 0,
    message:
      "Redis cannot be reached (ECONNREFUSED): requests of tools to kv fail, after a wait within their call's time where it may come back; " +
      "it is tried again; check that it runs, and the host and the port in its URL",
  });
});

test("the end of an outage is told with its duration", () => {
  using report = open();
  problem = REFUSED;
  pass(report, 2_000);
  problem = null;
  pass(report, 1_000);
  expect(told.map(([, what]) => what)).toEqual(["ECONNREFUSED", "up"]);
  expect(last).toEqual({ uses: ["kv"], downMs: 2_000 });
});

test("an outage that comes and goes is no flood", () => {
  using report = open();
  for (let times = 0; times < 600; times++) {
    problem = times % 2 === 0 ? REFUSED : null;
    pass(report, 200);
  }
  expect(told.length).toBeLessThan(60);
});

test("another reason is told at once, a few times in one outage", () => {
  using report = open();
  problem = REFUSED;
  pass(report, 200);
  problem = problemOf("WRONGPASS");
  pass(report, 200);
  expect(told.map(([, what]) => what)).toEqual(["ECONNREFUSED", "WRONGPASS"]);
  for (let times = 0; times < 100; times++) {
    problem = times % 2 === 0 ? REFUSED : problemOf("WRONGPASS");
    pass(report, 100);
  }
  expect(told.length).toBeLessThan(8);
});

test("after a minute of calm, the next outage is told at once", () => {
  using report = open();
  problem = REFUSED;
  pass(report, 60_000);
  problem = null;
  pass(report, 61_000);
  problem = REFUSED;
  pass(report, 6_000);
  expect(told.slice(-2).map(([atMs]) => atMs)).toEqual([121_000, 126_000]);
});
