import fc from "fast-check";
import { expect, test } from "vitest";
import { fit } from "../../bench/fleet/costs.ts";

test("the costs of a fleet's operations are the line through points that lie on one, of whatever sizes", () => {
  fc.assert(
    fc.property(
      fc.double({ min: 1, max: 1e3, noNaN: true }),
      fc.double({ min: 0, max: 10, noNaN: true }),
      fc.uniqueArray(fc.integer({ min: 0, max: 1_000 }), { minLength: 2, maxLength: 6 }),
      (fixed, each, sizes) => {
        const found = fit(sizes.map((size) => ({ size, value: fixed + each * size })));
        for (const size of sizes) expect((found.fixed + found.each * size) / (fixed + each * size)).toBeCloseTo(1, 4);
      },
    ),
  );
});
