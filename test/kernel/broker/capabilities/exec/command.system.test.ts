import { readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { describe, expect, test } from "vitest";
import { createExec } from "../../../../../src/kernel/broker/capabilities/exec/exec.ts";
import { EXEC_LIMITS } from "../../../../../src/kernel/broker/capabilities/exec/grants.ts";
import { processesWith } from "../../../../processes.ts";
import { noJail, opened, refusedWith } from "./opened.ts";

/** A number of seconds that no other process of the machine sleeps for. */
const mark = () => `${100_000 + Math.floor(Math.random() * 900_000)}.25`;

describe.skipIf(noJail !== undefined)(`a command (${noJail ?? "in bubblewrap"})`, () => {
  test("gives its stdout, its stderr and its exit code, apart", async () => {
    expect(await opened().run("echo out; echo err >&2; exit 3")).toEqual({
      stdout: "out\n",
      stderr: "err\n",
      exitCode: 3,
      timedOut: false,
      truncated: false,
      excess: null,
      timeoutMs: 30_000,
    });
  });

  test("is a script of the shell's, with pipes, quotes and whatever begins with a hyphen", async () => {
    const { run } = opened();
    expect((await run("printf 'b\\na\\n' | sort | tr a-z A-Z")).stdout).toBe("A\nB\n");
    expect((await run("-x")).exitCode).toBe(127);
    expect((await run(`echo "it's \\"quoted\\"" é 😀`)).stdout).toBe(`it's "quoted" é 😀\n`);
  });

  test("reads what it is given, and nothing where it is given nothing", async () => {
    const { run } = opened();
    expect((await run("sort", { stdin: "b\na\n" })).stdout).toBe("a\nb\n");
    expect((await run("wc -c")).stdout.trim()).toBe("0");
    expect((await run("exit 0", { stdin: "x".repeat(500_000) })).exitCode).toBe(0);
  });

  test("finds its stdout and its stderr by their names as well", async () => {
    const answer = await opened().run(
      "echo out >/dev/stdout; echo err | tee /dev/stderr >/dev/null; echo more >/dev/fd/2",
    );
    expect(answer).toMatchObject({ stdout: "out\n", stderr: "err\nmore\n", exitCode: 0 });
  });

  test("leaves neither descriptors nor folders in the host", async () => {
    const { run } = opened();
    const descriptors = () => readdirSync("/proc/self/fd").length;
    const ofThis = (name: string) => name.startsWith("glovebox-pipes-") && name.includes(`-${process.pid}-`);
    await run("true");
    const before = descriptors();
    for (const command of ["echo x", "yes", "exit 1", "kill -9 $$"]) await run(command);
    await run("sleep 60", { timeoutMs: 200 });
    // Others that this process had open may have been closed meanwhile.
    await expect.poll(descriptors).toBeLessThanOrEqual(before);
    await expect.poll(() => readdirSync(tmpdir()).filter(ofThis)).toEqual([]);
  });

  test("that a signal ends has the exit code that shells give it", async () => {
    expect((await opened().run("kill -9 $$")).exitCode).toBe(137);
  });

  test("that takes too long is ended with all that it has started, also what ignores signals", async () => {
    const seconds = mark();
    const command = `trap '' TERM INT HUP; sleep ${seconds} & (setsid sleep ${seconds} &) ; sleep ${seconds}`;
    // A slow machine needs more time than a quick one until all of them are there.
    for (let [seen, timeoutMs] = [0, 4_000]; seen < 3; timeoutMs *= 4) {
      let isOver = false;
      const running = opened()
        .run(command, { timeoutMs })
        .finally(() => (isOver = true));
      while (!isOver && seen < 3) seen = await processesWith(`sleep\0${seconds}`);
      expect(await running).toMatchObject({ timedOut: true, exitCode: null });
      expect(await processesWith(seconds)).toBe(0);
    }
  });

  test("keeps what it had written before its time was over", async () => {
    let stdout = "";
    for (let timeoutMs = 3_000; stdout === ""; timeoutMs *= 4) {
      const answer = await opened().run("echo before; sleep 600", { timeoutMs });
      expect(answer).toMatchObject({ timedOut: true, exitCode: null });
      ({ stdout } = answer);
    }
    expect(stdout).toBe("before\n");
  });

  test("leaves nothing behind that it has started beside itself", async () => {
    const seconds = mark();
    const answer = await opened().run(`setsid sleep ${seconds} >/dev/null 2>&1 & echo done`);
    expect(answer).toMatchObject({ stdout: "done\n", exitCode: 0 });
    await expect.poll(() => processesWith(seconds)).toBe(0);
  });

  test("ends with its call", async () => {
    const seconds = mark();
    const { run, end } = opened();
    const ended = refusedWith(run(`sleep ${seconds}`));
    await expect.poll(() => processesWith(`sleep\0${seconds}`)).toBe(1);
    await end();
    expect(await ended).toBe("the call has ended");
    expect(await processesWith(seconds)).toBe(0);
  });

  test("is not even begun when its call has ended while it waited", async () => {
    const { run, end } = opened();
    const ended = ["a", "b", "c"].map(() => refusedWith(run("sleep 60")));
    await end();
    expect(await Promise.all(ended)).toEqual(ended.map(() => "the call has ended"));
  });

  test("has no more time than is granted, and is told so", async () => {
    const answer = await opened({ wallMs: 300 }).run("sleep 60", { timeoutMs: 60_000 });
    expect(answer).toMatchObject({ timedOut: true, timeoutMs: 300 });
  });

  test.each([
    ["its call runs", EXEC_LIMITS.atOnce, 1],
    ["all calls run", EXEC_LIMITS.atOnceInAll, 4],
  ])("waits where %s as many as may be run at once", async (_who, most, calls) => {
    const exec = createExec();
    const runs = Array.from({ length: calls }, () => opened(true, { exec }).run);
    const command = "date +%s%N; sleep 0.4; date +%s%N";
    const times = await Promise.all(
      runs.flatMap((run) => [run(command), run(command), run(command)].map(async (answer) => (await answer).stdout)),
    );
    const spans = times
      .map((text) => text.trim().split("\n").map(BigInt))
      .map(([from = 0n, to = 0n]) => ({ from, to }));
    const atOnce = spans.map(({ from: at }) => spans.filter(({ from, to }) => from <= at && at < to).length);
    expect(Math.max(...atOnce)).toBeLessThanOrEqual(most);
  });
});

describe.skipIf(noJail !== undefined)(`a command's output (${noJail ?? "in bubblewrap"})`, () => {
  test("is kept up to what is granted, each stream for itself", async () => {
    const answer = await opened({ outputBytes: 10 }).run("echo 0123456789abc; echo short >&2");
    expect(answer).toMatchObject({ stdout: "0123456789", stderr: "short\n", exitCode: 0, truncated: true });
    const exact = await opened({ outputBytes: 10 }).run("printf 0123456789");
    expect(exact).toMatchObject({ stdout: "0123456789", truncated: false });
  });

  test("is never cut within a character", async () => {
    expect((await opened({ outputBytes: 5 }).run("printf 'abé€'")).stdout).toBe("abé");
  });

  test("that is no UTF-8 is shown as far as it is", async () => {
    expect((await opened().run("printf 'a\\377b\\000c'")).stdout).toBe("a\uFFFDb\0c");
  });

  test("without an end ends the command", async () => {
    const answer = await opened({ outputBytes: 4 }).run("yes");
    expect(answer).toMatchObject({ stdout: "y\ny\n", exitCode: null, timedOut: false, excess: "output" });
  });
});

describe("a command is refused", () => {
  test("where there is no sandbox, and never run without one", async () => {
    const { run } = opened(true, { findJail: () => Promise.resolve({ reason: "bubblewrap is not installed" }) });
    expect(await refusedWith(run("echo hi"))).toMatch(
      /^denied: commands cannot run on this host: bubblewrap is not installed; install bubblewrap/,
    );
  });

  test("where it is too long, or reads too much", async () => {
    const { run } = opened();
    expect(await refusedWith(run("é".repeat(50_001)))).toMatch(/^limit: the command is too long; .*stdin/);
    expect(await refusedWith(run("cat", { stdin: "x".repeat(EXEC_LIMITS.stdinBytes + 1) }))).toMatch(
      /^limit: the stdin/,
    );
  });

  test("where it holds a NUL character", async () => {
    expect(await refusedWith(opened().run("echo a\0b"))).toBe("a command must not contain NUL characters");
  });

  test("in no words of the host's where it cannot be started", async () => {
    const findJail = () =>
      Promise.resolve({
        start: () => Promise.reject(new Error("spawn /opt/secret EAGAIN")),
      });
    expect(await refusedWith(opened(true, { findJail }).run("echo hi"))).toBe("it could not be started");
  });
});
