import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
import { MAIN } from "../server/served.ts";

/** A container, as far as its processes go: a tree of its own, whose first process is the given one. */
const CONTAINER = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"];
const CAN_CONTAIN = spawnSync(CONTAINER[0] ?? "", [...CONTAINER.slice(1), "true"]).status === 0;

interface Process {
  readonly pid: number;
  readonly hasEnded: boolean;
  readonly isExecutor: boolean;
}

function childrenOf(pid: number): readonly Process[] {
  const pids = readOf(`${pid}/task/${pid}/children`).trim().split(" ").filter(Boolean).map(Number);
  return pids.map((child) => {
    const hasEnded = /\) Z /.test(readOf(`${child}/stat`));
    return { pid: child, hasEnded, isExecutor: /^[^\0]*node\0.*--allow-worker\0/.test(readOf(`${child}/cmdline`)) };
  });
}

/** A file of a process; empty where it is gone. */
function readOf(file: string): string {
  try {
    return readFileSync(`/proc/${file}`, "utf8");
  } catch {
    return "";
  }
}

/** All processes below one, whatever their parents. */
function allBelow(pid: number): readonly Process[] {
  return childrenOf(pid).flatMap((child) => [child, ...allBelow(child.pid)]);
}

test.skipIf(!CAN_CONTAIN)(
  "as the first process of a container a server leaves no process that has ended, and stops as it does elsewhere",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "glovebox-first-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const command = [...CONTAINER.slice(1), process.execPath, ...MAIN, "serve", "--port", "0", "--workers", "1"];
    const outside = spawn(CONTAINER[0] ?? "", command, { cwd: folder, stdio: ["ignore", "pipe", "ignore"] });
    onTestFinished(() => void outside.kill("SIGKILL"));
    const exit = once(outside, "close");
    for await (const line of createInterface({ input: outside.stdout })) if (line.includes("listening")) break;
    const [first] = childrenOf(outside.pid ?? 0);
    const inside = (): readonly Process[] => allBelow(first?.pid ?? 0);
    const executors = (): readonly number[] => inside().flatMap(({ pid, isExecutor }) => (isExecutor ? [pid] : []));
    for (let times = 0; times < 2; times++) {
      await expect.poll(() => executors().length).toBeGreaterThan(0);
      const before = executors();
      for (const pid of before) process.kill(pid, "SIGKILL");
      await expect.poll(() => executors().some((pid) => !before.includes(pid))).toBe(true);
    }
    await expect.poll(() => inside().filter(({ hasEnded }) => hasEnded)).toEqual([]);
    process.kill(first?.pid ?? 0, "SIGTERM");
    expect((await exit)[0]).toBe(0);
  },
);
