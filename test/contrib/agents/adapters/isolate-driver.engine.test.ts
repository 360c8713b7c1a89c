import { toolDefinition } from "@tanstack/ai";
import { createCodeMode } from "@tanstack/ai-code-mode";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import {
  createIsolateDriver,
  type IsolateConfig,
  type IsolateDriver,
} from "../../../../src/contrib/agents/adapters/index.ts";
import { createEngine, type Engine } from "../../../../src/glovebox/index.ts";

let engine: Engine;
let driver: IsolateDriver;
beforeAll(async () => {
  engine = await createEngine({ workers: 1 });
  driver = createIsolateDriver(engine);
});
afterAll(() => engine.close());

type Functions = Readonly<Record<string, (args: never) => unknown>>;

function bindingsOf(functions: Functions): IsolateConfig["bindings"] {
  const bindings = Object.entries(functions).map(([name, call]) => {
    const execute = async (args: unknown): Promise<unknown> => call(args as never);
    return [name, { name, description: `${name} tool`, inputSchema: { type: "object", properties: {} }, execute }];
  });
  return Object.fromEntries(bindings) as IsolateConfig["bindings"];
}

async function run(code: string, functions: Functions = {}, config: Omit<IsolateConfig, "bindings"> = {}) {
  const context = await driver.createContext({ bindings: bindingsOf(functions), ...config });
  const result = await context.execute(code);
  await context.dispose();
  return result;
}

