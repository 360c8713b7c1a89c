import fc from "fast-check";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  createEngine,
  defineCapability,
  type Engine,
  readRecording,
  type Recording,
  replayCall,
  type ToolDefinition,
  type ToolResult,
} from "../../../../src/glovebox/index.ts";
import { DebuggedCall } from "../../../../src/kernel/engine/replay/debug/debugged-call.ts";
import { loadPrelude } from "../../../../src/kernel/tool/runtimes/prelude.ts";
import { type Ended, glovebox as run } from "../../../cli/command.ts";
import { MAIN } from "../../../server/served.ts";

let engine: Engine;
let folder: string;
let names = 0;
let asked = 0;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "glovebox-replay-"));
  const world = defineCapability({
    name: "world",
    methods: {
      count: { handler: () => ++asked },
      after: { handler: ({ ms }: { ms: number }) => new Promise((resolve) => setTimeout(resolve, ms, ms)) },
      fail: {
        handler: () => {
          throw new Error("it rains");
        },
      },
    },
  });
  engine = await createEngine({
    workers: 2,
    executor: "threads",
    capabilities: [world],
    policy: { rules: [{ allow: { world: true } }] },
  });
});

afterAll(async () => {
  await engine.close();
  rmSync(folder, { recursive: true });
});

interface Recorded {
  readonly result: ToolResult;
  readonly recording: Recording;
}

