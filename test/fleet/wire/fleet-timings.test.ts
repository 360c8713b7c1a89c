import { expect, test } from "vitest";
import { checkTimings, FLEET_TIMINGS, type FleetTimings, scaled } from "../../../src/fleet/wire/fleet-timings.ts";

test("the default timings hold their relations, and so do scaled ones", () => {
  expect(checkTimings(FLEET_TIMINGS)).toBe(FLEET_TIMINGS);
  expect(scaled(0.1)).toMatchObject({ beatMs: 100, seenMs: 500, lockMs: 500, leaseMs: 2_000 });
  expect(scaled(1)).toEqual(FLEET_TIMINGS);
});

test.each<[relation: string, broken: Partial<FleetTimings>]>([
  ["every duration is positive", { keepMs: 0 }],
  ["seenMs > 3 × beatMs", { beatMs: 2_000 }],
  ["freshMs < seenMs", { freshMs: 6_000 }],
  ["goneMs > seenMs + 2 × lookMs", { goneMs: 6_000 }],
  ["acknowledgedMs > seenMs + lookMs", { acknowledgedMs: 5_000 }],
  ["silentMs > 2 × lookMs", { silentMs: 2_000 }],
  ["lockMs > 3 × lockRenewMs", { lockRenewMs: 2_000 }],
  ["leaseMs > seenMs + goneMs + lookMs", { leaseMs: 15_000 }],
  ["leaseMs > 3 × leaseRenewMs", { leaseRenewMs: 7_000 }],
  ["waiterMs > 3 × retryMs", { retryMs: 1_500 }],
])("timings are refused where it does not hold that %s", (relation, broken) => {
  expect(() => checkTimings({ ...FLEET_TIMINGS, ...broken })).toThrow(
    new RangeError(`the fleet's timings must hold: ${relation}`),
  );
});

test.each([0, -1, Number.NaN, Infinity])("a factor of %s is refused", (factor) => {
  expect(() => scaled(factor)).toThrow(RangeError);
});
