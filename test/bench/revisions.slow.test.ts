import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import type { Comparison } from "../../bench/revisions/compare.ts";
import { WORKLOADS } from "../../bench/revisions/workloads.ts";
import { IS_LONG } from "../length.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const hasHistory = existsSync(path.join(ROOT, ".git"));

/** Runs the benchmarks' command. */
function bench(
  ...args: string[]
): Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, ["bench/run.ts", ...args], { cwd: ROOT }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });
}

// It compiles the other revision.
test.runIf(IS_LONG && hasHistory)("every workload is compared with the last commit", { timeout: 120_000 }, async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "glovebox-bench-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const json = path.join(folder, "comparison.json");
  const { code, stdout } = await bench("--against", "HEAD", "--smoke", "--json", json);
  expect(code).toBe(0);
  const comparison = JSON.parse(readFileSync(json, "utf8")) as Comparison;
  expect(comparison.workloads.map(({ name }) => name)).toEqual(WORKLOADS.map(({ name }) => name));
  for (const { name, own, other } of comparison.workloads) {
    expect(own).toBeGreaterThan(0);
    expect(other).toBeGreaterThan(0);
    expect(stdout).toContain(`  ${name} `);
  }
});

test.skipIf(!hasHistory)("a revision that git does not know is named", async () => {
  const { code, stderr } = await bench("--against", "no-such-revision");
  expect(code).toBe(1);
  expect(stderr).toContain('git knows no revision "no-such-revision" here');
});

test("a workload that is not there is refused with the names of those that are", async () => {
  const { code, stderr } = await bench("--against", "HEAD", "--scope", "dispatch");
  expect(code).toBe(2);
  expect(stderr).toContain('there is no workload "dispatch"; the workloads are lone, dispatch-64');
});
