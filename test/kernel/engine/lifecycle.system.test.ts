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

/** Time for eight workers to start on a busy machine. */
const START_MS = 240_000;

test.each([
  ["process", "busy", "2"],
  ["process", "idle", "8"],
  ["process", "busy", "8"],
  ["threads", "open", "8"],
  ["threads", "busy", "2"],
  ["threads", "idle", "8"],
  ["threads", "busy", "8"],
])(
  "a process whose engine (%s, %s, %s workers) was not closed can call process.exit()",
  async (...settings) => {
    const { stdout, code } = await runProgram("exits", settings, START_MS);
    const tookMs = Date.now() - Number(stdout);
    expect(code).toBe(0);
    // An endless call has a minute.
    expect(tookMs).toBeLessThan(30_000);
    await expect.poll(orphans).toEqual([]);
  },
  START_MS + 10_000,
);

test("an executor ends when its host is killed", async () => {
  const { code } = await runProgram("killed");
  expect(code).toBeNull();
  await expect.poll(orphans, { timeout: 60_000 }).toEqual([]);
});

test("a process may open and close engines on threads as often as it likes", async () => {
  const { stdout, stderr, code } = await runProgram("reopens");
  expect({ stdout: stdout.trim(), stderr, code }).toEqual({ stdout: "1800", stderr: "", code: 0 });
});

// A library of Node's names was made from all of Node's modules, and `domain` slowed down the streams of the process.
test("an engine leaves the event emitters of its process as they are", async () => {
  const { stdout, stderr, code } = await runProgram("keeps-emitters");
  expect({ stdout: stdout.trim(), stderr, code }).toEqual({ stdout: "function true", stderr: "", code: 0 });
});

// A test process ended by SIGSEGV once in some runs of the whole suite: the engine switched off V8's second compilation
// of regular expressions, for which those that had been used before were waiting.
test("an engine on threads leaves the regular expressions of its process usable", async () => {
  const { stdout, stderr, code } = await runProgram("regular-expressions");
  expect(stderr).toBe("");
  expect({ stdout, code }).toEqual({ stdout: "used again", code: 0 });
});
