import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { IS_LONG } from "../length.ts";
import {
  type Closing,
  EXECUTORS_GROWTH_MB,
  type Family,
  type Hazard,
  HOST_GROWTH_MB,
  type HostileModule,
  LIMITS,
  PATIENT_MS,
  type Plan,
  type Run,
  type Shape,
  type ShapedHazard,
  SHAPES,
} from "./plan.ts";

const PROGRAM = fileURLToPath(new URL("program.ts", import.meta.url));
// The host collects its garbage before its memory is measured.
const FLAGS = ["--no-warnings", "--expose-gc"];
/** A family that is not through by then is killed, and that is a failure. */
const GUARD_MS = 500_000;
/** A call may end so long after its limit: the machine has other things to do. */
const SLACK_MS = 30_000;
/** The host's event loop may be so late, most of the time, by what it does itself: far more than it is. */
const DELAY_P99_MS = 500;
/** The host itself must never hold what a tool blew up. */
const HOST_PEAK_MB = 700;

/** Output of a family's child process until it ended. */
export class Report {
  readonly runs: Run[] = [];
  closing: Closing | null = null;
  stderr = "";
  code: number | null = null;

  run(name: string, shape: string): Run {
    const found = this.runs.find((run) => run.name === name && run.shape === shape);
    if (found === undefined) throw new Error(`"${name}" never came to its end: ${this.stderr.slice(-2_000)}`);
    return found;
  }

  take(line: string): void {
    const said = JSON.parse(line) as Run | Closing;
    if ("hostPeakMb" in said) this.closing = said;
    else this.runs.push(said);
  }
}

/** Runs a plan in a child process, where an engine lives beside innocent calls; a clock kills it when it is too late. */
async function carryOut(plan: Plan, report: Report): Promise<void> {
  const child = spawn(process.execPath, [...FLAGS, PROGRAM], { stdio: ["pipe", "pipe", "pipe"] });
  const guard = setTimeout(() => child.kill("SIGKILL"), GUARD_MS);
  child.stdin.end(JSON.stringify(plan));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (report.stderr += text));
  const lines = readLines(child.stdout, report);
  report.code = await new Promise((resolve) => child.once("exit", resolve));
  clearTimeout(guard);
  await lines;
}

async function readLines(stream: NodeJS.ReadableStream, report: Report): Promise<void> {
  let rest = "";
  for await (const chunk of stream.setEncoding("utf8")) {
    const lines = (rest + String(chunk)).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) report.take(line);
  }
}

/** Declares the tests of a family: one for each attack in each of its shapes, and one for the host that lived through all. */
export function attack(family: string, { hazards = [], shapes, unless, ...others }: Family): void {
  const plan: Plan = { ...others, hazards: inShapes(hazards.map(patient), shapes) };
  const report = new Report();
  describe.skipIf(unless !== undefined)(unless === undefined ? family : `${family} (not here: ${unless})`, () => {
    beforeAll(() => carryOut(plan, report), GUARD_MS + 10_000);
    afterAll(() => console.log(summaryOf(family, report)));
    declareHazards(plan, report);
    for (const module of plan.modules ?? []) declareModule(module, report);
    for (const { name, ends } of plan.batches ?? []) {
      test(`${name}, in a batch: ends with ${ends.join(" or ")}`, () =>
        expectEnd(report.run(name, "in a batch"), ends));
    }
    for (const { name, ends } of plan.sieges ?? []) {
      const title = `${name}, again and again: ends with ${ends.join(" or ")}`;
      test(title, () => expectEnd(report.run(name, "again and again"), ends));
    }
    for (const name of plan.scenes?.names ?? []) {
      test(`${name}: does no harm`, () => expectEnd(report.run(name, "played"), ["registered"]));
    }
    test("the host outlives all of it, closes its engine, and ends by itself with no process left", () => {
      expect(report.stderr).toBe("");
      expect(report.closing).toMatchObject({ childrenLeft: [] });
      expect(report.closing?.hostPeakMb).toBeLessThan(HOST_PEAK_MB);
      expect(report.closing?.delay.p99Ms).toBeLessThan(DELAY_P99_MS);
      expect(report.code).toBe(0);
    });
  });
}

/** The numbers of a family, to be read. */
function summaryOf(family: string, { runs, closing }: Report): string {
  const most = (values: readonly (number | null)[]) => Math.max(0, ...values.map((value) => value ?? 0));
  const { p50Ms, p99Ms, maxMs } = closing?.delay ?? { p50Ms: 0, p99Ms: 0, maxMs: 0 };
  return (
    `${family}: ${runs.length} attacks; event loop late by ${p50Ms} ms p50, ${p99Ms} ms p99, ${maxMs} ms at most; ` +
    `ended at most ${most(runs.map((run) => run.overdueMs))} ms after their limits; memory grown by at most ` +
    `${most(runs.map((run) => run.growth.hostMb))} MiB in the host, ` +
    `${most(runs.map((run) => run.growth.executorsMb))} MiB in its executors; host's peak ${Math.round(closing?.hostPeakMb ?? 0)} MiB`
  );
}

/** Hazards of a family with the shapes in which they attack: in every run each has one, in turns, and in the long one both. */
function inShapes(hazards: readonly Hazard[], shapes: readonly Shape[] = SHAPES): readonly ShapedHazard[] {
  const own = (nth: number): readonly Shape[] => shapes.filter((_, at) => IS_LONG || at === nth % shapes.length);
  return hazards.map((hazard, nth) => ({ ...hazard, shapes: own(nth) }));
}

function patient(hazard: Hazard): Hazard {
  if (hazard.ends.includes("wall_limit")) return hazard;
  return { ...hazard, limits: { ...hazard.limits, wallMs: PATIENT_MS } };
}

/** It ended as it should, harmed nobody, and its memory has come back. */
function expectEnd(run: Run, ends: readonly string[]): void {
  expect(run, run.message).toMatchObject({ end: expect.toBeOneOf([...ends]), harm: [] });
  expect(run.growth.hostMb).toBeLessThanOrEqual(HOST_GROWTH_MB);
  expect(run.growth.executorsMb).toBeLessThanOrEqual(EXECUTORS_GROWTH_MB);
}

function declareHazards({ hazards }: Plan, report: Report): void {
  for (const { name, ends, limits, output, dropped, shapes } of hazards) {
    for (const shape of shapes) {
      test(`${name}, ${shape}: ends with ${ends.join(" or ")}`, () => {
        const run = report.run(name, shape);
        expectEnd(run, ends);
        expect(run.ms).toBeLessThan((limits?.wallMs ?? LIMITS.wallMs) + SLACK_MS);
        expect(run.overdueMs).toBeLessThan(SLACK_MS);
        if (run.end !== "ok") return;
        if (output !== undefined) expect(run.output).toEqual(output);
        if (dropped !== undefined) expect(run.dropped).toBeGreaterThan(dropped);
      });
    }
  }
}

function declareModule({ name, ends, callEnds }: HostileModule, report: Report): void {
  test(`${name}, at registration: ends with ${ends.join(" or ")}`, () => {
    const run = report.run(name, "registration");
    expectEnd(run, ends);
    if (callEnds !== undefined && run.end === "registered") expectEnd(report.run(name, "call"), callEnds);
  });
}
