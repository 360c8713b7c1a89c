import { setImmediate } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { codeMode } from "../../../src/code-mode/index.ts";
import {
  type CallEvent,
  createEngine,
  defineCapability,
  type Engine,
  type ExecuteOptions,
  type Recording,
  replayCall,
  type ToolDefinition,
  type ToolResult,
} from "../../../src/glovebox/index.ts";
import { ExecutorKiller } from "./executor-killer.ts";

/*
 * Calls of a tool may call others: the host runs those of the first call, and of the later ones the worker that asks, where
 * it may. Nobody can tell the difference, but by the number of calls that the host dispatches.
 */

let engine: Engine;
const killer = new ExecutorKiller();
/** Calls that the host has dispatched, and the ends of calls. */
let dispatched = 0;
let ends: CallEvent[] = [];
let outcomes: { readonly step: number; readonly outcome: string; readonly tool: string }[] = [];
let onPause: () => unknown = () => undefined;

beforeAll(async () => {
  const pause = defineCapability({ name: "pause", methods: { now: { handler: () => onPause() } } });
  engine = await createEngine({
    workers: 1,
    capabilities: [pause, killer.capability],
    policy: { rules: [{ allow: { tools: ["*"], pause: true, kill: true } }] },
  });
  killer.watch(engine);
  // The process that was at work before anybody listened is replaced by one that is known.
  await add("wedged", "() => { for (;;) [].indexOf.call({ length: 2 ** 53 - 1 }, 1); }", { limits: { cpuMs: 20 } });
  await run("wedged");
  engine.on("dispatch:batch", ({ size }) => void (dispatched += size));
  engine.on("tool:post", (event) => void ends.push(event)).on("tool:error", (event) => void ends.push(event));
  engine.on("capability:call", (event) => void outcomes.push(event));
  await add("add", "({ a, b }) => { console.log('adding', a); return { sum: a + b }; }", {
    inputSchema: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a"] },
  });
  await add("more", "({ a }) => a + 2n");
  await add("name", "(input, { callId }) => callId");
  await add("draw", "() => Math.random()");
});
afterAll(() => engine.close());
beforeEach(clear);

function clear(): void {
  dispatched = 0;
  ends = [];
  outcomes = [];
}

function add(name: string, source: string, more: Partial<ToolDefinition> = {}): Promise<unknown> {
  return engine.register({ name, description: name, source: `export default ${source};`, ...more });
}

let names = 0;

/** A tool that has called others before: `body` is that of its calls, with `call` and `host`. */
async function caller(body: string, more: Partial<ToolDefinition> = {}): Promise<string> {
  const name = `caller-${++names}`;
  const source = `async (input, { host }) => {
    const call = (name, args = {}) => host.tools.call(name, args);
    const code = (promise) => promise.then((value) => value, (error) => error.toolCode ?? error.code);
    ${body}
  }`;
  await add(name, source, { capabilities: { tools: ["*"], pause: true, kill: true }, ...more });
  return name;
}

function run(name: string, args: Record<string, unknown> = {}, options: ExecuteOptions = {}): Promise<ToolResult> {
  return engine.execute({ name, arguments: args }, options);
}

/** What is told of a call: of its first one, whose child calls the host runs, and of a later one. */
async function twice(body: string, more: Partial<ToolDefinition> = {}) {
  const name = await caller(body, more);
  const seen = [];
  for (let time = 0; time < 2; time++) {
    clear();
    const { output, error } = await run(name);
    await setImmediate();
    const inOrder = ends.toSorted((one, other) => one.tool.localeCompare(other.tool));
    const children = inOrder.map(
      ({ tool, tenant, parentId, result: { success, output: own, error: failed, metadata } }) => ({
        tool,
        tenant,
        isChild: parentId !== undefined,
        success,
        own,
        failed: failed?.message,
        attempts: metadata.attempts,
        logs: metadata.logs,
      }),
    );
    // Those that run at once may end in any order.
    const asked = outcomes.map(({ step, outcome }) => `${step} ${outcome}`).toSorted();
    seen.push({ dispatched, told: { output, error: error?.message, children, asked } });
  }
  const [byHost, byWorker] = seen;
  if (byHost === undefined || byWorker === undefined) throw new Error("it ran twice");
  expect(byWorker.told).toEqual(byHost.told);
  return { ...byWorker.told, byHost: byHost.dispatched - 1, byWorker: byWorker.dispatched - 1 };
}

