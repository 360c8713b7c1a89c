import { afterAll, beforeAll, expect, test } from "vitest";
import { createEngine, type Engine, type ToolResult } from "../../../src/glovebox/index.ts";

/** Nobody listens there: a request that is granted fails. */
const ORIGIN = "http://127.0.0.1:1";

/** One call waits for a promise that the next one settles: what comes after runs in the other's turn. */
const MODULE = `
let wake;
let kept;
export default async ({ step }, context) => {
  if (step === "wakes") {
    wake();
    await new Promise((done) => setTimeout(done, 20));
    return "woke it";
  }
  if (step === "uses") return kept.host.kv.get("place").then((value) => value ?? "nothing", ({ code }) => code);
  kept = context;
  await new Promise((done) => { wake = done; });
  console.log("after the wait");
  const own = await context.host.kv.get("place").catch(({ code }) => code);
  const fetched = await context.host.fetch("${ORIGIN}").catch(({ code }) => code);
  return [context.callId, own, fetched];
};`;

let engine: Engine;
beforeAll(async () => {
  const policy = { rules: [{ allow: { kv: true as const, fetch: { origins: [], privateOrigins: [ORIGIN] } } }] };
  engine = await createEngine({ workers: 1, executor: "threads", policy });
  await engine.register({
    name: "kept",
    description: "Waits.",
    source: MODULE,
    isolation: "shared",
    capabilities: { kv: true, fetch: { origins: [ORIGIN] } },
  });
});
afterAll(() => engine.close());

const call = (step: string, options: object = {}): Promise<ToolResult> =>
  engine.execute({ name: "kept", arguments: { step } }, { tenant: "a", ...options });

test("a shared module's code belongs to the call whose turn it is, and a context to its own call", async () => {
  const waits = call("waits", { capabilities: { kv: false, fetch: false } });
  const wakes = await call("wakes");
  const { output, metadata } = await waits;
  // What the module names by itself is of the turn; what the context grants is of its call, however late it is used.
  expect(wakes.metadata.logs.map(({ message }) => message)).toEqual(["after the wait"]);
  expect(metadata.logs).toEqual([]);
  expect(output).toEqual([metadata.callId, "capability_denied", "capability_denied"]);
});

test("a context that a shared module kept can be used by no later call", async () => {
  const waits = call("waits");
  await call("wakes");
  expect((await waits).error).toBeNull();
  const late = await call("uses", { limits: { wallMs: 500 } });
  expect(late.error?.code).toBe("wall_limit");
});
