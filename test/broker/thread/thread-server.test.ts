import { expect, test } from "vitest";
import type { Capability } from "../../../src/broker/capabilities/capability.ts";
import { mountGrants } from "../../../src/broker/capabilities/fs/mounts.ts";
import type { FromThread } from "../../../src/broker/thread/messages.ts";
import { ThreadServer } from "../../../src/broker/thread/thread-server.ts";

const STARTED = { timeout: 20_000 };

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
  const server = new ThreadServer(port, () => ({ capabilities: [slow], servers: { use: () => undefined } }));
  const opening = { kind: "open", capability: "slow", callId: "c", tool: "t", grants: [true] } as const;
  for (const [at, tenant] of ["a", "b"].entries())
    server.receive([{ ...opening, secrets: [], binary: null, remote: null, session: at + 1, tenant }]);
  const request = (count: number, session = 1) =>
    server.receive(
      Array.from({ length: count }, (_, n) => {
        return { kind: "request", session, request: n, method: "spin", label: "slow.spin", args: "{}" } as const;
      }),
    );
  return { told, request };
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

function spentMs(told: readonly FromThread[], session: number): number {
  return told.reduce((sum, one) => sum + (one.kind === "spent" && one.session === session ? one.ms : 0), 0);
}

const responses = (told: readonly FromThread[]): number => told.filter(({ kind }) => kind === "response").length;

test("the broker thread charges what a method uses between the pieces that are measured", async () => {
  const { told, request } = serve(async () => {
    await Promise.resolve();
    use(100);
  });
  request(1);
  await expect.poll(() => responses(told), STARTED).toBe(1);
  expect(spentMs(told, 1)).toBeGreaterThan(90);
});

test("the broker thread charges little of that to a call with few methods, whatever was measured of these", async () => {
  // The process of these tests does other work at times, which is charged to whoever has a method then.
  const shares: number[] = [];
  for (let round = 0; round < 5 && !shares.some((share) => share < 0.5); round++) {
    const { told, request } = serve(async (tenant) => {
      if (tenant === "b") return use(1);
      await Promise.resolve();
      use(20);
    });
    request(9);
    request(1, 2);
    await expect.poll(() => responses(told), STARTED).toBe(10);
    expect(spentMs(told, 1)).toBeGreaterThan(60);
    shares.push(spentMs(told, 2) / spentMs(told, 1));
  }
  expect(Math.min(...shares)).toBeLessThan(0.5);
});
