import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { createEngine, defineCapability, type Engine, type ToolDefinition } from "../../../src/glovebox/index.ts";
import { given, typeOf, unchanged } from "../../long-integers.ts";
import { ExecutorKiller } from "./executor-killer.ts";

let engine: Engine;
/** What the counter was told, by whatever call. */
const counted: unknown[] = [];
/** The most that the host has held for journals. */
let heldBytes = 0;
const killer = new ExecutorKiller();

const counter = defineCapability({
  name: "counter",
  methods: {
    add: { handler: (args: unknown) => counted.push(args) },
    /** Counts, and gives the integers that it was given back as such. */
    integers: {
      handler: (args: { readonly ids: readonly (number | string)[] }) => {
        counted.push(args);
        return { ids: args.ids.map(BigInt) };
      },
    },
    /** Counts long arguments by their beginning, and looks at what the host holds of them. */
    long: {
      handler: (args: string) => {
        heldBytes = Math.max(heldBytes, engine.usage().journalBytes);
        return counted.push(args.slice(0, 8));
      },
    },
    later: {
      handler: async ({ ms }: { ms: number }) => {
        await new Promise((done) => setTimeout(done, ms));
        return counted.push(ms);
      },
    },
    /** Waits until the counter holds a value, so that the order of answers does not depend on time. */
    following: {
      handler: async ({ value, before }: { value: number; before?: string }) => {
        await vi.waitFor(() => expect(before === undefined || counted.includes(before)).toBe(true), 10_000);
        return counted.push(value);
      },
    },
  },
});

beforeAll(async () => {
  engine = await createEngine({
    workers: 1,
    capabilities: [counter, killer.capability],
    policy: { rules: [{ allow: { counter: true, kill: true } }] },
  });
  killer.watch(engine);
  // The process that was at work before anybody listened is replaced by one that is known.
  await call("export default (i, { host }) => { for (;;) [].indexOf.call({ length: 2 ** 53 - 1 }, 1); }", {
    limits: { cpuMs: 20 },
  });
});
afterAll(() => engine.close());

beforeEach(() => {
  counted.length = 0;
  killer.left = 1;
});

let names = 0;
/** The tool of the latest call. */
let latest = "";

async function call(source: string, more: Partial<ToolDefinition> = {}) {
  latest = `tool-${++names}`;
  const name = latest;
  await engine.register({ name, description: "d", source, capabilities: { counter: true, kill: true }, ...more });
  return engine.execute({ name, arguments: {} });
}

test("a call whose executor is killed between two effects has each of them once", async () => {
  const result = await call(`export default async (i, { host }) => {
    const first = await host.counter.add("first");
    const killed = await host.kill.now();
    return [first, killed, await host.counter.add("second")];
  }`);
  expect(result).toMatchObject({ success: true, output: [1, true, 2], metadata: { attempts: 2 } });
  expect(counted).toEqual(["first", "second"]);
});

test("a call that is killed several times does so too", async () => {
  killer.left = 3;
  const result = await call(`export default async (i, { host }) => {
    for (let n = 0; n < 5; n++) {
      await host.counter.add(n);
      await host.kill.now();
    }
    return "done";
  }`);
  expect(result).toMatchObject({ output: "done", metadata: { attempts: 4 } });
  expect(counted).toEqual([0, 1, 2, 3, 4]);
});

test("a call that runs again has the digits of all integers, of its arguments and of the journal's answers", async () => {
  const name = "digits";
  await engine.register({
    name,
    description: "d",
    source: `export default async ({ ids }, { host }) => {
      const answer = await host.counter.integers({ ids });
      await host.kill.now();
      return [ids, answer.ids, await host.counter.integers({ ids: answer.ids }), answer.ids.map((id) => typeof id)];
    }`,
    capabilities: { counter: true, kill: true },
  });
  await unchanged(
    async (ids) => {
      counted.length = 0;
      killer.left = 1;
      const { output, error, metadata } = await engine.execute({ name, arguments: { ids } });
      const same = ids.map(given);
      expect([error, metadata.attempts]).toEqual([null, 2]);
      expect(output).toEqual([same, same, { ids: same }, ids.map(typeOf)]);
      expect(counted).toEqual([{ ids: same }, { ids: same }]);
    },
    { numRuns: 3, minLength: 20, maxLength: 20 },
  )();
});

test("a call sees the same times and the same chances again", async () => {
  const result = await call(`export default async (i, { host }) => {
    await new Promise((done) => setTimeout(done, 7));
    await host.counter.add([Date.now(), performance.now(), Math.random(), crypto.randomUUID()]);
    await host.kill.now();
    await new Promise((done) => setTimeout(done, 3));
    await host.counter.add([Date.now() % 1000 < 1001, Math.random()]);
    return "done";
  }`);
  expect(result).toMatchObject({ output: "done", metadata: { attempts: 2 } });
  expect(counted).toHaveLength(2);
});

