import { describe, expect, test } from "vitest";
import { HostWorkQueue } from "../../../src/kernel/base/host-work-queue.ts";
import { DEFAULT_LIMITS, type Limits } from "../../../src/kernel/base/limits.ts";
import { TENANT_HELD, TenantAccounts } from "../../../src/kernel/base/tenant-account.ts";
import type { CapabilityCall } from "../../../src/kernel/base/protocol/capability-call.ts";
import { Broker } from "../../../src/kernel/broker/broker.ts";
import type { BrokerSession } from "../../../src/kernel/broker/call-session.ts";
import { asCapability, defineCapability } from "../../../src/kernel/broker/capabilities/custom.ts";
import { invoked } from "./invoked.ts";

interface World {
  readonly broker: Broker;
  readonly seen: unknown[];
  readonly open: (tenant?: string, limits?: Partial<Limits>, isRecorded?: boolean) => BrokerSession;
}

/** A broker whose capability `notes` has a method that takes anything, and one that answers with that many characters. */
function world(work = new HostWorkQueue()): World {
  const seen: unknown[] = [];
  const notes = defineCapability({
    name: "notes",
    methods: {
      add: { handler: (args: unknown) => seen.push(args) },
      large: { inputBytes: 2 * 1024 * 1024, handler: () => "large" },
      give: { handler: ({ length }: { readonly length: number }) => "x".repeat(length) },
      block: {
        handler: () => {
          const endMs = performance.now() + 20;
          while (performance.now() < endMs);
        },
      },
    },
  });
  const broker = new Broker({
    capabilities: [asCapability(notes)],
    policy: { rules: [{ allow: { notes: true } }] },
    onOutcome: () => undefined,
    accounts: new TenantAccounts(),
    work,
  });
  const open: World["open"] = (tenant = "a", limits = {}, isRecorded = false) =>
    broker.open({
      callId: "c",
      tool: "t",
      tags: [],
      registrant: "operator",
      digest: "",
      tenant,
      requested: { notes: true },
      narrowed: undefined,
      limits: { ...DEFAULT_LIMITS, ...limits },
      isRecorded,
      callTool: () => Promise.reject(new Error("there are no other tools")),
    });
  return { broker, seen, open };
}

function ask(step: number, method: string, args: string, attempt = 1): CapabilityCall {
  return { step, attempt, nowMs: 1_000, capability: "notes", method, args };
}

const LONG = JSON.stringify("a".repeat(1_000));

describe("the journal", () => {
  test("keeps a digest of long arguments, and knows the call again when it is run again", async () => {
    const { open, seen } = world();
    const session = open();
    const first = await invoked(session, ask(1, "add", LONG));
    expect(session.journal.entries[0]?.args.length).toBeLessThan(60);
    expect(await invoked(session, ask(1, "add", LONG, 2))).toEqual(first);
    expect(seen.length).toBe(1);
  });

  test("notices when a long argument is another one, even of the same length", async () => {
    const session = world().open();
    await invoked(session, ask(1, "add", LONG));
    const other = JSON.stringify(`${"a".repeat(999)}b`);
    expect(await invoked(session, ask(1, "add", other, 2))).toMatchObject({ kind: "diverged" });
  });

  test("keeps short arguments as they are", async () => {
    const session = world().open();
    await invoked(session, ask(1, "add", '"short"'));
    expect(session.journal.entries[0]?.args).toBe('"short"');
  });

  test("keeps the whole arguments of a call that is recorded", async () => {
    const session = world().open("a", {}, true);
    await invoked(session, ask(1, "add", LONG));
    expect(session.journal.entries[0]?.args).toBe(LONG);
  });

  test("counts what it keeps for its tenant, until the call ends", async () => {
    const { broker, open } = world();
    const session = open();
    await invoked(session, ask(1, "give", '{"length":100000}'));
    expect(broker.accounts.of("a").journalBytes).toBeGreaterThan(100_000);
    session.end({ attempt: 1 });
    session.end({ attempt: 1 });
    expect(broker.accounts.of("a").usage()).toMatchObject({ journalBytes: 0, inFlightBytes: 0 });
    expect(broker.accounts.total.journalBytes).toBe(0);
  });

  test("refuses what a tenant's calls have no room for, and says what to do", async () => {
    const { broker, open } = world();
    broker.accounts.of("a").hold("journalBytes", TENANT_HELD.journalBytes - 1_000);
    const response = await invoked(open(), ask(1, "give", '{"length":10000}'));
    expect(response).toMatchObject({ kind: "failure", failure: { code: "capability_limit" } });
    const message = response.kind === "failure" ? response.failure.message : "";
    for (const part of ["the host has no memory left", "granted: 32 MiB", "let fewer such calls run at once"]) {
      expect(message).toContain(part);
    }
    expect(await invoked(open("b"), ask(1, "give", '{"length":10000}'))).toMatchObject({ kind: "value" });
  });

  test("gives the same answer again to a call that had no room", async () => {
    const { broker, open, seen } = world();
    const room = TENANT_HELD.journalBytes;
    broker.accounts.of("a").hold("journalBytes", room);
    const session = open();
    const first = await invoked(session, ask(1, "add", LONG));
    expect(first).toMatchObject({ kind: "failure", failure: { code: "capability_limit" } });
    broker.accounts.of("a").release("journalBytes", room);
    expect(await invoked(session, ask(1, "add", LONG, 2))).toEqual(first);
    expect(seen).toEqual([]);
  });
});

