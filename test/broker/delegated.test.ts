import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Broker } from "../../src/broker/broker.ts";
import type { CapabilityEvent } from "../../src/broker/capability-event.ts";
import type { Policy } from "../../src/broker/policy.ts";
import type { BrokerSession } from "../../src/broker/session.ts";
import type { Capability } from "../../src/broker/capabilities/capability.ts";
import type { CapabilityResponse, CapabilityCall, Told } from "../../src/executor/executor.ts";
import { DEFAULT_LIMITS } from "../../src/base/limits.ts";
import { DeliveredResponses } from "../../src/fleet/machine/delivered-responses.ts";

interface World {
  readonly session: BrokerSession;
  /** What the server's own handlers were called with, and by which name. */
  readonly performed: { readonly args: unknown; readonly once: string | undefined }[];
  readonly events: CapabilityEvent[];
  /** What was used elsewhere, as the capability was told. */
  readonly used: (readonly number[])[];
  /** Has the handler answer that was asked at this step. */
  readonly release: (step: number) => void;
}

/** A session of a call that asks `kv`, each ask for its step's number; machines may carry it out. */
function open(onMachines: readonly ("fetch" | "kv")[] = ["kv"]): World {
  const performed: World["performed"] = [];
  const events: CapabilityEvent[] = [];
  const used: (readonly number[])[] = [];
  const waiting = new Map<unknown, () => void>();
  const kv: Capability = {
    name: "kv",
    grants: { read: () => 7, meet: () => 7, uncovered: () => [], describe: () => "seven" },
    methods: { get: { isRead: true }, set: {} },
    portable: (method) => ({ kind: method === "set" ? "write" : "read" }),
    open: () => ({
      invoke: (_, args, once) => {
        performed.push({ args, once });
        return new Promise((resolve) => waiting.set(args, () => resolve("of the server")));
      },
      noteUsed: (amounts) => used.push(amounts),
    }),
  };
  const policy: Policy = { rules: [{ allow: { kv: true }, onMachines }] };
  const redact = (text: string) => text;
  const broker = new Broker({ capabilities: [kv], policy, redact, onOutcome: (event) => events.push(event) });
  const session = broker.open({
    callId: "c",
    tool: "t",
    tags: [],
    tenant: "",
    requested: { kv: true },
    narrowed: undefined,
    limits: DEFAULT_LIMITS,
    callTool: () => Promise.reject(new Error("there are no other tools")),
  });
  return { session, performed, events, used, release: (step) => waiting.get(step)?.() };
}

function ask(step: number, { attempt = 1, method = "get", heard = 0, isDelegated = false } = {}): CapabilityCall {
  return { step, attempt, nowMs: step, heard, capability: "kv", method, args: `${step}`, isDelegated };
}

function told(step: number, { attempt = 1, heard = undefined as number | undefined } = {}): Told {
  const answer = { kind: "value", nowMs: 0, json: '"of the machine"' } as const;
  return { step, attempt, answer, outcome: "ok", durationMs: 3, ...(heard === undefined ? {} : { heard }) };
}