async function record(
  source: string,
  args: Record<string, unknown> = {},
  more: Partial<ToolDefinition> = {},
  signal?: AbortSignal,
): Promise<Recorded> {
  const name = `recorded-${++names}`;
  await engine.register({ name, description: "a", source, capabilities: { world: true, env: ["HOME"] }, ...more });
  const ending = signal === undefined ? {} : { signal };
  const result = await engine.execute({ name, arguments: args }, { record: true, tenant: "acme", ...ending });
  // Through a file and back: only what is written down counts.
  return { result, recording: readRecording(JSON.stringify(result.metadata["recording"])) };
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

function edit(recording: Mutable<Recording>, at: number, change: Partial<Recording["answers"][number]>): void {
  recording.answers = recording.answers.map((answer, index) => (index === at ? { ...answer, ...change } : answer));
}

describe("a recorded call that is run again", () => {
  test.each<[string, string, Partial<ToolDefinition>?]>([
    [
      "reads the clock and throws dice",
      "() => [Date.now(), Math.random(), crypto.randomUUID(), new Date().toISOString()]",
    ],
    ["prints", "() => { console.log('one', Math.random()); console.warn({ two: 2 }); return null; }"],
    ["throws", "() => { throw new RangeError('at ' + Date.now()); }"],
    [
      "asks the world",
      "async (input, { host }) => [await host.world.count(), await host.world.count(), Math.random()]",
    ],
    [
      "asks side by side",
      "(input, { host }) => Promise.all([30, 10, 20].map((ms) => host.world.after({ ms }).then(() => [ms, Date.now()])))",
    ],
    [
      "races a timer with an answer",
      `async (input, { host }) => {
      const order = [];
      await Promise.all([
        host.world.after({ ms: 40 }).then(() => order.push("answer")),
        new Promise((done) => setTimeout(done, 5)).then(() => order.push("timer")),
      ]);
      return { order, at: Date.now() };
    }`,
    ],
    [
      "catches what failed",
      "async (input, { host }) => { try { await host.world.fail(); } catch (error) { return [error.code, error.message]; } }",
    ],
    ["ends with what failed", "async (input, { host }) => host.world.fail()"],
    ["is denied something", "async (input, { host }) => host.env.get('HOME')"],
    ["answers something that its schema does not allow", "() => 'text'", { outputSchema: { type: "number" } }],
    ["does not wait for an answer", "(input, { host }) => { void host.world.after({ ms: 60_000 }); return 'early'; }"],
    ["runs in a context of its own", "() => [Math.random(), Date.now()]", { isolation: "context" }],
    [
      "knows its config, its tenant's arguments and its version",
      "(input, context) => [input, context.config, context.tool, context.callId]",
      { config: { a: [1] }, version: "1.2.3" },
    ],
  ])("has the same result, to the byte: it %s", async (_what, body, more) => {
    const { result, recording } = await record(`export default ${body};`, { n: 1 }, more);
    const askedBefore = asked;
    const again = await replayCall(recording);
    const { success, output, error, metadata } = result;
    expect(
      JSON.stringify([again.result.success, again.result.output, again.result.error, again.result.metadata.logs]),
    ).toBe(JSON.stringify([success, output, error, metadata.logs]));
    expect([again.isSame, asked]).toEqual([true, askedBefore]);
  });

  test("has the same result whatever it asks and waits for", async () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant("timer"), ms: fc.integer({ min: 0, max: 30 }) }),
      fc.record({ kind: fc.constant("ask"), ms: fc.integer({ min: 0, max: 30 }) }),
      fc.record({ kind: fc.constant("count"), ms: fc.constant(0) }),
    );
    const lines = fc.array(fc.array(step, { maxLength: 4 }), { minLength: 1, maxLength: 4 });
    const source = `export default async ({ lines }, { host }) => {
      const seen = [];
      await Promise.all(lines.map(async (line, at) => {
        for (const { kind, ms } of line) {
          if (kind === "timer") await new Promise((done) => setTimeout(done, ms));
          else if (kind === "ask") await host.world.after({ ms });
          else seen.push(await host.world.count());
          seen.push([at, kind, Date.now(), Math.random()]);
        }
      }));
      return seen;
    };`;
    await fc.assert(
      fc.asyncProperty(lines, async (given) => {
        const { recording } = await record(source, { lines: given });
        expect((await replayCall(recording)).isSame).toBe(true);
      }),
      { numRuns: 4 },
    );
  }, 300_000);

  test.each([
    ["an idle machine", 0],
    ["a busy machine", 2],
  ])("goes the same way where answers race timers closely, on %s", async (_where, count) => {
    const { recording } = await record(RACES);
    const busy = Array.from({ length: count }, () => spawn(process.execPath, ["-e", "for (;;);"], { stdio: "ignore" }));
    try {
      for (let n = 0; n < 2; n++) {
        const { result, isSame } = await replayCall(recording);
        expect([result.output, isSame]).toEqual([recording.outcome.output, true]);
      }
    } finally {
      for (const child of busy) child.kill("SIGKILL");
    }
  });

  test("goes the same way under a debugger", async () => {
    const { recording } = await record(RACES);
    const debugged = new DebuggedCall(await loadPrelude(), recording, () => undefined);
    expect(await debugged.run()).toBe(`+${JSON.stringify(recording.outcome.output)}`);
  });

  test("ends with a timer again that beat an answer by a hair", async () => {
    let begun = Promise.withResolvers<void>();
    const hair = defineCapability({
      name: "hair",
      methods: {
        late: {
          // It answers in time, behind what makes the worker busy: the timer is due before the worker can hear of it.
          handler: async (): Promise<string> => {
            void one.execute({ name: "busy", arguments: {} });
            await begun.promise;
            await new Promise((resolve) => setTimeout(resolve, 20));
            return "answer";
          },
        },
        begin: { handler: () => begun.resolve() },
      },
    });
    const one: Engine = await createEngine({
      workers: 1,
      executor: { kind: "process", spare: false },
      capabilities: [hair],
      policy: { rules: [{ allow: { hair: true } }] },
    });
    try {
      await one.register({
        name: "race",
        description: "a",
        capabilities: { hair: true },
        source: `export default (input, { host }) =>
          Promise.race([host.hair.late(), new Promise((done) => setTimeout(done, 100, "timer"))]);`,
      });
      await one.register({
        name: "busy",
        description: "a",
        capabilities: { hair: true },
        source: `export default async (input, { host }) => {
          await host.hair.begin();
          let x = 0;
          for (let i = 0; i < 4e8; i++) x += i % 7;
          return x;
        };`,
      });
      // Where the machine lets the worker wait before it is busy, the answer comes first: that is another race.
      let output: unknown;
      for (let tries = 0; output !== "timer" && tries < 20; tries++) {
        begun = Promise.withResolvers();
        const result = await one.execute({ name: "race", arguments: {} }, { record: true });
        const recording = readRecording(JSON.stringify(result.metadata["recording"]));
        output = result.output;
        if (output === "timer") expect(recording.answers).toEqual([]);
        expect((await replayCall(recording)).isSame).toBe(true);
      }
      expect(output).toBe("timer");
    } finally {
      await one.close();
    }
  });

  test("that asks for something else than was recorded, does not end well", async () => {
    const { recording } = await record("export default (input, { host }) => host.world.after({ ms: 1 });");
    const other = { ...recording, asks: recording.asks.map((ask) => ({ ...ask, args: '{"ms":2}' })) };
    const { result, isSame } = await replayCall(other);
    expect([isSame, result.error?.code]).toEqual([false, "executor_lost"]);
  });
});

