import fc from "fast-check";
import { expect, test } from "vitest";
import { Broker } from "../../../src/broker/broker.ts";
import type { BrokerSession } from "../../../src/broker/session.ts";
import type { Capability } from "../../../src/broker/capabilities/capability.ts";
import type { Job, Reply } from "../../../src/executor/executor.ts";
import { FleetCall } from "../../../src/fleet/server/fleet-call.ts";
import { FleetDispatcher } from "../../../src/fleet/server/fleet-dispatcher.ts";
import { FleetJob } from "../../../src/fleet/server/fleet-job.ts";
import type { FleetCallData, MachineMessage, Resumption, ServerMessage } from "../../../src/fleet/wire/messages.ts";
import { DEFAULT_LIMITS } from "../../../src/base/limits.ts";
import { Delegate } from "../../../src/fleet/machine/delegate.ts";
import { MachineCall } from "../../../src/fleet/machine/machine-call.ts";
import { SharedStores } from "../../../src/fleet/machine/shared-stores.ts";
import type { ToolScript } from "../../../src/base/protocol/script.ts";

const MOVES = ["ask", "carry out", "answer", "mail to the server", "mail to the machine", "restart", "lose"] as const;
const SCRIPT = { key: "k", name: "tool", text: "" } as unknown as ToolScript;
const DATA = { run: 7, tenant: "", callId: "c", args: "{}", seed: "", nowMs: 0, stream: false, script: 0, limits: 0 };

/** Handlers that wait until they are let go, in whatever order. */
class Handlers {
  readonly #waiting: (() => void)[] = [];
  readonly broker: Broker;

  constructor() {
    const kv: Capability = {
      name: "kv",
      grants: { read: () => 1, meet: () => 1, uncovered: () => [], describe: () => "some" },
      methods: { get: { isRead: true }, peek: { isRead: true }, set: {} },
      portable: (method) => (method === "peek" ? null : { kind: method === "set" ? "write" : "read" }),
      open: () => ({ invoke: () => new Promise((resolve) => this.#waiting.push(() => resolve(1))) }),
    };
    const policy = { rules: [{ allow: { kv: true as const }, onMachines: ["kv" as const] }] };
    this.broker = new Broker({ capabilities: [kv], policy, redact: (text) => text, onOutcome: () => undefined });
  }

  release(pick: number): void {
    const [resolve] = this.#waiting.splice(pick % Math.max(1, this.#waiting.length), 1);
    resolve?.();
  }

  get size(): number {
    return this.#waiting.length;
  }
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

/** A server with a call, and the machine that has it: all is theirs but the mail, and the tool, which asks one thing after another. */
class Simulation {
  readonly #server = new Handlers();
  #machine = new Handlers();
  readonly #session: BrokerSession;
  readonly #dispatcher: FleetDispatcher;
  #toServer: { readonly machine: string; readonly message: MachineMessage }[] = [];
  readonly #toMachine: { readonly machine: string; readonly message: ServerMessage }[] = [];
  #call: MachineCall | null = null;
  #start = 1;
  #attempt = 1;
  #asked = 0;
  /** What this start has heard, and what is certain to be heard so again: steps. */
  #heard: number[] = [];
  #certain: readonly number[] = [];
  reply: Reply | null = null;

  constructor() {
    this.#session = this.#server.broker.open({
      callId: "c",
      tool: "tool",
      tags: [],
      tenant: "",
      requested: { kv: true },
      narrowed: undefined,
      limits: DEFAULT_LIMITS,
      callTool: () => Promise.reject(new Error("there are no other tools")),
    });
    const session = this.#session;
    const job: Job = {
      run: DATA.run,
      script: SCRIPT,
      tenant: "",
      callId: "c",
      args: "{}",
      limits: DEFAULT_LIMITS,
      waitMs: 1,
      stream: false,
      ask: (ask) => session.ask(ask),
      plan: () => session.journal.plan(),
      delegator: session,
      onLog: () => undefined,
      settle: (reply) => (this.reply = reply),
    };
    this.#dispatcher = new FleetDispatcher({
      tell: () => undefined,
      send: (machine, message) => this.#toMachine.push({ machine, message }),
      dispatch: (call) => {
        call.carrier = new FleetJob("job", [call], 0);
        this.#dispatcher.onSent(call.carrier);
      },
      release: () => undefined,
      withdraw: () => undefined,
      notePace: () => undefined,
      noteRefusal: () => undefined,
    });
    const call = new FleetCall(job, 0);
    this.#dispatcher.run(call);
    this.#dispatcher.onMessage("machine-1", { kind: "taken", job: "job", start: 1 });
    this.#call = this.#begin(undefined);
  }