describe("child calls of tools that need nothing but a turn", () => {
  test("run in the worker of their parent, and everybody hears of them as of others", async () => {
    const told = await twice("return [await call('add', { a: 1, b: 2 }), await call('add', { a: 3, b: 4 })];");
    expect(told).toMatchObject({ byHost: 2, byWorker: 0, output: [{ sum: 3 }, { sum: 7 }], asked: ["1 ok", "2 ok"] });
    expect(told.children.map(({ tool, logs }) => [tool.slice(0, 6), logs.length])).toEqual([
      ["add", 1],
      ["add", 1],
      ["caller", 0],
    ]);
  });

  test("run there at once, in the order in which they were asked for", async () => {
    const body = `return Promise.all(Array.from({ length: 50 }, async (_, a) =>
      (await call(a % 7 === 0 ? 'other' : 'add', { a, b: 1 })).sum));`;
    await add("other", "({ a }) => ({ sum: -a })");
    const told = await twice(body);
    expect(told.byHost).toBe(50);
    // A busy machine may make some of them look slow: the host runs those.
    expect(told.byWorker).toBeLessThan(50);
    expect(told.output).toEqual(Array.from({ length: 50 }, (_, a) => (a % 7 === 0 ? -a || 0 : a + 1)));
  });

  test("have ids of their own, which their events have", async () => {
    const name = await caller("return Promise.all([call('name'), call('name')]);");
    await run(name);
    clear();
    const { output } = await run(name);
    expect(dispatched).toBe(1);
    expect(ends.map(({ callId }) => callId).slice(0, 2)).toEqual(output);
    expect(new Set(output as string[]).size).toBe(2);
  });

  test("draw randomness of their own", async () => {
    const name = await caller("return Promise.all([call('draw'), call('draw')]);");
    const drawn = [];
    for (let time = 0; time < 3; time++) drawn.push(...((await run(name)).output as number[]));
    expect(new Set(drawn).size).toBe(6);
  });

  test("keep integers that no number holds", async () => {
    const told = await twice("return `${await call('more', { a: 9007199254740993n })}`;");
    expect(told).toMatchObject({ byWorker: 0, output: "9007199254740995" });
  });

  test("are charged to the call and its tenant", async () => {
    await add("work", "() => { const end = 4e5; let i = 0; while (i < end) i++; return i; }");
    const name = await caller("for (let i = 0; i < 20; i++) await call('work');");
    await run(name);
    clear();
    const spent: number[] = [];
    await run(name, {}, { onCpu: (ms) => void spent.push(ms) });
    expect(ends).toHaveLength(21);
    const used = ends.reduce((sum, { result }) => sum + result.metadata.cpuMs, 0);
    expect(spent.reduce((sum, ms) => sum + ms, 0)).toBeGreaterThanOrEqual(used);
  });

  test("of a program run there too", async () => {
    const mode = codeMode(engine, { typeCheck: "off" });
    const ended = await mode.run(
      "const sums = await Promise.all([1, 2, 3].map((a) =>\n  tools.add({ a, b: 1 })));\nreturn sums.map(({ sum }) => sum);",
    );
    if (!ended.success) throw new Error(ended.error.message);
    expect(dispatched).toBe(1);
    expect(ended.output.result).toEqual([2, 3, 4]);
    expect(ends.map(({ tool }) => tool)).toEqual(["add", "add", "add", "run_code"]);
  });
});

describe("the host runs child calls", () => {
  test("that fail, as all others", async () => {
    const told = await twice(
      "return [await code(call('add', { a: 'one' })), (await call('add', { a: 1, b: 1 })).sum];",
    );
    expect(told).toMatchObject({ output: ["invalid_arguments", 2] });
  });

  test("that go on after their first turn", async () => {
    await add("sleep", "() => new Promise((resolve) => setTimeout(resolve, 5, 'slept'))");
    const told = await twice("return [await call('sleep'), (await call('add', { a: 1, b: 1 })).sum];");
    expect(told).toMatchObject({ byHost: 2, byWorker: 1, output: ["slept", 2] });
  });

  test("that loop, until their limit", async () => {
    await add("spin", "() => { for (;;); }", { limits: { cpuMs: 60 } });
    expect((await twice("return code(call('spin'));")).output).toBe("cpu_limit");
  });

  test("of tools with capabilities", async () => {
    await add("asks", "(input, { host }) => host.pause.now()", { capabilities: { pause: true } });
    expect(await twice("return code(call('asks'));")).toMatchObject({ byHost: 1, byWorker: 1 });
  });

  test("that are asked for with something else, so that answers come in one order", async () => {
    const told = await twice(
      "const order = []; await Promise.all([call('add', { a: 1, b: 1 }).then(() => order.push('child')), host.pause.now().then(() => order.push('host'))]); return order.length;",
    );
    expect(told).toMatchObject({ byHost: 1, byWorker: 1, output: 2 });
  });

  test("where somebody decides about calls before they run", async () => {
    const name = await caller("return code(call('add', { a: 1, b: 1 }));");
    await run(name);
    const block = (event: { readonly tool: string; block?: (reason: string) => void }) => {
      if (event.tool === "add") event.block?.("not now");
    };
    engine.on("tool:pre", block);
    const { output } = await run(name);
    engine.off("tool:pre", block);
    expect(output).toBe("blocked");
  });

  test("of calls that are recorded, and replays repeat them", async () => {
    const name = await caller("return [await call('draw'), await call('draw')];");
    await run(name);
    const { output, metadata } = await run(name, {}, { record: true });
    const { result } = await replayCall(metadata["recording"] as Recording);
    expect(result.output).toEqual(output);
  });

  test("of arguments that nobody could send", async () => {
    const told = await twice(
      "return [await code(call('add', [1])), await code(call('add', 'text')), await code(call('x'.repeat(300)))];",
    );
    expect(told.output).toHaveLength(3);
  });

  test("that their call does not wait for, and ends them with it", async () => {
    const name = await caller("call('add', { a: 1, b: 1 }).catch(() => 0); return 1;");
    for (let time = 0; time < 3; time++) {
      expect((await run(name)).output).toBe(1);
      await expect.poll(() => engine.stats().running).toBe(0);
    }
  });
});