/** The answer and the timer are so close that either may be first, forty times. */
const RACES = `export default async (input, { host }) => {
  const seen = [];
  for (let n = 0; n < 40; n++) {
    const answer = host.world.count().then(() => "a");
    seen.push(await Promise.race([answer, new Promise((done) => setTimeout(done, 2, "t"))]));
    if (n % 10 === 9) await host.world.after({ ms: n });
  }
  return seen.join("");
}`;

describe("a recording", () => {
  test.each([
    ["cancelled", 2_000, {}],
    ["wall_limit", 60_000, { wallMs: 100 }],
  ])("of a call that was ended from outside is not run again: %s", async (code, cancelMs, limits) => {
    const { recording } = await record(
      "export default (input, { host }) => host.world.after({ ms: 5_000 });",
      {},
      { limits },
      AbortSignal.timeout(cancelMs),
    );
    expect(recording.outcome.error?.code).toBe(code);
    await expect(replayCall(recording)).rejects.toThrow(
      new TypeError(`the recorded call was ended from outside: ${code}`),
    );
  });

  test("of a call in a shared module is not run again, as it was a function of others as well", async () => {
    const { recording } = await record("let n = 0; export default () => ++n;", {}, { isolation: "shared" });
    await expect(replayCall(recording)).rejects.toThrow(TypeError);
  });

  test.each<[string, (recording: Mutable<Recording>) => void]>([
    ["whose arguments are no JSON", (recording) => (recording.call = { ...recording.call, arguments: "]" })],
    [
      "whose arguments end the line in which they are sent",
      (recording) => (recording.call = { ...recording.call, arguments: '{\n"a":1}' }),
    ],
    ["with an answer that ends the line in which it is sent", (recording) => edit(recording, 0, { payload: "[\n1]" })],
    ["with an answer that is no JSON", (recording) => edit(recording, 0, { payload: "{nope" })],
    ["with a failure that is invalid", (recording) => edit(recording, 0, { ok: false, payload: "5" })],
    [
      "with a failure that nobody knows",
      (recording) => edit(recording, 0, { ok: false, payload: '{"code":"x","message":"y"}' }),
    ],
    ["with an answer to what was not asked", (recording) => edit(recording, 1, { step: 9, asked: 9 })],
    ["with an answer before what it answers", (recording) => edit(recording, 1, { step: 2, asked: 1 })],
    ["with two answers to one ask", (recording) => edit(recording, 1, { step: 1 })],
    ["with answers that are not in their order", (recording) => (recording.answers = recording.answers.toReversed())],
  ])("%s is refused", async (_what, spoil) => {
    const { recording } = await record(
      "export default async (input, { host }) => [await host.world.count(), await host.world.count()];",
    );
    const spoiled: Mutable<Recording> = { ...recording };
    spoil(spoiled);
    expect(() => readRecording(JSON.stringify(spoiled))).toThrow(TypeError);
  });

  test("is made only where it is asked for", async () => {
    await engine.register({ name: "plain", description: "a", source: "export default () => 1" });
    const { metadata } = await engine.execute({ name: "plain", arguments: {} });
    expect("recording" in metadata).toBe(false);
  });

  test("shares no randomness with other calls: it holds the call's own, and not the engine's", async () => {
    const [one, two] = [
      await record("export default () => Math.random();"),
      await record("export default () => Math.random();"),
    ];
    expect(one.recording.seed).not.toBe(two.recording.seed);
  });

  test.each([
    ["is no JSON", "{"],
    ["is something else", '{"format":"glovebox-recording/2"}'],
    ["has a seed that is invalid", "seed"],
  ])("that %s is refused", async (_what, given) => {
    const { recording } = await record("export default () => 1;");
    expect(() => readRecording(given === "seed" ? JSON.stringify({ ...recording, seed: "x" }) : given)).toThrow(
      TypeError,
    );
  });
});

const AGAIN_MS = 1_000;