describe("the arguments of a capability call", () => {
  test("have 256 KiB at most where the handler is the embedder's, or what its method says", async () => {
    const text = JSON.stringify("x".repeat(300 * 1024));
    const session = world().open();
    const refused = await invoked(session, ask(1, "add", text));
    expect(refused).toMatchObject({ kind: "failure", failure: { code: "capability_limit" } });
    expect(await invoked(session, ask(2, "large", text))).toMatchObject({ kind: "value" });
  });

  test("are made of 100,000 values at most, which are counted before they are parsed", async () => {
    const list = (length: number) => `[${"0,".repeat(length - 1)}0]`;
    const session = world().open("a", { capabilityBytes: 10 * 1024 * 1024 });
    expect(await invoked(session, ask(1, "add", list(90_000)))).toMatchObject({ kind: "value" });
    const refused = await invoked(session, ask(2, "add", list(110_000)));
    expect(refused).toMatchObject({ kind: "failure", failure: { code: "capability_failed" } });
    expect(refused.kind === "failure" && refused.failure.message).toContain("more than 100000 values");
  });
});

describe("work for capability calls", () => {
  test("is charged to the call's tenant", async () => {
    const { broker, open } = world();
    await invoked(open(), ask(1, "block", "null"));
    const { asks, mainMs, bytesAsked, bytesAnswered } = broker.accounts.of("a").usage();
    expect({ asks, bytesAsked, bytesAnswered }).toEqual({ asks: 1, bytesAsked: 4, bytesAnswered: 4 });
    expect(mainMs).toBeGreaterThanOrEqual(19);
    expect(broker.accounts.of("b").mainMs).toBe(0);
  });

  test("of a second tenant does not wait for what a first one has asked before", async () => {
    const { open } = world();
    const session = open("a", { capabilityCalls: 1_000 });
    let done = 0;
    for (let step = 1; step <= 100; step++) void invoked(session, ask(step, "block", "null")).then(() => done++);
    await invoked(open("b"), ask(1, "add", "null"));
    expect(done).toBeLessThanOrEqual(5);
    session.end({ attempt: 1 });
  });

  test("does not begin after its call has ended", async () => {
    const { open, seen } = world();
    const session = open();
    void invoked(session, ask(1, "block", "null"));
    const late = invoked(session, ask(2, "add", '"late"'));
    session.end({ attempt: 1 });
    expect(await late).toMatchObject({ kind: "failure" });
    expect(seen).toEqual([]);
  });

  test("counts calls when they are made, however long they wait", async () => {
    const session = world().open("a", { capabilityCalls: 3 });
    const asked = [1, 2, 3, 4].map((step) => invoked(session, ask(step, "block", "null")));
    const kinds = (await Promise.all(asked)).map(({ kind }) => kind);
    expect(kinds).toEqual(["value", "value", "value", "failure"]);
  });
});
