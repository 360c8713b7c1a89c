import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { expect, test } from "vitest";
import { Flight } from "../../../src/executor/dispatch/flight.ts";
import { Line } from "../../../src/executor/dispatch/line.ts";
import { Pace } from "../../../src/executor/dispatch/pace.ts";
import { job, tool } from "./workers.ts";

function flight(run: number): Flight {
  return new Flight(job(run, script), 0);
}

const script = tool("t");

test("calls leave in the order in which they came, however they are added, taken and put back", () => {
  const step = fc.record({ add: fc.nat(30), take: fc.nat(3), isPutBack: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.boolean(), (steps, isQuick) => {
      const pace = new Pace();
      for (let turn = 0; turn < 20; turn++) pace.note(1, isQuick ? 0.01 : 5);
      const line = new Line(script, "", pace);
      const left: number[] = [];
      let last = 0;
      for (const { add, take, isPutBack } of steps) {
        for (let count = 0; count < add; count++) {
          left.push(++last);
          line.add(flight(last));
        }
        for (let count = 0; count < take; count++) {
          const { flights, runs } = line.take();
          expect(runs).toEqual(left.slice(0, runs.length));
          expect(runs.length > 0).toBe(left.length > 0);
          if (isPutBack) line.putBack(flights);
          else left.splice(0, runs.length);
        }
        expect(line.isEmpty).toBe(left.length === 0);
      }
    }),
  );
});

test("a line that is never empty does not hold on to the calls that have left it", async () => {
  const line = new Line(script, "", new Pace());
  let first: WeakRef<Flight> | undefined;
  line.add(flight(0));
  for (let run = 1; run < 5_000; run++) {
    const next = flight(run);
    if (run === 1) first = new WeakRef(next);
    line.add(next);
    line.take();
  }
  expect(line.isEmpty).toBe(false);
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as NodeJS.GCFunction;
  await new Promise((done) => setTimeout(done, 1));
  await collect({ execution: "async", type: "major" });
  expect(first?.deref()).toBeUndefined();
});
