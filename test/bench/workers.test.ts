import fc from "fast-check";
import { expect, test } from "vitest";
import { type DispatchCosts, simulate } from "../../bench/workers/simulation.ts";

const cost = fc.record({ batchUs: fc.integer({ min: 1, max: 200 }), callUs: fc.integer({ min: 1, max: 20 }) });
const costs: fc.Arbitrary<DispatchCosts> = fc.record({ host: cost, worker: cost });
const workers = fc.integer({ min: 1, max: 16 });
const toolUs = fc.integer({ min: 0, max: 10_000 });

// The last batches are still at work when the time is taken: hence the hundredth.
test("workers never do more than their processors, nor than the embedder's thread can send", () => {
  fc.assert(
    fc.property(costs, workers, toolUs, (of, count, tool) => {
      const { callsPerSecond, hostShare } = simulate(of, { workers: count, toolUs: tool, inFlightPerWorker: 64 });
      expect(callsPerSecond).toBeLessThanOrEqual((1.01 * count * 1e6) / (of.worker.callUs + tool));
      expect(callsPerSecond).toBeLessThanOrEqual((1.01 * 1e6) / of.host.callUs);
      expect(hostShare).toBeLessThanOrEqual(1);
    }),
  );
});

test("one more worker is never a loss", () => {
  fc.assert(
    fc.property(costs, workers, toolUs, (of, count, tool) => {
      const [one, more] = [count, count + 1].map((each) =>
        simulate(of, { workers: each, toolUs: tool, inFlightPerWorker: 64 }),
      );
      expect(more?.callsPerSecond).toBeGreaterThanOrEqual((one?.callsPerSecond ?? 0) * 0.99);
    }),
  );
});

test("one worker and the embedder's thread work at the same time", () => {
  const of = { host: { batchUs: 36, callUs: 1 }, worker: { batchUs: 36, callUs: 1 } };
  const { callsPerSecond, hostShare } = simulate(of, { workers: 1, toolUs: 0, inFlightPerWorker: 64 });
  expect(Math.round(callsPerSecond / 1_000)).toBe(471);
  expect(hostShare).toBeCloseTo(1, 2);
});