/** Attaches a debugger, reads a variable at the first pause, and lets the call end. */
async function debugOnce(address: string, expression: string): Promise<unknown> {
  const socket = new WebSocket(address);
  await new Promise((resolve) => socket.addEventListener("open", resolve));
  let id = 0;
  const send = (method: string, params: object = {}) => socket.send(JSON.stringify({ id: ++id, method, params }));
  const seen = new Promise((resolve) => {
    socket.addEventListener("message", ({ data }) => {
      const message = JSON.parse(String(data)) as DebuggerMessage;
      if (message.method === "Debugger.paused") {
        const callFrameId = message.params?.callFrames[0]?.callFrameId;
        send("Debugger.evaluateOnCallFrame", { callFrameId, expression });
      } else if (message.result?.result !== undefined) resolve(message.result.result.value);
    });
  });
  for (const method of ["Runtime.enable", "Debugger.enable"]) send(method);
  // Of a process that does not wait yet, Node forgets it: it says its address before.
  const go = (): void => send("Runtime.runIfWaitingForDebugger");
  go();
  const again = setInterval(go, AGAIN_MS);
  const value = await seen;
  clearInterval(again);
  send("Debugger.resume");
  socket.addEventListener("message", ({ data }) => {
    if (String(data).includes("executionContextDestroyed")) socket.close();
  });
  return value;
}

interface DebuggerMessage {
  readonly method?: string;
  readonly params?: { readonly callFrames: readonly { readonly callFrameId: string }[] };
  readonly result?: { readonly result?: { readonly value: unknown } };
}

/** What throws or answers with objects that may be of another realm: what is done, and whether at the stack's end. */
const WAYS: readonly (readonly [way: string, code: string, isDeep: boolean])[] = [
  ["log", "console.log('x')", true],
  ["timer", "setTimeout(() => 0, 1)", true],
  ["randomness", "crypto.randomUUID()", true],
  ["digest", "crypto.subtle.digest('SHA-256', new Uint8Array(1))", true],
  ["url", "new URL('https://a.example')", true],
  ["stack", "new Error().stack", true],
  ["import at the stack's end", "(0, eval)('import(`node:fs`)')", true],
  ["eval", "(0, eval)('import(`node:fs`)')", false],
  ["source", "(0, eval)('import.source(`node:fs`)')", false],
  ["function", "new Function('return import(`node:fs`)')()", false],
  ["host", "ctx.host.a.b()", false],
  ["frames", "(Error.prepareStackTrace = (error, frames) => frames, new Error().stack)", false],
];

/** A tool that tries to get at `process` by them, and answers with what it got by each. */
const escapeTool = (isolation: string): string => `
export const spec = { name: "escape", description: "d", isolation: "${isolation}" };
const ways = [${WAYS.map(([way, code, isDeep]) => `[${JSON.stringify(way)}, (ctx) => ${code}, ${isDeep}]`).join(",\n")}];
const got = (value) => {
  try {
    return typeof value.constructor.constructor("return process")();
  } catch {}
  try {
    // Whoever could change another realm's prototypes would be handed what that realm works with.
    Object.getPrototypeOf(Object.getPrototypeOf(Object.getPrototypeOf(value))).changed = true;
    if (!(value instanceof Object) && "changed" in value) return "changed";
  } catch {}
  return "undefined";
};
export default async (input, ctx) => {
  debugger;
  const all = {};
  for (const [way, act, isDeep] of ways) {
    // What comes is looked at later: at the end of the stack there is no room for it.
    const come = [];
    const attempt = () => {
      try {
        come.push(act(ctx));
      } catch (error) {
        come.push(error);
      }
    };
    let tries = 0;
    const dig = () => {
      try {
        dig();
      } catch (error) {
        come.push(error);
      }
      if (tries++ < 400) attempt();
    };
    if (isDeep) dig();
    attempt();
    const seen = await Promise.all(come.map((each) => Promise.resolve(each).then(got, got)));
    all[way] = [...new Set(seen)];
  }
  return all;
};`;

/** Node describes what nobody catches by functions that the thrown object has, and hands them its own. */
const THROWING_TOOL = `
export const spec = { name: "thrown", description: "d" };
export default async () => {
  debugger;
  const told = [];
  const evil = new Error("evil");
  const tell = (...given) => told.push(given.map((each) => typeof each));
  evil[Symbol.for("nodejs.util.inspect.custom")] = tell;
  void Promise.reject(evil);
  void Promise.reject({ [Symbol.for("nodejs.util.inspect.custom")]: tell });
  await new Promise((resolve) => setTimeout(resolve, 20));
  return told;
};`;

