import { expect, onTestFinished, test } from "vitest";
import { createEngine, type Engine, type EngineOptions } from "../../../../src/glovebox/index.ts";

const ECHO = { name: "echo", description: "Answers with its input.", source: "export default (input) => input;" };
const PARENT = {
  name: "parent",
  description: "Calls echo.",
  capabilities: { tools: ["echo"] },
  source: `export default (input, { host }) => host.tools.call("echo", { from: "parent" });`,
};

async function open(options: EngineOptions = {}): Promise<Engine> {
  const policy = { rules: [{ tools: ["parent"], allow: { tools: ["echo"] } }] };
  const engine = await createEngine({ workers: 1, executor: "threads", policy, ...options });
  onTestFinished(() => engine.close({ drainMs: 0 }));
  await engine.register(ECHO);
  await engine.register(PARENT);
  return engine;
}

test("a listener of tool:pre replaces the arguments of a call and of a child call, as late as its decision", async () => {
  const engine = await open();
  engine.on("tool:pre", (event) => {
    if (event.tool !== "echo") return;
    event.waitFor(Promise.resolve().then(() => event.replaceArguments({ from: "listener" })));
  });
  expect((await engine.execute({ name: "echo", arguments: { from: "caller" } })).output).toEqual({ from: "listener" });
  expect((await engine.execute({ name: "parent", arguments: {} })).output).toEqual({ from: "listener" });
});

test("arguments of a listener are bounded by inputBytes, and are an object", async () => {
  const engine = await open();
  const errors: unknown[] = [];
  engine.on("listener:error", ({ error }) => errors.push(error));
  engine.on("tool:pre", (event) => event.replaceArguments({ text: "x".repeat(2_000) }));
  const { error } = await engine.execute({ name: "echo", arguments: {} }, { limits: { inputBytes: 1_000 } });
  expect(error?.code).toBe("input_too_large");
  engine.on("tool:pre", (event) => event.replaceArguments([] as never));
  await engine.execute({ name: "echo", arguments: {} });
  expect(errors).toEqual([new TypeError("the arguments of a call are an object")]);
});

test("as many calls wait for decisions as may be queued; the next is refused", async () => {
  const engine = await open({ queue: { maxQueued: 2 } });
  const { promise, resolve } = Promise.withResolvers<void>();
  engine.on("tool:pre", (event) => event.waitFor(promise));
  const held = [1, 2].map((at) => engine.execute({ name: "echo", arguments: { at } }));
  const { error } = await engine.execute({ name: "echo", arguments: {} });
  expect(error).toMatchObject({
    code: "queue_full",
    message: "2 calls wait for decisions of listeners of tool:pre already",
  });
  resolve();
  expect((await Promise.all(held)).map(({ output }) => output)).toEqual([{ at: 1 }, { at: 2 }]);
});

test("an engine that closes ends the calls that wait for decisions", async () => {
  const engine = await open();
  const { promise, resolve } = Promise.withResolvers<void>();
  engine.on("tool:pre", (event) => event.waitFor(promise));
  const held = engine.execute({ name: "echo", arguments: {} });
  await engine.close({ drainMs: 0 });
  resolve();
  expect((await held).error?.code).toBe("engine_closed");
});
