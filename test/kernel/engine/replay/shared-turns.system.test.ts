import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  createEngine,
  defineCapability,
  type Engine,
  readRecording,
  type Recording,
  replayCall,
  type ToolDefinition,
} from "../../../../src/glovebox/index.ts";
import { DebuggedCall } from "../../../../src/kernel/engine/replay/debug/debugged-call.ts";
import { loadPrelude } from "../../../../src/kernel/tool/runtimes/prelude.ts";
import { ExecutorKiller } from "../executor-killer.ts";

let engine: Engine;
const killer = new ExecutorKiller();
/** What the steps were told, in order. */
const taken: string[] = [];
/** The step at which the executor is killed, and whether that step waits until it is lost. */
let killAt = 0;
let isWaiting = false;
let lost: unknown = null;
let meeting = Promise.withResolvers<void>();

const steps = defineCapability({
  name: "steps",
  methods: {
    take: {
      handler: async (step: string) => {
        const nth = taken.push(step);
        if (nth === killAt) lost = killer.kill();
        // The system ends a process in its own time, and the call would go on for as long.
        if (nth > killAt || isWaiting) await lost;
        return nth;
      },
    },
    /** Answers all of so many steps at once. */
    meet: {
      handler: async ({ step, count, fails = false }: { step: string; count: number; fails?: boolean }) => {
        if (taken.push(step) === count) meeting.resolve();
        await meeting.promise;
        if (fails) throw new Error("not this one");
        return step;
      },
    },
  },
});

beforeAll(async () => {
  engine = await createEngine({
    workers: 1,
    capabilities: [steps, killer.capability],
    policy: { rules: [{ allow: { steps: true, kill: true } }] },
  });
  killer.watch(engine);
  // The process that was at work before anybody listened is replaced by one that is known.
  await record("() => { for (;;) [].indexOf.call({ length: 2 ** 53 - 1 }, 1); }", { limits: { cpuMs: 20 } });
});
afterAll(() => engine.close());
beforeEach(() => {
  taken.length = killAt = 0;
  killer.left = 1;
  meeting = Promise.withResolvers();
  lost = null;
});

let names = 0;

async function record(body: string, more: Partial<ToolDefinition> = {}, input: Record<string, unknown> = {}) {
  const name = `tool-${++names}`;
  const source = `export default ${body};`;
  await engine.register({ name, description: "d", source, capabilities: { steps: true }, ...more });
  const result = await engine.execute({ name, arguments: input }, { record: true });
  return { result, recording: readRecording(JSON.stringify(result.metadata["recording"])) };
}

/** Answers that all come at once: on a loaded machine the host may write them in two goes. */
async function recordTogether(count: number, body: string, input: Record<string, unknown> = {}) {
  for (let tries = 0; ; tries++) {
    meeting = Promise.withResolvers();
    taken.length = 0;
    const recorded = await record(body, {}, input);
    const [first] = recorded.recording.together ?? [];
    if (tries === 9 || (first?.[0] === 0 && first[1] === count)) return recorded;
  }
}

/** Two steps on each of four lines, which begin together. Lines take different numbers of microtasks from an answer to their next step. */
const LINES = `async (i, { host }) => {
  const order = [];
  await Promise.all([0, 1, 2, 3].map(async (at) => {
    if (i.meets) await host.steps.meet({ step: "meet " + at, count: 4 });
    for (let nth = 0; nth < 2; nth++) {
      await host.steps.take(at + "." + nth);
      for (let hops = 0; hops < (at * 3) % 7; hops++) await null;
      order.push(at + "." + nth);
    }
  }));
  await host.steps.take("end");
  return order;
}`;
const ALL = [...[0, 1, 2, 3].flatMap((at) => [0, 1].map((nth) => `${at}.${nth}`)), "end"];

