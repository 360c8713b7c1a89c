import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  createEngine,
  type Engine,
  type ExecuteOptions,
  type Progress,
  type ToolResult,
} from "../../../src/glovebox/index.ts";

describe.each(["process", "threads"] as const)("how far a call has come, in the executor %s", (executor) => {
  let engine: Engine;
  let tools = 0;

  beforeAll(async () => {
    engine = await createEngine({ executor, workers: 1 });
  });
  afterAll(() => engine.close());

  /** Runs a tool whose body this is, and answers what its caller was told before it had the result. */
  async function run(body: string, options: ExecuteOptions = {}): Promise<{ told: Progress[]; result: ToolResult }> {
    const told: Progress[] = [];
    const name = `tool-${++tools}`;
    await engine.register({
      name,
      description: "Takes its time.",
      source: `export default async (input, { progress }) => { ${body} }`,
    });
    const onProgress = (progress: Progress): void => void told.push(progress);
    const result = await engine.execute({ name, arguments: {} }, { onProgress, ...options });
    return { told: [...told], result };
  }

  test("is told with what there is of it", async () => {
    expect((await run("progress(1)")).told).toEqual([{ progress: 1 }]);
    expect((await run("progress(0.5, 1)")).told).toEqual([{ progress: 0.5, total: 1 }]);
    expect((await run("progress(2, 3, 'a\\tb\\n…')")).told).toEqual([{ progress: 2, total: 3, message: "a\tb\n…" }]);
    expect((await run("progress(4, undefined, 'on')")).told).toEqual([{ progress: 4, message: "on" }]);
  });

  test("is told between turns", async () => {
    const pause = "await new Promise((done) => setTimeout(done, 120));";
    const { told } = await run(`progress(1, 3); ${pause} progress(2, 3); ${pause} progress(3, 3);`);
    expect(told.map(({ progress }) => progress)).toEqual([1, 2, 3]);
  });

  test("is told while the tool is in the midst of a turn", async () => {
    const controller = new AbortController();
    const { result } = await run("progress(1); for (;;);", {
      signal: controller.signal,
      onProgress: () => controller.abort(),
    });
    expect(result.error?.code).toBe("cancelled");
  });

  test("is told now and then where the tool says it all the time, and the last before the result", async () => {
    const { told, result } = await run("for (let i = 1; i <= 30_000; i++) progress(i, 30_000);");
    expect(result.error).toBeNull();
    expect(told[0]).toEqual({ progress: 1, total: 30_000 });
    expect(told.at(-1)).toEqual({ progress: 30_000, total: 30_000 });
    expect(told.length).toBeLessThan(2 + result.metadata.wallMs / 50);
  });

  test("is told to the last also where the call fails", async () => {
    const { told, result } = await run("progress(1); progress(2); throw new Error('no');");
    expect(result.error?.code).toBe("tool_error");
    expect(told.map(({ progress }) => progress)).toEqual([1, 2]);
  });

  test("never goes back", async () => {
    expect((await run("progress(5); progress(1);")).told).toEqual([{ progress: 5 }]);
  });

  test("is a number, and everything else is left out", async () => {
    const { result } = await run("progress('50%');");
    expect(result.error).toMatchObject({ type: "TypeError", message: "context.progress takes a number" });
    expect((await run("progress(NaN); progress(-1 / 0);")).told).toEqual([]);
    expect((await run("progress(1, 'three', { a: 1 });")).told).toEqual([{ progress: 1 }]);
    expect((await run("progress(1, Infinity, '');")).told).toEqual([{ progress: 1 }]);
  });

  test("has a message of a thousand characters at most", async () => {
    const { told } = await run("progress(1, 1, 'x'.repeat(30_000_000));");
    expect(told[0]?.message).toBe("x".repeat(1_000));
  });

  test("costs a tool nothing but the call where nobody listens", async () => {
    const name = `tool-${++tools}`;
    const source = "export default (input, { progress }) => { for (let i = 0; i < 3_000_000; i++) progress(i); };";
    await engine.register({ name, description: "Says it all the time.", source });
    const result = await engine.execute({ name, arguments: {} });
    expect(result.error).toBeNull();
  });

  test("is as short as it has to be also where a tool has changed what cuts it", async () => {
    const told: Progress[] = [];
    const name = `tool-${++tools}`;
    const source = `const giant = "x".repeat(5_000_000);
      String.prototype.slice = function () { return giant; };
      export default (input, { progress }) => { progress(1, 1, "a"); progress(2); return "done"; };`;
    await engine.register({ name, description: "Changes what it runs in.", isolation: "context", source });
    const result = await engine.execute({ name, arguments: {} }, { onProgress: (progress) => told.push(progress) });
    expect(result.output).toBe("done");
    expect(told).toEqual([{ progress: 2 }]);
  });

  test("is the listener's own business", async () => {
    const { result } = await run("progress(1); return 'done';", {
      onProgress: () => {
        throw new Error("the listener's");
      },
    });
    expect(result.output).toBe("done");
  });

  test("is no more said by a tool that has ended", async () => {
    const { told } = await run("progress(1); setTimeout(() => progress(2), 0); setTimeout(() => progress(3), 80);");
    await new Promise((done) => setTimeout(done, 150));
    expect(told).toEqual([{ progress: 1 }]);
  });
});