/** What the tests of `@tanstack/ai-isolate-node` and `-quickjs` ask of a driver. */
describe("a driver of TanStack AI", () => {
  test.each([
    ["return 42", 42],
    ["return 3 + 4", 7],
    ['return "hello" + " " + "world"', "hello world"],
    ["const x = await Promise.resolve(10); return x + 2;", 12],
    ["return { a: 1, b: [2, 3] }", { a: 1, b: [2, 3] }],
    ["", undefined],
    ["return undefined", undefined],
    ["return null", null],
    ["return 1 // a comment at the end", 1],
  ])("gives the value of %s", async (code, value) => {
    expect(await run(code)).toEqual({ success: true, value, logs: [] });
  });

  test("has bindings as async functions, which a program may call in sequence and at once", async () => {
    const calls: string[] = [];
    const functions = {
      add: ({ a, b }: { a: number; b: number }) => a + b,
      get: async ({ path }: { path: string }) => {
        await new Promise((resolve) => setTimeout(resolve, 0));
        calls.push(path);
        return { path };
      },
    };
    expect((await run("return await add({ a: 2, b: 3 })", functions)).value).toBe(5);
    const sequence = 'return [await get({ path: "/a" }), await get({ path: "/b" })]';
    expect((await run(sequence, functions)).value).toEqual([{ path: "/a" }, { path: "/b" }]);
    expect(calls).toEqual(["/a", "/b"]);
    const atOnce = 'return await Promise.all(["/c", "/d", "/e"].map((path) => get({ path })))';
    expect((await run(atOnce, functions)).value).toEqual([{ path: "/c" }, { path: "/d" }, { path: "/e" }]);
  });

  test("gives a binding an empty object where the program gives it nothing", async () => {
    expect(
      (await run("return [await echo(), await echo(null), await echo(0)]", { echo: (args) => args })).value,
    ).toEqual([{}, {}, 0]);
  });

  test("surfaces the error of a binding, with its name and message, and nothing of the host", async () => {
    const functions = {
      fail: () => {
        throw new RangeError("Tool failed");
      },
    };
    const { success, error } = await run("return await fail({})", functions);
    expect([success, error]).toEqual([false, { name: "RangeError", message: "Tool failed", code: "tool_error" }]);
    const caught = "try { await fail({}) } catch (error) { return [error.name, error.message, error.stack] }";
    const [name, message, stack] = (await run(caught, functions)).value as string[];
    expect([name, message]).toEqual(["RangeError", "Tool failed"]);
    expect(stack).not.toContain(import.meta.dirname);
  });

  test.each([
    ["syntax error!!!", "SyntaxError", /Unexpected/],
    ["}); globalThis.x = 1; (async () => {", "SyntaxError", /./],
    ['throw new Error("oops")', "Error", /^oops$/],
    ["throw new (class MyError extends Error {})('mine')", "MyError", /^mine$/],
    ["throw 'text'", "Error", /^text$/],
    ["null.x", "TypeError", /null/],
    ["function f(n) { return 1 + f(n + 1) } return f(0)", "RangeError", /stack/],
  ])("fails for %s", async (code, name, message) => {
    const { success, error } = await run(code);
    expect(success).toBe(false);
    expect(error).toEqual({ name, message: expect.stringMatching(message), code: "tool_error" });
  });

  test.each(["while (true) {}", "await never()", "await new Promise(() => undefined)"])(
    "ends %s with a TimeoutError, and its context goes on",
    async (code) => {
      const context = await driver.createContext({
        bindings: bindingsOf({ never: () => new Promise(() => undefined) }),
        timeout: 200,
      });
      const { success, error } = await context.execute(code);
      expect([success, error?.name]).toEqual([false, "TimeoutError"]);
      // The same time is short for another realm on a busy machine.
      await expect.poll(async () => (await context.execute("return 42")).value).toBe(42);
    },
  );

  test.each(["const all = []; for (;;) all.push(new Array(1_000).fill(0));", "new Uint8Array(512 * 1024 * 1024)"])(
    "ends %s with a MemoryLimitError",
    async (code) => {
      const { success, error } = await run(code, {}, { memoryLimit: 16 });
      expect([success, error?.name, error?.code]).toEqual([false, "MemoryLimitError", "memory_limit"]);
    },
  );

  test("captures the console, with the level as prefix", async () => {
    const code = 'console.log("hello"); console.info("i"); console.warn("w"); console.error("fail"); throw 1';
    expect((await run(code)).logs).toEqual(["hello", "INFO: i", "WARN: w", "ERROR: fail"]);
  });

  test("keeps logs within their limit, and says how many lines are missing", async () => {
    const { logs = [] } = await run('for (let n = 0; n < 20_000; n++) console.log("line", n)');
    expect(logs.join("").length).toBeLessThan(100_000);
    expect(logs.at(-1)).toMatch(/^WARN: \d+ more lines were dropped: limits\.logBytes$/);
  });

  test("does not share state between contexts, nor between runs of one", async () => {
    const [one, other] = await Promise.all([1, 2].map(() => driver.createContext({ bindings: {} })));
    await one?.execute("globalThis.__secret = 100; Object.prototype.__probe = 'a'; return 1");
    const seen = "return [typeof globalThis.__secret, typeof ({}).__probe]";
    for (const context of [one, other])
      expect((await context?.execute(seen))?.value).toEqual(Array(2).fill("undefined"));
  });

  test("ends with a DisposedError after dispose, and while it runs", async () => {
    const context = await driver.createContext({ bindings: {} });
    const running = context.execute("await new Promise(() => undefined)");
    await context.dispose();
    await context.dispose();
    for (const { success, error } of [await running, await context.execute("return 1")]) {
      expect([success, error?.name, error?.message]).toEqual([false, "DisposedError", "Context has been disposed"]);
    }
  });

  test("disposes cleanly while an abandoned call is still in flight", async () => {
    const { promise, resolve } = Promise.withResolvers();
    const context = await driver.createContext({ bindings: bindingsOf({ fast: () => "fast", slow: () => promise }) });
    expect((await context.execute("return await Promise.race([slow({}), fast({})])")).value).toBe("fast");
    await context.dispose();
    expect((await run("return await fast({})", { fast: () => "ok" })).value).toBe("ok");
    resolve("late");
  });

  test.each(["process", "require", "fetch", "host", "module", "Buffer"])("does not expose %s", async (name) => {
    expect((await run(`return typeof ${name}`)).value).toBe("undefined");
  });

  test.each([
    ["await import('fs')", "blocked: Not supported"],
    ["(function () {}).constructor('return process')()", "blocked: process is not defined"],
    ["this.constructor.constructor('return process')()", "blocked: process is not defined"],
  ])("closes %s", async (code, blocked) => {
    expect((await run(`try { return ${code} } catch (error) { return "blocked: " + error.message }`)).value).toBe(
      blocked,
    );
  });
});

