import { describe, expect, test } from "vitest";
import { Hooks, isTool, toolResult } from "../../src/contrib/amplifier/index.ts";
import { createEngine } from "../../src/glovebox/index.ts";
import { EventRecorder, MockTool, TestCoordinator } from "../../src/testing/index.ts";

/** A module as its author has it, in the author's own process. */
async function mount(coordinator: TestCoordinator, _config: object): Promise<() => void> {
  const tool = new MockTool({ name: "my_tool" });
  coordinator.register_contributor("observability.events", "my-tool", () => ["my-tool:started"]);
  await coordinator.mount("tools", tool, { name: "my-tool" });
  return () => void coordinator.unmount("tools", { name: "my-tool" });
}

describe("the coordinator for tests", () => {
  test("it records what is mounted, and as what [A46 A47]", async () => {
    const coordinator = new TestCoordinator();
    const cleanup = await mount(coordinator, {});
    expect(coordinator.mount_history).toEqual([{ mount_point: "tools", name: "my-tool" }]);
    expect(coordinator.unmount_history).toEqual([]);
    cleanup();
    expect(coordinator.unmount_history).toEqual([{ mount_point: "tools", name: "my-tool" }]);
    expect(coordinator.mount_history).toHaveLength(1);
  });

  test("what is mounted is found by its name, which is its own where none is given [A18]", async () => {
    const coordinator = new TestCoordinator();
    const [first, second] = [new MockTool({ name: "first" }), new MockTool({ name: "second" })];
    await coordinator.mount("tools", first);
    await coordinator.mount("tools", second, { name: "other" });
    expect(coordinator.get("tools", "first")).toBe(first);
    expect(coordinator.get("tools", "second")).toBeNull();
    expect([...coordinator.get("tools")]).toEqual([
      ["first", first],
      ["other", second],
    ]);
    expect(coordinator.get("hooks").size).toBe(0);
  });

  test("what has a name already is replaced, and what has none is refused", async () => {
    const coordinator = new TestCoordinator();
    const tool = new MockTool();
    await coordinator.mount("tools", new MockTool(), "one");
    await coordinator.mount("tools", tool, "one");
    expect(coordinator.get("tools", "one")).toBe(tool);
    await expect(coordinator.mount("tools", {})).rejects.toThrow('what is mounted at "tools" has no name');
  });

  test("unmounting without a name takes all of a place away, and nothing that is not there", async () => {
    const coordinator = new TestCoordinator();
    for (const name of ["a", "b"]) await coordinator.mount("tools", new MockTool(), name);
    await coordinator.unmount("tools", "c");
    await coordinator.unmount("hooks");
    await coordinator.unmount("tools");
    expect(coordinator.unmount_history.map(({ name }) => name)).toEqual(["a", "b"]);
  });

  test("a contributor that throws keeps nobody's events from being listed [A38]", () => {
    const coordinator = new TestCoordinator();
    coordinator.register_contributor("observability.events", "broken", () => {
      throw new Error("no");
    });
    coordinator.register_contributor("observability.events", "nothing", () => null);
    coordinator.register_contributor("observability.events", "my-tool", () => ["my-tool:started", "my-tool:error"]);
    coordinator.register_contributor("other", "my-tool", () => "something else");
    const events = coordinator.collect_contributions("observability.events");
    expect(events).toEqual(["my-tool:started", "my-tool:error"]);
    expect(coordinator.collect_contributions("other")).toEqual(["something else"]);
  });

  test("cleanups run once, the last first, whatever one of them throws [A16]", async () => {
    const order: string[] = [];
    {
      await using coordinator = new TestCoordinator();
      coordinator.register_cleanup(() => order.push("first"));
      coordinator.register_cleanup(async () => {
        order.push("second");
        throw new Error("no");
      });
      await coordinator.cleanup();
    }
    expect(order).toEqual(["second", "first"]);
  });

  test("it has the config and the capabilities that modules ask it for", () => {
    const coordinator = new TestCoordinator({ region: "eu" });
    coordinator.register_capability("clock", 5);
    expect([coordinator.config, coordinator.get_capability("clock"), coordinator.get_capability("none")]).toEqual([
      { region: "eu" },
      5,
      null,
    ]);
  });
});

describe("the mock tool", () => {
  test("it is a tool, with the name and the description that it is given [A48]", () => {
    const tool = new MockTool({ name: "test_tool", description: "Test tool", return_value: "mock result" });
    expect(isTool(tool)).toBe(true);
    expect([tool.name, tool.description]).toEqual(["test_tool", "Test tool"]);
  });

  test("it counts its executions [A49]", async () => {
    const tool = new MockTool();
    expect(tool.call_count).toBe(0);
    await tool.execute({});
    await tool.execute({});
    expect(tool.call_count).toBe(2);
  });

  test("it remembers its last input [A50]", async () => {
    const tool = new MockTool();
    expect(tool.last_input).toBeNull();
    await tool.execute({ a: 1 });
    await tool.execute({ a: 2 });
    expect(tool.last_input).toEqual({ a: 2 });
  });

  test("it answers what it was told to answer [A51]", async () => {
    const result = await new MockTool({ return_value: "mock result" }).execute({});
    expect(result).toEqual({ success: true, output: "mock result", error: null, metadata: {} });
    expect(await new MockTool().execute({})).toEqual(toolResult());
  });
});

describe("the recorder", () => {
  test("it records, emits, answers by name, and forgets [A56]", async () => {
    const recorder = new EventRecorder();
    expect(recorder.record("tool:pre", { tool_name: "a" })).toEqual({ action: "continue" });
    expect(await recorder.emit("tool:post")).toEqual({ action: "continue" });
    expect(recorder.get_events()).toEqual([
      { event: "tool:pre", data: { tool_name: "a" } },
      { event: "tool:post", data: {} },
    ]);
    expect(recorder.get_events("tool:post")).toHaveLength(1);
    recorder.clear();
    expect(recorder.get_events()).toEqual([]);
  });

  test("it listens to an engine as any hook does", async () => {
    await using engine = await createEngine({ workers: 1, executor: "threads" });
    await engine.register({ name: "one", description: "is one", source: "export default () => 1" });
    const recorder = new EventRecorder();
    const hooks = new Hooks();
    hooks.register("tool:pre", recorder.record);
    hooks.register("tool:post", recorder.record);
    using _attached = hooks.attach(engine);
    await engine.execute({ name: "one", arguments: {} });
    expect(recorder.get_events().map(({ event }) => event)).toEqual(["tool:pre", "tool:post"]);
  });
});
