import { expect, test } from "vitest";
import type { Engine } from "../../src/glovebox/index.ts";
import { createFleetEngine, POLL, startFleet } from "./fleet.ts";

async function waitingJobs(engine: Engine): Promise<number> {
  const [, count] = /^glovebox_fleet_waiting_jobs (\d+)$/m.exec(await engine.metrics()) ?? [];
  return Number(count);
}

test("each server tells of its own jobs that wait, and of none once they have ended", async () => {
  await using fleet = await startFleet(1, { slots: 1, workers: 1 });
  const serve = (): Promise<Engine> =>
    createFleetEngine({
      executor: { kind: "queue", url: fleet.url, fleet: fleet.name },
      limits: { wallMs: 100_000, queueMs: 100_000 },
      tools: [
        {
          name: "sleep",
          description: "Takes a slot.",
          source: "export default () => new Promise((done) => setTimeout(done, 90_000));",
        },
      ],
    });
  await using busy = await serve();
  await using idle = await serve();
  const giveUp = new AbortController();
  const calls = Array.from({ length: 4 }, () =>
    busy.execute({ name: "sleep", arguments: {} }, { signal: giveUp.signal }),
  );
  await expect.poll(() => waitingJobs(busy), POLL).toBe(3);
  expect(await waitingJobs(idle)).toBe(0);
  giveUp.abort();
  await Promise.all(calls);
  expect(await waitingJobs(busy)).toBe(0);
});