describe("a call whose answers come together", () => {
  test("hears them in one turn, and continues in another order than with a turn for each", async () => {
    const { result, recording } = await recordTogether(
      3,
      `async (i, { host }) => {
        const order = [];
        await Promise.all([2, 1, 0].map(async (hops) => {
          await host.steps.meet({ step: hops, count: 3 });
          for (let n = 0; n < hops; n++) await null;
          order.push(hops);
        }));
        return order;
      }`,
    );
    expect([result.output, recording.together]).toEqual([[0, 1, 2], [[0, 3]]]);
    // As in recordings of versions that gave each a turn of its own.
    const { together: _, ...alone } = recording;
    expect((await replayCall(alone)).result.output).toEqual([2, 1, 0]);
  });

  test.each([
    ["at once", false],
    ["and waits for that", true],
  ])(
    "has each effect once, in the order of its recording, whichever step kills its executor %s",
    async (_how, waits) => {
      isWaiting = waits;
      for (let step = 1; step < ALL.length; step++) {
        [taken.length, killAt, killer.left, lost] = [0, step, 1, null];
        const { result, recording } = await record(LINES);
        expect([step, result.error, result.metadata.attempts]).toEqual([step, null, 2]);
        expect(taken.toSorted()).toEqual(ALL);
        expect(recording.asks.map(({ args }) => JSON.parse(args) as unknown)).toEqual(taken);
        expect((await replayCall(recording)).isSame).toBe(true);
      }
    },
  );

  test("goes on with those that did not fail", async () => {
    const { result, recording } = await recordTogether(
      4,
      `async (i, { host }) => {
      const all = ["a", "b", "c", "d"].map((step) => host.steps.meet({ step, count: 4, fails: step === "b" }));
      return (await Promise.allSettled(all)).map(({ value, reason }) => value ?? reason.code);
    }`,
    );
    expect(result.output).toEqual(["a", "capability_failed", "c", "d"]);
    expect(recording.together).toEqual([[0, 4]]);
  });

  test("may end while the rest of them continue", async () => {
    const { result, recording } = await recordTogether(
      3,
      `async (i, { host }) => {
      const all = ["a", "b", "c"].map((step) => host.steps.meet({ step, count: 3 }));
      void all[2].then(async () => { for (let n = 0; n < 100; n++) await null; await host.steps.take("never"); });
      return Promise.race(all);
    }`,
    );
    expect([result.output, taken]).toEqual(["a", ["a", "b", "c"]]);
    expect(recording.together).toEqual([[0, 3]]);
    expect((await replayCall(recording)).isSame).toBe(true);
  });

  test("is cut at its processor time in the middle of them", async () => {
    const { result } = await record(
      `(i, { host }) => Promise.all(["a", "b", "c"].map(async (step) => {
        await host.steps.meet({ step, count: 3 });
        if (step === "b") for (;;);
      }))`,
      { limits: { cpuMs: 50 } },
    );
    expect(result.error?.code).toBe("cpu_limit");
    expect(result.metadata.cpuMs).toBeGreaterThanOrEqual(50);
  });

  test("is cancelled after some of them, and no later step is taken", async () => {
    const name = `tool-${++names}`;
    const source = `export default async (i, { host, signal }) => {
      const all = ["a", "b", "c", "never"].map((step) => host.steps.meet({ step, count: step === "never" ? 99 : 3 }));
      await Promise.all(all.slice(0, 3));
      await host.steps.take("before");
      await new Promise((done) => signal.addEventListener("abort", done));
      await host.steps.take("after");
    }`;
    await engine.register({ name, description: "d", source, capabilities: { steps: true } });
    const abort = new AbortController();
    const ended = engine.execute({ name, arguments: {} }, { signal: abort.signal });
    await expect.poll(() => taken).toContain("before");
    abort.abort();
    expect((await ended).error?.code).toBe("cancelled");
    await record(`(i, { host }) => host.steps.take("last")`);
    expect(taken).toEqual(["a", "b", "c", "never", "before", "last"]);
  });
});

describe("a recording of answers that came together", () => {
  test("goes the same way, also under a debugger", async () => {
    const { recording } = await recordTogether(4, LINES, { meets: true });
    expect(recording.together).toContainEqual([0, 4]);
    expect((await replayCall(recording)).isSame).toBe(true);
    const debugged = new DebuggedCall(await loadPrelude(), recording, () => undefined);
    expect(await debugged.run()).toBe(`+${JSON.stringify(recording.outcome.output)}`);
  });

  test.each<[string, Recording["together"]]>([
    ["answers that are not there", [[12, 3]]],
    ["an answer before the first", [[-1, 3]]],
    ["one answer", [[0, 1]]],
    [
      "an answer twice",
      [
        [0, 3],
        [2, 3],
      ],
    ],
    ["an answer to what was asked after it", [[3, 2]]],
  ])("with a turn of %s is refused", async (_what, together) => {
    const { recording } = await recordTogether(4, LINES, { meets: true });
    expect(() => readRecording(JSON.stringify({ ...recording, together }))).toThrow(TypeError);
  });
});
