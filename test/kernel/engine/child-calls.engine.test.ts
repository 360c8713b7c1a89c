import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type CallEvent,
  createEngine,
  defineCapability,
  type Engine,
  type ExecuteOptions,
  type ToolDefinition,
  type ToolResult,
} from "../../../src/glovebox/index.ts";

let engine: Engine;
let names = 0;
/** Calls of tools that wait for the gate, by what they were called with; opening it lets them go on. */
const gate = new Map<string, () => void>();

beforeAll(async () => {
  const door = defineCapability({
    name: "door",
    methods: {
      wait: {
        handler: ({ key }: { key: string }, { signal }) =>
          new Promise((resolve) => {
            gate.set(key, () => resolve("open"));
            signal.addEventListener("abort", () => gate.set(`${key} aborted`, () => undefined));
          }),
      },
    },
  });
  engine = await createEngine({
    workers: 2,
    executor: "threads",
    capabilities: [door],
    queue: { concurrency: 2 },
    policy: {
      rules: [
        {
          tools: ["parent*", "leaf*", "loop*", "deep*"],
          allow: { tools: ["leaf*", "loop*", "deep*", "gone"], door: true },
        },
        { tools: ["leaf-env", "parent*"], allow: { env: ["PATH"] } },
      ],
    },
  });
});

afterAll(() => engine.close());

const codeOf = ({ success, error }: ToolResult): string => (success ? "ok" : (error?.code ?? ""));

async function tool(source: string, more: Partial<ToolDefinition> = {}): Promise<string> {
  const name = more.name ?? `parent-${++names}`;
  await engine.register({
    description: "calls others",
    capabilities: { tools: ["leaf*", "loop*", "deep*", "gone"], door: true },
    source,
    ...more,
    name,
  });
  return name;
}

async function run(
  source: string,
  args: Record<string, unknown> = {},
  options: ExecuteOptions = {},
): Promise<ToolResult> {
  return engine.execute({ name: await tool(source), arguments: args }, options);
}

const ADD = {
  name: "leaf-add",
  inputSchema: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a", "b"] },
};

describe("a tool that calls another", () => {
  test("gets its output", async () => {
    await tool("export default ({ a, b }) => ({ sum: a + b });", ADD);
    const result = await run("export default ({ n }, { host }) => host.tools.call('leaf-add', { a: n, b: 1 });", {
      n: 2,
    });
    expect(result.output).toEqual({ sum: 3 });
  });

  test("may name it as a method", async () => {
    await tool("export default ({ n }) => n * 2;", { name: "leafDouble" });
    expect((await run("export default ({ n }, { host }) => host.tools.leafDouble({ n });", { n: 4 })).output).toBe(8);
  });

  test("gets an exception with the code where it fails, which it may catch", async () => {
    await tool("export default ({ a, b }) => ({ sum: a + b });", ADD);
    const source = `export default async (input, { host }) => {
      try { await host.tools.call("leaf-add", { a: "one" }); } catch (error) { return [error.name, error.tool, error.toolCode]; }
    };`;
    expect((await run(source)).output).toEqual(["CalledToolError", "leaf-add", "invalid_arguments"]);
    const missing = "export default (input, { host }) => host.tools.call('gone', {});";
    expect((await run(missing)).error?.message).toContain("tool_not_found");
  });

  test("is refused those that it was not granted, and told how to get them", async () => {
    const result = await run("export default (input, { host }) => host.tools.call('secret-tool', {});");
    expect(codeOf(result)).toBe("capability_denied");
    expect(result.error?.details).toMatchObject({
      capability: "tools",
      asked: 'tools "secret-tool"',
      granted: expect.stringContaining("leaf*"),
      remedy: expect.stringContaining("allow.tools"),
    });
  });

  test("is shown as the parent in the events", async () => {
    await tool("export default () => 1;", { name: "leaf-one" });
    const seen: CallEvent[] = [];
    const listener = (event: CallEvent) => void seen.push(event);
    engine.on("tool:post", listener);
    const name = await tool("export default (input, { host }) => host.tools.call('leaf-one', {});");
    await engine.execute({ id: "above", name, arguments: {} });
    engine.off("tool:post", listener);
    expect(seen.map(({ tool: one, parentId }) => [one, parentId])).toEqual([
      ["leaf-one", "above"],
      [name, undefined],
    ]);
  });

  test("does so as the same tenant", async () => {
    await tool("export default () => 1;", { name: "leaf-tenant" });
    const tenants: string[] = [];
    const listener = ({ tenant }: CallEvent) => void tenants.push(tenant);
    engine.on("tool:post", listener);
    await run("export default (input, { host }) => host.tools.call('leaf-tenant', {});", {}, { tenant: "acme" });
    engine.off("tool:post", listener);
    expect(tenants).toEqual(["acme", "acme"]);
  });

  test("cannot have it do what the call was not given", async () => {
    await tool("export default async (input, { host }) => typeof (await host.env.get('PATH'));", {
      name: "leaf-env",
      capabilities: { env: ["PATH"] },
    });
    const source = "export default (input, { host }) => host.tools.call('leaf-env', {});";
    expect((await run(source)).output).toBe("string");
    const narrowed = await run(source, {}, { capabilities: { tools: ["leaf*"] } });
    expect(narrowed.error?.message).toContain("capability_denied");
  });
});

