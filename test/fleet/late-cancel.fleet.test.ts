import { afterEach, beforeEach, expect, test } from "vitest";
import { PROTOCOL } from "../../src/fleet/wire/messages.ts";
import { monitorRedis } from "../redis-monitor.ts";
import { type Siege, startSiege } from "./siege.ts";

/** For what comes by itself, on a machine that is busy. */
const WAIT = { timeout: 120_000 };

let siege: Siege & AsyncDisposable;
let letters: string[];
let ear: Disposable;

beforeEach(async () => {
  // Its call waits until the test lets it go on.
  siege = await startSiege(undefined, { limits: { wallMs: 200_000 } });
  letters = [];
  ear = await monitorRedis(siege.redis, ([command, , ...rest]) => {
    if (command?.toLowerCase() === "xadd") letters.push(rest.at(-1) ?? "");
  });
});
afterEach(async () => {
  ear[Symbol.dispose]();
  await siege[Symbol.asyncDispose]();
});

/** What the last letter that has it says of this. */
function heard(pattern: RegExp): string | undefined {
  return letters.flatMap((letter) => pattern.exec(letter)?.[1] ?? []).at(-1);
}

/** Begins a call that waits for its server, and says in that server's name that it is over, as the call of some job. */
async function cancelAs(jobOf: (job: string) => string, start: number) {
  const { client, deeds, keys, machineId, serverId, wait } = siege;
  const waiting = wait("to be cancelled");
  await expect.poll(() => deeds.length, WAIT).toBe(1);
  await expect.poll(() => heard(/"kind":"ask","callNumber":(\d+)/), WAIT).toBeDefined();
  const run = Number(heard(/"kind":"ask","callNumber":(\d+)/));
  const job = jobOf(heard(/"kind":"ask".*?"job":"([^"]+)"/) ?? "");
  const seq = Number(heard(new RegExp(`"from":"${serverId}","seq":(\\d+)`)) ?? 0) + 1;
  const letter = { v: PROTOCOL, from: serverId, seq, messages: [{ kind: "cancel", callNumber: run, job, start }] };
  await client.xadd(keys.of("mail", machineId), "*", "m", `=plain1:${JSON.stringify(letter)}`);
  return waiting;
}

test.each([
  ["of another job", (job: string) => `${job}0`, 1],
  ["of another start", (job: string) => job, 2],
])("a late cancel %s ends no copy of the call that is not meant", async (_what, jobOf, start) => {
  const waiting = cancelAs(jobOf, start);
  // It has arrived when what comes after it is answered; what has its number is not read, so the machine asks again.
  await expect.poll(() => letters.some((letter) => letter.includes('"kind":"cancel"')), WAIT).toBe(true);
  siege.open();
  // A copy that ended would be missed, and the call sent again.
  expect(await waiting).toMatchObject({ output: { what: "to be cancelled" }, metadata: { attempts: 1 } });
});

test("a cancel of the very start that a machine has ends the call there", async () => {
  void cancelAs((job) => job, 1);
  await expect.poll(() => letters.some((letter) => letter.includes('"kind":"cancel"')), WAIT).toBe(true);
  await expect.poll(() => siege.machine.stats().calls, WAIT).toBe(0);
});