describe("a tool that is replaced while a call that calls it runs", () => {
  test("is the new one from then on", async () => {
    await add("version", "() => 1");
    const name = await caller(
      "const one = await call('version'); await host.pause.now(); return [one, await call('version')];",
    );
    await run(name);
    onPause = async () => {
      await add("version", "() => 2");
      return null;
    };
    const { output } = await run(name);
    onPause = () => undefined;
    expect(output).toEqual([1, 2]);
  });
});

describe("a call with child calls in its worker", () => {
  test("may not have more than its limits allow", async () => {
    const body =
      "const all = []; for (let i = 0; i < 4; i++) all.push(await code(call('add', { a: i, b: 1 }).then(() => 'ok'))); return all;";
    const told = await twice(body, { limits: { capabilityCalls: 2 } });
    expect(told).toMatchObject({ byWorker: 0, output: ["ok", "ok", "capability_limit", "capability_limit"] });
    const long =
      "const text = 'x'.repeat(300); return [1, 2, 3].length && Promise.all([1, 2, 3].map(() => code(call('say', { text }))));";
    await add("say", "({ text }) => text");
    const { output } = await twice(long, { limits: { capabilityBytes: 1_700 } });
    expect((output as string[]).at(-1)).toBe("capability_limit");
  });

  test("may have only what this call was not narrowed from", async () => {
    const name = await caller("return code(call('draw'));");
    await run(name);
    expect((await run(name, {}, { capabilities: { pause: true } })).output).toBe("capability_denied");
  });

  test("does not keep others from the worker", async () => {
    const name = await caller("for (let i = 0; i < input.times; i++) await call('draw'); return 'all';");
    await run(name, { times: 1 });
    let isOver = false;
    const long = run(name, { times: 5_000 }, { limits: { capabilityCalls: 6_000 } }).then(({ output }) => {
      isOver = true;
      return output;
    });
    const { success } = await engine.execute({ name: "add", arguments: { a: 1, b: 1 } }, { tenant: "other" });
    expect([success, isOver]).toEqual([true, false]);
    expect(await long).toBe("all");
  });

  test("gets the same answers again after its executor was lost", async () => {
    const body =
      "const drawn = [await call('draw'), ...(await Promise.all([call('draw'), call('draw')]))]; await host.kill.now(); return [...drawn, await call('draw')];";
    const name = await caller(body);
    await run(name);
    killer.left = 1;
    clear();
    const { output, metadata } = await run(name);
    expect(metadata.attempts).toBe(2);
    const drawn = ends.filter(({ tool }) => tool === "draw").map(({ result }) => result.output);
    expect(output).toEqual(drawn);
    expect(drawn).toHaveLength(4);
  });

  test("is not blamed for one that ends the process", async () => {
    await add("wedge", "({ isOn }) => { for (; isOn; ) [].indexOf.call({ length: 2 ** 53 - 1 }, 1); return 1; }", {
      limits: { cpuMs: 100 },
    });
    const name = await caller("return code(call('wedge', input));");
    const struck: string[] = [];
    const listener = ({ tool }: { readonly tool: string }) => void struck.push(tool);
    engine.on("tool:quarantine", listener);
    await run(name, { isOn: false });
    expect((await run(name, { isOn: true })).output).toBe("cpu_limit");
    engine.off("tool:quarantine", listener);
    expect(struck).toEqual(["wedge"]);
  });
});