const valueOf = (answer: CapabilityResponse) => (answer.kind === "value" ? JSON.parse(answer.json) : answer.kind);
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe("an ask that a machine carries out", () => {
  test("is told as if the server had carried it out", async () => {
    const { session, events, performed } = open();
    void session.ask(ask(1, { method: "set", isDelegated: true }));
    session.tell(told(1, { heard: 0 }));
    expect(performed).toEqual([]);
    expect(session.effects).toBe(1);
    expect(events).toMatchObject([{ outcome: "ok", rules: [0], step: 1, argsLength: 1, answerLength: 16 }]);
  });

  test("is answered from the journal when the call starts again", async () => {
    const { session, performed } = open();
    void session.ask(ask(1, { isDelegated: true }));
    session.tell(told(1, { heard: 0 }));
    expect(valueOf(await session.ask(ask(1, { attempt: 2 })))).toBe("of the machine");
    expect(performed).toEqual([]);
  });

  test("is waited for where the call starts again on the same machine", async () => {
    const { session, performed } = open();
    void session.ask(ask(1, { isDelegated: true }));
    const again = session.ask(ask(1, { attempt: 2 }));
    session.tell(told(1));
    expect(valueOf(await again)).toBe("of the machine");
    expect(performed).toEqual([]);
  });

  test("is the server's where the machine refuses it", async () => {
    const { session, performed, release } = open();
    const answer = session.ask(ask(1, { isDelegated: true }));
    session.tell({ ...told(1), answer: null, outcome: "denied" });
    release(1);
    expect(valueOf(await answer)).toBe("of the server");
    expect(performed).toEqual([{ args: 1, once: undefined }]);
  });

  test("is carried out by its name where the machine was lost, and what that machine still says is not heard", async () => {
    const { session, performed, release } = open();
    const { name } = session.delegation;
    void session.ask(ask(1, { method: "set", isDelegated: true }));
    expect(session.effects).toBe(1);
    session.loseMachine();
    session.tell(told(1, { heard: 0 }));
    const again = session.ask(ask(1, { attempt: 2, method: "set" }));
    release(1);
    expect(valueOf(await again)).toBe("of the server");
    expect(performed).toEqual([{ args: 1, once: `${name}/1` }]);
    expect(session.effects).toBe(1);
  });

  test("counts in what the capability bounds", () => {
    const { session, used } = open();
    void session.ask(ask(1, { isDelegated: true }));
    session.tell({ ...told(1, { heard: 0 }), used: [5, 1] });
    void session.ask(ask(2));
    void session.ask({ ...ask(3), used: [9, 2] });
    expect(used).toEqual([
      [5, 1],
      [9, 2],
    ]);
  });

  test("comes before what the server has said meanwhile", async () => {
    const { session, release } = open();
    void session.ask(ask(1));
    void session.ask(ask(2, { isDelegated: true }));
    release(1);
    await settled();
    session.tell(told(2, { heard: 0 }));
    expect(session.journal.answers().map(({ step }) => step)).toEqual([2, 1]);
  });
});

describe("of a machine that is none of ours", () => {
  const asked = (more: Partial<CapabilityCall>) => ({ ...ask(1, { isDelegated: true }), ...more });

  test.each<[string, World, Partial<CapabilityCall>]>([
    ["a capability that the call has no grant for", open(), { capability: "exec" }],
    ["a capability that no rule leaves to machines", open([]), {}],
    ["arguments that are no JSON, in a write", open(), { method: "set", args: "{" }],
    ["arguments that would fill the memory", open(), { method: "set", args: "[".repeat(1_000_000) }],
  ])("nothing is believed or journaled: %s", async (_, { session, events, performed }, more) => {
    const answer = session.ask(asked(more));
    session.tell(told(1, { heard: 0 }));
    expect((await answer).kind).toBe("diverged");
    expect(session.journal.size).toBe(0);
    expect(session.effects).toBe(0);
    expect(events.map(({ outcome }) => outcome)).toEqual(["diverged"]);
    expect(performed).toEqual([]);
  });

  test("nothing waits for what it says after another machine has the call", async () => {
    const { session } = open();
    session.loseMachine();
    expect((await session.ask(asked({ attempt: 2 }))).kind).toBe("diverged");
  });

  test("what it has carried out before it asks is not heard", async () => {
    const { session, events, performed, release } = open();
    session.tell(told(1, { heard: 0 }));
    expect(events).toEqual([]);
    const answer = session.ask(ask(1));
    release(1);
    expect(valueOf(await answer)).toBe("of the server");
    expect(performed).toHaveLength(1);
  });

  test("answers beyond what a call may exchange are not kept", async () => {
    const { session } = open();
    const json = JSON.stringify("x".repeat(2 * DEFAULT_LIMITS.capabilityBytes));
    const answer = session.ask(asked({}));
    session.tell({ ...told(1, { heard: 0 }), answer: { kind: "value", nowMs: 0, json } });
    expect((await answer).kind).toBe("diverged");
    expect(session.journal.answers().map((given) => given.answer.kind)).toEqual(["diverged"]);
  });
});

test("what may be delegated is the same each time, and nothing where no rule says so", () => {
  const { session } = open();
  expect(session.delegator?.delegation).toEqual({ name: expect.any(String), grants: { kv: [7] }, stores: {} });
  expect(session.delegation).toBe(session.delegation);
  expect(open([]).session.delegator).toBeNull();
});

