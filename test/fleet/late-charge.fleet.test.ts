import { expect, test } from "vitest";
import { createFleetEngine, startFleet } from "./fleet.ts";

/** A call that computes until it is stopped uses more than this before it is, on whatever machine, and less than `CPU_MS`. */
const [USED_MS, CPU_MS] = [10, 20_000];

test.each([
  ["cancelled", { limits: { cpuMs: CPU_MS } }, 3_000],
  ["wall_limit", { limits: { cpuMs: CPU_MS, wallMs: 3_000 } }, null],
])("a call that ends with %s is charged the processor time of its machine", async (code, options, cancelMs) => {
  await using fleet = await startFleet(1, { slots: 1, workers: 1 });
  const engine = await createFleetEngine({
    executor: { kind: "queue", url: fleet.url, fleet: fleet.name },
    maxLimits: { cpuMs: CPU_MS },
    tools: [
      {
        name: "loop",
        description: "d",
        source: "export default ({ ms }) => { for (const end = Date.now() + ms; Date.now() < end || ms > 1;); }",
      },
    ],
  });
  try {
    // The machine has the tool's code by then.
    await engine.execute({ name: "loop", arguments: { ms: 0 } });
    const late = new Promise<number>((resolve) => engine.on("tool:late", ({ cpuMs }) => resolve(cpuMs)));
    const charges: number[] = [];
    const signal = cancelMs === null ? undefined : AbortSignal.timeout(cancelMs);
    const more = { ...options, onCpu: (ms: number) => void charges.push(ms), ...(signal && { signal }) };
    const { error } = await engine.execute({ name: "loop", arguments: { ms: 60_000 } }, more);
    expect(error?.code).toBe(code);
    const cpuMs = await late;
    expect(cpuMs).toBeGreaterThan(USED_MS);
    expect(cpuMs).toBeLessThan(CPU_MS);
    expect(charges).toEqual([cpuMs]);
  } finally {
    await engine.close({ drainMs: 0 });
  }
});
