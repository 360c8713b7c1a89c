import { expect, test } from "vitest";
import { TenantAccounts } from "../../../../src/kernel/base/tenant-account.ts";
import type { ExecutorStats } from "../../../../src/kernel/executor/executor.ts";
import { Events } from "../../../../src/kernel/engine/telemetry/events.ts";
import { Metrics } from "../../../../src/kernel/engine/telemetry/metrics.ts";
import type { SchedulerStats } from "../../../../src/kernel/engine/schedule/scheduler.ts";

/* Labels are bounded, however many tools an engine has. */

test("pauses are counted by tool and by what they wait for, for 500 tools, and for all others together", async () => {
  const events = new Events();
  const sources = {
    // Both are read at a scrape, and the second one for its fleet.
    scheduler: () => ({}) as SchedulerStats,
    executor: () => ({}) as ExecutorStats,
    accounts: new TenantAccounts(),
    standing: () => Promise.resolve(null),
  };
  const { registry } = new Metrics(events, sources, []);
  const pause = (tool: string, waits: readonly ("signal" | "time")[]): void =>
    events.emit("call:pause", { id: "c_1", callId: "1", tool, tenant: "", legs: 1, waits });
  for (let at = 0; at < 600; at++) pause(`tool-${at}`, ["signal"]);
  pause("tool-0", ["signal", "signal", "time"]);
  const found = await registry.getSingleMetric("glovebox_call_pauses_total")?.get();
  const counts = (found?.values ?? []).map(({ labels, value }) => [labels["tool"], labels["wait"], value]);
  expect(counts).toHaveLength(502);
  expect(counts).toEqual(
    expect.arrayContaining([
      ["tool-0", "signal", 2],
      ["tool-0", "time", 1],
      ["tool-499", "signal", 1],
      ["other", "signal", 100],
    ]),
  );
});