/** What happens next on the machine, in its mail, or at the server. */
const MOVES = ["ask", "delegate", "carry out", "mail to the server", "answer", "mail to the machine"] as const;

/** A machine with a call, a server, and their mail, each of which keeps its order. */
class Simulation {
  readonly world = open();
  readonly heardAnswers = new DeliveredResponses(0, "");
  readonly heard: number[] = [];
  readonly #toServer: (() => void)[] = [];
  readonly #toMachine: number[] = [];
  readonly #unanswered: number[] = [];
  readonly #away: number[] = [];
  #asked = 0;

  async move(move: (typeof MOVES)[number], pick: number): Promise<void> {
    const { session, release } = this.world;
    switch (move) {
      case "ask":
      case "delegate": {
        const isDelegated = move === "delegate";
        const step = ++this.#asked;
        const asked = ask(step, { heard: this.heard.length, isDelegated });
        this.heardAnswers.noteAsk(step, this.heard.length);
        if (isDelegated) this.#away.push(step);
        this.#toServer.push(() => {
          if (!isDelegated) this.#unanswered.push(step);
          void session.ask(asked).then(() => (isDelegated ? undefined : this.#toMachine.push(step)));
        });
        return;
      }
      case "carry out": {
        const [step] = this.#away.splice(pick % Math.max(1, this.#away.length), 1);
        if (step === undefined) return;
        const said = told(step, { heard: this.heardAnswers.given(1) });
        this.#toServer.push(() => session.tell(said));
        return this.#hear(step);
      }
      case "mail to the server":
        return this.#toServer.shift()?.();
      case "answer": {
        const [step] = this.#unanswered.splice(pick % Math.max(1, this.#unanswered.length), 1);
        if (step !== undefined) release(step);
        return void (await settled());
      }
      case "mail to the machine": {
        const step = this.#toMachine.shift();
        if (step !== undefined) this.#hear(step);
      }
    }
  }

  #hear(step: number): void {
    this.heard.push(step);
    this.heardAnswers.noteAnswer(1, step, 0);
  }

  async deliver(): Promise<void> {
    for (const mail of this.#toServer.splice(0)) mail();
    await settled();
    for (const step of this.#toMachine.splice(0)) this.#hear(step);
  }
}

const moves = fc.array(fc.tuple(fc.constantFrom(...MOVES), fc.nat()), { maxLength: 60 });

test("whatever the mail does, the journal has the answers in the order in which the call heard them, and so hears it again", async () => {
  await fc.assert(
    fc.asyncProperty(moves, async (made) => {
      const simulation = new Simulation();
      for (const [move, pick] of made) await simulation.move(move, pick);
      await simulation.deliver();
      const { session } = simulation.world;
      expect(session.journal.answers().map(({ step }) => step)).toEqual(simulation.heard);
      const planOf = (text: string) => (text === "" ? [] : (JSON.parse(text) as [number, number][]).map(([at]) => at));
      expect(planOf(session.journal.plan())).toEqual(planOf(simulation.heardAnswers.plan()));
      const again: number[] = [];
      for (let step = 1; step <= session.journal.size; step++) {
        void session.ask(ask(step, { attempt: 2 })).then(() => again.push(step));
      }
      await settled();
      expect(again).toEqual(simulation.heard);
    }),
    { numRuns: 300 },
  );
});

test("a machine that is lost in the midst leaves a journal by which its call hears what it is known to have heard", async () => {
  await fc.assert(
    fc.asyncProperty(moves, async (made) => {
      const simulation = new Simulation();
      for (const [move, pick] of made) await simulation.move(move, pick);
      const { session, release } = simulation.world;
      session.loseMachine();
      const known = session.journal.answers().map(({ step }) => step);
      const again: number[] = [];
      for (let step = 1; step <= session.journal.size; step++) {
        void session.ask(ask(step, { attempt: 2 })).then(() => again.push(step));
      }
      await settled();
      expect(again).toEqual(known);
      for (let step = 1; step <= session.journal.size; step++) release(step);
      await settled();
      expect(again.toSorted((a, b) => a - b)).toEqual(Array.from({ length: session.journal.size }, (_, at) => at + 1));
    }),
    { numRuns: 300 },
  );
});
