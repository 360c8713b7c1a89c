import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  createEngine,
  defineCapability,
  type Engine,
  type EventMap,
  type ToolResult,
} from "../../../src/glovebox/index.ts";

const SECRET = "correct-horse-battery";

let engine: Engine;
let names = 0;

beforeAll(async () => {
  process.env["GLOVEBOX_TEST_KEY"] = SECRET;
  process.env["GLOVEBOX_TEST_REGION"] = "north";
  const notes = defineCapability({
    name: "notes",
    methods: {
      leak: { handler: () => ({ found: `the key is ${SECRET}` }) },
      redacted: { handler: (_: unknown, { redact }) => ({ found: redact(`the key is ${SECRET}`) }) },
      count: {
        handler: ({ to }: { to: number }, { progress }) => {
          for (let at = 1; at <= to; at++) progress(at);
          return new Promise((resolve) => setTimeout(resolve, 20, to));
        },
      },
    },
  });
  engine = await createEngine({
    workers: 1,
    executor: "threads",
    capabilities: [notes],
    kv: { path: ":memory:" },
    secrets: { KEY: { env: "GLOVEBOX_TEST_KEY", bind: [{ origin: "https://api.example.com" }] } },
    policy: { rules: [{ allow: { notes: true, env: ["GLOVEBOX_TEST_*"], kv: true, tools: ["*"] } }] },
  });
});

afterAll(async () => {
  delete process.env["GLOVEBOX_TEST_KEY"];
  delete process.env["GLOVEBOX_TEST_REGION"];
  await engine.close();
});

async function run(body: string, limits = {}): Promise<ToolResult> {
  const name = `tool-${++names}`;
  const capabilities = { notes: true, env: ["GLOVEBOX_TEST_*"], kv: true as const, tools: ["*"] };
  await engine.register({ name, description: "a", source: `export default ${body};`, capabilities });
  return engine.execute({ name, arguments: {} }, { limits });
}

describe("what a tool asks for once too often", () => {
  test.each([
    [
      "calls",
      "async (i, { host }) => { for (;;) await host.env.get('GLOVEBOX_TEST_REGION'); }",
      { capabilityCalls: 3 },
    ],
    [
      "bytes",
      "async (i, { host }) => { for (;;) await host.kv.set('a', 'x'.repeat(600)); }",
      { capabilityBytes: 2_000 },
    ],
  ])("is refused in words that say what is granted, and how to grant more: %s", async (_what, body, limits) => {
    const { error } = await run(body, limits);
    expect(error?.code).toBe("capability_limit");
    for (const part of ["asked for: ", "granted: ", "to grant it, "]) expect(error?.message).toContain(part);
  });

  test("is heard of by whoever listens", async () => {
    const outcomes: string[] = [];
    const listener = ({ outcome }: EventMap["capability:call"][0]) => void outcomes.push(outcome);
    engine.on("capability:call", listener);
    await run("async (i, { host }) => { for (;;) await host.env.get('GLOVEBOX_TEST_REGION'); }", {
      capabilityCalls: 2,
    });
    engine.off("capability:call", listener);
    expect(outcomes).toEqual(["ok", "ok", "limit"]);
  });

  test("is not the next piece of what it has begun", async () => {
    const body = `async (i, { host }) => {
      let seen = 0;
      for (let at = 0; at < 3; at++) await host.notes.count({ to: 30 }, { onProgress: () => seen++ });
      return seen;
    }`;
    expect((await run(body, { capabilityCalls: 3 })).output).toBe(90);
  });
});

describe("a secret", () => {
  test("is in nothing that a handler has redacted, and nothing else is searched for it", async () => {
    const { output } = await run("async (i, { host }) => [await host.notes.redacted(), await host.notes.leak()]");
    expect(output).toEqual([{ found: "the key is glovebox.secret.KEY." }, { found: `the key is ${SECRET}` }]);
  });

  test("is no variable of the environment for tools, whatever they are granted", async () => {
    const { output } = await run(
      "(i, { host }) => Promise.all(['KEY', 'REGION'].map((name) => host.env.get('GLOVEBOX_TEST_' + name)))",
    );
    expect(output).toEqual([null, "north"]);
  });
});

test.each(["__proto__", "constructor", "toString"])(
  "there is nothing behind names that all objects have: %s",
  async (name) => {
    const body = `async (i, { host }) => {
    const seen = [];
    for (const ask of [() => host["${name}"]["${name}"]({}), () => host.env.get("${name}"), () => host.tools.call("${name}", {})]) {
      seen.push(await ask().then((value) => value, ({ code, toolCode }) => toolCode ?? code));
    }
    return seen;
  }`;
    expect((await run(body)).output).toEqual(["capability_denied", "capability_denied", "tool_not_found"]);
  },
);
