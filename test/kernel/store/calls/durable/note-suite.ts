import { expect, test } from "vitest";
import { DEFAULT_DURABLE, type DurableCapacity } from "../../../../../src/kernel/store/calls/durable/durable-call.ts";
import { type CallNote, NOTE_EVENTS } from "../../../../../src/kernel/store/calls/durable/durable-step.ts";
import { APPROVAL, type DurablePlace, stepsOf } from "./suite.ts";

/* Notes for those who are told of calls: the same for each place. */

const DAY_MS = 24 * 60 * 60 * 1_000;
const START_MS = 1_000_000;

export interface NotePlace extends Pick<DurablePlace, "take" | "sweep"> {
  /** Number of notes that it has. */
  readonly count: () => Promise<number>;
  /** Adds ten thousand older ones. */
  readonly fill: () => Promise<void>;
}

export function describeNotes(openPlace: (room: DurableCapacity) => NotePlace): void {
  const open = (perTenant = DEFAULT_DURABLE.perTenant) => {
    const place = openPlace({ ...DEFAULT_DURABLE, perTenant });
    const store = stepsOf(place, START_MS);
    const ask = async (target: string, most: number) => {
      const answer = await store.notes([{ id: target, events: NOTE_EVENTS, most }], most);
      if (answer.kind !== "notes") throw new TypeError(answer.kind);
      return answer;
    };
    return {
      sweep: store.sweep,
      pass: (ms: number) => store.pass(ms),
      count: place.count,
      fill: place.fill,
      pause: (id: string) => store.pause(id, [APPROVAL]),
      cancel: (id: string) => store.cancel(id),
      signal: (id: string) => store.signal(id, "early"),
      ask: store.notes,
      told: (n: number, dueMs: number | null) => store.take({ kind: "told", n, dueMs }),
      notes: async (target = "a", most = 4): Promise<readonly CallNote[]> => (await ask(target, most)).notes,
      dropped: async (target = "a"): Promise<number> => (await ask(target, 0)).dropped,
    };
  };

  test("a note that one process has taken is due for another after thirty seconds, and has the same id", async () => {
    const { notes, pause, pass } = open();
    expect(await notes()).toEqual([]);
    await pause("c_1");
    const [first] = await notes();
    expect(first).toMatchObject({
      event: "paused",
      tries: 1,
      madeMs: START_MS,
      call: {
        id: "c_1",
        callId: "c_1",
        tool: "pay",
        tenant: "",
        state: "paused",
        code: null,
        waits: [{ digest: "d" }],
      },
    });
    expect(await notes()).toEqual([]);
    await pass(30_000);
    expect(await notes()).toMatchObject([{ id: first?.id, tries: 2 }]);
  });

  test("a note that was told does not come again, and one that failed comes when it is due", async () => {
    const { notes, pause, told, pass } = open();
    await notes();
    await pause("c_1");
    await told((await notes())[0]?.n ?? 0, START_MS + 5_000);
    await pass(4_999);
    expect(await notes()).toEqual([]);
    await pass(1);
    await told((await notes())[0]?.n ?? 0, null);
    await pass(60_000);
    expect(await notes()).toEqual([]);
  });

  test("a note is not ended by what became of an earlier one of the same call", async () => {
    const { notes, pause, cancel, told } = open();
    await notes();
    await pause("c_1");
    const [paused] = await notes();
    await cancel("c_1");
    await told(paused?.n ?? 0, null);
    expect(await notes()).toMatchObject([{ event: "ended", call: { code: "cancelled" } }]);
  });

  test("a call that has changed and waits as before is not told again", async () => {
    const { notes, pause, signal, told } = open();
    await notes();
    await pause("c_1");
    await told((await notes())[0]?.n ?? 0, null);
    expect((await signal("c_1")).kind).toBe("done");
    expect(await notes()).toEqual([]);
  });

  test("the pause of a call that nobody waits for any more is not told", async () => {
    const { notes, pause, cancel } = open();
    await notes();
    await pause("c_1");
    await cancel("c_1");
    expect((await notes()).map(({ event }) => event)).toEqual(["ended"]);
  });

  test("the end of a call is told also where the call has gone, and its pause is not", async () => {
    const { notes, pause, cancel } = open(1);
    await notes();
    await pause("c_1");
    await cancel("c_1");
    await pause("c_2");
    await cancel("c_2");
    const ended = (await notes()).filter(({ call }) => call.id === "c_1");
    expect(ended).toMatchObject([{ event: "ended", call: { state: "ended", code: "cancelled", waits: [] } }]);
  });

  test("each target gets its events, as many at once as it asks for", async () => {
    const { ask, pause } = open();
    const targets = [
      { id: "a", events: ["paused"], most: 2 },
      { id: "b", events: ["ended"], most: 4 },
    ] as const;
    const taken = async (most: number) => {
      const answer = await ask(targets, most);
      return answer.kind === "notes" ? answer : null;
    };
    await taken(4);
    for (const id of ["c_1", "c_2", "c_3"]) await pause(id);
    expect((await taken(1))?.notes).toHaveLength(1);
    const rest = await taken(4);
    expect(rest?.notes.map(({ target }) => target)).toEqual(["a", "a"]);
    expect(rest?.dueMs).toBe(START_MS + 30_000);
  });

  test("of more than 10,000 notes the oldest are dropped, and counted once", async () => {
    const { notes, pause, cancel, dropped, fill, count } = open();
    await notes();
    await fill();
    expect(await dropped()).toBe(0);
    await pause("c_1");
    await cancel("c_1");
    expect(await dropped()).toBe(2);
    expect(await dropped()).toBe(0);
    expect(await count()).toBe(10_000);
  });

  test("nothing is written for a target that no engine has named for a day", async () => {
    const { count, sweep, notes, pause, pass } = open();
    await pause("c_1");
    expect(await count()).toBe(0);
    await notes();
    await pause("c_2");
    expect(await count()).toBe(1);
    await pass(DAY_MS + 1);
    await pause("c_3");
    expect(await count()).toBe(1);
    await sweep(START_MS + DAY_MS + 1);
    expect(await count()).toBe(0);
  });
}
