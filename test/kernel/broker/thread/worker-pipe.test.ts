import { setImmediate, setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { ToBroker } from "../../../../src/kernel/base/protocol/messages.ts";
import { encodeToHost } from "../../../../src/kernel/base/protocol/wire.ts";
import type { Capability } from "../../../../src/kernel/broker/capabilities/capability.ts";
import { wholeGrants } from "../../../../src/kernel/broker/capabilities/names.ts";
import type { FromThread, SessionStart, ToThread } from "../../../../src/kernel/broker/thread/messages.ts";
import { ThreadServer } from "../../../../src/kernel/broker/thread/thread-server.ts";
import { type PipeTransport, WorkerPipe } from "../../../../src/kernel/broker/thread/worker-pipe.ts";

const [OURS, THEIRS, CALL] = [1, 2, 7];

/** A broker with one capability, of a tool with the call `CALL` on the first of two workers. */
function open() {
  const told: FromThread[] = [];
  const done: string[] = [];
  const port = {
    onMessage: () => {},
    post: (messages: unknown) => void told.push(...(messages as FromThread[])),
    close: () => {},
  };
  const notes: Capability<true> = {
    name: "notes",
    methods: { add: {} },
    grants: wholeGrants,
    open: ({ callId }) => ({ invoke: (_method, args) => done.push(`${callId} ${JSON.stringify(args)}`) }),
  };
  const parts = { capabilities: [notes as Capability], host: [], modules: new Map() };
  const server = new ThreadServer(port, () => parts);
  const tell = (...messages: ToThread[]) => server.receive(messages);
  const tool = { tool: "t", tags: [], registrant: "operator", digest: "", requested: { notes: true }, own: null };
  tell(
    { kind: "policy", number: 1, policy: { rules: [{ allow: { notes: true } }] } },
    { kind: "tool", number: 2, tool },
  );
  const start = (call: number): SessionStart => ({
    kind: "start",
    call,
    callId: `call-${call}`,
    parentId: undefined,
    tool: 2,
    policy: 1,
    tenant: "a",
    narrowed: undefined,
    limits: { capabilityCalls: 100, capabilityBytes: 1_000_000 },
    isRecorded: false,
    isHeard: false,
    binary: undefined,
    remote: undefined,
  });
  const worker = (number: number) => {
    const written: string[] = [];
    let receive = (_text: string): void => undefined;
    let isOpen = true;
    const transport: PipeTransport = {
      write: (text) => void written.push(text),
      onText: (handler) => (receive = handler),
      onClose: () => {},
      close: () => (isOpen = false),
    };
    server.onOpen(new WorkerPipe(number, transport, server));
    const send = (text: string) => receive(text);
    const say = (message: ToBroker) => send(encodeToHost(message));
    const ask = (step: number, args: unknown = step, attempt = 1, callNumber = CALL) => {
      const what = { capability: "notes", method: "add", args: JSON.stringify(args) };
      say({ kind: "ask", callNumber, attempt, step, nowMs: 0, deliveredCount: 0, ...what });
    };
    return { written, send, say, ask, isOpen: () => isOpen };
  };
  /** On a busy machine, a timer may come before the work that a turn of the event loop left for its end. */
  const turn = async () => {
    await delay(5);
    for (let n = 0; n < 3; n++) await setImmediate();
  };
  const of = (kind: FromThread["kind"]) => told.filter((message) => message.kind === kind);
  return {
    tell,
    start,
    begin: (attempt = 1): ToThread => ({ kind: "begin", call: CALL, pipe: OURS, attempt }),
    worker,
    done,
    turn,
    of,
  };
}

describe("a worker speaks for a call", () => {
  test("where the engine has said that the call runs there, and is answered by its pipe", async () => {
    const { tell, start, begin, worker, done, turn, of } = open();
    const ours = worker(OURS);
    tell(start(CALL), begin());
    ours.ask(1);
    await turn();
    expect(done).toEqual(["call-7 1"]);
    expect(ours.written.join("")).toMatch(/^s\t7\t1\t1\t1\t\d+\t1\n$/);
    ours.say({ kind: "end", callNumber: CALL, attempt: 1, deliveredCount: 1 });
    await turn();
    expect(of("ended")).toMatchObject([{ call: CALL, end: { effects: 1, isBehind: false }, delta: { asks: 1 } }]);
  });

  test("as soon as the engine has said so, also where it has asked before", async () => {
    const { tell, start, begin, worker, done, turn, of } = open();
    const ours = worker(OURS);
    ours.ask(1);
    ours.ask(2);
    await turn();
    expect(done).toEqual([]);
    expect(of("who")).toEqual([{ kind: "who", call: CALL, pipe: OURS, attempt: 1 }]);
    tell(start(CALL), begin());
    await turn();
    expect(done).toEqual(["call-7 1", "call-7 2"]);
  });

  test("and for none that runs on another worker: it cannot ask, note or end anything for that", async () => {
    const { tell, start, begin, worker, done, turn, of } = open();
    const [ours, theirs] = [worker(OURS), worker(THEIRS)];
    tell(start(CALL), begin());
    theirs.ask(1);
    theirs.say({ kind: "late", callNumber: CALL, attempt: 1, fired: 1, nowMs: 5 });
    theirs.say({ kind: "end", callNumber: CALL, attempt: 1, deliveredCount: 0 });
    await turn();
    expect([done, of("ended"), theirs.written]).toEqual([[], [], []]);
    tell({ kind: "gone", call: CALL, pipe: THEIRS, attempt: 1 });
    ours.ask(1);
    expect(done).toEqual(["call-7 1"]);
    tell({ kind: "plan", call: CALL });
    await turn();
    expect(of("planned")).toMatchObject([{ plan: expect.stringContaining('"late":[]') }]);
  });

  test("until the call has ended, after which nothing that it still asks is carried out", async () => {
    const { tell, start, begin, worker, done, turn, of } = open();
    const ours = worker(OURS);
    tell(start(CALL), begin(), { kind: "end", call: CALL, end: { attempt: -1 } });
    ours.ask(1);
    await turn();
    expect(of("who")).toHaveLength(1);
    tell({ kind: "gone", call: CALL, pipe: OURS, attempt: 1 });
    ours.ask(2);
    await turn();
    expect([done, of("who").length, ours.isOpen()]).toEqual([[], 1, true]);
  });
});

describe("a worker is cut off, and the engine told,", () => {
  const cases: readonly (readonly [string, (worker: { readonly send: (text: string) => void }) => void])[] = [
    ["that sends what is not for the broker", ({ send }) => send("k\t1\t1\n")],
    ["that sends what is no message", ({ send }) => send("a\t1\n")],
    ["that sends a line without an end", ({ send }) => Array.from({ length: 40 }, () => send("x".repeat(1_000_000)))],
    [
      "that sends more than its calls can have",
      ({ send }) => Array.from({ length: 60 }, () => send("m\t7\t0\t1\t1\n".repeat(10_000))),
    ],
    [
      "that asks for calls that nobody knows",
      ({ send }) => Array.from({ length: 11_000 }, (_, at) => send(`a\t${at + 100}\t1\t1\t0\t0\t"notes"\t"add"\t1\n`)),
    ],
    [
      "that asks for much in a call that nobody knows",
      ({ send }) =>
        Array.from({ length: 40 }, () => send(`a\t100\t1\t1\t0\t0\t"notes"\t"add"\t"${"x".repeat(1_000_000)}"\n`)),
    ],
  ];
  test.each(cases)("%s", async (_what, act) => {
    const { tell, start, begin, worker, done, turn, of } = open();
    const ours = worker(OURS);
    tell(start(CALL), begin());
    act(ours);
    expect(ours.isOpen()).toBe(false);
    ours.ask(1);
    await turn();
    expect(of("broken")).toMatchObject([{ pipe: OURS }]);
    expect(done).toEqual([]);
  });
});
