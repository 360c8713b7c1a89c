import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test, vi } from "vitest";
import { Notifier } from "../../../../src/kernel/engine/durable/notifier.ts";
import { resolveNotify } from "../../../../src/kernel/engine/durable/notify-options.ts";
import type { NotifyEvent } from "../../../../src/kernel/engine/telemetry/durable-events.ts";
import { Events } from "../../../../src/kernel/engine/telemetry/events.ts";
import { DEFAULT_DURABLE } from "../../../../src/kernel/store/calls/durable/durable-call.ts";
import { DURABLE_SQL } from "../../../../src/kernel/store/calls/durable/durable-layout.ts";
import { DurableTables } from "../../../../src/kernel/store/calls/durable/durable-tables.ts";
import { APPROVAL, stepsOf } from "../../store/calls/durable/suite.ts";
import { receiver } from "./receiver.ts";

/* How long a target is tried, by a clock that the test sets. */

const SECRET = "a secret of many characters";
const POLL = { timeout: 120_000, interval: 5 };
const START_MS = 1_000_000;
const DAY_MS = 24 * 60 * 60 * 1_000;

/** A notifier of one target, and of a call that waits for an approval since the start. */
async function open(url: string) {
  const database = new DatabaseSync(":memory:");
  database.exec(DURABLE_SQL);
  const tables = new DurableTables(database, DEFAULT_DURABLE);
  let nowMs = START_MS;
  let looks = 0;
  /** When the note is due again, by what the notifier has told the store. */
  let dueMs: number | null = START_MS;
  const deadlines: { readonly ms: number; readonly controller: AbortController }[] = [];
  const told: NotifyEvent[] = [];
  const events = new Events();
  events.on("call:notify", (event) => void told.push(event));
  const notifier = new Notifier({
    take: async (step) => {
      const [answer] = tables.take([step]);
      if (answer === undefined) throw new Error("the step has no answer");
      if (step.kind === "told") ({ dueMs } = step);
      if (step.kind === "notes") looks++;
      return answer;
    },
    targets: resolveNotify([{ url, secret: SECRET, events: ["paused"] }], {}),
    events,
    clock: {
      nowMs: () => nowMs,
      deadline: (ms) => {
        const controller = new AbortController();
        deadlines.push({ ms, controller });
        return controller.signal;
      },
    },
  });
  onTestFinished(() => notifier.close());
  const look = async (): Promise<void> => {
    const before = looks;
    notifier.look();
    await vi.waitFor(() => expect(looks).toBeGreaterThan(before), POLL);
  };
  await look();
  await stepsOf({ take: (step) => tables.take([step])[0] ?? { kind: "missing" } }, START_MS).pause("c_1", [APPROVAL]);
  return {
    deadlines,
    told,
    look,
    dueMs: () => dueMs,
    /** Looks at a time. */
    lookAt: async (atMs: number): Promise<void> => {
      nowMs = atMs;
      await look();
    },
    /** The `n`th outcome. */
    outcome: async (n: number): Promise<NotifyEvent | undefined> => {
      await vi.waitFor(() => expect(told.length).toBeGreaterThanOrEqual(n), POLL);
      return told[n - 1];
    },
  };
}

test("a target that has not answered after ten seconds has failed, and is tried again with the same id", async () => {
  await using hook = await receiver((response) => void (hook.all.length > 1 && response.writeHead(204).end()));
  const { deadlines, told, look, lookAt, outcome, dueMs } = await open(hook.url);
  await look();
  await vi.waitFor(() => expect(hook.all).toHaveLength(1), POLL);
  expect(deadlines.map(({ ms }) => ms)).toEqual([10_000]);
  expect(told).toEqual([]);
  deadlines[0]?.controller.abort();
  expect(await outcome(1)).toMatchObject({ outcome: "failed", tries: 1, reason: "it did not answer within 10 s" });
  const againMs = dueMs() ?? 0;
  await lookAt(againMs - 1);
  expect(deadlines).toHaveLength(1);
  await lookAt(againMs);
  expect(await outcome(2)).toMatchObject({ outcome: "delivered", tries: 2 });
  expect(new Set(hook.all.map(({ id }) => id)).size).toBe(1);
  expect(dueMs()).toBeNull();
});

test("a target that fails is tried after pauses that grow to ten minutes, for a day, and then given up", async () => {
  await using hook = await receiver((response) => void response.writeHead(500).end());
  const { told, look, lookAt, outcome, dueMs } = await open(hook.url);
  let [nowMs, tries] = [START_MS, 0];
  await look();
  while ((await outcome(++tries))?.outcome === "failed" && tries < 1_000) {
    expect(nowMs - START_MS).toBeLessThan(DAY_MS);
    const pauseMs = (dueMs() ?? Number.NaN) - nowMs;
    const mostMs = Math.min(600_000, 1_000 * 2 ** (tries - 1));
    expect(pauseMs).toBeGreaterThanOrEqual(mostMs / 2);
    expect(pauseMs).toBeLessThanOrEqual(mostMs);
    nowMs += pauseMs;
    await lookAt(nowMs);
  }
  expect(told.at(-1)).toMatchObject({ outcome: "given_up", tries, reason: "it answered 500" });
  expect(nowMs - START_MS).toBeGreaterThanOrEqual(DAY_MS);
  expect(nowMs - START_MS).toBeLessThan(DAY_MS + 600_000);
  await lookAt(nowMs + DAY_MS / 2);
  expect(hook.all).toHaveLength(tries);
  expect(dueMs()).toBeNull();
});