describe("a hostile program", () => {
  test("that calls a binding 100,000 times reaches the limit of calls, and the host's function no further", async () => {
    let called = 0;
    const functions = { count: () => ++called };
    const counting = "let n = 0; try { for (;;) { await count(); n++; } } catch (error) { return [n, error.code] }";
    expect((await run(counting, functions)).value).toEqual([100, "capability_limit"]);
    await run("for (let n = 0; n < 100_000; n++) count(); await 1; await new Promise(() => undefined)", functions, {
      timeout: 2_000,
      memoryLimit: 256,
    });
    expect(called).toBeLessThanOrEqual(200);
  });

  test("gets no larger answer than its limits allow", async () => {
    const { error } = await run("return (await large()).length", { large: () => "x".repeat(16 * 1024 * 1024) });
    expect([error?.name, error?.code]).toEqual(["CapabilityError", "capability_limit"]);
  });

  test("returns no more than its limits allow, and is no longer than they allow", async () => {
    const { error } = await run("return 'x'.repeat(8 * 1024 * 1024)");
    expect([error?.name, error?.code]).toEqual(["GloveboxError", "output_too_large"]);
    expect((await run(`/*${"x".repeat(2 * 1024 * 1024)}*/`)).error?.code).toBe("input_too_large");
  });

  test.each([
    ["return { then(resolve) { resolve(5) } }", { value: 5 }],
    ["return { then: 5 }", { value: { then: 5 } }],
    [
      'return JSON.parse(\'{ "__proto__": { "polluted": 1 } }\')',
      { value: JSON.parse('{"__proto__":{"polluted":1}}') },
    ],
    ["return { toJSON: () => 7 }", { value: 7 }],
    ["Object.prototype.toJSON = () => 8; return 1", { value: undefined }],
    ["JSON.stringify = () => '[1]'; return 1", { value: undefined }],
    ["JSON.stringify = () => '{\"value\":2}'; return 1", { value: 2 }],
    ["Object.prototype.value = 3; return undefined", { value: undefined }],
    ["Promise.prototype.then = () => undefined; return 1", { value: 1 }],
    ["return { then() {} }", { error: "TimeoutError" }],
    ["return { get x() { throw new Error('trap') } }", { error: "GloveboxError" }],
    ["return 10n", { value: 10 }],
    ["return 0 / 0", { error: "GloveboxError" }],
    ["const a = []; a.push(a); return a", { error: "GloveboxError" }],
    ["throw new Proxy({}, { get() { throw 1 } })", { error: "Error" }],
    ["throw { name: { toString() { for (;;); } }, message: 1 }", { error: "Object" }],
  ])("ends as data: %s", async (code, expected: { value?: unknown; error?: string }) => {
    const { success, value, error } = await run(code, {}, { timeout: 1_000 });
    expect({ success, value, error: error?.name }).toEqual({
      success: expected.error === undefined,
      value: expected.value,
      error: expected.error,
    });
    expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
  });

  test("gives bindings JSON values only", async () => {
    const seen: unknown[] = [];
    const code = `
      let reads = 0;
      await take({ get x() { return ++reads }, toJSON: undefined, f() {}, s: Symbol("s"), d: new Date(0), then() {} });
      await take(JSON.parse('{ "__proto__": { "polluted": 1 } }'));
      try { await take(() => 1) } catch (error) { return error.message }
    `;
    expect((await run(code, { take: (args) => seen.push(args) })).value).toBe("host.functions.take takes a JSON value");
    expect(JSON.stringify(seen)).toBe('[{"x":1,"d":"1970-01-01T00:00:00.000Z"},{"__proto__":{"polluted":1}}]');
  });

  test("that overwrites a binding harms itself alone", async () => {
    const functions = { add: () => 1 };
    expect((await run("globalThis.add = 5; return typeof add", functions)).value).toBe("number");
    expect((await run("return typeof add", functions)).value).toBe("function");
  });
});