describe("what calls each other", () => {
  test("may not go in a circle", async () => {
    await tool("export default (input, { host }) => host.tools.call('loop-b', {});", { name: "loop-a" });
    await tool("export default (input, { host }) => host.tools.call('loop-a', {});", { name: "loop-b" });
    const result = await engine.execute({ name: "loop-a", arguments: {} });
    expect(result.error?.message).toContain("loop-a → loop-b → loop-a");
  });

  test("may not be nested deeper than 8", async () => {
    for (let at = 1; at <= 9; at++) {
      await tool(`export default (input, { host }) => host.tools.call("deep-${at + 1}", {});`, { name: `deep-${at}` });
    }
    expect((await engine.execute({ name: "deep-1", arguments: {} })).error?.message).toContain(
      "calls may be nested at most 8 deep",
    );
  });

  test("cannot block each other, however few may run at once", async () => {
    await tool("export default () => new Promise((resolve) => setTimeout(resolve, 20, 'done'));", {
      name: "leaf-slow",
    });
    const source =
      "export default (input, { host }) => Promise.all([1, 2, 3].map(() => host.tools.call('leaf-slow', {})));";
    const name = await tool(source);
    const results = await Promise.all(Array.from({ length: 8 }, () => engine.execute({ name, arguments: {} })));
    expect(results.map(({ output }) => output)).toEqual(Array.from({ length: 8 }, () => ["done", "done", "done"]));
  });
});

