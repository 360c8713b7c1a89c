import { describe, expect, test } from "vitest";
import { Broker } from "../../../src/broker/broker.ts";
import type { Capability } from "../../../src/broker/capabilities/capability.ts";
import type { CapabilityCall } from "../../../src/executor/executor.ts";
import type { FleetCallData, FleetLimits, MachineMessage, Resumption } from "../../../src/fleet/wire/messages.ts";
import { Delegate } from "../../../src/fleet/machine/delegate.ts";
import { MachineCall } from "../../../src/fleet/machine/machine-call.ts";
import { SharedStores } from "../../../src/fleet/machine/shared-stores.ts";
import { DEFAULT_LIMITS } from "../../../src/base/limits.ts";
import type { ToolScript } from "../../../src/base/protocol/script.ts";

interface World {
  readonly call: MachineCall;
  readonly said: MachineMessage[];
  readonly performed: { readonly method: string; readonly once: string | undefined }[];
  /** Says whether the server hears what was said by now. */
  readonly confirm: (isHeard: boolean) => void;
  /** Has what was asked by this argument answer. */
  readonly release: (args: number) => void;
}

const SCRIPT: ToolScript = {
  key: "k",
  name: "tool",
  version: "1.0.0",
  runtime: "javascript",
  isolation: "instance",
  memoryMb: 64,
  config: "{}",
  contract: "glovebox",
  text: "",
};
const DATA: FleetCallData = {
  run: 7,
  script: 0,
  limits: 0,
  tenant: "",
  callId: "c",
  args: "{}",
  seed: "",
  nowMs: 0,
  stream: false,
};

/** A call that may read and write `kv` on its machine: what it reads waits, what it writes does not. */
function open(limits: Partial<FleetLimits> = {}, resumption?: Resumption): World {
  const said: MachineMessage[] = [];
  const performed: World["performed"] = [];
  const heard = Promise.withResolvers<boolean>();
  const waiting = new Map<unknown, () => void>();
  const kv: Capability = {
    name: "kv",
    grants: { read: () => 1, meet: () => 1, uncovered: () => [], describe: () => "some" },
    methods: { get: { isRead: true }, set: {} },
    portable: (method) => (method === "peek" ? null : { kind: method === "set" ? "write" : "read" }),
    open: () => ({
      invoke: (method, args, once) => {
        performed.push({ method, once });
        return method === "set" ? 1 : new Promise((resolve) => waiting.set(args, () => resolve("0123456789")));
      },
    }),
  };
  const redact = (text: string) => text;
  const broker = new Broker({ capabilities: [kv], policy: { rules: [] }, redact, onOutcome: () => undefined });
  const whole = { ...DEFAULT_LIMITS, ...limits };
  const delegation = { name: "name", grants: { kv: [1] }, stores: {} };
  const acting = { tool: "tool", tenant: "", callId: "c", limits: whole, delegation };
  const delegate = new Delegate(acting, broker, new SharedStores(undefined));
  const coming = { data: DATA, script: SCRIPT, limits: whole, resumption, kept: null, delegate };
  const call = new MachineCall(1, coming, {
    id: "job",
    start: 1,
    send: (message) => said.push(message),
    note: (message) => said.push(message),
    onAlone: () => undefined,
    onWait: () => undefined,
    refusedForMs: () => 0,
    isHeard: () => heard.promise,
    onEnd: () => undefined,
  });
  return { call, said, performed, confirm: heard.resolve, release: (args) => waiting.get(args)?.() };
}

function ask(step: number, method = "get", attempt = 1): CapabilityCall {
  return { step, attempt, nowMs: 10, heard: 0, capability: "kv", method, args: `${step}` };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));
const kindsOf = ({ said }: World) => said.map(({ kind }) => kind);

describe("what a call writes on its machine", () => {
  test("is not begun before its server is certain to hear of it, and has a name", async () => {
    const world = open();
    const answer = world.call.ask(ask(1, "set"));
    await settled();
    expect(world.performed).toEqual([]);
    expect(world.said).toMatchObject([{ kind: "ask", step: 1, isDelegated: true }]);
    world.confirm(true);
    expect(await answer).toMatchObject({ kind: "value", json: "1" });
    expect(world.performed).toEqual([{ method: "set", once: "name/1" }]);
    expect(world.said[1]).toMatchObject({ kind: "told", step: 1, heard: 0, outcome: "ok" });
  });

  test("is never begun where the server may hear of another machine before, and is left to it", async () => {
    const world = open();
    void world.call.ask(ask(1, "set"));
    world.confirm(false);
    await settled();
    expect(world.performed).toEqual([]);
    expect(world.said[1]).toMatchObject({ kind: "told", step: 1, answer: null });
  });

  test("is not begun where the call has ended meanwhile", async () => {
    const world = open();
    void world.call.ask(ask(1, "set"));
    world.call.end();
    world.confirm(true);
    await settled();
    expect(world.performed).toEqual([]);
    expect(kindsOf(world)).toEqual(["ask"]);
  });
});

describe("what a call reads on its machine", () => {
  test("is told when the call hears it, with how many answers it had heard before", async () => {
    const world = open();
    const answers = [1, 2].map((step) => world.call.ask(ask(step)));
    for (const step of [2, 1]) {
      world.release(step);
      await answers[step - 1];
    }
    const told = world.said.filter(({ kind }) => kind === "told");
    expect(told).toMatchObject([
      { step: 2, heard: 0 },
      { step: 1, heard: 1 },
    ]);
  });

  test("is told without that where nobody waits for it any more, because the call has started again", async () => {
    const world = open();
    void world.call.ask(ask(1));
    world.call.onRestart(1);
    void world.call.ask(ask(1, "get", 2));
    world.release(1);
    await settled();
    expect(world.performed).toHaveLength(1);
    expect(world.said.at(-2)).toMatchObject({ kind: "ask", attempt: 2 });
    expect(world.said.at(-2)).not.toHaveProperty("isDelegated");
    expect(world.said.at(-1)).toMatchObject({ kind: "told", attempt: 1 });
    expect(world.said.at(-1)).not.toHaveProperty("heard");
  });

  test("is asked of the server until a call that has started again has heard what it had heard before", async () => {
    const world = open();
    const first = world.call.ask(ask(1));
    world.release(1);
    await first;
    world.call.onRestart(1);
    for (const step of [1, 2]) void world.call.ask(ask(step, "get", 2));
    const answer = { kind: "value", nowMs: 10, json: '"0123456789"' } as const;
    world.call.answer(2, 1, answer);
    world.call.answer(2, 2, answer);
    void world.call.ask(ask(3, "get", 2));
    const asks = world.said.filter((message) => message.kind === "ask");
    expect(asks.map(({ isDelegated = false }) => isDelegated)).toEqual([true, false, false, true]);
  });

  test("is the server's where it is too much, and where it is nothing for machines", async () => {
    const world = open({ capabilityBytes: 8, capabilityCalls: 2 });
    void world.call.ask(ask(1));
    world.release(1);
    await settled();
    expect(world.said.at(-1)).toMatchObject({ kind: "told", step: 1, answer: null, outcome: "limit" });
    void world.call.ask(ask(2, "peek"));
    expect(world.said.at(-1)).not.toHaveProperty("isDelegated");
    void world.call.ask(ask(3));
    await settled();
    expect(world.performed).toHaveLength(1);
    expect(world.said.at(-1)).toMatchObject({ kind: "told", step: 3, answer: null, outcome: "limit" });
  });
});
