import { expect, test } from "vitest";
import { createEngine, defineCapability } from "../../../src/glovebox/index.ts";
import { ENGINE_HELD, TENANT_HELD } from "../../../src/kernel/base/tenant-account.ts";
import { byLength } from "../../length.ts";
import { ExecutorKiller } from "./executor-killer.ts";

const MIB = 1024 * 1024;
const TENANTS = 10;
const CALLS = byLength(20, 500);
const ASKS = 100;
const LENGTH = 64 * 1024;

test(
  `${CALLS} calls that have each asked ${ASKS} times with 64 KiB are run again from what the host kept, with each effect once`,
  { timeout: 600_000 },
  async () => {
    const effects: string[] = [];
    const killer = new ExecutorKiller();
    const { promise: allHere, resolve: open } = Promise.withResolvers<void>();
    let here = 0;
    let heldBytes = 0;
    const { promise: isKilled, resolve: tellKilled } = Promise.withResolvers<void>();
    const counter = defineCapability({
      name: "counter",
      methods: {
        /** Counts long arguments by their beginning. */
        long: { handler: (args: string) => effects.push(args.slice(0, 12).trim()) },
        /** Answers once all calls have come so far. */
        gather: {
          handler: async () => {
            if (++here === CALLS) open();
            await allHere;
          },
        },
        /** Answers once the executor is gone: so all calls are in it when it goes. */
        rest: { handler: () => isKilled },
      },
    });
    const limits = { memoryMb: 512, cpuMs: 60_000, wallMs: 600_000, queueMs: 600_000, capabilityCalls: ASKS + 3 };
    await using engine = await createEngine({
      workers: 2,
      executor: { kind: "process", rssMb: 4_096 },
      queue: { concurrency: CALLS, perTenant: CALLS },
      limits,
      capabilities: [counter, killer.capability],
      policy: { rules: [{ allow: { counter: true, kill: true } }] },
    });
    killer.watch(engine);
    // The process that was at work before anybody listened is replaced by one that is known.
    await engine.register({
      name: "wedged",
      description: "d",
      source: "export default () => { for (;;) [].indexOf.call({ length: 2 ** 53 - 1 }, 1); }",
    });
    await engine.execute({ name: "wedged", arguments: {} }, { limits: { cpuMs: 20 } });
    await engine.register({
      name: "asks",
      description: "d",
      capabilities: { counter: true, kill: true },
      source: `export default async ({ n }, { host }) => {
        for (let at = 0; at < ${ASKS}; at++) await host.counter.long((n + "." + at).padEnd(${LENGTH - 2}, " "));
        await host.counter.gather();
        if (n === 0) return host.kill.now();
        await host.counter.rest();
        return n;
      }`,
    });
    engine.on("executor:lost", () => tellKilled());
    const results = Array.from({ length: CALLS }, (_, n) =>
      engine.execute({ name: "asks", arguments: { n } }, { tenant: `tenant-${n % TENANTS}` }),
    );
    void allHere.then(() => {
      heldBytes = engine.usage().journalBytes;
      killer.left = 1;
    });
    const ends = await Promise.all(results);
    expect(ends.map(({ error }) => error)).toEqual(ends.map(() => null));
    expect(ends.filter(({ metadata }) => metadata.attempts > 1).length).toBeGreaterThan(CALLS / TENANTS);
    expect([effects.length, new Set(effects).size]).toEqual([CALLS * ASKS, CALLS * ASKS]);
    const again = ends.filter(({ metadata }) => metadata.attempts > 1).length;
    process.stdout.write(`${CALLS} calls, ${again} run again, the host held ${(heldBytes / MIB).toFixed(1)} MiB\n`);
    // Texts would be 320 MiB, or 3 GiB.
    expect(heldBytes).toBeGreaterThan(0);
    expect(heldBytes).toBeLessThan(Math.min(ENGINE_HELD.journalBytes, TENANTS * TENANT_HELD.journalBytes) / 4);
    expect(engine.usage()).toMatchObject({ journalBytes: 0, inFlightBytes: 0 });
  },
);