test("a call whose answers came in another order than it asked goes the same way again", async () => {
  const result = await call(`export default async (i, { host }) => {
    const follow = async (request) => {
      await host.counter.following(request);
      await host.counter.add("after " + request.value);
    };
    await Promise.all([follow({ value: 60, before: "after 30" }), follow({ value: 5 }), follow({ value: 30, before: "after 5" })]);
    await host.kill.now();
    return "done";
  }`);
  expect(result).toMatchObject({ output: "done", metadata: { attempts: 2 } });
  expect(counted).toEqual([5, "after 5", 30, "after 30", 60, "after 60"]);
});

test("a call whose timer fired before an answer came goes the same way again", async () => {
  const result = await call(`export default async (i, { host }) => {
    const slow = host.counter.following({ value: 60, before: "too slow" });
    const patience = new Promise((done) => setTimeout(done, 10, "too slow"));
    const winner = await Promise.race([slow, patience]);
    await host.counter.add(winner);
    await slow;
    await host.kill.now();
    return winner;
  }`);
  expect(result).toMatchObject({ output: "too slow", metadata: { attempts: 2 } });
  expect(counted).toEqual(["too slow", 60]);
});

test("a handler that was at work when the executor was lost answers the call's next run", async () => {
  const result = await call(`export default async (i, { host }) => {
    const slow = host.counter.later({ ms: 100 });
    await host.kill.now();
    return slow;
  }`);
  expect(result).toMatchObject({ output: 1, metadata: { attempts: 2 } });
  expect(counted).toEqual([100]);
});

test("a call that goes another way the second time ends with executor_lost, which says that it had effects", async () => {
  const result = await call(
    `let seen = 0;
    export default async (i, { host }) => {
      seen++;
      if (!i.warm) {
        await host.counter.add("a" + seen);
        await host.kill.now();
        await host.counter.add("b");
      }
    }`,
    // The state of a shared module is lost with its process.
    { isolation: "shared", retries: 2 },
  );
  expect(result.success).toBe(true);
  const name = latest;
  counted.length = 0;
  killer.left = 1;
  const again = await engine.execute({ name, arguments: {} });
  expect(again).toMatchObject({ success: false, error: { code: "executor_lost", retryable: false } });
  expect(again.error?.message).toContain("2 of its capability calls had been carried out");
  expect(again.error?.details).toEqual({ effects: 2 });
  expect(counted).toHaveLength(1);
});

test("a call that comes to its end with less than it has done ends with executor_lost", async () => {
  const source = `let seen = 0;
    export default async (i, { host }) => {
      if (seen++ === 1) await host.counter.add("paid");
      if (seen === 2) await host.kill.now();
      return "done";
    }`;
  await call(source, { isolation: "shared" });
  const name = latest;
  expect(counted).toEqual([]);
  expect(await engine.execute({ name, arguments: {} })).toMatchObject({
    success: false,
    error: { code: "executor_lost", details: { effects: 2 } },
  });
  expect(counted).toEqual(["paid"]);
});

test("a retry is not ended by what is still said of the try before", async () => {
  killer.left = 0;
  let tries = 0;
  const flaky = await createEngine({
    workers: 1,
    capabilities: [
      defineCapability({
        name: "flaky",
        methods: {
          get: {
            handler: () => {
              if (++tries < 3) throw new Error("not yet");
              return tries;
            },
          },
        },
      }),
    ],
    policy: { rules: [{ allow: { flaky: true } }] },
    tools: [
      {
        name: "patient",
        description: "d",
        source: `export default async (i, { host, signal }) => {
          signal.addEventListener("abort", () => { throw new Error("too late"); });
          setTimeout(() => {}, 50);
          return host.flaky.get();
        }`,
        capabilities: { flaky: true },
        retries: 5,
      },
    ],
  });
  try {
    expect(await flaky.execute({ name: "patient", arguments: {} })).toMatchObject({
      output: 3,
      metadata: { attempts: 3 },
    });
  } finally {
    await flaky.close();
  }
});

test("calls of a shared module that wait for one promise all end", async () => {
  killer.left = 0;
  const source = `let table;
    export default async ({ n }, { host }) => { table ??= host.counter.later({ ms: 100 }); return [n, await table]; }`;
  const results = await Promise.all(await shared(source, [1, 2, 3]));
  expect(results.map(({ output }) => output)).toEqual([1, 2, 3].map((n) => [n, 1]));
});

