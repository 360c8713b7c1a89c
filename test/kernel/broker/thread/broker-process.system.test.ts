import { readdirSync, readFileSync } from "node:fs";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { createEngine, type EngineOptions } from "../../../../src/glovebox/index.ts";
import { serve } from "../capabilities/fetch/server.ts";
import { STARTED, testBroker } from "./suite.ts";

describe("the broker process", () => {
  testBroker("process");
});

const READER = {
  name: "reader",
  description: "Writes a file and reads it.",
  capabilities: { fs: { scratch: { mode: "rw" } } },
  source: `export default async (_, { host }) => {
    await host.fs.writeFile("/scratch/a", "hello");
    return host.fs.readFile("/scratch/a", "utf8");
  }`,
} as const;
const OPTIONS: EngineOptions = {
  workers: 1,
  broker: "process",
  tools: [READER],
  policy: { rules: [{ allow: { fs: { scratch: { mode: "rw" } }, fetch: { origins: [] } } }] },
};

/** Processes of brokers that this process has started. */
function brokers(): readonly number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => commandOf(pid).includes("broker/thread/entry") && parentOf(pid) === process.pid);
}

function commandOf(pid: number): string {
  return textOf(`/proc/${pid}/cmdline`);
}

function parentOf(pid: number): number {
  const status = textOf(`/proc/${pid}/stat`);
  return Number(status.slice(status.lastIndexOf(")") + 2).split(" ")[1]);
}

/** Empty where the process has ended. */
function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

describe.runIf(process.platform === "linux")('an engine with broker: "process"', () => {
  // Engines of other tests in this process have closed, and their brokers may be ending.
  beforeEach(async () => {
    await expect.poll(brokers, STARTED).toEqual([]);
  });

  test("carries out fs there, loses nothing but its requests when it is killed, and leaves nothing behind", async () => {
    {
      await using engine = await createEngine(OPTIONS);
      const reasons: string[] = [];
      engine.on("broker:lost", ({ reason }) => reasons.push(reason));
      const recycled: string[] = [];
      engine.on("executor:recycle", ({ reason }) => recycled.push(reason));
      expect(await engine.execute({ name: "reader", arguments: {} })).toMatchObject({ success: true, output: "hello" });
      const [pid = 0, ...others] = brokers();
      expect(others).toEqual([]);
      expect(engine.usage()?.brokerMs).toBeGreaterThan(0);
      process.kill(pid, "SIGKILL");
      await expect.poll(() => reasons, STARTED).toEqual(["it ended with SIGKILL"]);
      await expect
        .poll(async () => (await engine.execute({ name: "reader", arguments: {} })).success, {
          timeout: 60_000,
          interval: 200,
        })
        .toBe(true);
      expect(brokers()).toHaveLength(1);
      // Its executor process had a pipe to the one that was killed.
      await expect.poll(() => recycled, STARTED).toContain("broker");
    }
    await expect.poll(brokers, STARTED).toEqual([]);
  });

  test("has no variable of the engine's process but those that programs and certificates need", async () => {
    vi.stubEnv("OF_THE_HOST_ONLY", "correct-horse");
    onTestFinished(() => void vi.unstubAllEnvs());
    await using engine = await createEngine(OPTIONS);
    expect(await engine.execute({ name: "reader", arguments: {} })).toMatchObject({ success: true });
    const [pid = 0] = brokers();
    const names = textOf(`/proc/${pid}/environ`)
      .split("\0")
      .map((entry) => entry.split("=")[0]);
    expect(names).toContain("PATH");
    expect(names).not.toContain("OF_THE_HOST_ONLY");
  });

  test("cancels its requests with their call", async () => {
    await using server = await serve(() => {});
    const source = `export default (_, { host }) => fetch("${server.origin}/");`;
    await using engine = await createEngine({
      ...OPTIONS,
      tools: [
        {
          name: "waits",
          description: "Waits.",
          source,
          capabilities: { fetch: { origins: [server.origin] } },
        },
      ],
      policy: { rules: [{ allow: { fetch: { origins: [], privateOrigins: [server.origin] } } }] },
    });
    const abort = new AbortController();
    const call = engine.execute({ name: "waits", arguments: {} }, { signal: abort.signal });
    await expect.poll(() => server.seen.length, STARTED).toBe(1);
    abort.abort();
    expect(await call).toMatchObject({ success: false, error: { code: "cancelled" } });
    await expect.poll(() => server.open(), STARTED).toBe(0);
  });
});
