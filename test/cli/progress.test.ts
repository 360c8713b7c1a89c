import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { whileWaiting } from "../../src/cli/progress.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test.each([
  [900, ""],
  [2_500, "\r\u001b[Kglovebox: loading tools, 1 s\r\u001b[Kglovebox: loading tools, 2 s\r\u001b[K"],
])("work of %i ms on a terminal is named each second, and leaves no line behind", async (ms, expected) => {
  let written = "";
  const terminal = { write: (text: string) => void (written += text) };
  const waiting = whileWaiting(
    () => "loading tools",
    new Promise<void>((resolve) => setTimeout(resolve, ms)),
    terminal,
  );
  await vi.advanceTimersByTimeAsync(ms);
  await waiting;
  expect(written).toBe(expected);
});