describe("createContext", () => {
  test.each(["a-b", "", "1a", "a b", "a$next", "ä", "class", "await", "eval", "then", "toJSON", "x".repeat(81)])(
    "refuses a binding called %j",
    async (name) => {
      const bindings = { [name]: bindingsOf({ one: () => 1 })["one"] } as IsolateConfig["bindings"];
      await expect(driver.createContext({ bindings })).rejects.toThrow(/ cannot be the name of a binding: /);
    },
  );

  test.each(["Object", "console", "globalThis", "undefined", "__proto__", "constructor", "URL", "setTimeout"])(
    "makes a context that says that %s is a global",
    async (name) => {
      const { error } = await run("return 1", { [name]: () => 1 });
      expect(error?.message).toBe(`"${name}" is a global of every program: give the function another name`);
    },
  );

  test("refuses too many bindings, one without a function, and invalid limits", async () => {
    const many = Object.fromEntries(Array.from({ length: 1_001 }, (_, n) => [`f${n}`, () => n]));
    await expect(driver.createContext({ bindings: bindingsOf(many) })).rejects.toThrow(RangeError);
    const bindings = { one: { name: "one" } } as never;
    await expect(driver.createContext({ bindings })).rejects.toThrow('the binding "one" has no function execute');
    for (const timeout of [0, -1, Number.NaN, Infinity]) {
      await expect(driver.createContext({ bindings: {}, timeout })).rejects.toThrow(RangeError);
    }
    await expect(driver.createContext({ bindings: {}, memoryLimit: 0 })).rejects.toThrow("memoryLimit must be");
    const wrong = createIsolateDriver(engine, { limits: { speed: 1 } as never });
    await expect(wrong.createContext({ bindings: {} })).rejects.toThrow("limits.speed is not a limit");
  });

  test("allows a thousand bindings", async () => {
    const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`f${n}`, () => n]));
    expect((await run("return await f999()", many)).value).toBe(999);
  });
});

describe("the options of a driver", () => {
  test("name the tenant, and limits beside those of the context", async () => {
    const own = createIsolateDriver(engine, { tenant: "acme", limits: { capabilityCalls: 2, wallMs: 1 } });
    const context = await own.createContext({ bindings: bindingsOf({ count: () => 1 }), timeout: 5_000 });
    const { error } = await context.execute("for (;;) await count()");
    expect(error?.code).toBe("capability_limit");
    expect(engine.usage("acme").asks).toBe(3);
  });

  test("cancel runs by a signal", async () => {
    const own = createIsolateDriver(engine, { signal: AbortSignal.timeout(50) });
    const context = await own.createContext({ bindings: {} });
    const { error } = await context.execute("await new Promise(() => undefined)");
    expect([error?.name, error?.code]).toEqual(["AbortError", "cancelled"]);
  });
});

describe.each(["process", "threads"] as const)("code mode of TanStack AI, with the executor %s", (executor) => {
  const weather = toolDefinition({
    name: "fetchWeather",
    description: "The weather of a city.",
    inputSchema: z.object({ location: z.string() }),
    outputSchema: z.object({ temperature: z.number() }),
  }).server(async ({ location }) => ({ temperature: location.length }));

  async function answer(typescriptCode: string) {
    await using own = await createEngine({ workers: 1, executor });
    const { tool } = createCodeMode({ driver: createIsolateDriver(own), tools: [weather] });
    const events: [string, unknown][] = [];
    const emitCustomEvent = (name: string, value: unknown) => events.push([name, value]);
    const result = await tool.execute?.({ typescriptCode }, { emitCustomEvent } as never);
    return { result, events: events.map(([name]) => name) };
  }

  test("runs a program in TypeScript that calls tools", async () => {
    const { result, events } = await answer(`
      const cities: string[] = ["Rome", "Paris"];
      const all = await Promise.all(cities.map((location: string) => external_fetchWeather({ location })));
      console.warn("asked", all.length);
      return all.map(({ temperature }) => temperature);
    `);
    expect(result).toEqual({ success: true, result: [4, 5], logs: ["WARN: asked 2"] });
    expect(events.filter((name) => name === "code_mode:external_result")).toHaveLength(2);
  });

  test("tells the model what is wrong with its program", async () => {
    const { result } = await answer("return await external_fetchWeather({ place: 'Rome' })");
    expect(result).toMatchObject({ success: false, error: { name: "Error" }, logs: [] });
    expect(JSON.stringify(result)).toContain("Input validation failed for tool fetchWeather");
    const unknown = await answer("return await external_forecast({})");
    expect(unknown.result).toMatchObject({
      success: false,
      error: { name: "ReferenceError", message: "external_forecast is not defined" },
    });
  });
});
