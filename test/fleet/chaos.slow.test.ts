// needs: redis
import { expect, test } from "vitest";
import { seedOf } from "../load/dice.ts";
import { runFleetChaos } from "./chaos.ts";

test("every call settles once and every effect comes once while machines are killed and Redis is restarted", async () => {
  const seed = seedOf(undefined);
  const report = await runFleetChaos({
    seed,
    seconds: 22,
    kills: 5,
    machines: 3,
    killEveryMs: 3_000,
    redisEnds: ["SIGTERM", "power"],
  });
  expect({ seed, violations: report.violations }).toEqual({ seed, violations: [] });
  // Where nothing was killed, and no call had to start again, nothing was shown.
  expect(report.kills).toBeGreaterThan(4);
  expect(report.redisRestarts).toBe(2);
  expect(report.forgotten).toBeGreaterThan(0);
  expect(Object.keys(report.attempts).some((attempts) => Number(attempts) > 1)).toBe(true);
  expect(report.effects).toBeGreaterThan(0);
});
