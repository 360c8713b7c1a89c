import { describe, expect, test } from "vitest";
import { Broker } from "../../../src/kernel/broker/broker.ts";
import type { CapabilityOutcome } from "../../../src/kernel/broker/capability-event.ts";
import type { BrokerSession } from "../../../src/kernel/broker/call-session.ts";
import { asCapability, defineCapability } from "../../../src/kernel/broker/capabilities/custom.ts";
import { createEnv } from "../../../src/kernel/broker/capabilities/env.ts";
import { createTools } from "../../../src/kernel/broker/capabilities/tools.ts";
import type { CapabilityCall } from "../../../src/kernel/executor/executor.ts";
import { HostWorkQueue } from "../../../src/kernel/base/host-work-queue.ts";
import { DEFAULT_LIMITS, type Limits } from "../../../src/kernel/base/limits.ts";
import { invoked } from "./invoked.ts";

interface World {
  readonly session: BrokerSession;
  /** What handlers were called with. */
  readonly effects: unknown[];
  readonly outcomes: CapabilityOutcome[];
  /** Has the handlers that wait answer, by what they were called with. */
  readonly release: (args: unknown) => void;
}

/** A session whose capability `notes` has a method that answers at once, one that waits, and one that fails. */
function open(limits: Partial<Limits> = {}): World {
  const effects: unknown[] = [];
  const outcomes: CapabilityOutcome[] = [];
  const waiting = new Map<string, () => void>();
  const notes = defineCapability({
    name: "notes",
    methods: {
      add: { handler: (args: unknown) => (effects.push(args), effects.length) },
      wait: {
        handler: (args: unknown) => {
          effects.push(args);
          return new Promise((resolve) => waiting.set(JSON.stringify(args), () => resolve(args)));
        },
      },
      fail: {
        handler: (args: unknown) => {
          effects.push(args);
          throw new Error("no paper");
        },
      },
    },
  });
  const broker = new Broker({
    // Its clock stands still, so nothing waits for its turn.
    work: new HostWorkQueue({ now: () => 0 }),
    capabilities: [asCapability(notes)],
    policy: { rules: [{ allow: { notes: true } }] },
    onOutcome: ({ outcome }) => outcomes.push(outcome),
  });
  const session = broker.open({
    callId: "c",
    tool: "t",
    tags: [],
    registrant: "operator",
    digest: "",
    tenant: "",
    requested: { notes: true },
    narrowed: undefined,
    limits: { ...DEFAULT_LIMITS, ...limits },
    callTool: () => Promise.reject(new Error("there are no other tools")),
  });
  return { session, effects, outcomes, release: (args) => waiting.get(JSON.stringify(args))?.() };
}

function ask(step: number, attempt: number, args: unknown, method = "add"): CapabilityCall {
  return { step, attempt, nowMs: 1_000, capability: "notes", method, args: JSON.stringify(args) };
}

describe("a call that is run again", () => {
  test("is answered from its journal, and nothing is done twice", async () => {
    const { session, effects, outcomes } = open();
    const first = [await invoked(session, ask(1, 1, "a")), await invoked(session, ask(2, 1, "b"))];
    const second = [await invoked(session, ask(1, 2, "a")), await invoked(session, ask(2, 2, "b"))];
    expect(second).toEqual(first);
    expect(effects).toEqual(["a", "b"]);
    expect(outcomes).toEqual(["ok", "ok", "replayed", "replayed"]);
  });

  test("goes on where its journal ends", async () => {
    const { session, effects } = open();
    await invoked(session, ask(1, 1, "a"));
    await invoked(session, ask(1, 2, "a"));
    expect(await invoked(session, ask(2, 2, "b"))).toMatchObject({ kind: "value", json: "2" });
    expect(effects).toEqual(["a", "b"]);
  });

  test("waits for the handler that its first run called, where that has not answered yet", async () => {
    const { session, effects, release } = open();
    void invoked(session, ask(1, 1, "a", "wait"));
    const again = invoked(session, ask(1, 2, "a", "wait"));
    release("a");
    expect(await again).toMatchObject({ kind: "value", json: '"a"' });
    expect(effects).toEqual(["a"]);
  });

  test("gets a failure again as it was", async () => {
    const { session, effects } = open();
    const first = await invoked(session, ask(1, 1, "a", "fail"));
    expect(await invoked(session, ask(1, 2, "a", "fail"))).toEqual(first);
    expect(effects).toEqual(["a"]);
  });

  test.each([
    ["another capability", { capability: "letters" }],
    ["another method", { method: "wait" }],
    ["other arguments", { args: '"z"' }],
    ["a step further than it has come", { step: 3 }],
  ])("diverges when it asks for %s", async (_, other) => {
    const { session, effects, outcomes } = open();
    await invoked(session, ask(1, 1, "a"));
    expect(await invoked(session, { ...ask(1, 2, "a"), ...other })).toMatchObject({
      kind: "diverged",
      message: expect.stringContaining("made another capability call"),
    });
    expect(effects).toEqual(["a"]);
    expect(outcomes).toEqual(["ok", "diverged"]);
  });

  test("hears an answer when it reached it, by its own clock, and not when it was given", async () => {
    const { session } = open();
    const first = await invoked(session, ask(1, 1, "a"));
    session.journal.recordTime(1, 1_234);
    expect(await invoked(session, ask(1, 2, "a"))).toEqual({ ...first, nowMs: 1_234 });
  });
});

