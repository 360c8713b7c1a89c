import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { Watch } from "../../src/cli/watch.ts";

const TICKS_MS = 30;

/** A watch of no place, the number of changes that it reports, and a folder in which files can be. */
function newWatch() {
  const folder = mkdtempSync(join(tmpdir(), "glovebox-watch-"));
  let changes = 0;
  const watch = new Watch([], () => changes++);
  onTestFinished(() => {
    watch[Symbol.dispose]();
    rmSync(folder, { recursive: true });
  });
  return { folder, watch, changes: () => changes };
}

// A service lost it: a folder came back after a reload had failed and before its files were watched.
test("a file that changes while it is read, before it is watched, is a change", async () => {
  const { folder, watch, changes } = newWatch();
  const file = join(folder, "sub", "a.ts");
  const sinceMs = Date.now();
  mkdirSync(join(folder, "sub"));
  writeFileSync(file, "1");
  watch.follow([file], sinceMs);
  await expect.poll(changes).toBe(1);
});

test("a folder that is gone while its files are read is a change", async () => {
  const { folder, watch, changes } = newWatch();
  mkdirSync(join(folder, "sub"));
  await delay(TICKS_MS);
  const sinceMs = Date.now();
  rmSync(join(folder, "sub"), { recursive: true });
  watch.follow([join(folder, "sub", "a.ts")], sinceMs);
  await expect.poll(changes).toBe(1);
});

test("files that were there before they were read are no change, and later ones are", async () => {
  const { folder, watch, changes } = newWatch();
  const [one, other] = [join(folder, "one.ts"), join(folder, "other.ts")];
  for (const file of [one, other]) writeFileSync(file, "1");
  await delay(TICKS_MS);
  watch.follow([one], Date.now());
  watch.follow([one, other], Date.now());
  writeFileSync(one, "2");
  await expect.poll(changes).toBe(1);
  // What was watched all the time has told of itself.
  vi.useFakeTimers();
  watch.follow([one, other], Date.now() - 1_000);
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});
