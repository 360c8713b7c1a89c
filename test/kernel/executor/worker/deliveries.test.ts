import { describe, expect, test } from "vitest";
import type { ReplayPlan, RunMessage, SettleMessage, ToHost } from "../../../../src/kernel/base/protocol/messages.ts";
import { Deliveries } from "../../../../src/kernel/executor/worker/deliveries.ts";
import type { GuestRealm } from "../../../../src/kernel/executor/worker/guest-realm.ts";
import type { ToolIsolate } from "../../../../src/kernel/executor/worker/tool-isolate.ts";
import { WorkerCall } from "../../../../src/kernel/executor/worker/worker-call.ts";

const CALL = 7;

/** A call whose turns are written down, as `asks=payloads` or as the time of a timer. */
function open(planned: Partial<ReplayPlan> | null = null, callNumber = CALL) {
  const turns: string[] = [];
  const posted: ToHost[] = [];
  const realm = {
    settle: (_call: number, asks: string, payloads: string, nowMs: number) =>
      void turns.push(`${asks}=${payloads.replaceAll("\n", ",")} at ${nowMs}`),
    fire: (_call: number, nowMs: number) => void turns.push(`timer at ${nowMs}`),
  };
  const plan = planned === null ? "" : JSON.stringify({ asked: 9, responses: [], late: [], together: [], ...planned });
  const terms = { capabilityBytes: 9, capabilityCalls: 9 };
  const message = { attempt: 1, plan, calls: "[]", terms } as unknown as RunMessage;
  const call = new WorkerCall(callNumber, message, {} as ToolIsolate, realm as unknown as GuestRealm);
  for (let asked = 0; asked < 9; asked++) call.nextAsk(0, false);
  const calls = new Map([[callNumber, call]]);
  let onTurn = (): void => undefined;
  const deliveries = new Deliveries({
    calls,
    post: (_call, told) => void posted.push(told),
    turn: (_call, body) => {
      body(1);
      onTurn();
    },
  });
  return {
    deliveries,
    calls,
    call,
    turns,
    posted,
    /** Does something at the end of each turn. */
    atTurn: (act: () => void): void => {
      onTurn = act;
    },
    /** Has the worker read answers, all at once. */
    read: (...answers: readonly SettleMessage[]): void => {
      for (const each of answers) deliveries.take(each);
      deliveries.flush();
    },
  };
}

function answer(step: number, nowMs = 1, payload = `"${step}"`): SettleMessage {
  return { kind: "settle", callNumber: CALL, attempt: 1, step, ok: true, nowMs, payload };
}

