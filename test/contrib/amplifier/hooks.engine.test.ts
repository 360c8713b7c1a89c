import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type HookEventName, Hooks } from "../../../src/contrib/amplifier/index.ts";
import type { Engine } from "../../../src/glovebox/index.ts";
import { EventRecorder } from "../../../src/testing/index.ts";
import { moduleAt, openEngine } from "./modules.ts";

const ALL: readonly HookEventName[] = ["tool:pre", "tool:post", "tool:error", "tool:pre:debug", "tool:post:debug"];

let engine: Engine;

beforeAll(async () => {
  engine = await openEngine();
  await engine.register(moduleAt("guide_tool"));
  await engine.register(moduleAt("throws"));
});
afterAll(() => engine.close());

/** Hooks that listen until the test ends. */
function attached(options: { readonly debug?: boolean } = {}): Hooks {
  const hooks = new Hooks(options);
  const attachment = hooks.attach(engine);
  onTestFinished(() => attachment[Symbol.dispose]());
  return hooks;
}

function recorded(options: { readonly debug?: boolean } = {}): EventRecorder {
  const recorder = new EventRecorder();
  const hooks = attached(options);
  for (const name of ALL) hooks.register(name, recorder.record);
  return recorder;
}

const greet = (id = "call-1") => engine.execute({ id, name: "greet", arguments: { path: "Ada" } });
const fail = () => engine.execute({ id: "call-2", name: "unlucky", arguments: {} });
const namesIn = (recorder: EventRecorder) => recorder.get_events().map(({ event }) => event);

describe("the events of a call", () => {
  test("are tool:pre before it and tool:post after it went well [A39 A40 B11 B12]", async () => {
    const recorder = recorded();
    const { output } = await greet();
    expect(recorder.get_events()).toEqual([
      {
        event: "tool:pre",
        data: { tool_name: "greet", tool_call_id: "call-1", input: { path: "Ada" } },
      },
      {
        event: "tool:post",
        data: {
          tool_name: "greet",
          tool_call_id: "call-1",
          result: { success: true, output, error: null, metadata: expect.objectContaining({ path: "Ada" }) as unknown },
        },
      },
    ]);
  });

  test("are tool:pre and tool:error where it failed [A41 B13]", async () => {
    const recorder = recorded();
    await fail();
    expect(namesIn(recorder)).toEqual(["tool:pre", "tool:error"]);
    expect(recorder.get_events("tool:error")[0]?.data).toMatchObject({
      tool_name: "unlucky",
      tool_call_id: "call-2",
      error: { message: "it went wrong", type: "TypeError" },
    });
  });

  test("are in this order, have one id, and one of two ends [A10 A42 F11]", async () => {
    const recorder = recorded();
    await Promise.all([...Array.from({ length: 5 }, (_, index) => greet(`greet-${index}`)), fail()]);
    const byCall = Map.groupBy(recorder.get_events(), ({ data }) => (data as { tool_call_id: string }).tool_call_id);
    expect(byCall.size).toBe(6);
    for (const [id, events] of byCall) {
      expect(events.map(({ event }) => event)).toEqual(["tool:pre", id === "call-2" ? "tool:error" : "tool:post"]);
    }
  });

  test("come before anything of the tool has run, and from the engine [A39 B16]", async () => {
    const order: string[] = [];
    const hooks = attached();
    hooks.register("tool:pre", () => void order.push("pre"));
    hooks.register("tool:post", (_event, { result }) => {
      const { logs } = result.metadata as { logs: readonly { message: string }[] };
      order.push(...logs.map(({ message }) => message), "post");
    });
    await greet();
    expect(order).toEqual(["pre", "cleaned up", "post"]);
  });

  test("tell all there is to tell of input and result, but only where debugging is on [B14 B15]", async () => {
    const quiet = recorded();
    const loud = recorded({ debug: true });
    const result = await greet();
    await fail();
    expect(namesIn(quiet)).toEqual(["tool:pre", "tool:post", "tool:pre", "tool:error"]);
    expect(namesIn(loud)).toEqual([
      "tool:pre:debug",
      "tool:pre",
      "tool:post:debug",
      "tool:post",
      "tool:pre:debug",
      "tool:pre",
      "tool:error",
    ]);
    expect(loud.get_events("tool:pre:debug")[0]?.data).toEqual({
      tool_name: "greet",
      tool_call_id: "call-1",
      input: { path: "Ada" },
      tenant: "",
      parent_call_id: null,
    });
    expect(loud.get_events("tool:post:debug")[0]?.data).toEqual({ tool_name: "greet", tool_call_id: "call-1", result });
  });
});

