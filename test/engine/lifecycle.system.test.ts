import { expect, test } from "vitest";
import { orphans, runProgram } from "./program.ts";

test.each(["process", "threads"])(
  "a process that closed its %s engines, with calls in flight, ends by itself",
  async (kind) => {
    const { stdout, stderr, code } = await runProgram("closes", [kind]);
    expect(stderr).toBe("");
    expect(JSON.parse(stdout)).toEqual([3, "engine_closed", "late", "engine_closed", "closed"]);
    expect(code).toBe(0);
    await expect.poll(orphans).toEqual([]);
  },
);

test("a process whose engine could not load its tools ends by itself", async () => {
  const { stdout, code } = await runProgram("fails-to-start");
  expect(stdout.trim()).toBe("load_error");
  expect(code).toBe(0);
});

test.each([
  ["process", "idle"],
  ["process", "busy"],
  ["threads", "idle"],
  ["threads", "busy"],
])("a process whose engine (%s, %s) was not closed can call process.exit()", async (kind, state) => {
  const { stdout, code } = await runProgram("exits", [kind, state]);
  const tookMs = Date.now() - Number(stdout);
  expect(code).toBe(0);
  // An endless call has a minute.
  expect(tookMs).toBeLessThan(5_000);
  await expect.poll(orphans).toEqual([]);
});

test("an executor ends when its host is killed", async () => {
  const { code } = await runProgram("killed", [], 10_000);
  expect(code).toBeNull();
  await expect.poll(orphans, { timeout: 5_000 }).toEqual([]);
});

test("a process may open and close engines on threads as often as it likes", async () => {
  const { stdout, stderr, code } = await runProgram("reopens");
  expect({ stdout: stdout.trim(), stderr, code }).toEqual({ stdout: "3600", stderr: "", code: 0 });
});