describe("answers that are read at once", () => {
  test("reach their call in one turn, at the time of the latest one, and the host is told", () => {
    const { turns, posted, call, read } = open();
    read(answer(2, 10), { ...answer(1, 12), ok: false }, answer(3, 11));
    expect(turns).toEqual(['2,-1,3="2","1","3" at 12']);
    expect(posted).toEqual([{ kind: "together", callNumber: CALL, attempt: 1, at: 0, count: 3 }]);
    expect(call.deliveredCount).toBe(3);
  });

  test("have turns of their own where something else came between them", () => {
    const { turns, posted, deliveries } = open();
    deliveries.take(answer(1));
    deliveries.flush();
    deliveries.take(answer(2));
    deliveries.take({ ...answer(1), callNumber: CALL + 1 });
    deliveries.take(answer(3));
    deliveries.flush();
    expect(turns).toEqual(['1="1" at 1', '2="2" at 1', '3="3" at 1']);
    expect(posted).toEqual([]);
  });

  test("are told with the number of those before them", () => {
    const { posted, read } = open();
    read(answer(1));
    read(answer(2), answer(3));
    expect(posted).toEqual([{ kind: "together", callNumber: CALL, attempt: 1, at: 1, count: 2 }]);
  });

  test("share no turn with more than 127 others", () => {
    const { posted, read } = open();
    read(...Array.from({ length: 300 }, (_, at) => answer(at + 1)));
    expect(posted).toEqual(
      [0, 128, 256].map((at) => ({ kind: "together", callNumber: CALL, attempt: 1, at, count: at < 256 ? 128 : 44 })),
    );
  });

  test("share no turn with more than 256 KiB, and a longer one has its own", () => {
    const { posted, turns, read } = open();
    const [half, whole] = ["1".repeat(128 * 1024), "1".repeat(300 * 1024)];
    read(answer(1, 1, half), answer(2, 1, half), answer(3, 1, half), answer(4, 1, whole), answer(5));
    expect(posted).toEqual([{ kind: "together", callNumber: CALL, attempt: 1, at: 0, count: 2 }]);
    expect(turns.map((turn) => turn.split("=")[0])).toEqual(["1,2", "3", "4", "5"]);
  });

  test("are heard up to the time at which a timer is due, and the rest after it", () => {
    const { turns, call, read } = open();
    call.startTimer(20, 1_000, () => undefined);
    read(answer(1, 10), answer(2, 19), answer(3, 20), answer(4, 30));
    expect(turns).toEqual(['1,2="1","2" at 19', "timer at 20", '3,4="3","4" at 30']);
  });

  test("are told with the later time of the call's clock, each that is behind it", () => {
    const { posted, call, read } = open();
    call.firedMs = 15;
    read(answer(1, 10), answer(2, 20), answer(3, 12));
    expect(posted.slice(1)).toEqual(
      [1, 3].map((step) => ({ kind: "timed", callNumber: CALL, attempt: 1, step, nowMs: 15 })),
    );
  });

  test("are nobody's once their call has ended", () => {
    const { turns, calls, atTurn, read } = open();
    atTurn(() => calls.delete(CALL));
    read(...Array.from({ length: 200 }, (_, at) => answer(at + 1)));
    expect(turns).toHaveLength(1);
  });

  test("are heard by the call of that number, and not by the one that had it before", () => {
    const { turns, calls, deliveries, atTurn } = open();
    const next = open();
    atTurn(() => void calls.set(CALL, next.call));
    deliveries.take(answer(1));
    deliveries.flush();
    deliveries.take(answer(1));
    deliveries.flush();
    expect([turns, next.turns]).toEqual([['1="1" at 1'], ['1="1" at 1']]);
  });
});

describe("answers of a call that runs again", () => {
  const responses = [1, 2, 3, 4].map((nowMs) => [4, nowMs] as const);

  test("have turns of their own where they had before, though they are read at once", () => {
    const { turns, posted, read } = open({ responses });
    read(...[1, 2, 3, 4].map((step) => answer(step, step)));
    expect(turns.map((turn) => turn.split("=")[0])).toEqual(["1", "2", "3", "4"]);
    expect(posted).toEqual([]);
  });

  test("share the turns that they shared before, however they are read", () => {
    for (const size of [1, 2, 3, 4]) {
      const { turns, posted, read } = open({ responses, together: [[1, 3]] });
      const answers = [1, 2, 3, 4].map((step) => answer(step, step));
      while (answers.length > 0) read(...answers.splice(0, size));
      expect(turns).toEqual(['1="1" at 1', '2,3,4="2","3","4" at 4']);
      expect(posted).toEqual([]);
    }
  });

  test("hold a timer that was due after them until the last of them is there", () => {
    const { turns, call, read } = open({ responses, together: [[0, 4]] });
    call.startTimer(50, 1_000, () => undefined);
    read(answer(1, 1), answer(2, 2), answer(3, 3));
    expect(turns).toEqual([]);
    read(answer(4, 4), answer(5, 60));
    expect(turns).toEqual(['1,2,3,4="1","2","3","4" at 4', "timer at 50", '5="5" at 60']);
  });

  test("share no turn with those that it had not heard before", () => {
    const { turns, posted, read } = open({ responses, together: [[2, 2]] });
    read(...[1, 2, 3, 4, 5, 6].map((step) => answer(step, step)));
    expect(turns.map((turn) => turn.split("=")[0])).toEqual(["1", "2", "3,4", "5,6"]);
    expect(posted).toEqual([{ kind: "together", callNumber: CALL, attempt: 1, at: 4, count: 2 }]);
  });
});
