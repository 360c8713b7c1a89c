import { expect, test } from "vitest";
import type { Engine } from "../../src/glovebox/index.ts";
import { createFleetEngine, startFleet } from "./fleet.ts";

test(
  "a server starts though others have taken all the room that there is for its tools",
  { timeout: 120_000 },
  async () => {
    await using fleet = await startFleet(1, { slots: 4, workers: 1 });
    const serve = (): Promise<Engine> =>
      createFleetEngine({
        executor: { kind: "queue", url: fleet.url, fleet: fleet.name },
        queue: { perTool: 1, perTenant: 1 },
        limits: { wallMs: 200_000, queueMs: 200_000 },
        tools: [
          {
            name: "wait",
            description: "Takes all the room of its tool.",
            source: "export default ({ ms }) => new Promise((done) => { console.log('runs'); setTimeout(done, ms); });",
          },
        ],
      });
    const busy = await serve();
    const runs = Promise.withResolvers<void>();
    const waiting = busy.execute({ name: "wait", arguments: { ms: 190_000 } }, { onLog: () => runs.resolve() });
    await runs.promise;
    await using second = await serve();
    expect(busy.stats().running).toBe(1);
    const held = second.execute({ name: "wait", arguments: { ms: 1 } });
    await busy.close({ drainMs: 0 });
    expect(await waiting).toMatchObject({ success: false });
    expect(await held).toMatchObject({ success: true });
  },
);
