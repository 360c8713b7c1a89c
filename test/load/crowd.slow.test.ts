import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { residentMb } from "../processes.ts";
import { runCrowd } from "./crowd.ts";
import { Program } from "./program.ts";

/** Memory that an idle connection and one that reads events may cost, in MiB. */
const IDLE_MAX_MB = 0.05;
const STREAM_MAX_MB = 0.5;
/** What the good clients beside them may leave in the heap. */
const SLACK_MB = 100;

test("a thousand connections and a hundred streams stay, and good clients are answered", async () => {
  const crowd = { idle: 1_000, streams: 50, stats: 50, deaf: 0 };
  const { connections, mbAlone, mbCrowded, closed, events, goodAnswers, filesLeft } = await runCrowd(crowd, 500);
  expect(connections).toBeGreaterThanOrEqual(1_100);
  expect(closed).toBe(0);
  expect(events).toBeGreaterThanOrEqual(100);
  expect(goodAnswers).toBeGreaterThan(0);
  expect(mbCrowded - mbAlone).toBeLessThan(1_000 * IDLE_MAX_MB + 100 * STREAM_MAX_MB + SLACK_MB);
  expect(filesLeft).toBeLessThanOrEqual(0);
});

test("a client that asks for much at once and reads nothing is given little of it", async () => {
  const calls = async () => {
    const text = await (await fetch(`${url}/metrics`)).text();
    return Number(/^glovebox_calls_total\{tool="large",code="ok"\} (\d+)$/m.exec(text)?.[1] ?? 0);
  };
  await using server = new Program("serves");
  const url = await server.line();
  const mbAlone = residentMb(server.pid);
  await using clients = new Program("connects", [new URL(url).port, 0, 0, 0, 4]);
  await clients.line();
  // Until nothing moves any more.
  let [before, now] = [-1, 0];
  while (now === 0 || now !== before) {
    await delay(1_000);
    [before, now] = [now, await calls()];
  }
  // Each has asked for 64 of a megabyte: sixteen answers wait, and some are on their way.
  expect(now).toBeLessThanOrEqual(4 * 24);
  expect(residentMb(server.pid) - mbAlone).toBeLessThan(4 * 24 + SLACK_MB);
});