describe("glovebox run --record and replay", () => {
  const glovebox = (...args: string[]): Promise<Ended> => run(folder, args);

  /** Replays a recording with a debugger, which reads a variable where the tool first pauses. */
  async function debug(file: string, expression: string): Promise<{ readonly stdout: string; readonly seen: unknown }> {
    const child = spawn(process.execPath, [...MAIN, "replay", file, "--inspect", "127.0.0.1:0"], {
      stdio: "pipe",
    });
    const stdout = text(child.stdout);
    let address = "";
    for await (const line of createInterface({ input: child.stderr })) {
      address = /ws:\S+/.exec(line)?.[0] ?? "";
      if (address !== "") break;
    }
    // Nobody else reads it, and a pipe that is full would hold the process.
    child.stderr.resume();
    const seen = await debugOnce(address, expression);
    return { stdout: await stdout, seen };
  }

  test("write a call down and run it again, and say whether it is the same", async () => {
    const tool = join(folder, "dice.js");
    const file = join(folder, "dice.json");
    writeFileSync(
      tool,
      "export const spec = { name: 'dice', description: 'd' };\nexport default () => { console.log('rolling'); return Math.random(); };",
    );
    const first = await glovebox("run", tool, "--input", "{}", "--record", file);
    expect([first.code, statSync(file).mode & 0o777]).toEqual([0, 0o600]);
    const again = await glovebox("replay", file);
    expect([again.code, again.stdout]).toEqual([0, first.stdout]);
    expect(again.stderr).toContain("[log] rolling");
    expect(again.stderr).toContain("same result as recorded");
    writeFileSync(
      file,
      readFileSync(file, "utf8")
        .replace('"startMs":1', '"startMs":2')
        .replace(/"output":0[.\d]+/, '"output":0.5'),
    );
    const other = await glovebox("replay", file);
    expect([other.code, other.stdout]).toEqual([1, first.stdout]);
  });

  test("run it under a debugger, which sees the recorded values", async () => {
    const tool = join(folder, "paused.js");
    const file = join(folder, "paused.json");
    writeFileSync(
      tool,
      `export const spec = { name: "paused", description: "d" };
      export default async () => {
        const roll = Math.random();
        await new Promise((resolve) => setTimeout(resolve, 5));
        debugger;
        return { roll, node: typeof performance.nodeTiming };
      };`,
    );
    const { stdout: recorded } = await glovebox("run", tool, "--input", "{}", "--record", file);
    const { stdout, seen } = await debug(file, "roll");
    expect(JSON.parse(recorded)).toMatchObject({ roll: seen, node: "undefined" });
    expect(stdout).toBe(recorded);
  });

  test.each(["instance", "context"])(
    "give a tool nothing under a debugger that it does not have in its isolate: it runs in its own %s",
    async (isolation) => {
      const tool = join(folder, `escape-${isolation}.js`);
      const file = join(folder, `escape-${isolation}.json`);
      writeFileSync(tool, escapeTool(isolation));
      const { stdout: recorded } = await glovebox("run", tool, "--input", "{}", "--record", file);
      const { stdout, seen } = await debug(file, "ways.length");
      expect(seen).toBe(WAYS.length);
      const ways = Object.fromEntries(WAYS.map(([way]) => [way, ["undefined"]]));
      expect([JSON.parse(recorded), JSON.parse(stdout)]).toEqual([ways, ways]);
    },
  );

  test("run a tool under a debugger to its end, whatever it leaves behind that nobody caught", async () => {
    const tool = join(folder, "thrown.js");
    const file = join(folder, "thrown.json");
    writeFileSync(tool, THROWING_TOOL);
    const { stdout: recorded } = await glovebox("run", tool, "--input", "{}", "--record", file);
    expect(JSON.parse(recorded)).toEqual([]);
    expect((await debug(file, "0")).stdout).toBe(recorded);
  });

  test("refuse what is no recording", async () => {
    const file = join(folder, "none.json");
    writeFileSync(file, "[]");
    expect((await glovebox("replay", file)).code).toBe(3);
    expect((await glovebox("replay", join(folder, "nowhere.json"))).code).toBe(2);
  });

  test("refuse a call that was ended from outside, and say so", async () => {
    const file = join(folder, "ended.json");
    const { recording } = await record("export default () => 1;");
    const error = { code: "cancelled", type: "CancelledError", message: "m", retryable: false, details: null };
    writeFileSync(file, JSON.stringify({ ...recording, outcome: { ...recording.outcome, success: false, error } }));
    const { code, stdout, stderr } = await glovebox("replay", file);
    expect([code, stdout]).toEqual([3, ""]);
    expect(stderr).toContain("the recorded call was ended from outside: cancelled");
  });
});
