import { execFile } from "node:child_process";
import { expect, test } from "vitest";
import type { Measured } from "../../src/cli/bench.ts";
import { MAIN } from "../server/served.ts";

interface Ended {
  readonly code: number;
  readonly stdout: string;
}

function bench(...args: string[]): Promise<Ended> {
  return new Promise((resolve) => {
    const command = [...MAIN, "bench", "--ms", "50", "--workers", "1", ...args];
    execFile(process.execPath, command, { timeout: 200_000 }, (error, stdout) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout });
    });
  });
}

test("glovebox bench measures the engine with the settings that are named, as JSON", async () => {
  const { code, stdout } = await bench("--json", "--executor", "threads");
  const measured = JSON.parse(stdout) as Measured;
  expect(code).toBe(0);
  expect(measured).toMatchObject({ executor: "threads", sandbox: "off", node: process.versions.node });
  expect(measured.sequential.calls).toBeGreaterThan(0);
  expect(measured.parallel.perSecond).toBeGreaterThan(0);
  expect(measured.sequential.p50Us).toBeLessThanOrEqual(measured.sequential.p99Us);
});

test("glovebox bench says it in lines for people", async () => {
  const { code, stdout } = await bench();
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^64 calls at once +\d+ calls\/s, p99 \d+ µs$/m)]);
});

test("glovebox bench refuses a malformed time", async () => {
  expect((await bench("--ms", "0")).code).toBe(2);
});
