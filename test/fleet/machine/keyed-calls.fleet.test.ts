import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { KeyedCall } from "../../../src/kernel/store/calls/ledger.ts";
import { RedisLedger } from "../../../src/fleet/ledger/redis-ledger.ts";
import { KeyedCalls } from "../../../src/fleet/machine/keyed-calls.ts";
import { FLEET_TIMINGS } from "../../../src/fleet/wire/fleet-timings.ts";
import type { LedgerClaim } from "../../../src/kernel/base/ledger-claim.ts";
import { type RedisServer, startRedis } from "../../redis-server.ts";

const SECRET = "a secret of the ledger";
const NEVER = new AbortController().signal;
const CALL: KeyedCall = {
  digest: new Uint8Array(32).fill(1),
  tenant: new Uint8Array(32).fill(2),
  asked: new Uint8Array(32).fill(3),
  mayRepeat: false,
};

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis[Symbol.asyncDispose]());

/** A call that a server has claimed and a machine runs, and another server that asks for it. */
async function open(secret: string | undefined = SECRET) {
  const fleet = randomUUID();
  const ledger = (own: string | undefined = SECRET) => {
    const room = { ttlMs: 60_000, maxEntries: 100, maxBytes: 1024 ** 2 };
    return new RedisLedger({ url: redis.url, fleet, secret: own, ...room });
  };
  const [lost, other] = [ledger(), ledger()];
  const keyed = new KeyedCalls(ledger(secret), undefined, FLEET_TIMINGS);
  onTestFinished(async () => void (await Promise.all([lost.close(), other.close(), keyed.close()])));
  await lost.claim(CALL, NEVER, 1);
  const ledgerClaim = lost.claimOf(CALL, { mark: "m", isConfidential: true });
  if (ledgerClaim === null) throw new Error("there is no ledgerClaim");
  return { lost, keyed, ledgerClaim, claim: () => other.claim(CALL, NEVER, 1) };
}

const left = (ledgerClaim: LedgerClaim, keyed: KeyedCalls) => {
  const call = keyed.begin("s", ledgerClaim);
  if (call === null) throw new Error("it is not kept");
  const reply = {
    outcome: { ok: true, json: "1" },
    cpuMs: 0,
    waitedMs: 0,
    wallMs: 0,
    heapBytes: 0,
    attempts: 1,
    logs: "",
    dropped: 0,
  } as const;
  return { call, end: { kind: "left", left: { callId: "id", tool: call.mark, outputBytes: 1, reply } } } as const;
};

test("an end is held until its server is gone, and left then", async () => {
  const { keyed, ledgerClaim, claim } = await open();
  const { call, end } = left(ledgerClaim, keyed);
  keyed.end(call, end);
  expect([...keyed.servers]).toEqual(["s"]);
  expect((await claim()).kind).toBe("running");
  keyed.onGone("s");
  await expect.poll(async () => (await claim()).kind).toBe("left");
  expect([...keyed.servers]).toEqual([]);
});

test("an end is left at once where its server is gone already", async () => {
  const { keyed, ledgerClaim, claim } = await open();
  const { call, end } = left(ledgerClaim, keyed);
  keyed.onGone("s");
  keyed.end(call, end);
  await expect.poll(async () => (await claim()).kind).toBe("left");
});

test("what another server loses is not its own", async () => {
  const { keyed, ledgerClaim, claim } = await open();
  const { call, end } = left(ledgerClaim, keyed);
  keyed.end(call, end);
  keyed.onGone("another");
  expect((await claim()).kind).toBe("running");
  expect([...keyed.servers]).toEqual(["s"]);
});

test("a call is carried while its server is missing, and put down with an end that is not to be left", async () => {
  const { lost, keyed, ledgerClaim, claim } = await open();
  const { call } = left(ledgerClaim, keyed);
  keyed.look(["s"], new Set());
  await lost.close();
  await expect.poll(async () => (await claim()).kind).toBe("running");
  keyed.end(call, null);
  await expect.poll(async () => (await claim()).kind).toBe("unknown");
});

test("a call of which nothing was done is anybody's", async () => {
  const { keyed, ledgerClaim, claim } = await open();
  const { call } = left(ledgerClaim, keyed);
  keyed.onGone("s");
  keyed.end(call, { kind: "undone" });
  await expect.poll(async () => (await claim()).kind).toBe("mine");
});

test("a machine that does not know the ledger's secret has nothing to do with its calls", async () => {
  const { keyed, ledgerClaim, claim } = await open("another secret of it");
  expect(keyed.begin("s", ledgerClaim)).toBe(null);
  keyed.release(ledgerClaim);
  expect((await claim()).kind).toBe("running");
});