  async move(move: (typeof MOVES)[number], pick: number): Promise<void> {
    switch (move) {
      case "ask":
        if (this.#call !== null) this.#ask(this.#call);
        break;
      case "carry out":
        this.#machine.release(pick);
        break;
      case "answer":
        this.#server.release(pick);
        break;
      case "mail to the server": {
        const mail = this.#toServer.shift();
        if (mail !== undefined) this.#dispatcher.onMessage(mail.machine, readMail(mail.message));
        break;
      }
      case "mail to the machine":
        this.#take(this.#toMachine.shift());
        break;
      case "restart":
        if (this.#call === null) break;
        if (this.#heard.length > this.#certain.length) this.#certain = this.#heard;
        this.#call.onRestart(this.#attempt++);
        this.#forget();
        break;
      case "lose":
        this.#lose();
    }
    await settled();
  }

  /** Has all that is under way come to its end, and asks again what earlier starts had asked. */
  async finish(): Promise<void> {
    for (let quiet = 0; quiet < 3;) {
      const before = this.#heard.length;
      const isBusy = this.#toServer.length + this.#toMachine.length + this.#server.size + this.#machine.size > 0;
      while (this.#call !== null && this.#asked < this.#session.journal.size) this.#ask(this.#call);
      for (const move of ["mail to the server", "mail to the machine", "answer", "carry out"] as const) {
        await this.move(move, 0);
      }
      quiet = isBusy || this.#heard.length > before ? 0 : quiet + 1;
    }
  }

  check(): void {
    expect(this.reply).toBeNull();
    expect(this.#heard.slice(0, this.#certain.length)).toEqual(this.#certain);
    expect(this.#session.journal.answers().map(({ step }) => step)).toEqual(this.#heard);
    expect(this.#heard).toHaveLength(this.#asked);
  }

  #forget(): void {
    this.#asked = 0;
    this.#heard = [];
  }

  /** Another machine takes the job, and what the first one has not said by now is heard no more. */
  #lose(): void {
    this.#call?.end();
    this.#call = null;
    this.#machine = new Handlers();
    this.#certain = this.#session.journal.answers().map(({ step }) => step);
    this.#attempt = 1;
    this.#forget();
    this.#start++;
    this.#dispatcher.onMessage(`machine-${this.#start}`, { kind: "taken", job: "job", start: this.#start });
  }

  #begin(resumption: Resumption | undefined): MachineCall {
    const machine = `machine-${this.#start}`;
    const delegation = this.#session.delegation;
    const acting = { tool: "tool", tenant: "", callId: "c", limits: DEFAULT_LIMITS, delegation };
    const { broker } = this.#machine;
    const data: FleetCallData = DATA;
    const delegate = resumption === undefined ? new Delegate(acting, broker, new SharedStores(undefined)) : null;
    return new MachineCall(
      1,
      { data, script: SCRIPT, limits: DEFAULT_LIMITS, resumption, kept: null, delegate },
      {
        id: "job",
        start: this.#start,
        send: (message) => this.#toServer.push({ machine, message }),
        note: (message) => this.#toServer.push({ machine, message }),
        onAlone: () => undefined,
        onWait: () => undefined,
        refusedForMs: () => 0,
        isHeard: () => {
          // What lies in Redis is heard before any machine that has the job later.
          for (const mail of this.#toServer.splice(0)) this.#dispatcher.onMessage(mail.machine, readMail(mail.message));
          return Promise.resolve(true);
        },
        onEnd: () => undefined,
      },
    );
  }

  #ask(call: MachineCall): void {
    const step = ++this.#asked;
    const [attempt, heard, start] = [this.#attempt, this.#heard, this.#start];
    const method = ["get", "peek", "set"][(step * 7) % 3] ?? "get";
    const asked = { step, attempt, nowMs: 0, heard: heard.length, capability: "kv", method, args: `${step}` };
    void call.ask(asked).then(({ kind }) => {
      if (kind === "diverged") throw new Error("it has diverged");
      if (attempt === this.#attempt && start === this.#start) heard.push(step);
    });
  }

  #take(mail: { readonly machine: string; readonly message: ServerMessage } | undefined): void {
    if (mail === undefined || mail.machine !== `machine-${this.#start}`) return;
    const { message } = mail;
    if (message.kind === "answer") this.#call?.answer(message.attempt, message.step, JSON.parse(message.answer));
    if (message.kind === "resume") this.#call = this.#begin(message.calls[0]);
  }
}

function readMail(message: MachineMessage): Exclude<MachineMessage, { readonly kind: "need" }> {
  const read = JSON.parse(JSON.stringify(message)) as MachineMessage;
  if (read.kind === "need") throw new Error("it needs nothing");
  return read;
}

const weighted = fc.oneof(
  { weight: 30, arbitrary: fc.constantFrom(...MOVES.filter((move) => move !== "restart" && move !== "lose")) },
  { weight: 4, arbitrary: fc.constant("restart" as const) },
  { weight: 1, arbitrary: fc.constant("lose" as const) },
  { weight: 10, arbitrary: fc.constant("ask" as const) },
);

test("a call hears again what it had heard, in that order, however often it starts again, here or on another machine", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(weighted, fc.nat()), { maxLength: 80 }), async (moves) => {
      const simulation = new Simulation();
      for (const [move, pick] of moves) await simulation.move(move, pick);
      await simulation.finish();
      simulation.check();
    }),
    { numRuns: 2_000 },
  );
}, 60_000);
