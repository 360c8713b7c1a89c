import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

// needs: bubblewrap

/** Runs a program with a disk of its own, of 64 MiB, as a user without rights; returns what it prints. */
async function onSmallDisk(program: string, ...args: readonly string[]): Promise<unknown> {
  const file = fileURLToPath(new URL(program, import.meta.url));
  const user = ["--unshare-user", "--uid", "1000", "--gid", "1000", "--die-with-parent"];
  const disk = ["--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--size", `${64 * 1024 * 1024}`];
  const command = [process.execPath, "--no-warnings", file, "/mnt/state", ...args];
  const { stdout } = await promisify(execFile)("bwrap", [
    ...user,
    ...disk,
    "--tmpfs",
    "/mnt",
    "--dir",
    "/mnt/state",
    ...command,
  ]);
  return JSON.parse(stdout);
}

test("a full disk drops what cannot wait, loses nothing else, and is told until there is room", async () => {
  expect(await onSmallDisk("programs/full-disk.ts")).toEqual({
    isFull: true,
    problem: "the store is full: its disk is full, or its maxBytes is reached",
    isCounted: true,
    isWell: true,
    isWhole: true,
    ids: ["c0", "after"],
    told: ["full"],
  });
});

test("a file that is read-only is told, and is written again once it may be", async () => {
  expect(await onSmallDisk("programs/read-only.ts")).toEqual({
    isTold: true,
    problem: "the store is read-only",
    isWell: true,
    status: null,
  });
});

const FULL = "the store is full: its disk is full, or its maxBytes is reached";

test.each([
  ["is full", "full", "store_failed", `StoreError: ${FULL}`],
  ["is locked", "locked", "store_failed", "StoreError: the store is busy: try again later"],
  ["is read-only", "read-only", "store_failed", "StoreError: the store is read-only"],
  // Another file is begun, which takes new calls and does not know the earlier one.
  ["is deleted, until it is put back", "deleted", "paused", "no such call"],
  ["is damaged, until a copy is put back", "damaged", "paused", "no such call"],
])("a call that waits while its store %s ends with each effect once, and nobody is told otherwise", async (...args) => {
  const [, fault, begun, decided] = args;
  expect(await onSmallDisk("programs/durable-fault.ts", fault)).toEqual({
    paused: "paused",
    during: { begun, decided, effects: [{ before: 1 }] },
    again: "ready",
    output: 1,
    twice: "ended",
    effects: [{ before: 1 }, { after: 1 }],
  });
});
