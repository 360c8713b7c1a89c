import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { codeMode } from "../../../../src/code-mode/index.ts";
import { type CallOptions, createEngine, type Engine, type ToolResult } from "../../../../src/glovebox/index.ts";

/* Who refused, why, or that nobody decided in time: the call hears it as data, and so does its caller. */

let engine: Engine;
beforeAll(async () => {
  const add = (name: string, source: string, capabilities = {}) => ({ name, description: name, source, capabilities });
  engine = await createEngine({
    workers: 1,
    executor: "threads",
    codeMode: {},
    policy: {
      rules: [{ allow: { pause: true, tools: ["*"] } }],
      approvals: [{ tools: ["pay"] }, { tools: ["soon"], expiresMs: 1_000 }],
    },
    tools: [
      add("pay", "export default () => 'paid'"),
      add("soon", "export default () => 'paid'"),
      add(
        "caught",
        `export default ({ expiresMs }, { host }) =>
          host.pause.approval({ message: "Go on?", ...(expiresMs && { expiresMs }) }).catch(({ code, details }) => ({ code, details }))`,
        { pause: true },
      ),
      add(
        "uncaught",
        `export default ({ expiresMs }, { host }) =>
          host.pause.approval({ message: "Go on?", ...(expiresMs && { expiresMs }) })`,
        { pause: true },
      ),
      add(
        "parent",
        `export default ({ tool }, { host }) =>
          host.tools.call(tool, {}).catch(({ toolCode: code, details }) => ({ code, details }))`,
        { tools: ["*"] },
      ),
      add(
        "sleeps",
        `export default async ({ afterMs, signal }, { host }) => {
          if (signal) await host.pause.signal({ name: signal });
          await host.pause.until({ date: Date.now() + afterMs });
        }`,
        { pause: true },
      ),
      add(
        "many",
        `export default async ({ isCaught }, { host }) => {
          const waits = Array.from({ length: 33 }, (_, n) => host.pause.signal({ name: "s" + n }));
          return isCaught ? Promise.race(waits).catch(({ code, details }) => ({ code, details })) : Promise.race(waits);
        }`,
        { pause: true },
      ),
    ],
  });
});
afterAll(() => engine.close());

/** Makes a call that waits, has what it waits for refused where that is said, and gives its end. */
async function refused(name: string, args: object, isRefused: boolean): Promise<ToolResult | undefined> {
  const { error } = await (name === "program"
    ? codeMode(engine).run(
        `try { await tools.${"tool" in args ? String(args.tool) : ""}({}); } catch ({ code, details }) { return { code, details }; }`,
      )
    : engine.execute({ name, arguments: { ...args } }));
  const id = error?.code === "paused" ? (error.details?.id ?? "") : "";
  expect(id).not.toBe("");
  if (isRefused) await engine.calls.decide(id, { decision: "refuse", reason: "not yet", actor: "ada" });
  return engine.calls.result(id, {}, { waitMs: 120_000 });
}

const SAID = { reason: "not yet", by: "ada" };
const LATE = { expired: true };
const heard = (details: object) => ({ code: "approval_refused", details });

describe("the details of a refusal", () => {
  test.each<[string, string, object, boolean]>([
    ["before its start", "pay", {}, true],
    ["before its start, in time", "soon", {}, false],
    ["in its midst", "uncaught", {}, true],
    ["in its midst, in time", "uncaught", { expiresMs: 1_000 }, false],
  ])("are those of its error, of a call that nobody lets go on %s", async (_when, name, args, isRefused) => {
    const result = await refused(name, args, isRefused);
    expect(result?.error).toMatchObject(heard(isRefused ? SAID : LATE));
  });

  test.each<[string, string, object, boolean]>([
    ["a tool that asks for an approval", "caught", {}, true],
    ["a tool whose approval nobody gives in time", "caught", { expiresMs: 1_000 }, false],
    ["a tool that calls another", "parent", { tool: "pay" }, true],
    ["a tool that calls another, which nobody approves in time", "parent", { tool: "soon" }, false],
  ])("reach %s", async (_who, name, args, isRefused) => {
    expect((await refused(name, args, isRefused))?.output).toEqual(heard(isRefused ? SAID : LATE));
  });

  test.each([true, false])("reach a program that calls a tool; refused by a person: %s", async (isRefused) => {
    const result = await refused("program", { tool: isRefused ? "pay" : "soon" }, isRefused);
    expect(result?.output).toMatchObject({ result: heard(isRefused ? SAID : LATE) });
  });
});

test("a call that would wait for too much hears the bound", async () => {
  const bound = "a call may wait for 32 things at once";
  const caught = await engine.execute({ name: "many", arguments: { isCaught: true } });
  expect(caught.output).toEqual({ code: "cannot_pause", details: { bound } });
  const { error } = await engine.execute({ name: "many", arguments: {} });
  expect(error).toMatchObject({ code: "cannot_pause", details: { bound } });
});

describe("a call that would wait for a time beyond its own end", () => {
  const DAY_MS = 24 * 60 * 60 * 1_000;
  const bound = expect.stringMatching(/^the call is kept until 20\S+Z, by calls\.expiresMs$/) as string;

  test("hears it at once, and another one waits", async () => {
    const { error } = await engine.execute({ name: "sleeps", arguments: { afterMs: 8 * DAY_MS } });
    expect(error).toMatchObject({ code: "cannot_pause", details: { bound } });
    const { error: paused } = await engine.execute({ name: "sleeps", arguments: { afterMs: 6 * DAY_MS } });
    expect(paused?.code).toBe("paused");
  });

  test("hears it in a later run, too: its end is that of the first one", async () => {
    const { error } = await engine.execute({ name: "sleeps", arguments: { afterMs: 7 * DAY_MS, signal: "go" } });
    const id = error?.code === "paused" ? (error.details?.id ?? "") : "";
    await engine.calls.signal(id, "go");
    const result = await engine.calls.result(id, {}, { waitMs: 120_000 });
    expect(result?.error).toMatchObject({ code: "cannot_pause", details: { bound } });
  });
});

test("times and limits of calls that wait are options of an engine, and have bounds", async () => {
  const given = { path: ":memory:", expiresMs: 90 * 24 * 60 * 60 * 1_000, keepMs: 1_000, lingerMs: 10 };
  const more = { callBytes: 65_536, perTenant: 5, tenantBytes: 1_048_576, resumeAtOnce: 2 };
  const open = (calls: CallOptions) => createEngine({ workers: 1, executor: "threads", calls });
  await using longest = await open({ ...given, ...more });
  expect(longest.stats().state).toBe("open");
  await expect(open({ ...given, expiresMs: given.expiresMs + 1 })).rejects.toThrow("calls.expiresMs");
});
