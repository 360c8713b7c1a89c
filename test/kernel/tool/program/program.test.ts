import { expect, test } from "vitest";
import { DEFAULT_LIMITS, type Limits, MAX_LIMITS } from "../../../../src/kernel/base/limits.ts";
import { functionsCapability } from "../../../../src/kernel/broker/capabilities/functions.ts";
import { Programs } from "../../../../src/kernel/tool/program/programs.ts";

const BOUNDS = { limits: DEFAULT_LIMITS, maxLimits: MAX_LIMITS, toolMaxLimits: MAX_LIMITS };
const functions = new Map([["add", () => 1]]);

function toolWith(limits: Partial<Limits>, programs = new Programs(BOUNDS)) {
  return programs.toolFor({ kind: "functions", code: "", functions, limits });
}

test("the limits of a run are the engine's where it sets none, and at most the engine's ceilings", () => {
  expect(toolWith({}).limits).toEqual(DEFAULT_LIMITS);
  const { wallMs, memoryMb } = toolWith({ wallMs: 1e9, memoryMb: 1e9 }).limits;
  expect([wallMs, memoryMb]).toEqual([MAX_LIMITS.wallMs, MAX_LIMITS.memoryMb]);
});

test("a run has no more processor time than time", () => {
  expect(toolWith({ wallMs: 50 }).limits.cpuMs).toBe(50);
});

test("limits of an engine that was reconfigured hold for the next run", () => {
  const bounds = { ...BOUNDS };
  const programs = new Programs(bounds);
  expect(toolWith({}, programs).limits.logBytes).toBe(DEFAULT_LIMITS.logBytes);
  bounds.limits = { ...DEFAULT_LIMITS, logBytes: 7 };
  expect(toolWith({}, programs).limits.logBytes).toBe(7);
});

test("an invalid limit is a RangeError", () => {
  expect(() => toolWith({ wallMs: -1 })).toThrow(new RangeError("limits.wallMs must be a number above 0"));
});

test("runs with the same heap share one script, which workers keep", () => {
  const programs = new Programs(BOUNDS);
  const [one, other, larger] = [{}, { wallMs: 5 }, { memoryMb: 128 }].map((limits) => toolWith(limits, programs));
  expect(one?.script).toBe(other?.script);
  expect(one?.script.key).not.toBe(larger?.script.key);
  expect(larger?.script.memoryMb).toBe(128);
});

test("a program is isolated, asks for no capability of the engine, and has a name that no registered tool can have", () => {
  const { script, capabilities, info } = toolWith({});
  expect([script.isolation, capabilities]).toEqual(["isolate", {}]);
  expect(info.name).not.toMatch(/^[A-Za-z0-9_.-]{1,128}$/);
});

test.each([
  ["an error", new RangeError("too far"), { name: "RangeError", message: "too far" }],
  ["a path of the host", new Error("cannot open /home/ada/key.pem"), { name: "Error", message: "cannot open (path)" }],
  ["no error", null, { name: "Error", message: "its handler threw an error without a message" }],
  ["a text", "no", { name: "Error", message: "no" }],
  ["a long message", new Error("x".repeat(5_000)), { name: "Error", message: "x".repeat(2_000) }],
  [
    "an error that cannot be read",
    new Proxy(new Error("no"), {
      get() {
        throw new Error("trap");
      },
    }),
    { name: "Error", message: "its handler threw an error that cannot be read" },
  ],
])("a function that throws %s answers with a name and a message", async (_what, thrown, error) => {
  const capability = functionsCapability(new Map([["fail", () => Promise.reject(thrown as Error)]]));
  const session = capability.open({} as never, []);
  expect(await session.invoke("fail", {}, 1)).toEqual({ error });
});