/** Calls of one shared module, all at once. */
async function shared(source: string, inputs: readonly number[]) {
  const name = `tool-${++names}`;
  await engine.register({ name, description: "d", source, capabilities: { counter: true }, isolation: "shared" });
  return inputs.map((n) => engine.execute({ name, arguments: { n } }));
}

test("a short timeout of a call's own is not over before its time, however late its timers were", async () => {
  killer.left = 0;
  const result = await call(`export default async (i, { host }) => {
    for (let n = 0; n < 100; n++) await new Promise((done) => setTimeout(done, 1));
    return Promise.race([host.counter.add("quick"), new Promise((done) => setTimeout(done, 2_000, "too late"))]);
  }`);
  expect(result.output).toBe(1);
});

test("nor where the call started again in the meantime", async () => {
  const result = await call(`export default async (i, { host }) => {
    await host.kill.now();
    return Promise.race([host.counter.add("quick"), new Promise((done) => setTimeout(done, 2_000, "too late"))]);
  }`);
  expect(result).toMatchObject({ output: 1, metadata: { attempts: 2 } });
});

test("a call whose timers race its answers closely goes the same way again", async () => {
  const ends = [];
  const source = `export default async (i, { host }) => {
    for (let n = 0; n < 24; n++) {
      const answer = n % 2 ? host.counter.add("asked " + n) : host.counter.later({ ms: 1 + (n % 5) });
      const timer = new Promise((done) => setTimeout(done, 1 + (n % 4), "timer"));
      const winner = await Promise.race([answer.then(() => "answer"), timer]);
      await host.counter.add(winner + " " + n);
      if (n % 8 === 7) await host.kill.now();
    }
    return "done";
  }`;
  for (let round = 0; round < 4; round++) {
    counted.length = 0;
    killer.left = 3;
    const { output, error, metadata } = await call(source);
    ends.push([output ?? error, metadata.attempts > 1, counted.length]);
  }
  expect(ends).toEqual(Array.from({ length: 4 }, () => ["done", true, 24 + 24]));
}, 300_000);

/** Found by a review: a call's clock fell behind by the time of all its turns, which only a further run could not know. */
const WORK =
  "const work = async () => { for (let i = 0; i < 1e8; i++) Math.sqrt(i); await new Promise((done) => setTimeout(done, 1)); };";

test("a call's clock follows real time between its turns, at most 100 ms and a turn behind", async () => {
  const { output, metadata } = await call(
    `${WORK} export default async () => {
    for (let n = 0; n < 8; n++) await work();
    return performance.now();
  }`,
    { limits: { cpuMs: 20_000 } },
  );
  expect(output).toBeGreaterThan(metadata.cpuMs * 0.7 - 100);
  expect(output).toBeLessThan(metadata.wallMs + 100);
});

test("a call whose clock followed real time sees the same times again", async () => {
  const result = await call(
    `${WORK} export default async (i, { host }) => {
    for (let n = 0; n < 4; n++) await work();
    await host.counter.add(["before", Date.now(), performance.now()]);
    const killed = await host.kill.now();
    for (let n = 0; n < 4; n++) await work();
    return [killed, await host.counter.add(["after", performance.now()])];
  }`,
    { limits: { cpuMs: 20_000 } },
  );
  expect(result).toMatchObject({ output: [true, 2], metadata: { attempts: 2 } });
  const [before, after] = counted as [string, number][];
  expect([before?.[0], after?.[0]]).toEqual(["before", "after"]);
});

/** Found by a review: the journal kept all arguments, and a few calls filled the host's memory with them. */
test("calls that asked for megabytes run again from digests, with each effect once", async () => {
  const [calls, asks] = [40, 20];
  await call(`export default async ({ n = -1 }, { host }) => {
    for (let i = 0; n >= 0 && i < ${asks}; i++) await host.counter.long(String(n * 100 + i).padEnd(8) + "x".repeat(65_536));
    return n === 0 ? host.kill.now() : n;
  }`);
  killer.left = 1;
  const numbers = Array.from({ length: calls }, (_, n) => n);
  const results = await Promise.all(numbers.map((n) => engine.execute({ name: latest, arguments: { n } })));
  expect(results.map(({ error }) => error)).toEqual(numbers.map(() => null));
  expect(results.some(({ metadata }) => metadata.attempts > 1)).toBe(true);
  expect([counted.length, new Set(counted).size]).toEqual([calls * asks, calls * asks]);
  // Texts would be 50 MiB.
  expect(heldBytes).toBeGreaterThan(0);
  expect(heldBytes).toBeLessThan(1024 * 1024);
  expect(engine.usage().journalBytes).toBe(0);
});