describe("a hook", () => {
  test("hears any event, until it is taken away [B17]", async () => {
    const recorder = new EventRecorder();
    const hooks = attached();
    const leave = hooks.register("tool:post", recorder.record);
    await greet();
    leave();
    await greet();
    expect(namesIn(recorder)).toEqual(["tool:post"]);
  });

  test("hears nothing any more once its hooks are detached", async () => {
    const hooks = new Hooks();
    const recorder = new EventRecorder();
    hooks.register("tool:pre", recorder.record);
    hooks.attach(engine)[Symbol.dispose]();
    await greet();
    expect(recorder.get_events()).toEqual([]);
  });

  test("can deny a call, which then is not run and ends with an error that says why [B18]", async () => {
    const recorder = recorded();
    attached().register("tool:pre", (_event, { tool_name }) =>
      tool_name === "greet" ? { action: "deny", reason: "not on a Sunday" } : { action: "continue" },
    );
    const { success, error, metadata } = await greet();
    expect([success, error?.code, metadata.attempts]).toEqual([false, "blocked", 0]);
    expect(error?.message).toContain("not on a Sunday");
    expect(namesIn(recorder)).toEqual(["tool:pre", "tool:error"]);
    expect((await fail()).error?.code).toBe("tool_error");
  });

  test("that denies without a reason denies all the same", async () => {
    attached().register("tool:pre", () => ({ action: "deny" }));
    expect((await greet()).error?.message).toContain("a hook denied it");
  });

  test("that throws before a call denies it, and harms neither engine nor other hooks [B19]", async () => {
    const hooks = attached();
    const recorder = new EventRecorder();
    const leave = hooks.register("tool:pre", () => {
      throw new Error("the guard is broken");
    });
    hooks.register("tool:pre", recorder.record);
    expect((await greet()).error).toMatchObject({
      code: "blocked",
      message: expect.stringContaining("a hook failed: the guard is broken") as unknown,
    });
    expect(namesIn(recorder)).toEqual(["tool:pre"]);
    leave();
    expect((await greet()).success).toBe(true);
  });

  test("that only looks on, or throws after a call, changes nothing [B19]", async () => {
    const hooks = attached();
    const broken = (): never => {
      throw new Error("no");
    };
    hooks.register("tool:pre", broken, { observe: true });
    hooks.register("tool:pre", () => ({ action: "deny" }), { observe: true });
    hooks.register("tool:post", broken);
    hooks.register("tool:error", broken);
    expect((await greet()).success).toBe(true);
    expect((await fail()).error?.code).toBe("tool_error");
  });

  test("may answer with a promise, for which the call waits", async () => {
    const order: string[] = [];
    const hooks = attached();
    hooks.register("tool:pre", async () => {
      await setTimeout(20);
      order.push("hook");
      return { action: "continue" };
    });
    expect((await greet()).success).toBe(true);
    expect(order).toEqual(["hook"]);
    hooks.register("tool:pre", async () => ({ action: "deny", reason: "thought about it" }));
    expect((await greet()).error).toMatchObject({
      code: "blocked",
      message: expect.stringContaining("thought about it"),
    });
  });

  test("whose promise rejects, or is later than the call's wallMs, denies the call", async () => {
    const hooks = attached();
    const leave = hooks.register("tool:pre", () => Promise.reject(new Error("no database")));
    expect((await greet()).error?.message).toContain("a hook failed: no database");
    leave();
    hooks.register("tool:pre", () => new Promise(() => undefined));
    const call = { name: "greet", arguments: { path: "Ada" } };
    const { error } = await engine.execute(call, { limits: { wallMs: 50 } });
    expect(error).toMatchObject({ code: "blocked", message: expect.stringContaining("did not decide within 50 ms") });
  });

  test("that has not decided yet does not keep a cancelled call", async () => {
    attached().register("tool:pre", () => new Promise(() => undefined));
    const aborting = new AbortController();
    const running = engine.execute({ name: "greet", arguments: { path: "Ada" } }, { signal: aborting.signal });
    aborting.abort();
    expect((await running).error?.code).toBe("cancelled");
  });

  test("may modify the arguments for the hooks after it and for the call, which the schema checks again", async () => {
    const hooks = attached();
    const seen: unknown[] = [];
    const leave = hooks.register("tool:pre", (_event, data) => ({
      action: "modify",
      data: { ...data, input: { path: `${String(data.input["path"])} L.` } },
    }));
    hooks.register("tool:pre", (_event, { input }) => void seen.push(input));
    hooks.register("tool:pre", () => void seen.push("first"), { priority: -1 });
    expect((await greet()).output).toContain("Ada L.");
    expect(seen).toEqual(["first", { path: "Ada L." }]);
    leave();
    hooks.register("tool:pre", (_event, data) => ({ action: "modify", data: { ...data, input: { path: 1 } } }));
    expect((await greet()).error?.code).toBe("invalid_arguments");
    hooks.register("tool:pre", () => ({ action: "modify", data: {} }));
    expect((await greet()).error).toMatchObject({
      code: "blocked",
      message: expect.stringContaining("no object as input"),
    });
  });

  test("may inject context where the embedder receives it, and is refused elsewhere", async () => {
    const inject = { action: "inject_context", context_injection: "Mind the gap.", ephemeral: true } as const;
    const received: unknown[] = [];
    const hooks = new Hooks({ onContext: (injection, { event }) => received.push([event, injection]) });
    hooks.register("tool:pre", () => inject);
    hooks.register("tool:post", async () => inject);
    {
      using _attachment = hooks.attach(engine);
      expect((await greet()).success).toBe(true);
      await setTimeout(1);
    }
    expect(received).toEqual([
      ["tool:pre", inject],
      ["tool:post", inject],
    ]);
    attached().register("tool:pre", () => inject);
    expect((await greet()).error?.message).toContain("give Hooks the option onContext");
  });

  test("that asks the user refuses the call, and says so", async () => {
    attached().register("tool:pre", () => ({ action: "ask_user", approval_prompt: "Write to production?" }));
    expect((await greet()).error).toMatchObject({
      code: "blocked",
      message: expect.stringContaining("an approval, which nobody can give here: Write to production?"),
    });
  });
});