describe("the time of a call that calls others", () => {
  test("bounds theirs", async () => {
    await tool("export default () => new Promise(() => setTimeout(() => 0, 60_000));", { name: "leaf-endless" });
    const source = "export default (input, { host }) => host.tools.call('leaf-endless', {});";
    const result = await run(source, {}, { limits: { wallMs: 300 } });
    expect(["wall_limit", "tool_error"]).toContain(codeOf(result));
    expect(result.metadata.wallMs).toBeLessThan(20_000);
  });

  test("is theirs as well: what they use of the processor counts", async () => {
    await tool("export default () => { for (;;); };", { name: "leaf-spin" });
    const source = `export default async (input, { host }) => {
      const codes = [];
      for (let i = 0; i < 3; i++) await host.tools.call("leaf-spin", {}).catch(({ toolCode, code }) => codes.push(toolCode ?? code));
      return codes;
    };`;
    const result = await run(source, {}, { limits: { cpuMs: 200 } });
    expect((result.output as string[])[0]).toBe("cpu_limit");
    expect((result.output as string[]).at(-1)).toBe("capability_limit");
  });

  test("is theirs down to the last: what grandchildren use counts as well", async () => {
    await tool("export default () => { const end = 4e7; let i = 0; while (i < end) i++; return i; };", {
      name: "leaf-work",
    });
    await tool("export default (input, { host }) => host.tools.call('leaf-work', {});", { name: "deep-work" });
    const source = `export default async (input, { host }) => {
      for (let i = 0; i < 1000; i++) await host.tools.call("deep-work", {});
    };`;
    const result = await run(source, {}, { limits: { cpuMs: 300, capabilityCalls: 2_000 } });
    expect(result.error?.message).toMatch(/capability_limit|cpu_limit|no time left/);
  });

  test("is bounded with its other limits: what a call is narrowed to, those on its behalf are as well", async () => {
    await tool(
      "export default async (input, { host }) => { for (let i = 0; i < 5; i++) await host.tools.call('leaf-one', {}); };",
      { name: "leaf-asks" },
    );
    const source = "export default (input, { host }) => host.tools.call('leaf-asks', {});";
    expect(codeOf(await run(source))).toBe("ok");
    const narrowed = await run(source, {}, { limits: { capabilityCalls: 2 } });
    expect(narrowed.error?.message).toContain("may make 2 capability calls");
  });

  test("does not hold more than 64 calls at once, however they branch", async () => {
    let most = 0;
    let alive = 0;
    const pre = () => void (most = Math.max(most, ++alive));
    const over = () => void alive--;
    engine.on("tool:pre", pre).on("tool:post", over).on("tool:error", over);
    await tool("export default () => new Promise((resolve) => setTimeout(resolve, 100));", { name: "leaf-sleep" });
    await tool(
      "export default (input, { host }) => Promise.allSettled(Array.from({ length: 20 }, () => host.tools.call('leaf-sleep', {})));",
      { name: "deep-fork" },
    );
    const source =
      "export default (input, { host }) => Promise.all(Array.from({ length: 20 }, () => host.tools.call('deep-fork', {})));";
    const { output } = await run(source, {}, { limits: { capabilityCalls: 2_000 } });
    engine.off("tool:pre", pre).off("tool:post", over).off("tool:error", over);
    expect(most).toBeLessThanOrEqual(65);
    expect(JSON.stringify(output)).toContain("rejected");
  });

  test("ends theirs with it", async () => {
    await tool("export default ({ key }, { host }) => host.door.wait({ key });", { name: "leaf-door" });
    const controller = new AbortController();
    const running = run(
      "export default (input, { host }) => host.tools.call('leaf-door', input);",
      { key: "c" },
      {
        signal: controller.signal,
      },
    );
    await expect.poll(() => gate.has("c")).toBe(true);
    controller.abort();
    expect(codeOf(await running)).toBe("cancelled");
    await expect.poll(() => gate.has("c aborted")).toBe(true);
    await expect.poll(() => engine.stats().running).toBe(0);
  });

  test("lets a call in flight call others while the engine drains", async () => {
    const closing = await createEngine({
      workers: 1,
      executor: "threads",
      policy: { rules: [{ allow: { tools: ["leaf"] } }] },
    });
    await closing.register({ name: "leaf", description: "a", source: "export default () => 'served'" });
    const source = `export default async (input, { host }) => {
      await new Promise((resolve) => setTimeout(resolve, 200));
      return host.tools.leaf();
    };`;
    await closing.register({ name: "late", description: "a", source, capabilities: { tools: ["leaf"] } });
    const running = closing.execute({ name: "late", arguments: {} });
    await closing.close();
    expect((await running).output).toBe("served");
  });
});

describe("variables of the environment", () => {
  test("are those that were granted by name, and no others", async () => {
    const source = `export default async ({ name }, { host }) => host.env.get(name);`;
    const asks = await tool(source, { capabilities: { env: ["PATH", "HOME"] } });
    expect((await engine.execute({ name: asks, arguments: { name: "PATH" } })).output).toBe(process.env["PATH"]);
    const denied = await engine.execute({ name: asks, arguments: { name: "HOME" } });
    expect(codeOf(denied)).toBe("capability_denied");
    expect(denied.error?.details).toMatchObject({ asked: 'env "HOME"', granted: 'env "PATH"' });
  });
});