test("a session counts the handlers that were called, not what was refused", async () => {
  const { session } = open({ capabilityCalls: 2 });
  await invoked(session, ask(1, 1, "a"));
  await invoked(session, { ...ask(2, 1, "b"), capability: "letters" });
  await invoked(session, ask(3, 1, "c"));
  expect(session.effects).toBe(1);
});

test("reading is no effect, and neither is what was refused", async () => {
  const broker = new Broker({
    capabilities: [createEnv({ REGION: "north" }), createTools()],
    policy: { rules: [{ allow: { env: ["REGION"], tools: ["a"] } }] },
    onOutcome: () => undefined,
  });
  const session = broker.open({
    callId: "c",
    tool: "t",
    tags: [],
    registrant: "operator",
    digest: "",
    tenant: "",
    requested: { env: ["REGION"], tools: ["a"] },
    narrowed: undefined,
    limits: DEFAULT_LIMITS,
    callTool: () => Promise.resolve({ result: { ok: true, output: null } }),
  });
  const read = { ...ask(1, 1, { name: "REGION" }, "get"), capability: "env" };
  expect(await invoked(session, read)).toMatchObject({ kind: "value", json: '"north"' });
  const refused = { ...ask(2, 1, { name: "b", arguments: {} }, "call"), capability: "tools" };
  expect(await invoked(session, refused)).toMatchObject({ kind: "failure", failure: { code: "capability_denied" } });
  expect(session.effects).toBe(0);
  await invoked(session, { ...ask(3, 1, { name: "a", arguments: {} }, "call"), capability: "tools" });
  expect(session.effects).toBe(1);
});

/** Regression, found by the simulation of calls that wait with a slow store: a later run did the effect again. */
describe("what a run asks behind its snapshot", () => {
  /** A run that waits at step 1. */
  async function atRest() {
    const world = open();
    void invoked(world.session, ask(1, 1, "waits", "wait"));
    await Promise.resolve();
    expect(world.session.snapshot({ asked: 1, delivered: 0, open: [1] })?.kind).toBe("journal");
    return world;
  }

  test("waits until the run goes on, and happens in its order", async () => {
    const { session, effects } = await atRest();
    const answers = [invoked(session, ask(2, 1, "a")), invoked(session, ask(3, 1, "b"))];
    await Promise.resolve();
    expect(effects).toEqual(["waits"]);
    session.goOn();
    answers.push(invoked(session, ask(4, 1, "c")));
    expect(await Promise.all(answers)).toMatchObject([{ json: "2" }, { json: "3" }, { json: "4" }]);
    expect(effects).toEqual(["waits", "a", "b", "c"]);
  });

  test("never happens where the run is ended at it", async () => {
    const { session, effects } = await atRest();
    const answer = invoked(session, ask(2, 1, "a"));
    session.end({ attempt: 1 });
    expect(await answer).toMatchObject({ kind: "failure", failure: { message: expect.stringContaining("has ended") } });
    expect(effects).toEqual(["waits"]);
  });
});
