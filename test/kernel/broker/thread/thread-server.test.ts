import { expect, test } from "vitest";
import type { Capability } from "../../../../src/kernel/broker/capabilities/capability.ts";
import { mountGrants } from "../../../../src/kernel/broker/capabilities/fs/mounts.ts";
import type { FromThread } from "../../../../src/kernel/broker/thread/messages.ts";
import { ThreadServer } from "../../../../src/kernel/broker/thread/thread-server.ts";

const STARTED = { timeout: 120_000 };

function spin(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end;);
}

/** A server whose only capability does this, and all that it tells. */
function serve(invoke: (tenant: string | undefined) => unknown) {
  const told: FromThread[] = [];
  const port = {
    onMessage: () => {},
    post: (messages: unknown) => void told.push(...(messages as FromThread[])),
    close: () => {},
  };
  const slow: Capability = {
    name: "slow",
    methods: { spin: {} },
    grants: mountGrants,
    open: ({ tenant }) => ({ invoke: () => invoke(tenant) }),
  };
  const parts = { capabilities: [slow], host: [], modules: new Map() };
  const server = new ThreadServer(port, () => parts);
  const tool = { tool: "t", tags: [], registrant: "operator", digest: "", requested: { slow: {} }, own: null };
  const scratch = { scratch: { mode: "rw" } };
  server.receive([
    { kind: "policy", number: 1, policy: { rules: [{ allow: { slow: scratch } }] } },
    { kind: "tool", number: 2, tool: { ...tool, requested: { slow: scratch } } },
  ]);
  const limits = { capabilityCalls: 1_000, capabilityBytes: 1_000_000 };
  const opening = {
    kind: "start",
    callId: "c",
    parentId: undefined,
    tool: 2,
    policy: 1,
    limits,
  } as const;
  const rest = { narrowed: undefined, isRecorded: false, isHeard: false, binary: undefined, remote: undefined };
  for (const [at, tenant] of ["a", "b"].entries()) server.receive([{ ...opening, ...rest, call: at + 1, tenant }]);
  const request = (count: number, call = 1) =>
    server.receive(
      Array.from({ length: count }, (_, n) => {
        const ask = { step: n + 1, attempt: 1, nowMs: 0, capability: "slow", method: "spin", args: "{}" };
        return { kind: "ask", call, ask } as const;
      }),
    );
  const end = (call: number) => server.receive([{ kind: "end", call, end: { attempt: 1 } }]);
  return { told, request, end };
}

test("the broker thread tells how long a tenant's requests will wait, until none waits", async () => {
  const { told, request } = serve(() => spin(10));
  request(100);
  const ended = () => told.filter(({ kind }) => kind === "response").length;
  await expect.poll(ended, STARTED).toBe(100);
  const backlogs = () => told.flatMap((message) => (message.kind === "backlog" ? [message.ms] : []));
  await expect.poll(() => backlogs().at(-1), { timeout: 60_000 }).toBe(0);
  expect(Math.max(...backlogs())).toBeGreaterThan(50);
});

const usedMs = (): number => process.threadCpuUsage().user / 1_000;

function use(ms: number): void {
  for (const fromMs = usedMs(); usedMs() < fromMs + ms;);
}

function spentMs(told: readonly FromThread[], call: number): number {
  return told.reduce((sum, one) => {
    const isOfCall = (one.kind === "spent" || one.kind === "ended") && one.call === call;
    return sum + (isOfCall ? (one.delta?.brokerMs ?? 0) : 0);
  }, 0);
}

/** Ends calls, after which all of their time is told. */
async function ended(
  told: readonly FromThread[],
  end: (call: number) => void,
  calls: readonly number[],
): Promise<void> {
  for (const call of calls) end(call);
  await expect.poll(() => told.filter(({ kind }) => kind === "ended").length, STARTED).toBe(calls.length);
}

const responses = (told: readonly FromThread[]): number => told.filter(({ kind }) => kind === "response").length;

test("the broker thread charges what a method uses between the pieces that are measured", async () => {
  const { told, request, end } = serve(async () => {
    await Promise.resolve();
    use(100);
  });
  request(1);
  await expect.poll(() => responses(told), STARTED).toBe(1);
  await ended(told, end, [1]);
  expect(spentMs(told, 1)).toBeGreaterThan(90);
});

test("the broker thread charges little of that to a call with few methods, whatever was measured of these", async () => {
  // The process of these tests does other work at times, which is charged to whoever has a method then.
  const shares: number[] = [];
  for (let round = 0; round < 5 && !shares.some((share) => share < 0.5); round++) {
    const { told, request, end } = serve(async (tenant) => {
      if (tenant === "b") return use(1);
      await Promise.resolve();
      use(20);
    });
    request(9);
    request(1, 2);
    await expect.poll(() => responses(told), STARTED).toBe(10);
    await ended(told, end, [1, 2]);
    expect(spentMs(told, 1)).toBeGreaterThan(60);
    shares.push(spentMs(told, 2) / spentMs(told, 1));
  }
  expect(Math.min(...shares)).toBeLessThan(0.5);
});
